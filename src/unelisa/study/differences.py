"""Why a cell of ours differs from the published one: rules that look at the numbers only.

A reason is a letter; a figure may have several. A figure that no rule explains is marked as open.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from unelisa.study.published import PUBLISHED_COLUMNS
from unelisa.study.tables import EXPERT_FIGURES, CellTable, Figure, find_figure

Reason = Literal["S", "Y", "G", "M", "?"]

SMALL = 0.02
# Not theirs to turn around: experts have no side, and majority vote takes votes at their word.
_SIDELESS = (*EXPERT_FIGURES, "majority-vote")
STUCK = 0.4  # 400 independent items have a mean |average of f_0| of .04
REASONS: dict[Reason, str] = {
    "S": "small: at most .02 apart, though more than two standard errors",
    "Y": "which side is yes: the published number is our accuracy up to a global sign with some of "
    "the trials upside down",
    "G": "one graph: the published number lies within the middle 90 % of our single trials, each "
    "of which has a graph of its own",
    "M": "unmixed chain: the average of the truth is .4 or more away from 0; a remark, not counted "
    "as a reason by itself",
    "?": "open: none of S, Y and G applies",
}


class Difference(NamedTuple):
    """A published figure that ours does not meet within two standard errors, and why."""

    cell: str
    column: str
    ours: float
    published: float
    reasons: tuple[Reason, ...]


def explain_differences(cells: Sequence[CellTable]) -> list[Difference]:
    """Return every published figure outside two standard errors of ours, with its reasons."""
    found = []
    for cell in cells:
        for column in PUBLISHED_COLUMNS:
            figure = find_figure(cell, column)
            if figure is None or figure["published"] is None or figure["mark"] in (None, "within"):
                continue
            ours, published = figure["mean"], figure["published"]
            reasons = explain_figure(cell, column, figure, published)
            found.append(Difference(cell["cell"], column, ours, published, reasons))
    return found


def explain_figure(
    cell: CellTable, column: str, figure: Figure, published: float
) -> tuple[Reason, ...]:
    """Return the letters that apply to one figure, with "?" where it stays unexplained."""
    reasons: list[Reason] = []
    if abs(figure["mean"] - published) <= SMALL:
        reasons.append("S")
    if column not in _SIDELESS:
        right = cell["up_to_sign"][column]["mean"]
        if share_upside_down(published, right) is not None:
            reasons.append("Y")
    if figure["quantiles"][0] <= published <= figure["quantiles"][-1]:
        reasons.append("G")
    if not reasons:
        reasons.append("?")
    if cell["mean_truth"] >= STUCK:
        reasons.append("M")
    return tuple(reasons)


def share_upside_down(published: float, right: float) -> float | None:
    """Return the share of trials that, upside down, turns an accuracy into the published one.

    A method that is right on a share a of the items scores 1 - a where its sides are swapped. None
    where the published number lies outside these two, with `SMALL` to spare.

    Examples
    --------
    >>> share_upside_down(.513, .963), share_upside_down(.99, .9)
    (0.48596112311015116, None)
    """
    if right <= 0.5 or not 1 - right - SMALL <= published <= right + SMALL:
        return None
    return min(max((right - published) / (2 * right - 1), 0.0), 1.0)
