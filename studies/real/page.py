"""docs/comparison.md, made from the archive: numbers come from there, words from here.

No result is written in this file.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from studies.markdown import DASH, join_blocks, markdown_table
from studies.real.runs import (
    INTERCEPTS,
    OURS,
    PEERS,
    RESAMPLES,
    SUPERVISED,
    VARIANTS,
    Row,
    rank_methods,
)
from studies.real.supervised import BUDGETS, REFERENCES, SPLITS
from studies.records import Json

_INTRODUCTION = """# Methods compared on real votes

{n_ours} of our methods and {n_peers} of other programs on {n_sets} sets of real votes with known
truth, which the methods do not see. Every method runs on every set; none is left out because it
does badly there. **These are development data**: the few numbers that `latent-ising` takes from
experience were learned from these sets. Its rank here is optimistic; expect less on new votes.

Methods run with their defaults and a fixed seed, with these exceptions: snorkel's `LabelModel`
trains for 500 epochs (its default is 100); hyperlm gets only the items that have votes; where
deem's probabilities contradict its own labels they are reversed; undefined probabilities of
FlyingSquid count as one half. `share-of-yes`, which is not ranked, has majority vote's labels with
the chances (yes + 1) / (votes + 2). [The page on reliability](reliability.md) compares calibration.

All numbers are in `docs/study/real.json`. These commands, run in a clone, write this page:

```
unelisa reproduce real --from docs/study/real.json --out docs    # from the stored numbers
unelisa reproduce real --out docs    # run our methods where results are missing
python benchmarks/peers.py    # the same for the other programs, each in its own environment
```

Accuracy counts ties, and items without votes, as half. Brackets show 95 % intervals over
{resamples} resamples of the items. Balanced accuracy is the mean of the accuracies on the two
classes. Log loss (lower is better) needs probabilities. A method without an answer on a set ranks
last there, and its row says why. Seconds are CPU time on one core; other programs are limited to
120 s and 6 GB per set."""

_SUPERVISED = """## What labels would add

References that learn from labeled items and are scored on other items: mean accuracy over {splits}
random splits. penLog is l1-penalized logistic regression on the votes, with the penalty chosen by
cross-validation; ordered aggregation is margin-distance pruning (Martinez-Munoz et al. 2009). A
dash means too few labeled items. For comparison: the best of our methods without labels, chosen in
hindsight, and majority vote."""

_INTERCEPTS = """## The paper's method with intercepts

The paper's regressions have no intercepts, which suits balanced votes.
`UnElisa(fit_intercept=True)` is not ranked above; here it is beside the default, set by set."""

_ABSENT = """## Not on this page

- IsingFit and bootnet (R, GPL) estimate a graph of voters and give no labels. PheNorm, MAP and the
  other celehs packages (R, GPL) need counts and note utilization, which votes do not have; they are
  compared on phenotyping data, by published numbers. None of their code is used.
- WRENCH does not install on the Python versions we support; cleanlab's multi-annotator functions
  need the probabilities of a trained model besides the votes; crowd-kit's GoldMajorityVote needs
  gold labels."""


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
        n_ours=len(_methods(rows, OURS)),
        n_peers=len(_methods(rows, PEERS)),
        n_sets=len(sets),
        resamples=RESAMPLES,
    )
    return join_blocks(
        introduction,
        _advise(sets, ranked),
        _show_ranks(ranked),
        _show_winners(sets, ranked),
        _show_intercepts(sets, rows),
        _show_supervised(sets, rows),
        "## Every set",
        *(_show_set(facts, rows) for facts in sets),
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
        "The three methods of either kind with the best mean rank by balanced accuracy over the "
        "sets of each sort, all methods ranked together; in parentheses their mean balanced "
        "accuracy (over the sets they answered).",
        markdown_table(["your votes", "sets", "ours, best first", "peers, best first"], table),
        "The winner is known only in hindsight. If several methods agree on nearly all items, the "
        "choice matters little; if they do not, look at the voters (`unelisa report`) before "
        "trusting any of them.",
    )


def _best(rows: Sequence[Row], kind: str, names: Sequence[str], top: int = 3) -> str:
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
    mine = [row for row in rows if row["kind"] == kind]
    return max(mine, key=lambda row: row["figures"]["accuracy"][0], default=None)


def _named(row: Row | None) -> list[str]:
    return [DASH, DASH] if row is None else [row["method"], _with_interval(row, "accuracy")]


def _show_intercepts(sets: Sequence[Json], rows: Sequence[Row]) -> str:
    """Return UnElisa without and with intercepts; nothing if the second has not run."""
    found = {(row["set"], row["method"]): row for row in rows}
    both = {name for name, method in found if method == INTERCEPTS and (name, "unelisa") in found}
    names = [facts["set"] for facts in sets if facts["set"] in both]
    if not names:
        return ""
    figures = ("accuracy", "balanced_accuracy")
    ways = [(method, figure) for figure in figures for method in ("unelisa", INTERCEPTS)]
    table = [
        [name, *(_value(found.get((name, method)), figure) for method, figure in ways)]
        for name in names
    ]
    means = [_mean(_values([found[name, m] for name in names], f)) for m, f in ways]
    header = ["set", "accuracy", "with intercepts", "balanced", "with intercepts"]
    return join_blocks(_INTERCEPTS, markdown_table(header, [*table, ["**mean**", *means]]))


def _show_supervised(sets: Sequence[Json], rows: Sequence[Row]) -> str:
    found = {(row["set"], row["method"]): row for row in rows}
    names = [(name, budget) for name in REFERENCES for budget in BUDGETS]
    table = []
    for facts in sets:
        here = [row for row in rows if row["set"] == facts["set"] and row["figures"]]
        cells = [_value(_top(here, OURS)), _value(found.get((facts["set"], "majority-vote")))]
        for name, budget in names:
            cells.append(_value(found.get((facts["set"], f"{name} ({budget:,} labels)"))))
        table.append([facts["set"], *cells])
    header = ["set", "best without", "majority", *(f"{name} {n:,}" for name, n in names)]
    return join_blocks(_SUPERVISED.format(splits=SPLITS), markdown_table(header, table))


def _show_set(facts: Json, rows: Sequence[Row]) -> str:
    here = [row for row in rows if row["set"] == facts["set"] and row["kind"] != SUPERVISED]
    here.sort(key=lambda row: -row["figures"].get("accuracy", [-1.0])[0])
    header = ["method", "accuracy", "balanced", "AUC", "log loss", "seconds", "note"]
    return join_blocks(
        f"### {facts['set']}",
        f"{facts['items']:,} items, {facts['labelled']:,} with known truth, {facts['voters']} "
        f"voters, {facts['missing']:.0%} of the votes missing, {facts['base_rate']:.0%} positive.",
        markdown_table(header, map(_set_row, here)),
    )


def _set_row(row: Row) -> list[str]:
    note = "" if row["note"].startswith("version") else row["note"].replace("|", "/")
    shown = [_with_interval(row, figure) for figure in ("accuracy", "balanced_accuracy")]
    shown += [_value(row, figure) for figure in ("auc", "log_loss")]
    return [_name(row), *shown, _seconds(row["seconds"]), note]


def _name(row: Row) -> str:
    return f"**{row['method']}**" if row["kind"] in (OURS, VARIANTS) else row["method"]


def _mean(values: Sequence[float]) -> str:
    return f"{np.mean(values):.3f}" if values else DASH


def _value(row: Row | None, figure: str = "accuracy") -> str:
    return DASH if row is None else _mean(_values([row], figure))


def _with_interval(row: Row, figure: str) -> str:
    if figure not in row["figures"]:
        return DASH
    value, low, high = row["figures"][figure]
    return f"{value:.3f} [{low:.3f}, {high:.3f}]"


def _seconds(value: float | None) -> str:
    if value is None:
        return DASH
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"
