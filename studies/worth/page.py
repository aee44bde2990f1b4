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
compared with what the voters are known to do. The interval allows for two things: a voter's votes
are a sample, and the probabilities of the items may be off together, by a factor and by a shift of
their log-odds.

Coverage is the share of the voters whose interval contains the true value, averaged over crowds,
with the mean width of the intervals in parentheses. On real votes and in worlds that break the
model's assumptions, the true values are those on the items with known truth, for voters with at
least {fewest} cases; `LatentIsing` took its few numbers from experience with these real sets. Kinds
of worlds are [described elsewhere](worlds.md).

```
unelisa reproduce rows worth --out worth.csv    # every crowd and set
unelisa reproduce worth --data FOLDER --out docs    # run what is missing or stale
```"""
_PARTS = {
    MODEL: "Crowds drawn from the model",
    SET: "Real votes",
    GOLD: "Real votes with {labels} gold labels",
    WORLD: "Other worlds",
}
_READING = """**How to read it.** An interval of 90 % should hold for 90 % of the voters. Where the
column says much less, take the intervals of `voters_` as too narrow: they rank voters better than
they bound them."""
_WORST = """## Where the interval of the accuracy holds least often

The rows of each part with the lowest coverage; the others are in the table that the command above
writes."""
_LEAST = 4  # rows of each part


def render_worth(archive: Json) -> str:
    """Return the page in Markdown."""
    parts = group_by(archive["voters"], "part")
    shown = {name: parts[part,] for part, name in _PARTS.items() if (part,) in parts}
    return join_blocks(
        _INTRODUCTION.format(fewest=FEWEST),
        "## In short",
        _show_parts(shown),
        _READING,
        _WORST,
        _show_worst(shown),
    )


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


def _show_parts(parts: dict[str, list[Json]]) -> str:
    """Return coverage and width of every measure, averaged over the kinds of each part."""
    every = [row for rows in parts.values() for row in rows]
    shown = [name for name in MEASURES if any(name in row["held"] for row in every)]
    table = []
    for title, rows in parts.items():
        kinds = group_by(rows, "kind").values()
        cells = [_write(_average([mean_held(kin, name) for kin in kinds])) for name in shown]
        given = share(float(np.mean([row["told"] for row in rows])), 2)
        table.append([title.format(labels=LABELS), len(kinds), given, *cells])
    return markdown_table(["votes", "kinds or sets", "with intervals", *shown], table)


def _average(found: Sequence[tuple[float, float] | None]) -> tuple[float, float] | None:
    known = [pair for pair in found if pair is not None]
    return (float(np.mean(known, axis=0)[0]), float(np.mean(known, axis=0)[1])) if known else None


def _show_worst(parts: dict[str, list[Json]]) -> str:
    table = []
    for title, rows in parts.items():
        held = {kind: mean_held(kin, "accuracy") for (kind,), kin in group_by(rows, "kind").items()}
        known = sorted((pair, kind) for kind, pair in held.items() if pair is not None)
        for pair, kind in known[:_LEAST]:
            name = KINDS.get(kind) or WORDS.get(kind) or ""
            words = f"{kind}: {name}" if name else kind
            table.append([title.format(labels=LABELS), words, _write(pair)])
    return markdown_table(["votes", "kind or set", "accuracy"], table)


def _write(found: tuple[float, float] | None) -> str:
    return DASH if found is None else f"{share(found[0], 2)} ({share(found[1], 2)})"
