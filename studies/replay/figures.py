"""The curves: accuracy against votes bought, one panel per set."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from studies.drawing import BLUE, GRAY, GREEN, ORANGE, new_figure
from studies.markdown import group_by
from studies.records import Json
from studies.replay.policies import POLICIES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = 3
# color, line and marker: no line is told apart by its color alone
LOOKS = (
    (BLUE, "-", "o"),
    (BLUE, "--", "s"),
    (GRAY, "-", "x"),
    (GRAY, ":", "+"),
    (GREEN, "-.", "^"),
    (ORANGE, "--", "v"),
)


def draw_curves(rows: Sequence[Json]) -> "Figure":
    """Return the mean accuracy at every stop, by set and policy; dotted: all recorded votes."""
    sets = group_by(rows, "set")
    n_rows = -(-len(sets) // COLUMNS)
    figure = new_figure(9.0, 2.5 * n_rows + 0.4)
    panels = figure.subplots(n_rows, COLUMNS, squeeze=False).ravel()
    for axes in panels[len(sets) :]:
        axes.set_axis_off()
    for axes, ((name,), mine) in zip(panels, sets.items(), strict=False):
        for policy, (color, line, marker) in zip(POLICIES, LOOKS, strict=True):
            curves = [row for row in mine if row["policy"] == policy]
            if curves:
                votes, heights = mean_curve(curves)
                axes.plot(
                    votes, heights, line, color=color, marker=marker, markersize=3, lw=1,
                    label=policy,
                )  # fmt: skip
        whole = np.mean([row["whole"][1] for row in mine])
        axes.axhline(whole, color="k", lw=0.5, ls=":")
        axes.set_title(name, fontsize=9)
    panels[0].set_ylabel("accuracy")
    figure.supxlabel("votes bought per item", fontsize=9)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
    return figure


def mean_curve(rows: Sequence[Json]) -> tuple[list[float], list[float]]:
    """Return votes per item and mean accuracy at the stops that all replays have.

    Examples
    --------
    >>> long, short = [[2, 0.5, 1], [4, 0.75, 1]], [[2, 1, 0]]
    >>> mean_curve([{"items": 2, "curve": long}, {"items": 2, "curve": short}])
    ([1.0], [0.75])
    """
    n_stops = min(len(row["curve"]) for row in rows)
    votes = [[point[0] / row["items"] for point in row["curve"][:n_stops]] for row in rows]
    heights = [[point[1] for point in row["curve"][:n_stops]] for row in rows]
    return np.mean(votes, axis=0).tolist(), np.mean(heights, axis=0).tolist()
