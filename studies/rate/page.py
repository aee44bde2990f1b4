"""docs/rate.md, made from the archive: numbers come from there, words from here."""

from collections.abc import Sequence

import numpy as np

from studies.markdown import group_by, join_blocks, markdown_table, share
from studies.rate.simulated import ITEMS
from studies.records import Json

LOWEST, HIGHEST = 0.93, 0.97  # coverage that is wanted of a 95 % interval
_LOW, _HIGH = 0.75, 0.9  # accuracies between which the sets are grouped

_INTRODUCTION = """# How common each class is

`estimate_rate` gives the share of each class with a 95 % interval. Here its intervals are compared
with known shares: on {n_sets} sets of votes, {draws} times {labels} random items with known truth
(half of the items on sets with fewer than {twice}) are given to it as gold labels. `LatentIsing` is
fitted once per set, to the votes alone; it took its few numbers from experience with these sets.
The rule behind the intervals was chosen on [simulated models](#simulated-models). A first form of
it was run on the sets once, after a trial with fewer draws on three of them; two later changes were
decided on the simulated models.

```
unelisa reproduce rows rate --out rate.csv    # every set
unelisa reproduce rate --data FOLDER --out docs    # run what is missing or stale
```
"""

_WITH = """## With gold labels

Coverage is the share of the draws in which the interval contains the true share, averaged over the
classes of a set. Width is relative to the interval of the same gold labels alone (Wilson's, for a
sample of finitely many items), error is the root mean square error of the share, relative to
theirs. A coverage of .95 is estimated from {draws} draws with a standard error of {error}."""

_ABOVE = """Coverage exceeds .97 mostly where the model is right on nine of ten items or more: then
{labels} gold labels contain a handful of its errors, in both directions, and the interval allows
for some that they do not show. A smaller allowance fails where errors go one way, as with a model
that misses part of a rare class."""

_WITHOUT = """## Without gold labels

`estimate_rate` then gives the model's own share, with an interval at the same level of 95 % that
comes from experience with sets of votes such as these."""

_MODELS = """## Simulated models

What the rule was chosen on: models from perfect to useless, and classes with the shares {shares}.
Coverage, in parentheses that of the gold labels alone, then the width relative to theirs: means
over the shares, with {draws} draws of gold labels from {items:,} items each."""


def render_rate(archive: Json) -> str:
    """Return the page in Markdown."""
    sets, models = archive["sets"], archive["models"]
    labels, draws = (max(row[key] for row in sets) for key in ("labels", "draws"))
    introduction = _INTRODUCTION.format(
        n_sets=len(sets), draws=draws, labels=labels, twice=2 * labels
    )
    return join_blocks(
        introduction,
        _WITH.format(draws=draws, labels=labels, error=share(float(np.sqrt(0.95 * 0.05 / draws)))),
        _show_with(sets),
        _sum_up(sets),
        _ABOVE.format(labels=labels),
        _WITHOUT,
        _show_without(sets),
        _show_models(models, draws),
    )


def mean_coverage(row: Json, whose: str = "") -> float:
    """Return a set's coverage, averaged over its classes."""
    return float(np.mean(row[f"{whose}coverage"]))


def compare_figure(row: Json, figure: str) -> float:
    """Return a set's mean width or error, relative to that of the gold labels alone.

    Examples
    --------
    >>> compare_figure({"width": [0.1, 0.2], "alone_width": [0.2, 0.4]}, "width")
    0.5
    """
    return float(np.mean(row[figure])) / max(float(np.mean(row[f"alone_{figure}"])), 1e-12)


def _sum_up(sets: Sequence[Json]) -> str:
    covered = [mean_coverage(row) for row in sets]
    widths = [compare_figure(row, "width") for row in sets]
    below, above = sum(x < LOWEST for x in covered), sum(x > HIGHEST for x in covered)
    return (
        f"Over all sets, coverage is {_span(covered)}. It lies within .93 to .97 on "
        f"{len(sets) - below - above} of {len(sets)} sets, below on {below} and above on {above}. "
        f"The width relative to gold alone's is {_span(widths)}."
    )


def _span(values: Sequence[float]) -> str:
    mean = share(float(np.mean(values)))
    return f"{mean} on average, from {share(min(values))} to {share(max(values))}"


def _show_with(sets: Sequence[Json]) -> str:
    """Return means over sets, grouped by the model's accuracy, and the sets that fall short."""
    groups = {
        "right on .9 or more": [row for row in sets if row["accuracy"] >= _HIGH],
        "right on .75 to .9": [row for row in sets if _LOW <= row["accuracy"] < _HIGH],
        "right on less than .75": [row for row in sets if row["accuracy"] < _LOW],
        "all": list(sets),
    }
    table = []
    for name, rows in groups.items():
        if rows:
            covered = [mean_coverage(row) for row in rows]
            alone = [mean_coverage(row, "alone_") for row in rows]
            ratios = [
                np.mean([compare_figure(row, figure) for row in rows])
                for figure in ("width", "error")
            ]
            means = [float(np.mean(x)) for x in (covered, alone)]
            cells = [means[0], min(covered), means[1], *map(float, ratios)]
            table.append([name, len(rows), *map(share, cells)])
    header = ["labels of the model", "sets", "coverage", "lowest set", "gold alone"]
    return markdown_table([*header, "width", "error"], table)


def _show_without(sets: Sequence[Json]) -> str:
    given = [row for row in sets if row["without"][0][1] is not None]
    if not given:
        return f"No interval is given on any of {len(sets)} sets."
    whole = [row for row in given if all(_holds(row, k) for k in range(row["classes"]))]
    missed = [row["set"] for row in given if row not in whole]
    widths = [float(np.mean([high - low for _, low, high in row["without"]])) for row in given]
    words = (
        f"The interval is given on {len(given)} of {len(sets)} sets; on {len(whole)} of them it "
        "contains the true share of every class (of two classes, one interval is the mirror image "
        "of the other, so each set counts once). Its mean width is "
        f"{share(float(np.mean(widths)))}."
    )
    if not missed:
        return words
    rare = [share(min(row["truth"])) for row in given if row not in whole]
    named = ", ".join(f"{name} ({least})" for name, least in zip(missed, rare, strict=True))
    return (
        f"{words} The others, with the share of their rarest class: {named}. "
        "Without gold labels, do not rely on the interval where a class may be rare."
    )


def _holds(row: Json, k: int) -> bool:
    _, low, high = row["without"][k]
    return bool(low <= row["truth"][k] <= high)


def _show_models(models: Sequence[Json], draws: int) -> str:
    if not models:
        return ""
    budgets = list(dict.fromkeys(row["labels"] for row in models))
    shares = ", ".join(share(x, 2) for x in dict.fromkeys(row["share"] for row in models))
    table = []
    for (model,), rows in group_by(models, "model").items():
        cells = [_write_model([row for row in rows if row["labels"] == n]) for n in budgets]
        table.append([model, *cells])
    words = _MODELS.format(shares=shares, draws=draws, items=ITEMS)
    worst = min(models, key=lambda row: row["coverage"])
    lowest = (
        f"The lowest coverage of a single share is {share(worst['coverage'])}: a model that is "
        f"*{worst['model']}*, a share of {share(worst['share'], 2)} and {worst['labels']} labels. "
        "A rare class needs more gold labels than a common one."
    )
    header = ["model", *(f"{n} labels" for n in budgets)]
    return join_blocks(words, markdown_table(header, table), lowest)


def _write_model(rows: Sequence[Json]) -> str:
    covered, alone = (np.mean([row[key] for row in rows]) for key in ("coverage", "alone_coverage"))
    width = np.mean([row["width"] / row["alone_width"] for row in rows])
    return f"{share(float(covered))} ({share(float(alone))}), {share(float(width), 2)}"
