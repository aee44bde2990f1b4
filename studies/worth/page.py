"""docs/worth.md, made from the archive: numbers come from there, words from here."""

from collections.abc import Sequence

import numpy as np

from studies.markdown import DASH, group_by, join_blocks, markdown_table, share
from studies.records import Json
from studies.worlds.kinds import WORDS
from studies.worth.runs import FEWEST, GOLD, LABELS, MEASURES, MODEL, SET, WORLD
from studies.worth.simulated import KINDS

_INTRODUCTION = """# How good the voters are

`voters_` gives every voter's accuracy, sensitivity, specificity, PPV and NPV (with more than two
classes: accuracy and the recall of each class), each with a 90 % interval. Here the intervals are
compared with what the voters are known to do. `LatentIsing` sees the votes alone, or {labels} gold
labels where the page says so.

The interval allows for two things: a voter's votes are a sample, and the probabilities of the items
may be off together, by a factor and by a shift of their log-odds.

All numbers are in `docs/study/worth.json`. These commands, run in a clone, write this page:

```
unelisa reproduce worth --from docs/study/worth.json --out docs    # from the stored numbers
unelisa reproduce worth --data FOLDER --out docs    # run what is missing
```

Coverage is the share of the voters whose interval contains the true value, averaged over the
crowds of a row, with the mean width of the intervals in parentheses. "Told" is the share of the
crowds with intervals: elsewhere the votes cannot tell how good anyone is, and `voters_` says so.
"""
_PARTS = {
    MODEL: """## Where the model is true

Crowds drawn from the model. The true values are the chances that their votes were drawn with, so
that the interval has to allow for the voters' own sample of votes too. Wanted: 85 to 95 %.""",
    SET: """## Real votes

The true values are those on the items with known truth, for voters with at least {fewest} cases.
They are not what an interval is about, which is how good a voter is on items like these, so that
coverage is a little above that of the latter. Wanted: at least 80 %. The numbers that `LatentIsing`
takes from experience were learned from these sets.""",
    GOLD: """## Real votes with {labels} gold labels

The same, when {labels} random items (half of the items of small sets) have known labels.""",
    WORLD: """## Other worlds

Kinds of votes that break the model's assumptions, of the reporting part
([how they are made](worlds.md)): the true values are those on all items.""",
}


def render_worth(archive: Json) -> str:
    """Return the page in Markdown."""
    rows = archive["voters"]
    blocks = [_INTRODUCTION.format(labels=LABELS)]
    for part, words in _PARTS.items():
        own = [row for row in rows if row["part"] == part]
        if own:
            blocks += [words.format(fewest=FEWEST, labels=LABELS), _sum_up(own), _show(own)]
    return join_blocks(*blocks)


def mean_held(rows: Sequence[Json], measure: str) -> tuple[float, float] | None:
    """Return coverage and width of a measure, averaged over crowds; None without any.

    Examples
    --------
    >>> row = {"held": {"accuracy": [3.0, 4.0, 0.8]}}
    >>> mean_held([row], "accuracy")
    (0.75, 0.2)
    """
    found = [row["held"][measure] for row in rows if row["held"].get(measure, [0, 0])[1]]
    if not found:
        return None
    inside, asked, widths = np.array(found).T
    return float(np.mean(inside / asked)), float(np.mean(widths / asked))


def _sum_up(rows: Sequence[Json]) -> str:
    told = [mean_held(kin, "accuracy") for kin in group_by(rows, "kind").values()]
    covered = [found[0] for found in told if found is not None]
    if not covered:
        return "The votes of no crowd tell how good anyone is."
    low, high = min(covered), max(covered)
    return (
        f"The interval of the accuracy contains the true one for {share(float(np.mean(covered)))} "
        f"of the voters in the mean over rows, from {share(low)} to {share(high)}."
    )


def _show(rows: Sequence[Json]) -> str:
    shown = [name for name in MEASURES if any(name in row["held"] for row in rows)]
    table = []
    for (kind,), own in group_by(rows, "kind").items():
        cells = [_write(mean_held(own, name)) for name in shown]
        name = KINDS.get(kind) or WORDS.get(kind) or ""
        told = float(np.mean([row["told"] for row in own]))
        title = f"{kind}: {name}" if name else kind
        table.append([title, len(own), share(told, 2), *cells])
    return markdown_table(["crowd", "number", "told", *shown], table)


def _write(found: tuple[float, float] | None) -> str:
    return DASH if found is None else f"{share(found[0], 2)} ({share(found[1], 2)})"
