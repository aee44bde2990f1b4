"""Why our numbers differ from the published ones: rules based on the numbers alone, and their page.

A reason is a letter; a figure may have several. A figure that no rule explains is marked as open.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from studies.markdown import join_blocks, share
from studies.paper.cells import PUBLISHED_COLUMNS, find_cell
from studies.paper.tables import EXPERT_FIGURES, CellTable, Figure, StudyTable, find_figure
from studies.paper.trials import LABELS

Reason = Literal["S", "Y", "G", "M", "?"]

SMALL = 0.02
# Never reversed: experts have no sign, and majority vote takes votes at face value.
_SIDELESS = (*EXPERT_FIGURES, "majority-vote")
STUCK = 0.4  # 400 independent items have a mean |average of f_0| of .04
MARKS = {"within": "=", "above": "▲", "below": "▼", None: ""}
REASONS: dict[Reason, str] = {
    "S": "small: at most .02 apart, though by more than two standard errors",
    "Y": "sign: the published number could be our accuracy up to a global sign with a share of the "
    "trials reversed",
    "G": "one graph: the published number lies within the central 90 % of our single trials, each "
    "of which has its own graph",
    "M": "unmixed chain: the average of the truth is .4 or more away from 0; a remark, not a "
    "reason by itself",
    "?": "open: none of S, Y and G applies",
}

_EXPLANATION = """**One graph.** Majority vote has no sign to choose and nothing to tune; over 200
fresh graphs our cells lie between {mv_low} and {mv_high}, with standard errors of at most
{mv_error}. The published ones lie between {paper_mv_low} and {paper_mv_high}, and {mv_inside} of 27
within the central 90 % of our single trials: as if a graph were drawn once per cell.

**Sign.** SML, SML-Latent and DS estimate which voters agree, not which side is right. Published
accuracies as low as {sml_low} are correct labels with the classes swapped. Up to a global sign our
SML scores {sml_signed} on average; the published mean is {sml_paper}. Published DS is close to one
half in all cells (mean {ds_paper}, between {ds_low} and {ds_high}): our DS, reversed in {ds_share}
of the trials, as by EM from a random start, would give the same.

**Experts.** With few experts (log p) we find slightly more of them than the paper. With p / 4
experts the signal on an edge between two experts decays like 1 / d_0 (Figure 3.1 below), and the
graph decides which of them exceed the penalty."""


class Difference(NamedTuple):
    """A published figure more than two standard errors from ours, and the reasons."""

    cell: str
    column: str
    ours: float
    published: float
    reasons: tuple[Reason, ...]


def explain_differences(cells: Sequence[CellTable]) -> list[Difference]:
    """Return every published figure more than two standard errors from ours, with its reasons."""
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
    """Return the letters that apply to one figure, with "?" if it remains unexplained."""
    reasons: list[Reason] = []
    if abs(figure["mean"] - published) <= SMALL:
        reasons.append("S")
    if column not in _SIDELESS:
        right = cell["up_to_sign"][column]["mean"]
        if share_reversed(published, right) is not None:
            reasons.append("Y")
    if figure["quantiles"][0] <= published <= figure["quantiles"][-1]:
        reasons.append("G")
    if not reasons:
        reasons.append("?")
    if cell["mean_truth"] >= STUCK:
        reasons.append("M")
    return tuple(reasons)


def share_reversed(published: float, right: float) -> float | None:
    """Return the share of reversed trials that turns an accuracy into the published one.

    A method with accuracy a scores 1 - a with its classes swapped. None if the published number
    lies outside these two, with `SMALL` to spare.

    Examples
    --------
    >>> share_reversed(.513, .963), share_reversed(.99, .9)
    (0.48596112311015116, None)
    """
    if right <= 0.5 or not 1 - right - SMALL <= published <= right + SMALL:
        return None
    return min(max((right - published) / (2 * right - 1), 0.0), 1.0)


def name_row(cell: CellTable) -> str:
    """Return a cell's name in tables: signal to noise, p and d_0."""
    which = find_cell(cell["cell"])
    return f"{which.snr} {which.n_voters}/{cell['n_experts']}"


def show_differences(paper: StudyTable) -> str:
    """Return the section on what explains the differences, cell by cell and in words."""
    differences = explain_differences(paper["cells"])
    counts = {letter: sum(letter in d.reasons for d in differences) for letter in REASONS}
    unexplained = [d for d in differences if "?" in d.reasons]
    total = len(paper["cells"]) * len(PUBLISHED_COLUMNS)
    return join_blocks(
        "## What remains, and why",
        f"{total - len(differences)} of the {total} published numbers lie within two standard "
        f"errors of ours. Why the other {len(differences)} do not is conjecture: the paper's "
        "graphs and code are unknown, and rules based on the numbers alone say only what could "
        "explain them. The rule for Y holds for almost any number between a and 1 - a, so it "
        "proves nothing. A number may have several reasons:",
        "\n".join(
            f"- **{letter}** {meaning} ({counts[letter]} numbers)."
            for letter, meaning in REASONS.items()
        ),
        _EXPLANATION.format(**_quote(paper["cells"])),
        f"{len(unexplained)} numbers remain open (one in ten would lie outside the central 90 % of "
        "single trials even if only the graph differed): "
        + ", ".join(f"{d.cell} {LABELS[d.column]}" for d in unexplained)
        + ".",
    )


def _quote(cells: Sequence[CellTable]) -> dict[str, str]:
    """Return the numbers quoted in the explanation."""
    mv = [cell["accuracy"]["majority-vote"] for cell in cells]
    paper_mv, sml, ds = (
        [cell["accuracy"][name]["published"] or 0.0 for cell in cells]
        for name in ("majority-vote", "spectral-meta-learner", "dawid-skene")
    )
    our_sml, our_ds = (
        [cell["up_to_sign"][name]["mean"] for cell in cells]
        for name in ("spectral-meta-learner", "dawid-skene")
    )
    shares = [share_reversed(*pair) for pair in zip(ds, our_ds, strict=True)]
    known = [value for value in shares if value is not None]
    numbers = {
        "mv_low": min(figure["mean"] for figure in mv),
        "mv_high": max(figure["mean"] for figure in mv),
        "mv_error": max(figure["standard_error"] or 0.0 for figure in mv),
        "paper_mv_low": min(paper_mv),
        "paper_mv_high": max(paper_mv),
        "sml_low": min(sml),
        "sml_signed": sum(our_sml) / len(cells),
        "sml_paper": sum(sml) / len(cells),
        "ds_paper": sum(ds) / len(ds),
        "ds_low": min(ds),
        "ds_high": max(ds),
    }
    inside = sum(x["quantiles"][0] <= (x["published"] or 0) <= x["quantiles"][-1] for x in mv)
    return {name: share(number) for name, number in numbers.items()} | {
        "mv_inside": str(inside),
        "ds_share": f"{sum(known) / len(known):.0%}" if known else "some",
    }
