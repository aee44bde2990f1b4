"""docs/classes.md, made from the archive: numbers come from there, words from here."""

from collections.abc import Iterable, Sequence

import numpy as np

from studies.classes.runs import LIFTED, OURS, SHARE, STORED, VARIANTS, Row
from studies.markdown import DASH, join_blocks, markdown_table
from studies.records import Json

_INTRODUCTION = """# More than two classes

{n_ours} of our methods that take more than two classes on {n_sets} sets of votes with known truth,
which the methods do not see, beside other programs. **These are development data**: the few numbers
that `latent-ising` takes from experience were learned from these sets among others, so its figures
here are optimistic; expect less on new votes.

Methods run with their defaults. Names in italics are programs that were run elsewhere on the same
votes (`peers.csv` in the folder of the sets). `{share}`, which is not ranked, has majority vote's
labels with the chances (count + 1) / (votes + K), K being the number of classes. `{lifted}` fits
one class against the rest, class by class.

```
unelisa reproduce rows classes --out classes.csv    # every method on every set, with notes
unelisa reproduce classes --data FOLDER --out docs    # run what is missing or stale
```"""

_TERMS = """Ours are in bold, and so is the best of each column among the methods that are ranked.
Accuracy counts a tie between classes by its expectation. Balanced accuracy is the mean of the
accuracies on the true classes. Log loss has probabilities clipped at 1e-6; ECE is the expected
calibration error of the label's probability, in ten bins. MAE is the mean absolute error in steps
between classes, over the {n_ordered} ordered sets. Lower is better for the last three. A dash means
that a method has no such figure on some set."""

HEADS = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced",
    "macro_f1": "macro F1",
    "log_loss": "log loss",
    "calibration_error": "ECE",
    "mean_absolute_error": "MAE",
}
_SHOWN = ("latent-ising", "dawid-skene", "majority-vote")
LOWER = ("log_loss", "calibration_error", "mean_absolute_error")


def render_classes(archive: Json) -> str:
    """Return the page in Markdown."""
    sets, rows = archive["sets"], archive["rows"]
    introduction = _INTRODUCTION.format(
        n_ours=len({row["method"] for row in rows if row["kind"] == OURS}),
        n_sets=len(sets),
        share=SHARE,
        lifted=LIFTED,
    )
    return join_blocks(
        introduction, _show_sets(sets), _show_means(sets, rows), _show_accuracies(sets, rows)
    )


def _show_sets(sets: Sequence[Json]) -> str:
    header = ["set", "classes", "ordered", "items", "with known truth", "voters", "votes"]
    table = [
        [facts["set"], facts["classes"], "yes" if facts["ordered"] else "no"]
        + [f"{facts[key]:,}" for key in ("items", "labeled", "voters", "votes")]
        for facts in sets
    ]
    return join_blocks("## The sets", markdown_table(header, table))


def mean_figures(rows: Iterable[Row], names: Sequence[str]) -> dict[str, float]:
    """Return a method's mean figures over sets; a figure that one of them lacks has no mean.

    Examples
    --------
    >>> rows = [{"set": "a", "figures": {"accuracy": 0.5}}, {"set": "b", "figures": {}}]
    >>> mean_figures(rows, ["a"]), mean_figures(rows, ["a", "b"])
    ({'accuracy': 0.5}, {})
    """
    found = {row["set"]: row["figures"] for row in rows}
    return {
        figure: float(np.mean([found[name][figure] for name in names]))
        for figure in HEADS
        if names and all(figure in found.get(name, {}) for name in names)
    }


def _show_means(sets: Sequence[Json], rows: Sequence[Row]) -> str:
    names = [facts["set"] for facts in sets]
    ordered = [facts["set"] for facts in sets if facts["ordered"]]
    means: dict[tuple[str, str], dict[str, float]] = {}
    for key in sorted({(row["kind"], row["method"]) for row in rows}):
        mine = [row for row in rows if (row["kind"], row["method"]) == key]
        whole, steps = mean_figures(mine, names), mean_figures(mine, ordered)
        if "mean_absolute_error" in steps:
            whole["mean_absolute_error"] = steps["mean_absolute_error"]
        means[key] = whole
    return join_blocks(
        "## Means over the sets", _TERMS.format(n_ordered=len(ordered)), _tabulate(means)
    )


def _show_accuracies(sets: Sequence[Json], rows: Sequence[Row]) -> str:
    """Return the accuracy of ours and of majority vote beside the best of all, set by set."""
    found = {(row["set"], row["method"]): row["figures"] for row in rows if row["figures"]}
    table = []
    for facts in sets:
        ranked = [
            row
            for row in rows
            if row["set"] == facts["set"] and row["kind"] != VARIANTS and row["figures"]
        ]
        best = max(ranked, key=lambda row: row["figures"]["accuracy"])
        own = [found.get((facts["set"], name), {}).get("accuracy") for name in _SHOWN]
        best_cell = f"{_name(best['kind'], best['method'])} {_write(best['figures']['accuracy'])}"
        table.append([facts["set"], *map(_write, own), best_cell])
    return join_blocks(
        "## Accuracy, set by set",
        "The best method is known only in hindsight.",
        markdown_table(["set", *_SHOWN, "best"], table),
    )


def _tabulate(figures: dict[tuple[str, str], dict[str, float]]) -> str:
    """Return a table of methods, by accuracy; the best figure of each column is bold."""
    columns = [key for key in HEADS if any(key in found for found in figures.values())]
    shown = {key: {name: round(x, 3) for name, x in one.items()} for key, one in figures.items()}
    best = {
        name: (min if name in LOWER else max)(
            (one[name] for (kind, _), one in shown.items() if name in one and kind != VARIANTS),
            default=None,
        )
        for name in columns
    }
    table = []
    for kind, method in sorted(shown, key=lambda key: (-shown[key].get("accuracy", -1.0), key)):
        own, ranked = shown[kind, method], kind != VARIANTS
        cells = [_write(own.get(name), ranked and own.get(name) == best[name]) for name in columns]
        table.append([_name(kind, method), *cells])
    return markdown_table(["method", *(HEADS[key] for key in columns)], table)


def _name(kind: str, method: str) -> str:
    return {OURS: f"**{method}**", STORED: f"*{method}*"}.get(kind, method)


def _write(value: float | None, best: bool = False) -> str:
    if value is None:
        return DASH
    text = f"{value:.3f}".removeprefix("0")
    return f"**{text}**" if best else text
