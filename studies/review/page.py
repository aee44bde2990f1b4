"""docs/review.md, made from the archive: numbers come from there, words from here."""

from collections.abc import Sequence

import numpy as np

from studies.markdown import join_blocks, markdown_table, share
from studies.records import Json
from studies.review.runs import CLOSE, compare_orders

_INTRODUCTION = """# How many answers a review needs

`unelisa review` asks about the most useful items first. Here it is replayed on {n_sets} sets of
votes with known truth, which answers: after every ten answers `LatentIsing` learns from all of
them, and the items are ranked again. The goal of a set is the accuracy after {labels} labels of
random items (after half of the items with known truth on sets with fewer than {twice}), the mean of
{draws} random orders. Counted are the answers until the accuracy first comes within {close} of the
goal, in steps of ten, for the order of the review and for each random order.

The accuracy is that of all items with a known truth; an item that was reviewed has the label that
it was given. The order was chosen on simulated worlds (the choosing part). That of items with equal
probabilities the k-th counts 1 / sqrt(k) of its gain was decided after most of these sets had been
run once without it; the column "gain alone" shows the order without it.

```
unelisa reproduce rows review --out review.csv    # every curve
unelisa reproduce review --data FOLDER --out docs    # run what is missing or stale
```
"""

_LIMITS = """Where no labels are needed to come close to the goal, both counts are 0: the items are
so many, or the labels so good, that {labels} answers change less than {close}. Of two classes, the
label of an uncertain item is wrong in every second case at most: where a third of all labels is
wrong, corrected labels alone save no more than a third of the answers."""


def render_review(archive: Json) -> str:
    """Return the page in Markdown."""
    rows = archive["reviews"]
    labels, draws = max(row["labels"] for row in rows), max(len(row["random"]) for row in rows)
    close = share(CLOSE)
    return join_blocks(
        _INTRODUCTION.format(
            n_sets=len(rows), labels=labels, twice=2 * labels, draws=draws, close=close
        ),
        "## Set by set",
        sum_up(rows),
        _tabulate(rows),
        _LIMITS.format(labels=labels, close=close),
    )


def sum_up(rows: Sequence[Json]) -> str:
    """Return the mean counts of both orders in one paragraph."""
    counts = np.array([compare_orders(row)[1:] for row in rows])
    ours, plain, drawn = counts.mean(axis=0)
    needed = counts[counts.max(axis=1) > 0]
    fewer = int((needed[:, 0] < needed[:, 2]).sum())
    more = int((needed[:, 0] > needed[:, 2]).sum())
    return (
        f"The review needs {ours:.0f} answers in the mean over the sets, a random order "
        f"{drawn:.0f}: {share(ours / max(drawn, 1e-9), 2)} of them. By gain alone it is "
        f"{plain:.0f}, {share(plain / max(drawn, 1e-9), 2)}. Of the {len(needed)} sets on which "
        f"any are needed, the review needs fewer than a random order on {fewer} and more on {more}."
    )


def _tabulate(rows: Sequence[Json]) -> str:
    header = ["set", "classes", "labels", "accuracy without", "goal"]
    table = []
    for row in rows:
        needed = compare_orders(row)
        counts = needed.review, needed.gain, f"{needed.random:.0f}"
        figures = [share(row["review"][0]), share(needed.goal), *counts]
        table.append([row["set"], row["classes"], row["labels"], *figures])
    return markdown_table([*header, "review", "gain alone", "random order"], table)
