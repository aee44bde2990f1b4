"""The verdict on every voter of a reading, with the reason in words; tables of readings."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import Sentence
from unelisa.latent.reading import NAMED, Reading

SURE_ERRORS = 2.0  # standard errors by which a weight is clearly not 0
WORDS = {
    "expert": "clearly better than the crowd",
    "counted": "agrees with the truth",
    "contrarian": "contradicts the truth: its votes are reversed",
    "uninformative": "not clearly tied to the truth",
}


def find_heads(reading: Reading, names: NDArray[Any]) -> list[str]:
    """Return for every voter the name of the one who repeats its family most; empty without one."""
    heads, weights = [""] * len(names), np.abs(reading.weights)
    for c in range(int(reading.family.max(initial=-1)) + 1):
        own = np.flatnonzero(reading.family == c)
        head = str(names[own[np.argmax(weights[own])]])
        for s in own:
            heads[s] = head
    return heads


def judge_voters(reading: Reading, names: NDArray[Any]) -> list[str]:
    """Return the verdict on every voter of a consensus."""
    weights = reading.weights
    vague = np.abs(weights) <= SURE_ERRORS * reading.standard_errors
    verdicts = ["expert" if expert else "counted" for expert in reading.experts]
    for s, head in enumerate(find_heads(reading, names)):
        if vague[s]:
            verdicts[s] = "uninformative"
        elif weights[s] < 0:
            verdicts[s] = "contrarian"
        elif head and head != str(names[s]):
            verdicts[s] = f"family of {head}"
    return verdicts


def explain_voters(reading: Reading, names: NDArray[Any]) -> list[str]:
    """Return the reason for the verdict on every voter."""
    if reading.name == "edges":
        return _explain_graph(reading)
    verdicts, heads = judge_voters(reading, names), find_heads(reading, names)
    reasons = [
        WORDS.get(verdict, f"repeats {head}: the family counts as one voter")
        for verdict, head in zip(verdicts, heads, strict=True)
    ]
    for s in np.flatnonzero(~reading.distinct):
        reasons[s] = f"repeats {names[reading.heads[s]]} vote for vote: they count as one voter"
    return reasons


def tell_copies(heads: NDArray[np.integer], names: NDArray[Any]) -> list[Sentence]:
    """Return that voters are copies, in a sentence; nothing if there are none."""
    groups = np.flatnonzero(np.bincount(heads, minlength=len(heads)) > 1)
    if not len(groups):
        return []
    alike = [[str(name) for name in names[heads == k]] for k in groups]
    first = Sentence.listing("{}", alike[0], NAMED)
    rest = len(groups) - 1
    more = f"; so it is with {rest} more {'group' if rest == 1 else 'groups'}" if rest else ""
    told = f"{first} repeat each other vote for vote and count as one voter{more}"
    return [Sentence(told, map(", ".join, alike) if more else first.voters)]


def list_followers(reading: Reading) -> NDArray[np.intp]:
    """Return the voters who are clearly on the side of a reading's truth."""
    errors = np.nan_to_num(reading.standard_errors)
    return np.flatnonzero(reading.weights > SURE_ERRORS * errors)


def tabulate_readings(readings: list[Reading], names: NDArray[Any], classes: NDArray[Any]) -> Any:
    """Return some readings as a pandas table; the first one was taken."""
    import pandas as pd  # noqa: PLC0415 - a third of a second that only tables need

    rows = [
        {
            "structure": one.structure,
            "branches": one.branches,
            "agreement": one.agreement if k else 1.0,
            **_describe_labels(one, classes),
            "voters": list(names[list_followers(one)]),
        }
        for k, one in enumerate(readings)
    ]
    return pd.DataFrame(rows)


def _describe_labels(reading: Reading, classes: NDArray[Any]) -> dict[str, float]:
    """Return the share of the labels in each class, of two classes in the positive one."""
    shares = np.full(len(classes), np.nan) if reading.trust is None else reading.trust.labels
    if len(classes) == 2:
        return {"share_yes": float(shares[1])}
    return {f"share_{label}": float(s) for label, s in zip(classes, shares, strict=True)}


def _explain_graph(reading: Reading) -> list[str]:
    weights, tied = reading.weights, np.append(reading.links.first, reading.links.second)
    reasons = []
    for s, expert in enumerate(reading.experts):
        if expert:
            reasons.append("agrees with the truth" if weights[s] > 0 else "contradicts the truth")
        else:
            reasons.append("explained by other voters" if s in tied else WORDS["uninformative"])
    return reasons
