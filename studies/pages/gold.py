"""The tables of what gold labels are worth, in docs/model_tables.md."""

from collections.abc import Sequence

import numpy as np

from studies.markdown import join_blocks, markdown_table, share
from studies.records import Json

FIGURES = {"accuracy": "Accuracy", "log_loss": "Log loss"}
BUDGETS = (10, 20, 50)
COLUMNS = [("without", BUDGETS[0]), *((way, n) for way in ("with", "regression") for n in BUDGETS)]
HEADER = ["set", "without", *(f"{n} labels" for n in BUDGETS)]
HEADER += [f"regression, {n}" for n in BUDGETS]


def gold_table(rows: Sequence[Json]) -> str:
    """Return one table per figure: without labels, with labels, and by regression."""
    blocks = []
    for figure, title in FIGURES.items():
        means = {row["set"]: [row[f"{figure}, {way}, {n}"] for way, n in COLUMNS] for row in rows}
        table = [[name, *map(share, cells)] for name, cells in means.items()]
        table.append(["**mean**", *map(share, np.mean(list(means.values()), axis=0).tolist())])
        blocks += [f"**{title}**", markdown_table(HEADER, table)]
    return join_blocks(*blocks).rstrip("\n")
