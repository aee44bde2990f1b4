"""docs/comparison.md, made from the archive: numbers come from there, words from here.

No result is written in this file.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from studies.chances import SHARE
from studies.markdown import DASH, join_blocks, markdown_table
from studies.real.runs import INTERCEPTS, OURS, PEERS, Row, rank_methods
from studies.real.supervised import REFERENCES, SPLITS
from studies.records import Json

_INTRODUCTION = """# Methods compared on real votes

{n_ours} of our methods and {n_peers} of other programs on {n_sets} sets of real votes with known
truth, which the methods do not see. Every method runs on every set. **These are development data**:
the few numbers that `latent-ising` takes from experience were learned from these sets, so its rank
here is optimistic; expect less on new votes.

Methods run with their defaults and a fixed seed. Exceptions: snorkel's `LabelModel` trains for 500
epochs (its default is 100); hyperlm gets only the items that have votes; where deem's probabilities
contradict its own labels they are reversed; undefined probabilities of FlyingSquid count as one
half. Accuracy counts ties, and items without votes, as half. Balanced accuracy is the mean of the
accuracies on the two classes. A method without an answer on a set ranks last there. Seconds are CPU
time on one core; other programs are limited to 120 s and 6 GB per set.

```
unelisa reproduce rows real --out real.csv    # every method on every set, with 95 % intervals
unelisa reproduce real --out docs    # run our methods where results are missing or stale
python benchmarks/peers.py    # the same for the other programs, each in its own environment
```"""

_SUPERVISED = """## What labels would add

Mean accuracy of references that learn from labeled items and are scored on the others, over
{splits} random splits of the {n_sets} sets that have enough labels for 200; on the same sets, the
best of our methods without labels, chosen in hindsight, has {best} and majority vote {majority}.
penLog is l1-penalized logistic regression on the votes; ordered aggregation is margin-distance
pruning (Martinez-Munoz et al. 2009)."""

_ABSENT = """## Not on this page

IsingFit and bootnet (R, GPL) estimate a graph of voters and give no labels. PheNorm, MAP and the
other celehs packages (R, GPL) need counts and note utilization. WRENCH does not install on the
Python versions we support; cleanlab's multi-annotator functions need the probabilities of a trained
model; crowd-kit's GoldMajorityVote needs gold labels."""


_BUDGETS = (50, 200)  # numbers of labels that enough sets have


class Situation(NamedTuple):
    """A kind of votes that a user can recognize without the truth."""

    words: str
    holds: Callable[[Json], bool]


SITUATIONS = (
    Situation("Anything: nothing is known yet", lambda _: True),
    Situation("Everybody votes on nearly everything", lambda facts: facts["missing"] < 0.05),
    Situation("Voters see part of the items", lambda facts: 0.05 <= facts["missing"] < 0.95),
    Situation("A few votes per item, from many voters", lambda facts: facts["missing"] >= 0.95),
    Situation(
        "One class is rare (under a fifth)",
        lambda facts: min(facts["base_rate"], 1 - facts["base_rate"]) < 0.2,
    ),
    Situation("Few voters (up to 25)", lambda facts: facts["voters"] <= 25),
    Situation("One-sided voters, such as rules", lambda facts: facts["one_sided"] > 0.5),
)


def render_real(archive: Json) -> str:
    """Return the page in Markdown."""
    sets, rows = archive["sets"], archive["rows"]
    ranked = [row for row in rows if row["kind"] in (OURS, PEERS)]
    introduction = _INTRODUCTION.format(
        n_ours=len(_methods(rows, OURS)), n_peers=len(_methods(rows, PEERS)), n_sets=len(sets)
    )
    return join_blocks(
        introduction,
        _advise(sets, ranked),
        _show_ranks(ranked),
        _show_variants(rows),
        _show_winners(sets, ranked),
        _show_supervised(sets, rows),
        _ABSENT,
    )


def _methods(rows: Iterable[Row], kind: str) -> list[str]:
    return sorted({row["method"] for row in rows if row["kind"] == kind})


def _advise(sets: Sequence[Json], rows: Sequence[Row]) -> str:
    """Return the table a user chooses by: the best methods in each situation."""
    table = []
    for situation in SITUATIONS:
        names = [facts["set"] for facts in sets if situation.holds(facts)]
        chosen = [row for row in rows if row["set"] in names]
        if names:
            best = [_best(chosen, kind, names) for kind in (OURS, PEERS)]
            table.append([situation.words, len(names), *best])
    return join_blocks(
        "## Which method when",
        "The two methods of either kind with the best mean rank by balanced accuracy over the sets "
        "of each sort; in parentheses their mean balanced accuracy (over the sets they answered).",
        markdown_table(["your votes", "sets", "ours, best first", "peers, best first"], table),
        "The winner is known only in hindsight: if the methods disagree on many items, look at the "
        "voters (`unelisa report`) before trusting any of them.",
    )


def _best(rows: Sequence[Row], kind: str, names: Sequence[str], top: int = 2) -> str:
    ranks, shown = rank_methods(rows, "balanced_accuracy"), []
    for method in sorted(_methods(rows, kind), key=lambda method: ranks[method])[:top]:
        values = _values([row for row in rows if row["method"] == method], "balanced_accuracy")
        short = "" if len(values) == len(names) else f" on {len(values)}"
        shown.append(f"{method} ({np.mean(values):.3f}{short})" if values else method)
    return ", ".join(shown) or DASH


def _values(rows: Iterable[Row], figure: str) -> list[float]:
    return [row["figures"][figure][0] for row in rows if figure in row["figures"]]


def _show_ranks(rows: Sequence[Row]) -> str:
    figures = ("accuracy", "balanced_accuracy", "auc")
    ranks = {figure: rank_methods(rows, figure) for figure in figures}
    n_sets = len({row["set"] for row in rows})
    table = []
    for method in sorted(ranks["accuracy"], key=lambda name: ranks["balanced_accuracy"][name]):
        mine = [row for row in rows if row["method"] == method]
        answered = [row for row in mine if row["figures"]]
        means = [_mean(_values(answered, figure)) for figure in (*figures, "log_loss")]
        seconds = [row["seconds"] for row in answered if row["seconds"] is not None]
        median = float(np.median(seconds)) if seconds else None
        shown = [f"{ranks[figure][method]:.1f}" for figure in figures]
        count = f"{len(answered)} of {n_sets}"
        table.append([_name(mine[0]), *shown, *means, count, _seconds(median)])
    header = ["method", "rank: accuracy", "balanced", "AUC", "mean accuracy", "balanced", "AUC"]
    return join_blocks(
        "## Mean ranks over all sets",
        "1 is best; ours are in bold. Means are over the sets that a method answered.",
        markdown_table([*header, "log loss", "sets", "median seconds"], table),
    )


def _show_winners(sets: Sequence[Json], rows: Sequence[Row]) -> str:
    """Return the best of ours, the best peer and majority vote, set by set."""
    table = []
    for facts in sets:
        here = [row for row in rows if row["set"] == facts["set"] and row["figures"]]
        best = [cell for kind in (OURS, PEERS) for cell in _named(_top(here, kind))]
        majority = next((row for row in here if row["method"] == "majority-vote"), None)
        table.append([facts["set"], *best, _named(majority)[1]])
    header = ["set", "best of ours", "accuracy", "best peer", "accuracy", "majority vote"]
    return join_blocks(
        "## Who wins where",
        "The highest accuracy of either kind on each set, in hindsight, and majority vote.",
        markdown_table(header, table),
    )


def _top(rows: Sequence[Row], kind: str) -> Row | None:
    mine = [row for row in rows if row["kind"] == kind and row["figures"]]
    return max(mine, key=lambda row: row["figures"]["accuracy"][0], default=None)


def _named(row: Row | None) -> list[str]:
    return [DASH, DASH] if row is None else [row["method"], _mean(_values([row], "accuracy"))]


def _show_variants(rows: Sequence[Row]) -> str:
    """Return the means of what is not ranked beside those of what it varies."""
    pairs = ((SHARE, "crowd-kit MajorityVote", "log_loss"), (INTERCEPTS, "unelisa", "accuracy"))
    words = []
    for method, other, figure in pairs:
        found = [
            {row["set"]: row["figures"][figure][0] for row in rows if _has(row, name, figure)}
            for name in (method, other)
        ]
        both = sorted(set(found[0]) & set(found[1]))
        words += [f"{np.mean([one[name] for name in both]):.3f}" for one in found if both]
    if len(words) < 4:
        return ""
    return (
        f"Not ranked: `{SHARE}`, majority vote's labels with the chances (yes + 1) / (votes + 2), "
        f"has a mean log loss of {words[0]}: most of the {words[1]} of crowd-kit's majority vote "
        "comes from chances of 0 and 1. `UnElisa(fit_intercept=True)` has a mean accuracy of "
        f"{words[2]}, the default, which follows the paper, {words[3]}."
    )


def _has(row: Row, method: str, figure: str) -> bool:
    return row["method"] == method and figure in row["figures"]


def _show_supervised(sets: Sequence[Json], rows: Sequence[Row]) -> str:
    """Return the references' mean accuracies over the sets that have 200 labels."""
    found = {(row["set"], row["method"]): row for row in rows}
    asked = {f"{name} ({n:,} labels)": (name, n) for name in REFERENCES for n in _BUDGETS}
    names = [
        facts["set"]
        for facts in sets
        if all((row := found.get((facts["set"], x))) and row["figures"] for x in asked)
    ]
    if not names:
        return ""
    tops = [_top([row for row in rows if row["set"] == name], OURS) for name in names]
    means = {
        (name, n): _mean(_values([found[one, x] for one in names], "accuracy"))
        for x, (name, n) in asked.items()
    }
    words = _SUPERVISED.format(
        splits=SPLITS,
        n_sets=len(names),
        best=_mean(_values([row for row in tops if row], "accuracy")),
        majority=_mean(_values([found[one, "majority-vote"] for one in names], "accuracy")),
    )
    table = [[name, *(means[name, n] for n in _BUDGETS)] for name in REFERENCES]
    return join_blocks(
        words, markdown_table(["reference", *(f"{n} labels" for n in _BUDGETS)], table)
    )


def _name(row: Row) -> str:
    return f"**{row['method']}**" if row["kind"] == OURS else row["method"]


def _mean(values: Sequence[float]) -> str:
    return f"{np.mean(values):.3f}" if values else DASH


def _seconds(value: float | None) -> str:
    if value is None:
        return DASH
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"
