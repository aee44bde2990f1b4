"""docs/comparison.md, made from the archive of `unelisa.study.real`.

Numbers come from the archive, words from here: no result is written in this file.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from unelisa.study.real import (
    OURS,
    PEERS,
    RESAMPLES,
    SUPERVISED,
    RealArchive,
    Row,
    rank_methods,
)
from unelisa.study.real_sets import SetFacts
from unelisa.study.supervised import BUDGETS, REFERENCES, SPLITS
from unelisa.study.wording import markdown_table

_INTRODUCTION = """# Methods compared on real votes

{n_ours} methods of ours and {n_peers} of other programs on {n_sets} sets of real votes with known
truth, of which the methods see nothing. Every method runs with its defaults, on every set: none is
left out because somebody loses on it. **These are development data**: `latent-ising` was made, and
its defaults were chosen, while these sets were looked at. Its rank here flatters it; expect less of
it on votes of your own.

All numbers are in `docs/study/real.json`, from which one command makes this page:

```
unelisa reproduce real --from docs/study/real.json --out docs      # this page, in a second
unelisa reproduce real --out docs      # runs our methods where rows are missing, then the page
python benchmarks/peers.py      # the same with the peers, each in an environment of its own
```

Accuracy counts a tie, and an item that nobody voted on, as half. In brackets: 95 % intervals over
{resamples} resamples of the items. Balanced accuracy is the mean of the accuracies on the two
classes. Log loss (lower is better) only where a method gives probabilities. A method that gave no
answer on a set ranks last there; its row says why. Seconds are processor time, of one core; peers
have 120 of them and 6 GB per set.
"""

_SUPERVISED = """## What labels would buy

References that learn from some labelled items and are scored on others: mean accuracy over
{splits} random splits. penLog is l1-penalised logistic regression on the votes, its penalty by
cross-validation; ordered aggregation is margin-distance pruning (Martinez-Munoz et al. 2009). A
dash: too few labelled items. *None* is the best of our methods without any label, chosen with
hindsight, and majority vote.
"""

_ABSENT = """## Not on this page

- IsingFit and bootnet (R, GPL) estimate a graph of voters and give no labels; PheNorm, MAP and the
  other celehs packages (R, GPL) need counts and the utilisation of notes, which votes have not.
  They are compared on phenotyping data, by published numbers, not here. No code of theirs is used.
- WRENCH does not install on the Python versions we support; cleanlab's multi-annotator functions
  need a trained model's probabilities beside the votes; crowd-kit's GoldMajorityVote needs gold.
"""


class Situation(NamedTuple):
    """A kind of votes that a user can recognise without the truth, and which sets are of it."""

    words: str
    holds: Callable[[SetFacts], bool]


SITUATIONS = (
    Situation("Any of them: you know nothing yet", lambda _: True),
    Situation("Everybody votes on nearly everything", lambda facts: facts["missing"] < 0.05),
    Situation(
        "Voters see a part of the items",
        lambda facts: 0.05 <= facts["missing"] < 0.95,
    ),
    Situation("A few votes per item, from many voters", lambda facts: facts["missing"] >= 0.95),
    Situation(
        "One class is rare (under a fifth)",
        lambda facts: min(facts["base_rate"], 1 - facts["base_rate"]) < 0.2,
    ),
    Situation("Few voters (up to 25)", lambda facts: facts["voters"] <= 25),
    Situation("Voters who can say one thing only", lambda facts: facts["one_sided"] > 0.5),
)


def render_real(archive: RealArchive) -> str:
    """Return the page in Markdown."""
    rows = archive["rows"]
    without_labels = [row for row in rows if row["kind"] != SUPERVISED]
    sections = [
        _introduce(archive),
        _advise(archive["sets"], without_labels),
        _show_ranks(without_labels),
        _show_losses(archive["sets"], without_labels),
        _show_supervised(archive["sets"], rows),
        _show_sets(archive["sets"], without_labels),
        _ABSENT,
    ]
    return "\n".join(sections)


def _introduce(archive: RealArchive) -> str:
    methods = {kind: _methods(archive["rows"], kind) for kind in (OURS, PEERS)}
    return _INTRODUCTION.format(
        n_ours=len(methods[OURS]),
        n_peers=len(methods[PEERS]),
        n_sets=len(archive["sets"]),
        resamples=RESAMPLES,
    )


def _methods(rows: Iterable[Row], kind: str) -> list[str]:
    return sorted({row["method"] for row in rows if row["kind"] == kind})


def _advise(sets: Sequence[SetFacts], rows: Sequence[Row]) -> str:
    """Return the table a user chooses by: the best methods in each situation."""
    table = []
    for situation in SITUATIONS:
        names = [facts["set"] for facts in sets if situation.holds(facts)]
        chosen = [row for row in rows if row["set"] in names]
        if names:
            best = {kind: _best(chosen, kind, names) for kind in (OURS, PEERS)}
            table.append([situation.words, str(len(names)), *best.values()])
    header = ["your votes", "sets", "ours, best first", "peers, best first"]
    return "\n".join(
        [
            "## Which method when\n",
            "The three methods of either kind with the best mean rank by balanced accuracy over "
            "the sets of each sort, all methods ranked together; in brackets their mean balanced "
            "accuracy (over the sets they answered).\n",
            *markdown_table(header, table),
            "\nThe winner is known only afterwards. Where several methods agree on nearly all "
            "items, it matters little which one you take; where they do not, look at the voters "
            "(`unelisa report`) before you trust any.\n",
        ]
    )


def _best(rows: Sequence[Row], kind: str, names: Sequence[str], top: int = 3) -> str:
    ranks = rank_methods(rows, "balanced_accuracy")
    methods = sorted(_methods(rows, kind), key=lambda method: ranks[method])
    shown = []
    for method in methods[:top]:
        values = [
            row["figures"]["balanced_accuracy"][0]
            for row in rows
            if row["method"] == method and "balanced_accuracy" in row["figures"]
        ]
        short = "" if len(values) == len(names) else f" on {len(values)}"
        shown.append(f"{method} ({_number(float(np.mean(values)))}{short})" if values else method)
    return ", ".join(shown) or "–"  # noqa: RUF001


def _show_ranks(rows: Sequence[Row]) -> str:
    figures = ("accuracy", "balanced_accuracy", "auc")
    ranks = {figure: rank_methods(rows, figure) for figure in figures}
    n_sets = len({row["set"] for row in rows})
    table = []
    for method in sorted(ranks["accuracy"], key=lambda name: ranks["balanced_accuracy"][name]):
        mine = [row for row in rows if row["method"] == method]
        answered = [row for row in mine if row["figures"]]
        means = [_mean(answered, figure) for figure in (*figures, "log_loss")]
        seconds = [row["seconds"] for row in answered if row["seconds"] is not None]
        table.append(
            [method if mine[0]["kind"] == PEERS else f"**{method}**"]
            + [f"{ranks[figure][method]:.1f}" for figure in figures]
            + [*means, f"{len(answered)} of {n_sets}", _seconds(_median(seconds))]
        )
    header = ["method", "rank: accuracy", "balanced", "AUC", "mean accuracy", "balanced", "AUC"]
    return "\n".join(
        [
            "## Mean ranks over all sets\n",
            "1 is best; ours in bold. Means are over the sets that a method answered.\n",
            *markdown_table([*header, "log loss", "sets", "median seconds"], table),
            "",
        ]
    )


def _show_losses(sets: Sequence[SetFacts], rows: Sequence[Row]) -> str:
    """Return set by set the best of ours, the best peer, and majority vote."""
    table = []
    for facts in sets:
        here = [row for row in rows if row["set"] == facts["set"] and row["figures"]]
        ours, peers = (_top(here, kind) for kind in (OURS, PEERS))
        majority = [row for row in here if row["method"] == "majority-vote"]
        table.append([facts["set"], *_named(ours), *_named(peers), *_named(majority[:1])[1:]])
    header = ["set", "best of ours", "accuracy", "best peer", "accuracy", "majority vote"]
    return "\n".join(
        [
            "## Who wins where\n",
            "The highest accuracy of either kind on each set, with hindsight, and majority vote.\n",
            *markdown_table(header, table),
            "",
        ]
    )


def _top(rows: Sequence[Row], kind: str) -> list[Row]:
    mine = [row for row in rows if row["kind"] == kind]
    return sorted(mine, key=lambda row: -row["figures"]["accuracy"][0])[:1]


def _named(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return ["–", "–"]  # noqa: RUF001
    return [rows[0]["method"], _with_interval(rows[0], "accuracy")]


def _show_supervised(sets: Sequence[SetFacts], rows: Sequence[Row]) -> str:
    found = {(row["set"], row["method"]): row for row in rows}
    names = [(name, budget) for name in REFERENCES for budget in BUDGETS]
    table = []
    for facts in sets:
        here = [row for row in rows if row["set"] == facts["set"] and row["figures"]]
        best = _top(here, OURS)
        majority = found.get((facts["set"], "majority-vote"))
        cells = [_value(best[0] if best else None), _value(majority)]
        for name, budget in names:
            cells.append(_value(found.get((facts["set"], f"{name} ({budget:,} labels)"))))
        table.append([facts["set"], *cells])
    header = ["set", "none: best", "majority"]
    header += [f"{name} {budget:,}" for name, budget in names]
    return "\n".join([_SUPERVISED.format(splits=SPLITS), *markdown_table(header, table), ""])


def _show_sets(sets: Sequence[SetFacts], rows: Sequence[Row]) -> str:
    parts = ["## Every set\n"]
    for facts in sets:
        here = [row for row in rows if row["set"] == facts["set"]]
        order = sorted(here, key=lambda row: -row["figures"].get("accuracy", [-1.0])[0])
        header = ["method", "accuracy", "balanced", "AUC", "log loss", "seconds", "note"]
        parts += [
            f"### {facts['set']}\n",
            f"{facts['items']:,} items, {facts['labelled']:,} with known truth, "
            f"{facts['voters']} voters, {facts['missing']:.0%} of the votes missing, "
            f"{facts['base_rate']:.0%} positive.\n",
            *markdown_table(header, (_set_row(row) for row in order)),
            "",
        ]
    return "\n".join(parts)


def _set_row(row: Row) -> list[str]:
    figures = ("accuracy", "balanced_accuracy", "auc", "log_loss")
    name = row["method"] if row["kind"] == PEERS else f"**{row['method']}**"
    note = "" if row["note"].startswith("version") else row["note"].replace("|", "/")
    shown = [_with_interval(row, figure) for figure in figures[:2]]
    shown += [_value(row, figure) for figure in figures[2:]]
    return [name, *shown, _seconds(row["seconds"]), note]


def _mean(rows: Sequence[Row], figure: str) -> str:
    values = [row["figures"][figure][0] for row in rows if figure in row["figures"]]
    return _number(float(np.mean(values))) if values else "–"  # noqa: RUF001


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if values else None


def _value(row: Row | None, figure: str = "accuracy") -> str:
    if row is None or figure not in row["figures"]:
        return "–"  # noqa: RUF001
    return _number(row["figures"][figure][0])


def _with_interval(row: Row, figure: str) -> str:
    if figure not in row["figures"]:
        return "–"  # noqa: RUF001
    value, low, high = row["figures"][figure]
    return f"{_number(value)} [{_number(low)}, {_number(high)}]"


def _number(value: float) -> str:
    return f"{value:.3f}"


def _seconds(value: float | None) -> str:
    if value is None:
        return "–"  # noqa: RUF001
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"
