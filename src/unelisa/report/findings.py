"""Every number that a report shows, as plain data: no HTML here, no numbers elsewhere.

The findings hold voters' names but never items', because items may be patients.
"""

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import unelisa
from unelisa.aggregators import AGGREGATORS, Aggregator
from unelisa.votes import Votes

VERSION = 1  # of the findings' form; a reader of stored findings checks it
SURE = 0.95  # an item is decided where one side's posterior is above this
BINS = 20

Findings = dict[str, Any]
Floats = NDArray[np.float64]


class _Judged(NamedTuple):
    """Per item: the score, P(positive) where the method has one, whether anybody voted."""

    scores: Floats
    chances: Floats | None
    voted_on: NDArray[np.bool_]


def collect_findings(
    model: Aggregator,
    votes: Votes | None = None,
    *,
    comparison: Sequence[Mapping[str, Any]] = (),
    seconds: float | None = None,
    notes: Sequence[str] = (),
) -> Findings:
    """Return all that a report tells of a fitted model, as data that JSON can hold.

    Parameters
    ----------
    model
        The fitted model; only its public attributes are read.
    votes
        The votes it labels. Without them the findings tell of the voters alone.
    comparison
        Rows of methods scored against the truth, where that is known.
    seconds
        What the fit took.
    notes
        Further sentences to show as warnings, such as those of the fit.

    Examples
    --------
    >>> import unelisa as ue
    >>> votes = ue.Votes.of([[1, 1, -1], [-1, -1, 1]])
    >>> collect_findings(ue.MajorityVote().fit(votes), votes)["items"]["positive"]
    1
    """
    judged = None if votes is None else _judge(model, votes)
    findings: Findings = {
        "version": VERSION,
        "method": name_method(model),
        "classes": [_plain(label) for label in model.classes_.tolist()],
        "items": None if judged is None else _describe_items(judged),
        "crowd": _describe_crowd(model),
        "prevalence": _plain(getattr(model, "prevalence_", None)),
        "histogram": None if judged is None else _count_scores(judged),
        "voters": _list_voters(model),
        "comparison": [{k: _plain(v) for k, v in row.items()} for row in comparison],
        "fit": _describe_fit(model, seconds),
    }
    findings["answer"] = _answer(findings)
    findings["warnings"] = [*_warn(model, votes, findings), *notes]
    return findings


def name_method(model: Aggregator) -> str:
    """Return the name under which a model's class is registered."""
    known = {cls: name for name, cls in AGGREGATORS.items()}
    return known.get(type(model), type(model).__name__)


def _judge(model: Aggregator, votes: Votes) -> _Judged:
    chances = model.predict_proba(votes)[:, 1] if hasattr(model, "predict_proba") else None
    return _Judged(model.decision_function(votes), chances, np.asarray(votes.values.any(axis=1)))


def _describe_items(judged: _Judged) -> dict[str, Any]:
    n, positive = len(judged.scores), int(np.count_nonzero(judged.scores >= 0))
    described = {
        "n": n,
        "positive": positive,
        "share_positive": positive / n,
        "ties": int(np.count_nonzero(judged.scores == 0)),
        "unvoted": int(np.count_nonzero(~judged.voted_on)),
        "sure": None,
    }
    if judged.chances is not None:
        described["sure"] = int(np.count_nonzero(np.abs(judged.chances - 0.5) > SURE - 0.5))
    return described


def _describe_crowd(model: Aggregator) -> dict[str, Any]:
    counted = model.experts_
    return {
        "voters": int(model.n_features_in_),
        "selects": "expert" in model.verdicts,
        "counted": len(counted),
        "contrarians": int(np.count_nonzero(model.polarity_[counted] < 0)),
    }


def _count_scores(judged: _Judged) -> dict[str, Any]:
    """Return the histogram of the posterior, or of the score where there is none."""
    if judged.chances is not None:
        values, kind, low, high = judged.chances, "probability", 0.0, 1.0
    else:
        values, kind = judged.scores, "score"
        high = float(np.abs(values).max()) or 1.0
        low = -high
    counts, edges = np.histogram(values, bins=BINS, range=(low, high))
    return {"kind": kind, "counts": counts.tolist(), "edges": edges.tolist()}


def _list_voters(model: Aggregator) -> list[dict[str, Any]]:
    """Return the voters' table, the heaviest first."""
    table = model.voters_
    rows = [{k: _plain(v) for k, v in row.items()} for row in table.to_dict("records")]
    for row in rows:
        row["voter"] = str(row["voter"])
    return sorted(rows, key=lambda row: (-abs(row["weight"] or 0.0), row["voter"]))


def _describe_fit(model: Aggregator, seconds: float | None) -> dict[str, Any]:
    packages = ("numpy", "scipy", "scikit-learn")
    return {
        "settings": {k: _plain(v) for k, v in model.get_params(deep=False).items()},
        "rounds": _plain(getattr(model, "n_iter_", None)),
        "seconds": seconds,
        "versions": {
            "unelisa": unelisa.__version__,
            "python": platform.python_version(),
            **{name: version(name) for name in packages},
        },
    }


def _answer(findings: Findings) -> str:
    items, crowd = findings["items"], findings["crowd"]
    if crowd["selects"]:
        who = f"{crowd['counted']} of {crowd['voters']} voters are experts"
    else:
        who = f"{crowd['counted']} of {crowd['voters']} voters count"
    if crowd["contrarians"]:
        many = crowd["contrarians"]
        who += f", {many} of them {'a contrarian' if many == 1 else 'contrarians'} turned around"
    if items is None:
        return f"{who}."
    share = f"{items['share_positive']:.1%}"
    return f"{_count(items['n'], 'item')} labelled, {share} of them positive; {who}."


def _warn(model: Aggregator, votes: Votes | None, findings: Findings) -> list[str]:
    told = [*_warn_of_experts(findings["crowd"]), *_warn_of_sides(model, findings["crowd"])]
    if votes is not None:
        told += [*_warn_of_voters(votes), *_warn_of_items(findings["items"])]
    return told


def _warn_of_experts(crowd: dict[str, Any]) -> list[str]:
    if not crowd["selects"] or crowd["counted"] >= 3:
        return []
    if crowd["counted"] == 0:
        return ["No expert was found: all voters count the same, as in majority vote."]
    many = _count(crowd["counted"], "expert")
    return [f"Only {many} found: fewer than three leave open how reliable each of them is."]


def _warn_of_sides(model: Aggregator, crowd: dict[str, Any]) -> list[str]:
    """Return a warning where one voter more or less would have swapped the two labels."""
    by_majority = model.get_params(deep=False).get("orient") == "majority"
    straight = crowd["counted"] - crowd["contrarians"]
    if not by_majority or crowd["contrarians"] == 0 or straight - crowd["contrarians"] > 1:
        return []
    return [
        f"Which side is positive rests on a bare majority, {straight} voters against "
        f"{crowd['contrarians']}: name a voter you trust or give a few gold labels."
    ]


def _warn_of_voters(votes: Votes) -> list[str]:
    silent = votes.vote_counts() == 0
    stuck = votes.constant() & ~silent
    told = []
    if silent.any():
        told.append(f"{_count(int(silent.sum()), 'voter')} never voted and carry no weight.")
    if stuck.any():
        many = _count(int(stuck.sum()), "voter")
        told.append(f"{many} always gave the same vote, which tells little.")
    return told


def _warn_of_items(items: dict[str, Any]) -> list[str]:
    told = []
    if items["n"] > 1 and items["positive"] in (0, items["n"]):
        told.append("Every item got the same label: the votes may not tell the two sides apart.")
    if items["unvoted"]:
        told.append(f"{_count(items['unvoted'], 'item')} had no vote at all.")
    if items["ties"]:
        told.append(f"{_count(items['ties'], 'item')} ended in a tie and count as positive.")
    return told


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _plain(value: Any) -> Any:
    """Return a value that JSON can hold: None for NaN, words for what is not plain."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return type(value).__name__
