"""The EHR study summarized: means over the splits in one archive, and Figure 5.1."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from studies.drawing import BLUE, GRAY, GREEN, ORANGE, draw_box, new_figure
from studies.ehr.rare import read_rare, summarize_rare
from studies.ehr.splits import (
    FIGURES,
    FULL_PENLOG,
    NONE,
    OURS,
    PAPER,
    PENLOG,
    TRAIN,
    UNELISA,
    read_splits,
)
from studies.fingerprints import KEY, common_code
from studies.markdown import group_by
from studies.records import Json, make_archive, read_lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DIGITS = 4
SIMULATED = "ra-"  # how the names of simulated datamarts start

# Table 5.4: mean and standard deviation over 100 splits, by method
PUBLISHED = {
    PENLOG: {
        "auc": (0.907, 0.0149),
        "ppv": (0.635, 0.0768),
        "npv": (0.922, 0.0218),
        "f_score": (0.749, 0.0528),
    },
    UNELISA: {
        "auc": (0.904, 0.0147),
        "ppv": (0.774, 0.0359),
        "npv": (0.833, 0.0104),
        "f_score": (0.802, 0.0240),
    },
}
TITLES = {
    "auc": "AUC",
    "ppv": "PPV",
    "npv": "NPV",
    "f_score": "F of PPV and NPV",
    "accuracy": "accuracy",
}
BOXES = {
    (PAPER, UNELISA): ("unElisa, screened on all labels (leak)", ORANGE),
    (PAPER, PENLOG): ("penLog, screened on all labels (leak)", GRAY),
    (TRAIN, UNELISA): ("unElisa, screened on training labels", ORANGE),
    (TRAIN, PENLOG): ("penLog, screened on training labels", GRAY),
    (TRAIN, FULL_PENLOG): ("penLog, all features, training labels", GREEN),
    (NONE, OURS): ("Phenotyper, no labels", BLUE),
}


def collect_ehr(folder: Path, stored: Json | None = None) -> Json:
    """Return the archive of a results folder, added to a stored one; the newer rows win."""
    old = stored or {"sets": [], "methods": [], "rare": []}
    facts = {fact["set"]: fact for fact in [*old["sets"], *read_lines(folder / "ehr_sets.jsonl")]}
    new = summarize_splits(read_splits(folder))
    there = {row["set"] for row in new}
    return make_archive(
        sets=[facts[name] for name in sorted(facts)],
        methods=[row for row in old["methods"] if row["set"] not in there] + new,
        rare=summarize_rare(read_rare(folder)) or old["rare"],
    )


def summarize_splits(rows: Sequence[Json]) -> list[Json]:
    """Return (mean, standard deviation) of each figure over the splits, by set and method.

    A figure that is undefined on a split (nobody was flagged) is ignored there.
    """
    found = []
    for key, mine in group_by(rows, "set", "protocol", "method").items():
        splits = {row["split"]: row for row in mine}  # of two rows the later one counts
        figures = {}
        for name in FIGURES:
            values = [x for row in splits.values() if (x := row["figures"][name]) is not None]
            if values:
                spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
                figures[name] = [round(float(np.mean(values)), DIGITS), round(spread, DIGITS)]
        code = {KEY: common_code(splits.values())}
        facts = dict(zip(("set", "protocol", "method"), key, strict=True))
        found.append({**facts, "splits": len(splits), "figures": figures, **code})
    return found


def draw_splits(rows: Sequence[Json], name: str) -> "Figure":
    """Return Figure 5.1 for one set: boxes of single splits, with the published means."""
    figure = new_figure(11.0, 3.4)
    panels = figure.subplots(1, len(FIGURES), sharey=True)
    ways = group_by([row for row in rows if row["set"] == name], "protocol", "method")
    heights = range(len(BOXES))[::-1]
    for axes, key in zip(panels, FIGURES, strict=True):
        axes.set_title(TITLES[key])
        axes.grid(axis="x", alpha=0.3)
        for height, (way, (_, color)) in zip(heights, BOXES.items(), strict=True):
            values = [x for row in ways.get(way, ()) if (x := row["figures"][key]) is not None]
            if values:
                draw_box(axes, height, values, color)
            published = PUBLISHED.get(way[1], {}).get(key) if way[0] == PAPER else None
            if published is not None and name.startswith(SIMULATED):  # the paper's disease
                axes.plot(published[0], height, "kD", markersize=4)
    panels[0].set_yticks(list(heights), [label for label, _ in BOXES.values()])
    return figure
