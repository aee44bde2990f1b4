"""docs/reproduction.md, made from the archive: numbers come from there, words from here.

No result is written in this file, so the page cannot disagree with the results.
"""

import math
from collections.abc import Callable, Sequence

from studies.markdown import join_blocks, markdown_table, share
from studies.paper.cells import LEVELS, PUBLISHED_COLUMNS, find_cell
from studies.paper.differences import MARKS, STUCK, name_row, show_differences
from studies.paper.tables import LIMITS, CellTable, Figure, StudyTable, find_figure, find_study
from studies.paper.theorem import show_theorem
from studies.paper.trials import FIRST_TRIALS, LABELS
from studies.records import Json

NEAR, WITHIN, FOUND = 0.005, 0.03, 0.95
_EXPERTS: tuple[Callable[[CellTable], Figure], ...] = (
    lambda cell: cell["experts"]["unelisa"]["hit_rate"],
    lambda cell: cell["experts"]["unelisa"]["precision"],
)
_EXPERT_NAMES = ("unElisa: hit rate", "precision")
_MIXED = ("unelisa-bayes", "spectral-meta-learner", "dawid-skene", "latent-ising", "oracle")
_SAMPLERS = {"paper": "Gibbs as in the paper", "mixed": "Parallel tempering"}

_INTRODUCTION = """# The paper's study, reproduced

Section 5.1 of the paper simulates {cells} cells: three signal-to-noise ratios, 25, 49 or 81 voters,
and three numbers of experts, with 200 trials each (tables 5.1 to 5.3). Here our numbers stand
beside the published ones. `UnElisa` runs with its defaults throughout.

```
{commands}
unelisa reproduce figures --sampler paper --out docs/images
unelisa reproduce figures --sampler mixed --out docs/images
unelisa reproduce page --out docs --results results/study
```

`docs/study/tables.json` has every mean with its standard error and quantiles. A trial took {paper}
of CPU time with the paper's sampler and {mixed} with tempering, not counting LatentIsing and
unElisa with intercepts. Its seed follows from the names of its cell, number, sampler and graph."""

_INTERPRETATION = """## How the paper is interpreted

Where the text leaves a choice, we take what came closest to the published tables among about fifty
variants scanned beforehand; [the notes](paper_notes.md#open-points-and-our-decisions) list each
choice with its test. For the tables:

- Graphs (`--graph half`): every non-expert joins the graph, then random edges are added up to half
  of what (G1) allows; `full` adds all, `tree` none. Each trial has a fresh graph, the same for both
  samplers; voters are in random order.
- Gibbs: one iteration updates one node; 1000 iterations of burn-in, then every 2 (p + 1)th is kept.
- A tie counts half. If no expert is found, hit rate and precision count as 0 and both rules are
  majority vote; this happened in {none_found}.
- *Majority sign*: the side with more experts is called positive, as in the paper; methods without
  experts weigh voters by their estimated reliability. *Up to sign*: max(a, 1 - a) in every trial.
- *Oracle*: the Bayes rule with the true weights, item by item. Items of the paper's sampler depend
  on each other, so a method that learns from all of them can do better: up to sign, unElisa-Bayes
  beats it by more than two standard errors in {paper} of {cells} cells with the paper's sampler,
  and in {mixed} with tempering."""

_MIXING = """## The same with a sampler that mixes

The paper's sampler updates one node at a time. Many experts hold the truth in place, so that a
whole sample may have a single label: the average of the truth is {stuck} or more away from 0 in
{count} of {cells} cells (up to {worst}), where tempering stays within {mixed}. With tempering,
{trials} trials a cell{fewer}, means over nine cells, accuracies up to a global sign:"""

_STUCK = """With the paper's own sampler all items of a trial often have the same label, and nothing
in the votes shows who knows the truth. Of the {trials} such trials among the first {first} of every
cell, LatentIsing selects experts in {claimed} and calls the result reliable in {reliable}."""

_FIGURES = """## Figures

![Figure 2.1](images/figure-2-1.svg)

Figure 2.1: the example graph; f₁ to f₅ are the experts.

![Figure 3.1](images/figure-3-1.svg)

Figure 3.1: θ̃ of two experts as a function of their weights for θ₀ = 0; weights of equal sign above,
of opposite sign below. Lemma 3.1's closed form is exact for two experts only; with more, the true
projection is smaller (the other experts have weight 1).

![Hit rate and precision against n](images/sizes-mixed-half.svg)

Hit rate and precision against n, ± two standard errors, tempering. Below, single trials: boxes span
the central half, whiskers 90 %; diamonds are the published means."""


def render_page(archive: Json) -> str:
    """Return the page in Markdown."""
    paper, mixed = find_study(archive, "paper"), find_study(archive, "mixed")
    return join_blocks(
        _introduce(archive["studies"], paper, mixed),
        _interpret(paper, mixed),
        _show_errors(archive["studies"]),
        _show_published(paper),
        show_differences(paper),
        _show_mixing(paper, mixed),
        show_intercepts(paper, mixed),
        show_latent(mixed, paper),
        show_theorem(archive),
        _FIGURES,
        *(_figure_of(level, sampler) for sampler in _SAMPLERS for level in LEVELS),
    )


def _introduce(studies: Sequence[StudyTable], paper: StudyTable, mixed: StudyTable) -> str:
    commands = [
        f"unelisa reproduce tables --sampler {study['sampler']} --graph {study['graph']}"
        for study in studies
    ]
    costs = {}
    for study in (paper, mixed):
        parts = [cost for name, cost in study["seconds"].items() if name not in FIRST_TRIALS]
        costs[study["sampler"]] = f"{1000 * sum(parts):.0f} ms"
    return _INTRODUCTION.format(cells=len(paper["cells"]), commands="\n".join(commands), **costs)


def _interpret(paper: StudyTable, mixed: StudyTable) -> str:
    cells = [cell for study in (paper, mixed) for cell in study["cells"]]
    none = sum(cell["experts"]["unelisa"]["none_found"] for cell in cells)
    return _INTERPRETATION.format(
        none_found=f"{none or 'none'} of {sum(cell['trials'] for cell in cells):,} trials",
        paper=sum(map(_beats_oracle, paper["cells"])),
        mixed=sum(map(_beats_oracle, mixed["cells"])) or "none",
        cells=len(paper["cells"]),
    )


def _beats_oracle(cell: CellTable) -> bool:
    """Return whether unElisa-Bayes is above; errors are added as if trials were independent.

    Both methods see the same trials, so the true error of the difference is smaller.
    """
    ours, oracle = (cell["up_to_sign"][name] for name in ("unelisa-bayes", "oracle"))
    error = math.hypot(ours["standard_error"] or 0.0, oracle["standard_error"] or 0.0)
    return ours["mean"] - oracle["mean"] > 2 * error


def _gaps(cells: Sequence[CellTable], key: str) -> list[Figure]:
    return [cell["gaps"][key] for cell in cells if key in cell["gaps"]]


def _is_above(gap: Figure) -> bool:
    return gap["mean"] > 2 * (gap["standard_error"] or 0.0)


def _is_below(gap: Figure) -> bool:
    return gap["mean"] < -2 * (gap["standard_error"] or 0.0)


def _show_errors(studies: Sequence[StudyTable]) -> str:
    """Return the mean absolute errors of every study against the published cells."""
    header = ["sampler", "graph", "trials", *(LABELS[column] for column in PUBLISHED_COLUMNS)]
    names = [[study["sampler"], study["graph"], _count_trials(study)] for study in studies]
    errors = [[_error(study, column) for column in PUBLISHED_COLUMNS] for study in studies]
    bounds = ", ".join(f"{LABELS[name]} {share(limit, 2)}" for name, limit in LIMITS.items())
    return join_blocks(
        "## How close we come",
        "Mean absolute error over the 27 published cells, accuracies under majority sign. The "
        f"bounds we promise for the paper's sampler on half graphs: {bounds}.",
        markdown_table(header, ([*a, *b] for a, b in zip(names, errors, strict=True))),
    )


def _count_trials(study: StudyTable) -> str:
    """Return the trials per cell, as a range if a run is not finished."""
    counts = {cell["trials"] for cell in study["cells"]}
    return "-".join(str(count) for count in sorted({min(counts), max(counts)}))


def _count_fewer(study: StudyTable) -> str:
    """Return which methods have fewer trials in the first cell, in parentheses."""
    cell = study["cells"][0]
    counts = {LABELS[name]: figure["trials"] for name, figure in cell["up_to_sign"].items()}
    fewer = [f"{name}: {count}" for name, count in counts.items() if count < cell["trials"]]
    return f" ({'; '.join(fewer)})" if fewer else ""


def _error(study: StudyTable, column: str) -> str:
    error = share(study["errors"][column])
    faithful = (study["sampler"], study["graph"]) == ("paper", "half")
    if not faithful or column not in LIMITS:
        return error
    return f"**{error}**" if study["errors"][column] <= LIMITS[column] else f"{error} (too large)"


def _show_published(study: StudyTable) -> str:
    """Return the published tables with our numbers."""
    rows = [
        [name_row(cell), *(_entry(find_figure(cell, name)) for name in PUBLISHED_COLUMNS)]
        for cell in study["cells"]
    ]
    return join_blocks(
        "## The published tables",
        f"{_SAMPLERS[study['sampler']]}, {study['graph']} graphs, {_count_trials(study)} trials a "
        "cell, majority sign: our mean / the published number, = within two of our standard "
        "errors, ▲ ours is above, ▼ below.",
        markdown_table(["cell", *(LABELS[name] for name in PUBLISHED_COLUMNS)], rows),
    )


def _entry(figure: Figure | None) -> str:
    """Return our mean, the published number and the mark."""
    if figure is None:
        return ""
    return f"{share(figure['mean'])}/{share(figure['published'])}{MARKS[figure['mark']]}"


def _show_mixing(paper: StudyTable, mixed: StudyTable) -> str:
    """Return what changes with a sampler that mixes, and LatentIsing beside it."""
    means = [[cell["mean_truth"] for cell in study["cells"]] for study in (paper, mixed)]
    text = _MIXING.format(
        stuck=share(STUCK, 1),
        count=sum(mean >= STUCK for mean in means[0]),
        cells=len(means[0]),
        worst=share(max(means[0]), 2),
        mixed=share(max(means[1]), 2),
        trials=_count_trials(mixed),
        fewer=_count_fewer(mixed),
    )
    names = [name for name in _MIXED if all(name in c["up_to_sign"] for c in mixed["cells"])]
    rows = []
    for level in LEVELS:
        cells = [cell for cell in mixed["cells"] if find_cell(cell["cell"]).snr == level]
        if cells:
            rows.append([level, *(_mean(cells, pick) for pick in (*_EXPERTS, *map(_sign, names)))])
    header = ["signal to noise", *_EXPERT_NAMES, *(LABELS[name] for name in names)]
    return join_blocks(text, markdown_table(header, rows))


def _sign(name: str) -> Callable[[CellTable], Figure]:
    """Return how to find a method's accuracy up to sign in a cell."""
    return lambda cell: cell["up_to_sign"][name]


def _mean(cells: Sequence[CellTable], find: Callable[[CellTable], Figure]) -> str:
    return share(sum(find(cell)["mean"] for cell in cells) / len(cells))


def show_intercepts(paper: StudyTable, mixed: StudyTable) -> str:
    """Return the section on unElisa with intercepts; nothing if no trial has it."""
    shown = [s for s in (paper, mixed) if "unelisa-intercepts" in s["cells"][0]["experts"]]
    counts = []
    for study in shown:
        gaps = _gaps(study["cells"], "intercepts")
        counts.append(
            f"In the first {gaps[0]['trials']} trials of every cell, {study['sampler']} "
            f"sampler: better by more than two standard errors in {sum(map(_is_above, gaps))} "
            f"of {len(gaps)} cells, worse in {sum(map(_is_below, gaps))}; the mean difference "
            f"is {sum(gap['mean'] for gap in gaps) / len(gaps):+.3f}."
        )
    if not shown:
        return ""
    return join_blocks(
        "## The paper's method with intercepts",
        "`UnElisa(fit_intercept=True)` does not assume balanced votes. Accuracies up to a global "
        "sign, on the same trials. " + " ".join(counts),
        "The designs of section 5.1 are balanced: intercepts have nothing to gain there. On "
        "[real votes](comparison.md) they help.",
    )


def show_latent(mixed: StudyTable, paper: StudyTable) -> str:
    """Return the section on LatentIsing; nothing if no trial has it."""
    cells = [cell for cell in mixed["cells"] if "latent-ising" in cell["experts"]]
    if not cells:
        return ""
    gaps, plain = _gaps(cells, "oracle"), _gaps(cells, "unelisa-bayes")
    found = [cell["experts"]["latent-ising"] for cell in cells]
    totals = {
        "near": sum(gap["mean"] >= -NEAR for gap in gaps),
        "within": sum(gap["mean"] >= -WITHIN for gap in gaps),
        "found": sum(min(x["hit_rate"]["mean"], x["precision"]["mean"]) >= FOUND for x in found),
        "behind": sum(gap["mean"] < -NEAR for gap in plain),
    }
    told = {name: f"{count} of {len(cells)}" for name, count in totals.items()}
    stuck = paper.get("stuck", {"trials": 0})
    return join_blocks(
        "## Beyond the paper: LatentIsing on the same votes",
        f"The first {_count_latent(mixed)} trials of every cell, {mixed['sampler']} sampler, "
        "`LatentIsing` with its defaults, in the table above. "
        f"Accuracy up to sign is within {share(NEAR)} of the oracle in {told['near']} cells and "
        f"within {share(WITHIN, 2)} in {told['within']}; hit rate and precision are both at least "
        f"{share(FOUND, 2)} in {told['found']}; it is more than {share(NEAR)} below unElisa-Bayes "
        f"in {told['behind']}. A trial took {mixed['seconds']['latent-ising']:.1f} s of CPU time "
        "on average.",
        _STUCK.format(**stuck, first=_count_latent(paper)) if stuck["trials"] else "",
    )


def _count_latent(study: StudyTable) -> str:
    """Return the trials of LatentIsing per cell, as a list if they differ."""
    found = (cell["up_to_sign"].get("latent-ising") for cell in study["cells"])
    return "-".join(map(str, sorted({figure["trials"] for figure in found if figure})))


def _figure_of(level: str, sampler: str) -> str:
    return f"![Accuracies, {level} SNR, {sampler}](images/accuracy-{level}-{sampler}-half.svg)"
