"""Figure 5.1: boxes of single splits, by protocol and method, with the published means."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unelisa.study.ehr import (
    FIGURES,
    FULL_PENLOG,
    NONE,
    OURS,
    PAPER,
    PENLOG,
    TRAIN,
    UNELISA,
    SplitRow,
)
from unelisa.study.ehr_tables import PUBLISHED, SIMULATED
from unelisa.study.figures import BLUE, GREEN, GREY, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLES = {
    "auc": "AUC",
    "ppv": "PPV",
    "npv": "NPV",
    "f_score": "F of PPV and NPV",
    "accuracy": "accuracy",
}
BOXES = {
    (PAPER, UNELISA): ("unElisa, screened on all labels (leak)", ORANGE),
    (PAPER, PENLOG): ("penLog, screened on all labels (leak)", GREY),
    (TRAIN, UNELISA): ("unElisa, screened on training labels", ORANGE),
    (TRAIN, PENLOG): ("penLog, screened on training labels", GREY),
    (TRAIN, FULL_PENLOG): ("penLog, all features, training labels", GREEN),
    (NONE, OURS): ("Phenotyper, no labels", BLUE),
}


def draw_splits(rows: Sequence[SplitRow], name: str) -> "Figure":
    """Return the boxes of one set: the middle half, whiskers over 90 % of the splits."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an optional package

    figure = Figure(figsize=(11.0, 3.4))
    panels = figure.subplots(1, len(FIGURES), sharey=True)
    mine = [row for row in rows if row["set"] == name]
    for axes, key in zip(panels, FIGURES, strict=True):
        _draw_panel(axes, key, mine)
        if name.startswith(SIMULATED):  # the paper's disease; of others it says nothing
            _mark_published(axes, key)
    panels[0].set_yticks(np.arange(len(BOXES))[::-1], [label for label, _ in BOXES.values()])
    return figure


def _draw_panel(axes: "Axes", key: str, rows: Sequence[SplitRow]) -> None:
    axes.set_title(TITLES[key])
    axes.grid(axis="x", alpha=0.3)
    for height, (way, (_, colour)) in zip(range(len(BOXES))[::-1], BOXES.items(), strict=True):
        chosen = [row for row in rows if (row["protocol"], row["method"]) == way]
        values = [x for row in chosen if (x := row["figures"][key]) is not None]
        if not values:
            continue
        axes.boxplot(
            values, positions=[height], orientation="horizontal", whis=(5, 95), widths=0.6,
            showfliers=False, patch_artist=True, manage_ticks=False,
            boxprops={"facecolor": colour, "alpha": 0.45}, medianprops={"color": "k"},
        )  # fmt: skip


def _mark_published(axes: "Axes", key: str) -> None:
    for height, (protocol, method) in zip(range(len(BOXES))[::-1], BOXES, strict=True):
        published = PUBLISHED.get(method, {}).get(key) if protocol == PAPER else None
        if published is not None:
            axes.plot(published[0], height, "kD", markersize=4)
