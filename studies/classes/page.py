"""docs/classes.md, made from the archive: numbers come from there, words from here."""

from collections.abc import Iterable, Sequence

import numpy as np

from studies.classes.runs import LIFTED, OURS, PEERS, SHARE, STORED, VARIANTS, Row
from studies.markdown import DASH, join_blocks, markdown_table
from studies.records import Json

_INTRODUCTION = """# More than two classes

{n_ours} of our methods that take more than two classes on {n_sets} sets of votes with known truth,
which the methods do not see, beside other programs. **These are development data**: the few numbers
that `latent-ising` takes from experience were learned from these sets among others, so its figures
here are optimistic; expect less on new votes.

Methods run with their defaults, those of crowd-kit too. Names in italics are programs that were run
elsewhere on the same votes (`peers.csv` in the folder of the sets), each with its defaults and with
the notes below. `{share}`, which is not ranked, has majority vote's labels with the chances
(count + 1) / (votes + K), K being the number of classes.
`{lifted}` fits one class against the rest, class by class (`LatentIsing_OvR` is an earlier version
of it).

All numbers are in `docs/study/classes.json`. These commands, run in a clone, write this page:

```
unelisa reproduce classes --from docs/study/classes.json --out docs    # from the stored numbers
unelisa reproduce classes --data FOLDER --out docs    # run what is missing
```

Accuracy counts a tie between classes by its expectation. Balanced accuracy is the mean of the
accuracies on the true classes. Log loss has probabilities clipped at 1e-6; ECE is the expected
calibration error of the label's probability, in ten bins. For crowd-kit's weighted majorities, both
use shares of the votes. MAE is the mean absolute error in steps between classes, of ordered sets
only. Lower is better for the last three. Seconds are CPU time on one core."""

HEADS = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced",
    "macro_f1": "macro F1",
    "log_loss": "log loss",
    "calibration_error": "ECE",
    "mean_absolute_error": "MAE",
}
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
        introduction,
        _show_sets(sets),
        _show_means(sets, rows),
        "## Every set",
        *(_show_set(facts, rows) for facts in sets),
        _show_notes(rows),
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
        "## Means over the sets",
        f"Ours are in bold, and the best of each column too. MAE is the mean over the\n"
        f"{len(ordered)} ordered sets. A dash means that a method has no such figure on some set.",
        _tabulate(means),
    )


def _show_set(facts: Json, rows: Sequence[Row]) -> str:
    here = {(row["kind"], row["method"]): row for row in rows if row["set"] == facts["set"]}
    figures = {key: row["figures"] for key, row in here.items() if row["figures"]}
    seconds = {key: row["seconds"] for key, row in here.items()}
    order = f", ordered, {facts['classes']}" if facts["ordered"] else f", {facts['classes']}"
    heading = f"### {facts['set']}{order} classes, {facts['labeled']:,} items with known truth"
    return join_blocks(heading, _tabulate(figures, seconds))


def _tabulate(
    figures: dict[tuple[str, str], dict[str, float]],
    seconds: dict[tuple[str, str], float | None] | None = None,
) -> str:
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
        spent = [] if seconds is None else [_spend(seconds[kind, method])]
        table.append([_name(kind, method), *cells, *spent])
    header = ["method", *(HEADS[key] for key in columns), *([] if seconds is None else ["seconds"])]
    return markdown_table(header, table)


def _name(kind: str, method: str) -> str:
    return {OURS: f"**{method}**", STORED: f"*{method}*"}.get(kind, method)


def _write(value: float | None, best: bool) -> str:
    if value is None:
        return DASH
    text = f"{value:.3f}".removeprefix("0")
    return f"**{text}**" if best else text


def _spend(seconds: float | None) -> str:
    return DASH if seconds is None else f"{seconds:.2f}"


def _show_notes(rows: Sequence[Row]) -> str:
    told: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        if row["note"] and (row["kind"] == STORED or not row["figures"]):
            told.setdefault((row["kind"], row["method"], row["note"]), []).append(row["set"])
    lines = [
        f"- {_name(kind, method)} on {', '.join(sets)}: {note}."
        for (kind, method, note), sets in told.items()
    ]
    versions = sorted({row["note"] for row in rows if row["kind"] == PEERS and row["figures"]})
    if versions:
        lines.append(f"- crowd-kit: {', '.join(versions)}.")
    return join_blocks("## Notes", "\n".join(lines)) if lines else ""
