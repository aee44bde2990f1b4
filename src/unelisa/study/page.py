"""docs/reproduction.md, made from the archive of a study: numbers come from there, words from here.

No number of a result is written in this file, so that the page cannot disagree with the results.
"""

from collections.abc import Iterable, Sequence

from unelisa.study.archive import Archive, find_study
from unelisa.study.cells import LEVELS, Level
from unelisa.study.differences import REASONS, explain_differences, share_upside_down
from unelisa.study.latent_page import show_latent
from unelisa.study.published import PUBLISHED_COLUMNS
from unelisa.study.tables import (
    LIMITS,
    CellTable,
    Figure,
    StudyTable,
    find_figure,
)
from unelisa.study.trial import LABELS
from unelisa.study.wording import markdown_table, place, share

_MARKS = {"within": "=", "above": "▲", "below": "▼", None: ""}
_EXPERTS = ("hit_rate", "precision", "unelisa-bayes", "unelisa-amv", "latent-ising", "oracle")
_RIVALS = PUBLISHED_COLUMNS[4:]
_SAMPLERS = {"paper": "Gibbs as in the paper", "mixed": "Parallel tempering"}

_INTRODUCTION = """# The paper's study, reproduced

Section 5.1 of the paper simulates {cells} cells: three levels of signal to noise, 25, 49 or 81
voters, three numbers of experts, 200 trials each (tables 5.1 to 5.3). This page shows our numbers
beside the published ones, with the paper's own sampler and with one that mixes, and says what
explains the differences that remain. No cell is tuned: all run with the defaults of `UnElisa`.

Everything here is made by commands, and a run that is stopped goes on where it was:

```
unelisa reproduce tables --sampler paper
unelisa reproduce tables --sampler mixed
unelisa reproduce figures --sampler paper --out docs/images
unelisa reproduce figures --sampler mixed --out docs/images
unelisa reproduce page --out docs --results results/study
```

The last one sums the results up in `docs/study/tables.json` and makes this page from that file. A
trial took {paper} of processor time with the paper's sampler and {mixed} with tempering.

`--jobs` runs trials at the same time; the numbers do not depend on it. Every trial's seed follows
from the names of its cell, its number, sampler and graph, so `--cells low-81-sqrt --trials 3` gives
the first three trials of that cell exactly as they are here. `--up-to-sign` shows the second
reading of the accuracies, `--json` gives everything to a machine.
"""

_READINGS = """## How the paper is read

The text leaves points open. The reading below came closest to the published tables among about
fifty that were scanned before this study; it is the default everywhere.

- Experts: log p, sqrt p and p / 4 rounded up. Positive experts are a strict majority.
- Penalty: sqrt(log p / n) on w = 2θ, the coefficients of the logit. Edges: either voter selects the
  other. No intercepts. A voter without neighbours is no knot; ties in the ranking are drawn by lot.
- Graphs (`--graph half`): every non-expert joins the graph, then random edges are added to half of
  what (G1) leaves. `full` goes on until no edge fits, `tree` stops at once. A fresh graph for each
  trial, the same ones for both samplers; voters stand in random order.
- Items: n = 30 d̃_max log p with d̃_s = d_s + d_0 - 2 for an expert, rounded up.
- Gibbs: an iteration is the update of one node; 1000 of burn-in, every 2 (p + 1)th kept.
- A tie counts half. Where no expert is found the hit rate and the precision count 0 and both rules
  are majority vote; that happened in {none_found}.
- *Majority sign*: the side on which more of the experts stand is called positive, as the paper
  does; methods without experts weigh voters by how much they know. *Up to sign*: max(a, 1 - a) in
  every trial, because votes alone never tell the side.
- *Oracle*: the Bayes rule with the true weights. Nobody who sees the votes alone can do better.
"""


def render_page(archive: Archive) -> str:
    """Return the page in Markdown."""
    paper, mixed = find_study(archive, "paper"), find_study(archive, "mixed")
    sections = [
        _introduce(paper, mixed),
        _READINGS.format(none_found=_none_found([paper, mixed])),
        _show_errors(archive["studies"]),
        _show_study(paper, "The tables with the paper's sampler"),
        _explain(paper),
        _show_mixing(paper, mixed),
        _show_study(mixed, "The tables with a sampler that mixes"),
        show_latent(mixed),
        _show_figures(),
    ]
    return "\n".join(sections)


def _introduce(paper: StudyTable, mixed: StudyTable) -> str:
    costs = {
        study["sampler"]: f"{1000 * _seconds_of_all(study):.0f} ms" for study in (paper, mixed)
    }
    return _INTRODUCTION.format(cells=len(paper["cells"]), **costs)


def _seconds_of_all(study: StudyTable) -> float:
    """Return a trial's cost without LatentIsing, which has a section of its own."""
    return sum(cost for part, cost in study["seconds"].items() if part != "latent-ising")


def _none_found(studies: Sequence[StudyTable]) -> str:
    cells = [cell for study in studies for cell in study["cells"]]
    none = sum(cell["experts"]["unelisa"]["none_found"] for cell in cells)
    return f"{none or 'none'} of {sum(cell['trials'] for cell in cells):,} trials"


def _show_errors(studies: Sequence[StudyTable]) -> str:
    """Return the mean absolute errors of every study against the published cells."""
    header = ["sampler", "graph", "trials", *(LABELS[column] for column in PUBLISHED_COLUMNS)]
    rows = [
        [study["sampler"], study["graph"], _count_trials(study)]
        + [_error(study, column) for column in PUBLISHED_COLUMNS]
        for study in studies
    ]
    bounds = ", ".join(f"{LABELS[name]} {share(limit, 2)}" for name, limit in LIMITS.items())
    return "\n".join(
        [
            "## How near we come\n",
            "Mean absolute error over the 27 published cells, accuracies under majority sign. What "
            f"we promise for the paper's sampler on half graphs: at most {bounds}.\n",
            *markdown_table(header, rows),
            "\nCells within two standard errors / above / below:\n",
            *markdown_table(
                header,
                (
                    [*row[:3], *_count_marks(study)]
                    for row, study in zip(rows, studies, strict=True)
                ),
            ),
            "",
        ]
    )


def _count_trials(study: StudyTable) -> str:
    """Return the trials per cell, as a range where a run is not finished."""
    counts = {cell["trials"] for cell in study["cells"]}
    return "-".join(str(count) for count in sorted({min(counts), max(counts)}))


def _count_marks(study: StudyTable) -> list[str]:
    counts = []
    for column in PUBLISHED_COLUMNS:
        figures = [find_figure(cell, column) for cell in study["cells"]]
        marks = [figure["mark"] for figure in figures if figure is not None]
        counts.append(" / ".join(str(marks.count(mark)) for mark in ("within", "above", "below")))
    return counts


def _error(study: StudyTable, column: str) -> str:
    error = share(study["errors"][column])
    faithful = (study["sampler"], study["graph"]) == ("paper", "half")
    if not faithful or column not in LIMITS:
        return error
    return f"**{error}**" if study["errors"][column] <= LIMITS[column] else f"{error} (too large)"


def _show_study(study: StudyTable, title: str) -> str:
    """Return the three tables of a study: experts and unElisa, rivals, all up to sign."""
    lines = [
        f"## {title}\n",
        f"{_SAMPLERS[study['sampler']]}, {study['graph']} graphs, {_count_trials(study)} trials a "
        "cell. Each entry: our mean ± its standard error, then the published number. = within two "
        "of our standard errors, ▲ ours is above, ▼ below. |f̄₀|: mean distance of the truth's "
        "average from 0; flips: how often the truth changed between successive items.\n",
        "### Experts and unElisa\n",
        *_cell_table(study["cells"], _EXPERTS, ["|f̄₀|", "flips", "n"]),
        "\n### The rivals\n",
        *_cell_table(study["cells"], _RIVALS, []),
        "\n### All methods, up to a global sign\n",
        *_sign_table(study["cells"]),
        "",
    ]
    return "\n".join(lines)


def _cell_table(
    cells: Sequence[CellTable], columns: Iterable[str], more: Sequence[str]
) -> Iterable[str]:
    shown = [name for name in columns if find_figure(cells[0], name)]
    rows = []
    for cell in cells:
        mixing = [share(cell["mean_truth"], 2), f"{cell['flips']:.0f}", f"{cell['items']:.0f}"]
        entries = [_entry(find_figure(cell, name)) for name in shown]
        rows.append([place(cell), *entries, *(mixing if more else [])])
    return markdown_table(["cell", *(LABELS[name] for name in shown), *more], rows)


def _sign_table(cells: Sequence[CellTable]) -> Iterable[str]:
    names = list(cells[0]["up_to_sign"])
    rows = [[place(cell), *(_entry(cell["up_to_sign"][name]) for name in names)] for cell in cells]
    return markdown_table(["cell", *(LABELS[name] for name in names)], rows)


def _entry(figure: Figure | None) -> str:
    """Return a figure as mean ± error, published number and mark."""
    if figure is None:
        return ""
    error = figure["standard_error"]
    ours = share(figure["mean"]) + ("" if error is None else f" ±{share(error)}")
    if figure["published"] is None:
        return ours
    return f"{ours}; {share(figure['published'])} {_MARKS[figure['mark']]}".rstrip()


def _explain(paper: StudyTable) -> str:
    """Return what explains the differences, cell by cell and in words."""
    differences = explain_differences(paper["cells"])
    letters = {(d.cell, d.column): "".join(d.reasons) for d in differences}
    rows = [
        [place(cell), *(_letters(cell, column, letters) for column in PUBLISHED_COLUMNS)]
        for cell in paper["cells"]
    ]
    open_ones = [d for d in differences if "?" in d.reasons]
    listed = [
        f"- {d.cell}, {LABELS[d.column]}: {share(d.ours)}, published {share(d.published)}"
        for d in open_ones
    ]
    legend = [f"- **{letter}** {meaning}." for letter, meaning in REASONS.items()]
    total = len(paper["cells"]) * len(PUBLISHED_COLUMNS)
    return "\n".join(
        [
            "## What remains, and why\n",
            f"{total - len(differences)} of the {total} published numbers lie within two standard "
            f"errors of ours. For the other {len(differences)}, rules that look at nothing but the "
            "numbers give these reasons:\n",
            *legend,
            "",
            *markdown_table(["cell", *(LABELS[column] for column in PUBLISHED_COLUMNS)], rows),
            "",
            _EXPLANATION.format(**_evidence(paper)),
            f"\nOpen are {len(open_ones)} numbers. One in ten would lie outside the middle 90 % of "
            "single trials even if nothing but the graph differed.\n",
            *listed,
            "",
        ]
    )


_EXPLANATION = """**One graph.** The published means hardly are means over fresh graphs. Majority
vote settles no side and has nothing to tune; over 200 fresh graphs our cells lie between {mv_low}
and {mv_high}, with standard errors of at most {mv_error}. The published ones lie between
{paper_mv_low} and {paper_mv_high}. As results on one graph per cell they are ordinary: {mv_inside}
of 27 lie within the middle 90 % of our single trials. A graph drawn once per cell decides by luck
how many voters stand on the wrong side, and every method of the cell inherits that luck. Which
graphs the paper drew is not known, so these cells can be matched in level only.

**Which side is yes.** SML, SML-Latent and DS say which voters agree, not who is right. Published
accuracies as small as {sml_low} mean labels that are right but upside down. Up to a global sign our
SML scores {sml_signed} on average over the cells, where the published mean is {sml_paper}: if all
voters count alike when the side is chosen, the many non-experts, whose signs are random, choose it.
Published DS stays near one half in all cells (mean {ds_paper}, between {ds_low} and {ds_high}): our
DS, upside down in {ds_share} of the trials, would give the same. That is what EM from a random
start does, as it lands on either side with equal chance.

**Experts.** With few experts (log p) we find a little more of them than the paper. With p / 4
experts the signal on an edge between two experts falls like 1 / d_0, unlike Lemma 3.1's constant
(Figure 3.1 below), and which of them pass the penalty depends on the graph."""


def _evidence(paper: StudyTable) -> dict[str, str]:
    """Return the numbers that the explanation quotes."""
    cells = paper["cells"]
    mv = [cell["accuracy"]["majority-vote"] for cell in cells]
    published = {
        name: [cell["accuracy"][name]["published"] or 0.0 for cell in cells] for name in _RIVALS
    }
    ds = published["dawid-skene"]
    signed = {name: [cell["up_to_sign"][name]["mean"] for cell in cells] for name in _RIVALS}
    shares = [share_upside_down(p, a) for p, a in zip(ds, signed["dawid-skene"], strict=True)]
    known = [share for share in shares if share is not None]
    sml = "spectral-meta-learner"
    numbers = {
        "mv_low": min(figure["mean"] for figure in mv),
        "mv_high": max(figure["mean"] for figure in mv),
        "mv_error": max(figure["standard_error"] or 0.0 for figure in mv),
        "paper_mv_low": min(published["majority-vote"]),
        "paper_mv_high": max(published["majority-vote"]),
        "sml_low": min(published[sml]),
        "sml_signed": sum(signed[sml]) / len(cells),
        "sml_paper": sum(published[sml]) / len(cells),
        "ds_paper": sum(ds) / len(ds),
        "ds_low": min(ds),
        "ds_high": max(ds),
    }
    inside = sum(x["quantiles"][0] <= (x["published"] or 0) <= x["quantiles"][-1] for x in mv)
    turned = f"{sum(known) / len(known):.0%}" if known else "some"
    told = {name: share(number) for name, number in numbers.items()}
    return told | {"mv_inside": str(inside), "ds_share": turned}


def _letters(cell: CellTable, column: str, letters: dict[tuple[str, str], str]) -> str:
    figure = find_figure(cell, column)
    if figure is None:
        return ""
    return f"{_MARKS[figure['mark']]} {letters.get((cell['cell'], column), '')}".strip()


def _show_mixing(paper: StudyTable, mixed: StudyTable) -> str:
    """Return how the two samplers differ, cell by cell."""
    names = ("hit_rate", "unelisa-bayes", "spectral-meta-learner", "dawid-skene")
    rows = []
    for stuck, free in zip(paper["cells"], mixed["cells"], strict=True):
        flips = [f"{cell['flips']:.0f} / {cell['items'] / 2:.0f}" for cell in (stuck, free)]
        pairs = [
            f"{_mean(stuck, name)} → {_mean(free, name)} ({_published(stuck, name)})"
            for name in names
        ]
        rows.append([place(stuck), *flips, share(stuck["mean_truth"], 2), *pairs])
    header = ["cell", "flips, paper's", "flips, mixed", "|f̄₀|, paper's"]
    return "\n".join(
        [_MIXING, *markdown_table([*header, *(LABELS[name] for name in names)], rows), ""]
    )


_MIXING = """## Where the published cells measured an unmixed chain

Independent items would see the truth flip n / 2 times (the number behind the slash). The paper's
sampler updates one node at a time; with many experts they hold the truth where it is, and a whole
sample may carry one label only. What is then scored is how well a method does on one side, with
voters that hardly vary. Entries: with the paper's sampler → with tempering (published).
"""


def _mean(cell: CellTable, column: str) -> str:
    figure = find_figure(cell, column)
    return "" if figure is None else share(figure["mean"])


def _published(cell: CellTable, column: str) -> str:
    figure = find_figure(cell, column)
    return "" if figure is None or figure["published"] is None else share(figure["published"])


def _show_figures() -> str:
    accuracies = "\n\n".join(
        _figure_of(level, sampler) for sampler in _SAMPLERS for level in LEVELS
    )
    return f"""## Figures

![Figure 2.1](images/figure-2-1.svg)

Figure 2.1: the example graph; f₁ to f₅ are the experts.

![Figure 3.1](images/figure-3-1.svg)

Figure 3.1: θ̃ of two experts by their weights for θ₀ = 0, weights of the same sign above, of
opposite signs below. Lemma 3.1's closed form is exact for two experts only; with more, the true
projection is smaller (the other experts have weight 1).

![Hit rate and precision against n](images/sizes-mixed-half.svg)

Hit rate and precision against n, ± two standard errors, tempering.

{accuracies}
"""


def _figure_of(level: Level, sampler: str) -> str:
    name = f"accuracy-{level}-{sampler}-half"
    return (
        f"![Accuracies, {level} SNR, {sampler}](images/{name}.svg)\n\n"
        f"Accuracies of single trials, {level} SNR ({_SAMPLERS[sampler]}): the boxes hold the "
        "middle half, the whiskers 90 %; diamonds are the published means."
    )
