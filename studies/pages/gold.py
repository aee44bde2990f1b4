"""The tables of what gold labels are worth, in docs/model_tables.md."""

from collections.abc import Sequence

import numpy as np

from studies.markdown import join_blocks, markdown_table, share
from studies.records import Json

FIGURES = {"accuracy": "Accuracy", "log_loss": "Log loss"}
SIGNS = {"accuracy": 1, "log_loss": -1}  # of what is better
BUDGETS = (10, 20, 50)
COLUMNS = [("without", BUDGETS[0]), *((way, n) for way in ("with", "regression") for n in BUDGETS)]
HEADER = ["set", "without", *(f"{n} labels" for n in BUDGETS)]
HEADER += [f"regression, {n}" for n in BUDGETS]


def gold_table(rows: Sequence[Json]) -> str:
    """Return one table per figure: without labels, with labels, and by regression.

    The rows are the set that gains most by the most labels, the one that gains least, and the mean.
    """
    blocks = []
    for figure, title in FIGURES.items():
        means = {row["set"]: [row[f"{figure}, {way}, {n}"] for way, n in COLUMNS] for row in rows}
        gains = {
            name: (cells[len(BUDGETS)] - cells[0]) * SIGNS[figure] for name, cells in means.items()
        }
        ranked = sorted(gains, key=gains.__getitem__)
        chosen = dict.fromkeys((ranked[-1], ranked[0]))
        table = [[name, *map(share, means[name])] for name in chosen]
        table.append(["**mean**", *map(share, np.mean(list(means.values()), axis=0).tolist())])
        blocks += [f"**{title}**", markdown_table(HEADER, table)]
    return join_blocks(*blocks).rstrip("\n")
