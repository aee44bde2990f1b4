"""docs/worlds.md, made from the archive: numbers come from there, words from here.

No result is written in this file.
"""

from collections.abc import Callable, Iterable, Sequence

from studies.markdown import DASH, join_blocks, markdown_table, share
from studies.records import Json
from studies.worlds.kinds import KINDS, NUMBERS, ONLY_REPORTED, TABLES, WORDS
from studies.worlds.runs import DAWID_SKENE, MAJORITY, OURS, REST
from studies.worlds.summary import (
    INTERVALS,
    KindSummary,
    PartSummary,
    exceeds_share,
    summarize_part,
)

_INTRODUCTION = """# Methods compared on worlds with known truth

`LatentIsing` with its defaults beside majority vote, Dawid-Skene and our other methods, on worlds:
votes drawn with a known truth, which the methods do not see. A world is one draw of a kind; the
kinds are listed at the end. There are two times two parts with separate seeds: anything could be
looked at and chosen on the *choosing* parts; nothing was chosen on the *reporting* parts, whose
worlds were drawn after the code was frozen. The *hard* parts have kinds in which voters collude,
change, or share a bias, with two classes and with more (`_k`). The first reporting part also has
kinds and tables of its own; worlds 0 to 39 of it had been looked at with earlier versions, so it
has {numbers}. The tables behind trained voters ship with scikit-learn or are generated
by it:
{choosing} for choosing;
{reporting} for reporting.

The commits that were run (a plus: with changes): {commits}.

All numbers are in `docs/study/worlds.json`. These commands, run in a clone, write this page:

```
unelisa reproduce worlds --from docs/study/worlds.json --out docs    # from the stored numbers
unelisa reproduce worlds --part choosing --out docs    # run what is missing
unelisa reproduce worlds --part hard-choosing --out docs
unelisa reproduce worlds --part reporting --out docs
unelisa reproduce worlds --part hard-reporting --out docs
```"""

_TERMS = """Accuracy counts a tie by its expectation. *Better* is the better of majority vote and
Dawid-Skene; *difference* is the mean accuracy of ours minus that of the better one over all worlds
of the kind, and *world by world* minus the better one on each world, which no user knows beforehand
(with its standard error). *Losing* is the share of worlds where that is below -.02. A *silent
failure* is a world where ours loses more than .05, calls itself reliable and does not warn (a
`VotesWarning`, which is about the form of the votes, does not count). *Too sure* is the share of
the worlds called reliable whose `expected_accuracy_` is more than .10 above the accuracy. In log
losses, a P below .001 counts as .001. The share of votes is (count + 1) / (votes + K), the chances
of K classes that majority vote implies. Intervals: how many hold and, in parentheses, their mean
width; a world counts once, and not at all where nothing is said. Expected accuracy:
`expected_accuracy_interval_`, and the accuracy of the labels. Shares of classes:
`prevalence_interval_`, and the truth of the items with votes; 90 % intervals. Voters:
`accuracy_low` to `accuracy_high` in `voters_full_`, and the share of the voter's votes that are
right; 90 % intervals. The best of the rest is the one of {rest} that answers on all kinds with the
highest mean accuracy. Seconds are the median CPU time of a fit."""

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
    tables = {part: ", ".join(f"`{name}`" for name in tables) for part, tables in TABLES.items()}
    numbers = f"worlds {NUMBERS['reporting'][0]} to {NUMBERS['reporting'][-1]}"
    commits = ", ".join(f"{part} {_list_commits(kinds)}" for part, kinds in shown.items())
    rest = ", ".join(f"`{name}`" for name in REST)
    return join_blocks(
        _INTRODUCTION.format(**tables, numbers=numbers, commits=commits),
        _show_targets({part: summarize_part(kinds) for part, kinds in shown.items()}),
        _TERMS.format(rest=rest),
        *(_show_part(part, kinds) for part, kinds in shown.items()),
        _list_kinds(),
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
    best = summarize_part(kinds).best_of_the_rest
    image = (
        f"![Accuracy against the better of majority vote and Dawid-Skene](images/worlds-{part}.svg)"
    )
    accuracy = ["kind", "worlds", "ours", "majority vote", "Dawid-Skene"]
    accuracy += [best or "best of the rest", "difference", "world by world", "losing", "seconds"]
    honesty = ["kind", "silent", "reliable", "too sure", "log loss", "share of votes: log loss"]
    honesty += ["expected accuracy", "shares of classes", "voters"]
    return join_blocks(
        f"## {_TITLES[part]}",
        "The worst kind first; a star marks kinds that the reporting part alone has."
        if part == "reporting"
        else "The worst kind first.",
        markdown_table(accuracy, [_accuracy_row(row, best) for row in ordered]),
        image,
        markdown_table(honesty, map(_honesty_row, ordered)),
    )


def _accuracy_row(row: KindSummary, best: str | None) -> list[str]:
    names = (OURS, MAJORITY, DAWID_SKENE, best)
    values = [share(_figure(row, name, "accuracy")) for name in names]
    mean, error = row["by_world"][:2]
    differences = [signed(row["difference"]), f"{signed(mean)} ±{share(error)}"]
    seconds = share(_figure(row, OURS, "seconds"), 2)
    return [
        *(_title(row), str(row["worlds"]), *values, *differences, f"{row['losing']:.0%}", seconds)
    ]


def _honesty_row(row: KindSummary) -> list[str]:
    losses = [share(_figure(row, name, "log_loss")) for name in (OURS, MAJORITY)]
    if exceeds_share(row):
        losses[0] = f"**{losses[0]}**"
    shares = [f"{row['silent']:.0%}", f"{row['reliable']:.0%}", _rate_too_sure(dict(row))]
    held = [_hold(row["intervals"][name]) for name in INTERVALS]
    return [_title(row), *shares, *losses, *held]


def _figure(row: KindSummary, method: str | None, figure: str) -> float | None:
    return None if method is None else row["methods"].get(method, {}).get(figure)


def _title(row: KindSummary) -> str:
    return f"{row['kind']}*" if row["kind"] in ONLY_REPORTED else row["kind"]


def _list_kinds() -> str:
    rows = [
        [name, ", ".join(part for part, kinds in KINDS.items() if name in kinds), words]
        for name, words in WORDS.items()
    ]
    return join_blocks("## The kinds", markdown_table(["kind", "parts", "a world"], rows))
