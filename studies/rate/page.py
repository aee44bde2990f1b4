"""docs/rate.md, made from the archive: numbers come from there, words from here."""

from collections.abc import Sequence

import numpy as np

from studies.markdown import DASH, group_by, join_blocks, markdown_table, share
from studies.rate.simulated import ITEMS
from studies.records import Json

LOWEST, HIGHEST = 0.93, 0.97  # coverage that is wanted of a 95 % interval

_INTRODUCTION = """# How common each class is

`estimate_rate` gives the share of each class with a 95 % interval. Here its intervals are compared
with known shares: on {n_sets} sets of votes, {draws} times {labels} random items with known truth
(half of the items on sets with fewer than {twice}) are given to it as gold labels. `LatentIsing` is
fitted once per set, to the votes alone. The shares are those among the items with known truth.

The rule behind the intervals was chosen on simulated labels and probabilities
([below](#simulated-models)). A first form of it was run on the sets once, after a trial with fewer
draws on three of them; that the added items are centered at the mean of the gold items was decided
afterwards, on the simulated models with 5 and 10 labels. So was a form that bounds errors of the
model in each direction apart, which failed there. The numbers that `LatentIsing` takes from
experience were learned from these sets.

All numbers are in `docs/study/rate.json`. These commands, run in a clone, write this page:

```
unelisa reproduce rate --from docs/study/rate.json --out docs    # from the stored numbers
unelisa reproduce rate --data FOLDER --out docs    # run what is missing
```
"""

_WITH = """## With gold labels

Coverage is the share of the draws in which the interval contains the true share. Width is relative
to the interval of the same gold labels alone (Wilson's, for a sample of finitely many items), error
is the root mean square error of the share, relative to theirs. With more than two classes, figures
are means over the classes, with the lowest coverage of a class in parentheses. A coverage of .95 is
estimated from {draws} draws with a standard error of {error}: a set may leave .93 to .97 by
chance.

Coverage is above .97 mostly where nine of ten labels of the model or more are right. Then {labels}
gold labels contain a handful of its errors, in both directions, and the interval allows for some
that they do not show. A smaller allowance makes the interval fail where errors go one way, as with
a model that misses part of a rare class."""

_WITHOUT = """## Without gold labels

The model's own share, its interval and the true one: of the positive class, or of the class whose
share is furthest from the truth. The intervals come from experience with sets of votes such as
these. A dash means that there is none."""

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
        _sum_up(sets),
        _show_with(sets),
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
        f"Over all sets, coverage is {_span(covered)}; that of the gold labels alone is "
        f"{_span([mean_coverage(row, 'alone_') for row in sets])}. It lies within .93 to .97 on "
        f"{len(sets) - below - above} of {len(sets)} sets, below on {below} and above on {above}. "
        f"The width relative to gold alone's is {_span(widths)}."
    )


def _span(values: Sequence[float]) -> str:
    mean = share(float(np.mean(values)))
    return f"{mean} on average, from {share(min(values))} to {share(max(values))}"


def _show_with(sets: Sequence[Json]) -> str:
    header = ["set", "classes", "items", "labels", "accuracy", "coverage", "gold alone"]
    table = []
    for row in sets:
        lowest = f" ({share(min(row['coverage']), 2)})" if row["classes"] > 2 else ""
        figures = [share(compare_figure(row, figure), 2) for figure in ("width", "error")]
        table.append(
            [
                *(row["set"], row["classes"], f"{row['items']:,}", row["labels"]),
                *(share(row["accuracy"]), share(mean_coverage(row)) + lowest),
                *(share(mean_coverage(row, "alone_")), *figures),
            ]
        )
    return markdown_table([*header, "width", "error"], table)


def _show_without(sets: Sequence[Json]) -> str:
    told = [row for row in sets if row["without"][0][1] is not None]
    held = sum(_holds(row, k) for row in told for k in range(row["classes"]))
    classes = sum(row["classes"] for row in told)
    table = []
    for row in sets:
        far = [abs(own[0] - true) for own, true in zip(row["without"], row["truth"], strict=True)]
        k = 1 if row["classes"] == 2 else int(np.argmax(far))
        own, low, high = row["without"][k]
        reach = DASH if low is None else f"{share(low)} to {share(high)}"
        held_here = DASH if low is None else "yes" if _holds(row, k) else "no"
        table.append([row["set"], share(row["truth"][k]), share(own), reach, held_here])
    summary = (
        f"The interval is given on {len(told)} of {len(sets)} sets; there it contains {held} of "
        f"{classes} true shares."
    )
    header = ["set", "true share", "model's share", "interval", "contains it"]
    return join_blocks(summary, markdown_table(header, table))


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
    return join_blocks(words, markdown_table(["model", *(f"{n} labels" for n in budgets)], table))


def _write_model(rows: Sequence[Json]) -> str:
    covered, alone = (np.mean([row[key] for row in rows]) for key in ("coverage", "alone_coverage"))
    width = np.mean([row["width"] / row["alone_width"] for row in rows])
    return f"{share(float(covered))} ({share(float(alone))}), {share(float(width), 2)}"
