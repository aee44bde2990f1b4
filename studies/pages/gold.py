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
# on which the constants of the regression were chosen
CHOSEN_ON = (
    "adult_content",
    "care_civilcomments",
    "hitspam",
    "llm_judges_hard",
    "medical_treat",
    "sentence_polarity",
    "trec2011",
    "triviaqa_judges_v2",
    "valence",
    "youtube_spam",
)


def gold_table(rows: Sequence[Json]) -> str:
    """Return one table per figure: without labels, with labels, and by regression.

    A star marks the sets on which constants were chosen; the others have a mean of their own.
    """
    blocks = []
    for figure, title in FIGURES.items():
        means = {row["set"]: [row[f"{figure}, {way}, {n}"] for way, n in COLUMNS] for row in rows}
        table = [[_mark(name), *map(share, cells)] for name, cells in means.items()]
        for text, starred in (("mean, no star", False), ("mean, star", True)):
            own = [cells for name, cells in means.items() if (name in CHOSEN_ON) == starred]
            if own:
                table.append([f"**{text}**", *map(share, np.mean(own, axis=0).tolist())])
        blocks += [f"**{title}**", markdown_table(HEADER, table)]
    return join_blocks(*blocks).rstrip("\n")


def _mark(name: str) -> str:
    return f"{name}\\*" if name in CHOSEN_ON else name
