"""The study's figure: accuracy of ours minus that of the better simple method, kind by kind."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from studies.drawing import BLUE, GRAY, ORANGE, new_figure
from studies.worlds.summary import KindSummary

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_differences(kinds: Sequence[KindSummary]) -> "Figure":
    """Return one dot per kind, the worst at the top; lines cover 90 % of the worlds.

    Kinds where ours loses in the mean are diamonds.
    """
    figure = new_figure(7.0, 1.0 + 0.27 * len(kinds))
    axes = figure.subplots()
    ordered = sorted(kinds, key=lambda row: -row["by_world"][0])
    for height, row in enumerate(ordered):
        mean, _, low, high = row["by_world"]
        color, marker = (ORANGE, "D") if mean < 0 else (BLUE, "o")
        axes.plot([low, high], [height, height], color=color, linewidth=2, alpha=0.45)
        axes.plot(mean, height, marker=marker, color=color, linestyle="none", markersize=5)
    axes.axvline(0, color=GRAY, linewidth=1)
    axes.grid(axis="x", alpha=0.3)
    axes.set_yticks(range(len(ordered)), [row["kind"] for row in ordered])
    axes.set_xlabel("accuracy minus that of the better of majority vote and Dawid-Skene")
    return figure
