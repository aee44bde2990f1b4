"""docs/worlds.md, made from the archive: numbers come from there, words from here.

No result is written in this file.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import cast

from studies.markdown import DASH, join_blocks, markdown_table, share
from studies.records import Json
from studies.worlds.kinds import KINDS, NUMBERS, WORDS, Part
from studies.worlds.runs import DAWID_SKENE, MAJORITY, OURS
from studies.worlds.summary import KindSummary, PartSummary, summarize_part

_INTRODUCTION = """# Methods compared on worlds with known truth

`LatentIsing` with its defaults beside majority vote and Dawid-Skene on worlds: draws of simulated
votes whose truth the methods do not see, kind by kind. The *choosing* parts were looked at while
the method was developed. The *reporting* parts have seeds of their own; earlier versions were
looked at on worlds 0 to 39 of the first one (it now has {numbers}), so a kind that was improved
may owe it to that. In the *hard* parts voters collude, change, or share a bias, with two classes
and with more (`_k`).

The commits that were run (a plus: with changes): {commits}.

```
unelisa reproduce rows worlds --out worlds.csv    # every kind: all methods and intervals
unelisa reproduce worlds --part choosing --out docs    # or hard-choosing, reporting, hard-reporting
```"""

_TERMS = """Accuracy counts a tie by its expectation. *Better* is the better of majority vote and
Dawid-Skene over all worlds of a kind; *world by world* is the better one on each world, which no
user knows beforehand; a world *loses* if ours is more than .02 below that. A *silent failure* loses
more than .05, is called reliable and does not warn. *Too sure*: `expected_accuracy_` is more than
.10 above the accuracy. In log losses, a P below .001 counts as .001; the share of votes is
(count + 1) / (votes + K). Intervals: how many of those of level 90 % hold, and their mean width."""

SHOWN = 5  # kinds of a part
_TITLES = {
    "reporting": "Reporting part",
    "hard-reporting": "Hard reporting part",
    "choosing": "Choosing part",
    "hard-choosing": "Hard choosing part",
}


def render_worlds(archive: Json) -> str:
    """Return the page in Markdown."""
    parts: dict[str, list[KindSummary]] = {}
    for row in archive["kinds"]:
        parts.setdefault(row["part"], []).append(row)
    shown = {part: parts[part] for part in _TITLES if part in parts}
    numbers = f"worlds {NUMBERS['reporting'][0]} to {NUMBERS['reporting'][-1]}"
    commits = ", ".join(f"{part} {_list_commits(kinds)}" for part, kinds in shown.items())
    return join_blocks(
        _INTRODUCTION.format(numbers=numbers, commits=commits),
        _show_targets({part: summarize_part(kinds) for part, kinds in shown.items()}),
        _TERMS,
        *(_show_part(part, kinds) for part, kinds in shown.items()),
        _list_kinds(shown),
    )


def _list_commits(kinds: Iterable[KindSummary]) -> str:
    return " and ".join(sorted({f"`{commit}`" for row in kinds for commit in row["commits"]}))


def _show_targets(parts: dict[str, PartSummary]) -> str:
    """Return what is wanted beside what was found."""
    wanted: dict[str, tuple[str, Callable[[PartSummary], str]]] = {
        "worlds": (DASH, lambda x: f"{x.worlds:,} of {x.kinds} kinds"),
        "mean accuracy: ours / majority vote / Dawid-Skene": (DASH, _three_accuracies),
        "worst kind against the better": ("at least -.010", lambda x: _named(x.worst)),
        "worst kind, world by world": (DASH, lambda x: _named(x.worst_by_world)),
        "worlds that lose more than .02": ("at most 5 %", lambda x: f"{x.shares['losing']:.1%}"),
        "silent failures": ("under 1 %", lambda x: f"{x.shares['silent']:.1%}"),
        "called reliable": (DASH, lambda x: f"{x.shares['reliable']:.1%}"),
        "reliable, yet .10 too sure": (DASH, lambda x: _rate_too_sure(x.shares)),
        "mean log loss: ours / share of votes": (DASH, _two_losses),
        "kinds with a log loss above the share of votes": ("none", _worse),
        "intervals of the expected accuracy": (DASH, lambda x: _hold(x.intervals["expected"])),
        "intervals of the shares of classes": ("90 %", lambda x: _hold(x.intervals["rate"])),
        "intervals of voters": ("90 %", lambda x: _hold(x.intervals["voters"])),
        "worlds without an answer": ("0", lambda x: f"{x.unanswered}"),
    }
    rows = [
        [name, target, *(show(part) for part in parts.values())]
        for name, (target, show) in wanted.items()
    ]
    return join_blocks("## In short", markdown_table(["", "wanted", *parts], rows))


def _rate_too_sure(shares: Json) -> str:
    reliable: float = shares["reliable"]
    return f"{shares['too_sure'] / reliable:.1%}" if reliable else DASH


def _hold(sums: Sequence[float]) -> str:
    """Return how many of some intervals hold, and their mean width."""
    worlds, held, width = sums
    return f"{held / worlds:.0%} ({share(width / worlds)})" if worlds else DASH


def _three_accuracies(found: PartSummary) -> str:
    names = (OURS, MAJORITY, DAWID_SKENE)
    return " / ".join(share(found.means[name]["accuracy"]) for name in names)


def _two_losses(found: PartSummary) -> str:
    return " / ".join(share(found.means[name]["log_loss"]) for name in (OURS, MAJORITY))


def _worse(found: PartSummary) -> str:
    return ", ".join(found.worse_log_loss) or "none"


def _named(worst: tuple[str, float]) -> str:
    return f"{signed(worst[1])} ({worst[0]})"


def signed(value: float, digits: int = 3) -> str:
    """Return a difference with its sign and without its leading zero.

    Examples
    --------
    >>> signed(-0.0123), signed(0.5), signed(1.25)
    ('-.012', '+.500', '+1.250')
    """
    return (
        f"{value:+.{digits}f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:+.{digits}f}"
    )


def _show_part(part: str, kinds: Sequence[KindSummary]) -> str:
    ordered = sorted(kinds, key=lambda row: row["difference"])
    image = (
        f"![Accuracy against the better of majority vote and Dawid-Skene](images/worlds-{part}.svg)"
    )
    header = ["kind", "ours", "majority vote", "Dawid-Skene", "difference", "silent", "reliable"]
    return join_blocks(
        f"## {_TITLES[part]}",
        f"The {SHOWN} worst kinds of {len(kinds)} and the best one; the picture has all of them.",
        markdown_table(header, map(_kind_row, [*ordered[:SHOWN], *ordered[SHOWN:][-1:]])),
        image,
    )


def _kind_row(row: KindSummary) -> list[str]:
    values = [share(_figure(row, name, "accuracy")) for name in (OURS, MAJORITY, DAWID_SKENE)]
    flags = [f"{row['silent']:.0%}", f"{row['reliable']:.0%}"]
    return [row["kind"], *values, signed(row["difference"]), *flags]


def _figure(row: KindSummary, method: str | None, figure: str) -> float | None:
    return None if method is None else row["methods"].get(method, {}).get(figure)


def _list_kinds(parts: Iterable[str]) -> str:
    """Return what a world of each kind is; of a kind with more classes, `_k`, only the name."""
    asked = {name for part in parts for name in KINDS[cast("Part", part)]}
    words = {
        name: text
        for name, text in WORDS.items()
        if name in asked and not (name.endswith("_k") and name.removesuffix("_k") in asked)
    }
    more = "With `_k`: the same with three to six classes."
    table = markdown_table(["kind", "a world"], words.items())
    return join_blocks("## The kinds", more if any(x.endswith("_k") for x in asked) else "", table)
