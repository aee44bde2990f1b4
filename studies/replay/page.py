"""docs/replay.md, made from the archive: numbers come from there, words from here."""

from collections.abc import Sequence

import numpy as np

from studies.markdown import DASH, group_by, join_blocks, markdown_table
from studies.records import Json
from studies.replay.policies import OURS, POLICIES, RANDOM
from studies.replay.recordings import FIRST_WORLD, MOST_ITEMS, WORLDS
from studies.replay.runs import BATCHES
from studies.replay.summary import (
    LATER,
    STOPS,
    compare_areas,
    compare_needs,
    estimate,
    measure_area,
)

_INTRODUCTION = """# Which votes to buy: a replay of recorded votes

Every item of a recorded set starts with one random vote. Each policy then buys further votes among
those that were recorded: up to {stops} votes per item, or all there are; up to {later} if the last
two points of its curve are not both at 99 % of the accuracy of all recorded votes. Areas are
measured up to {stops} votes per item. Between two points of a curve the votes are bought in
{batches} batches, and before each the models are fitted again. All policies are **scored with the
same model, `LatentIsing`**, so that they differ only in what they bought. A replay has at most
{most} items, drawn anew for each seed; there are {seeds} seeds per set. Intervals are 95 %, over
resampled seeds.

The real sets are development data: that a batch is spread over the voters, the number of batches,
and the quarter of a batch that goes to items that everybody answers were chosen on replays of these
sets and of other worlds. Expect less of ours on new votes. The sets named `copies`, `near_copies`,
`lenient_families` and `bad_clique` are simulated [worlds](worlds.md) of the choosing part, from
number {first} on, whose voters come in families. The policies:

{policies}

```
unelisa reproduce rows replay --out replay.csv    # every curve
unelisa reproduce replay --data FOLDER --seeds 0-19 --out docs    # run what is missing or stale
```

![Accuracy against votes bought](images/replay.svg)"""
_WORDS = {
    OURS: "`suggest_votes` with `LatentIsing`; the rest of a batch, where no single vote is "
    'expected to change a label, by `criterion="log_loss"`.',
    "ours-log-loss": '`suggest_votes` with `LatentIsing` and `criterion="log_loss"`.',
    RANDOM: "any recorded vote.",
    "fewest-votes": "the items with the fewest votes, any voter.",
    "entropy": "the items of largest posterior entropy under Dawid-Skene, any voter.",
    "knowledge-gradient": "the largest expected gain under Dawid-Skene, whose voters err "
    "independently; the rest of a batch as in the first policy.",
}


def render_replay(archive: Json) -> str:
    """Return the page in Markdown."""
    rows = archive["replays"]
    seeds = sorted({len(mine) for mine in group_by(rows, "set", "policy").values()})
    told = str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    introduction = _INTRODUCTION.format(
        stops=f"{STOPS[-1]:g}",
        later=f"{LATER[-1]:g}",
        batches=BATCHES,
        most=MOST_ITEMS,
        seeds=told,
        first=FIRST_WORLD,
        policies="\n".join(f"- **{name}**: {_WORDS[name]}" for name in _list_policies(rows)),
    )
    return join_blocks(
        introduction, _show_verdict(rows), _show_areas(rows), _show_means(rows), _show_needs(rows)
    )


def _list_policies(rows: Sequence[Json]) -> list[str]:
    there = {row["policy"] for row in rows}
    return [policy for policy in POLICIES if policy in there]


def _show_verdict(rows: Sequence[Json]) -> str:
    """Return what was aimed at and what is reached."""
    areas, needs = compare_areas(rows), compare_needs(rows)
    sets = sorted({row["set"] for row in rows})
    means = {
        policy: float(np.mean([areas[name, policy].mean for name in sets]))
        for policy in _list_policies(rows)
        if all((name, policy) in areas for name in sets)
    }
    lines = []
    for policy in [policy for policy in means if policy.startswith(OURS)]:
        rank = 1 + sum(other > means[policy] for other in means.values())
        worst = min(sets, key=lambda name: areas[name, policy].mean)
        ratio = float(np.mean([needs[name, policy] for name in sets]))
        related = [needs[name, policy] for name in sets if name in WORLDS]
        of_worlds = f" and {np.mean(related):.0%} on the worlds (aim: 50 %)" if related else ""
        lines.append(
            f"- **{policy}**: rank {rank} of {len(means)} by mean area under the accuracy curve "
            f"({means[policy]:+.4f} against random; aim: first); worst against random on "
            f"{worst}, {areas[worst, policy].mean:+.4f} (aim: not below -.0020); "
            f"{ratio:.0%} of the votes that random needs for 99 % of the accuracy of all votes, "
            f"in the mean over the sets (aim: 60 %){of_worlds}."
        )
    others = {policy: mean for policy, mean in means.items() if not policy.startswith(OURS)}
    best = max(others, key=lambda policy: others[policy])
    lines.append(
        f"- The best of the others is {best}, {others[best]:+.4f} against random. The table "
        "below says on how many sets that is more than noise."
    )
    return join_blocks("## What is reached", "\n".join(lines))


def _show_areas(rows: Sequence[Json]) -> str:
    policies = _list_policies(rows)
    table = []
    for (name,), mine in group_by(rows, "set").items():
        size = f"{mine[0]['items']} x {mine[0]['voters']}"
        whole = float(np.mean([row["whole"][1] for row in mine]))
        found = {
            policy: [measure_area(row) for row in mine if row["policy"] == policy]
            for policy in policies
        }
        best = max(np.mean(values) for values in found.values() if values)
        cells = [_mark(found[policy], float(best)) for policy in policies]
        table.append([name, size, _share(whole), *cells])
    return join_blocks(
        "## Areas under the accuracy curves",
        "Mean accuracy over the votes bought; the best of each set is bold. *All* is the accuracy "
        "with every recorded vote. Sizes are those of the first replay.",
        markdown_table(["set", "items x voters", "all", *policies], table),
    )


def _mark(values: Sequence[float], best: float) -> str:
    if not values:
        return DASH
    mean = estimate(values).mean
    return f"**{_share(mean)}**" if mean >= best - 1e-12 else _share(mean)


def _share(value: float) -> str:
    return f"{value:.4f}".removeprefix("0")


def _show_means(rows: Sequence[Json]) -> str:
    """Return the mean differences in area to random votes, and on how many sets they are clear."""
    table = []
    for title, column, sign in (("accuracy", 1, 1), ("log loss (less is better)", 2, -1)):
        found = compare_areas(rows, column=column)
        for policy in (p for p in POLICIES if p != RANDOM and any(key[1] == p for key in found)):
            mine = [one for (_, name), one in found.items() if name == policy]
            bounds = [(one.low, one.high) if sign > 0 else (-one.high, -one.low) for one in mine]
            better, worse = sum(low > 0 for low, _ in bounds), sum(high < 0 for _, high in bounds)
            mean = f"{np.mean([one.mean for one in mine]):+.4f}"
            table.append([title, policy, mean, f"{better} of {len(mine)}", worse])
    return join_blocks(
        "## Area above that of random votes",
        "Means over the sets; the last columns count the sets on which the interval of the "
        "difference lies on one side of 0.",
        markdown_table(["area of", "policy", "mean difference", "better", "worse"], table),
    )


def _show_needs(rows: Sequence[Json]) -> str:
    found = compare_needs(rows)
    policies = [policy for policy in _list_policies(rows) if policy != RANDOM]
    sets = list(dict.fromkeys(name for name, _ in found))
    table = [
        [name, *(f"{found[name, p]:.0%}" if (name, p) in found else DASH for p in policies)]
        for name in sets
    ]
    means = [np.mean([found[name, p] for name in sets if (name, p) in found]) for p in policies]
    table.append(["**mean**", *(f"**{mean:.0%}**" for mean in means)])
    return join_blocks(
        "## Votes needed",
        "Votes until the accuracy stays above 99 % of that of all recorded votes, as a share of "
        "what random votes need. A replay that does not get there counts as all votes.",
        markdown_table(["set", *policies], table),
    )
