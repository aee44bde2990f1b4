"""docs/prior.md, made from the archive: numbers come from there, words from here."""

from collections.abc import Callable, Sequence

import numpy as np

from studies.markdown import join_blocks, markdown_table, share
from studies.prior.fits import SAFETY
from studies.records import Json

_INTRODUCTION = """# The prior, learned from real votes

What votes cannot tell, `LatentIsing` takes from experience: {n} sets of votes whose truth is known,
from {sources} sources. Its numbers are in `unelisa/latent/prior.py`. Here **each set is
labeled with the numbers that the sets of all other sources give**; sources, not sets, are
independent.

```
unelisa reproduce rows prior --out prior.csv    # every set
unelisa reproduce prior --data FOLDER --out docs    # fit and label everything again
```
"""
_LEFT_OUT = """## Sets whose source was left out

Accuracy and log loss (P at least .001) over the items with known truth. The share of the votes is
(count + 1) / (votes + K). An interval holds if it contains the accuracy; *too sure* are sets whose
accuracy is more than .10 below the expected one. The second table has the sets on which the default
is furthest below the better of the other two, and furthest above."""
_FITTED = """## Numbers that are fitted

The powers of the average have the least mean log loss over the sets. The expected accuracy is a
regression over sets, sources counted equally, on the stated accuracy and the votes per item; its
margins are quantiles of what it leaves on sources that were left out (see
[how it works](model.md)). It is then lowered by {safety:g} in log-odds, to err on the low side; the
ends of its interval stay where they are. *Spread* is the standard deviation over the fits that
leave one source out."""
_TRIED = """## Numbers that are not fitted

Every number with other values in its place: accuracy and log loss over the same sets, each labeled
with what the other sources give. The values in use were chosen on these sets, where little
changes; that of repeaters lies between what choosing worlds and real votes prefer. With them the
default has {accuracy} and {loss}."""
_JUDGED = """## Numbers that decide no label

They say how wide the intervals of the classes' shares are, and what is called reliable; over the
same sets, each with what the other sources give. The first line of each number has the value in
use."""
_GOLD = """The last one belongs to gold labels: accuracy and log loss on the other items, on sets
with 100 labeled items or more, of which 50 drawn at random are gold."""
SHOWN = (8, 4)  # of the sets: those furthest below the better rival, and furthest above it
_MEANING = {
    "MEAN_WEIGHT": "mean weight of voters, where EM starts",
    "WEIGHT_SPREAD": "spread of the weights",
    "BIAS_SPREAD": "spread of the biases",
    "EASE": "levels of the items' ease",
    "CLASS_WEIGHT": "power of the votes' shares as P(class)",
    "REPEATS": "partial correlation from which voters repeat each other",
    "RAMP": "and how much more makes them one",
    "LEAST_CHANCE": "least P in the average",
    "COHERENT": "coherence of the votes below which the truth is the hub of a graph",
    "SURELY_COHERENT": "and from which it is what the voters agree on",
    "GOLD_SPREAD": "spread of how far gold labels correct the log-probabilities",
    "UNHEARD": "factor of a class that nobody named (K > 2)",
    "MODEL_POWER": "power of the model's P in the average",
    "SHARE_POWER": "power of the share of the votes",
    "ACCURACY": "log-odds of the accuracy: constant, per stated log-odds, per 1 / votes per item",
    "BELOW": "90 % margin below, in log-odds",
    "ABOVE": "90 % margin above",
    "TAIL": "10 % margin below",
    "SHIFT": "common error of all log-odds, with many votes per item",
    "FEW": "votes per item with which it is twice that",
    "GATE": "share of labels that are not a plain majority's, beyond experience",
}


def render_prior(archive: Json) -> str:
    """Return the page in Markdown."""
    rows = archive["sets"]
    sources = len({row["source"] for row in rows})
    return join_blocks(
        _INTRODUCTION.format(n=len(rows), sources=sources),
        _LEFT_OUT,
        _summarize(rows),
        _list_sets(rows),
        _FITTED.format(safety=SAFETY),
        _list_fitted(archive),
        *_list_tried(archive),
        *_list_judged(archive),
    )


def mean_of(rows: Sequence[Json], value: Callable[[Json], float]) -> float:
    """Return the mean of a value over some rows; NaN without any."""
    return float(np.mean([value(row) for row in rows])) if rows else float("nan")


def holds(row: Json) -> bool:
    """Return whether the interval of a set contains its accuracy."""
    return bool(row["low"] <= row["accuracy"] <= row["high"])


def is_too_sure(row: Json) -> bool:
    """Return whether a set's accuracy is more than .10 below the expected one."""
    return bool(row["expected"] is not None and row["expected"] - row["accuracy"] > 0.1)


def _summarize(rows: Sequence[Json]) -> str:
    told = [row for row in rows if row["expected"] is not None]
    reliable = [row for row in rows if row["reliable"]]
    voters = [row for row in rows if row["voters_held"] is not None]
    shares = [row for row in rows if row["shares_held"] is not None]
    widths = [row["high"] - row["low"] for row in told]
    methods = {None: "`LatentIsing`", "share": "share of the votes", "dawid_skene": "Dawid-Skene"}
    scores = [
        (
            f"{words}: accuracy, log loss",
            f"{share(_mean(rows, part, 'accuracy'))}, {share(_mean(rows, part, 'log_loss'))}",
        )
        for part, words in methods.items()
    ]
    lines = [
        ("sets", str(len(rows))),
        *scores,
        ("intervals of the accuracy that hold, of 90 %", _share(mean_of(told, holds))),
        ("their median width", share(float(np.median(widths)) if widths else None)),
        ("intervals of the classes' shares that hold", _share(mean_of(shares, _held_shares))),
        ("intervals of voters' accuracies that hold", _share(mean_of(voters, _held_voters))),
        ("sets called reliable", share(len(reliable) / len(rows))),
        ("of these too sure", _share(mean_of(reliable, is_too_sure))),
        ("of all sets too sure", _share(mean_of(told, is_too_sure))),
    ]
    return markdown_table(["", "leaving sources out"], lines)


def _share(value: float) -> str:
    return share(None if np.isnan(value) else value)


def _held_shares(row: Json) -> float:
    return float(row["shares_held"])


def _held_voters(row: Json) -> float:
    return float(row["voters_held"])


def _mean(rows: Sequence[Json], part: str | None, score: str) -> float:
    """Return the mean score of the default, or of another method."""
    return float(np.mean([(row if part is None else row[part])[score] for row in rows]))


def _list_sets(rows: Sequence[Json]) -> str:
    heads = [
        "set",
        "source",
        "K",
        "accuracy",
        "share",
        "Dawid-Skene",
        "log loss",
        "share",
        "expected (90 %)",
        "reliable",
    ]
    lines = []
    ordered = sorted(rows, key=_lead)
    shown = ordered if len(rows) <= sum(SHOWN) else [*ordered[: SHOWN[0]], *ordered[-SHOWN[1] :]]
    for row in shown:
        expected = "-"
        if row["expected"] is not None:
            expected = f"{share(row['expected'], 2)} ({share(row['low'], 2)} to "
            expected += f"{share(row['high'], 2)})"
        lines.append(
            [
                row["set"],
                row["source"],
                row["classes"],
                share(row["accuracy"]),
                share(row["share"]["accuracy"]),
                share(row["dawid_skene"]["accuracy"]),
                share(row["log_loss"]),
                share(row["share"]["log_loss"]),
                expected,
                "yes" if row["reliable"] else "no",
            ]
        )
    return markdown_table(heads, lines)


def _lead(row: Json) -> float:
    """Return how far a set's accuracy is above the better of the two others."""
    better = max(row["share"]["accuracy"], row["dawid_skene"]["accuracy"])
    return float(row["accuracy"] - better)


def _list_fitted(archive: Json) -> str:
    lines = [
        [
            f"`{name}`",
            _MEANING[name],
            _show(archive["values"][name]),
            _show(value),
            _show(archive["spread"][name]),
        ]
        for name, value in archive["fitted"].items()
    ]
    return markdown_table(["number", "for", "in use", "fitted to all", "spread"], lines)


def _list_tried(archive: Json) -> list[str]:
    if not archive["trials"]:
        return []
    rows = archive["sets"]
    accuracy = mean_of(rows, lambda row: row["accuracy"])
    loss = mean_of(rows, lambda row: row["log_loss"])
    lines = [
        [
            f"`{one['name']}`",
            _MEANING[one["name"]],
            _show(archive["values"][one["name"]]),
            _show(one["value"]),
            f"{one['accuracy'] - accuracy:+.4f}",
            f"{one['log_loss'] - loss:+.4f}",
        ]
        for one in archive["trials"]
    ]
    heads = ["number", "for", "in use", "instead", "accuracy", "log loss"]
    words = _TRIED.format(accuracy=share(accuracy, 4), loss=share(loss, 4))
    return [words, markdown_table(heads, lines)]


def _list_judged(archive: Json) -> list[str]:
    rows = archive.get("judged", [])
    said = [row for row in rows if "reliable" in row]
    golden = [row for row in rows if "accuracy" in row]
    if not rows:
        return []
    heads = ["number", "for", "value", "intervals of shares that hold", "reliable", "too sure"]
    names = "shares_held", "reliable", "too_sure"
    scores = ["number", "for", "value", "accuracy", "log loss"]
    return [
        _JUDGED,
        markdown_table(heads, [_list_scores(row, names) for row in said]),
        _GOLD,
        markdown_table(scores, [_list_scores(row, ("accuracy", "log_loss")) for row in golden]),
    ]


def _list_scores(row: Json, names: Sequence[str]) -> list[str]:
    scores = [share(row.get(name)) for name in names]
    return [f"`{row['name']}`", _MEANING[row["name"]], _show(row["value"]), *scores]


def _show(value: float | list[float]) -> str:
    return ", ".join(f"{one:g}" for one in np.atleast_1d(value))
