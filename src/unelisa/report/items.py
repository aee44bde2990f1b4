"""Items by name, each with who said what: only for readers who may see the names."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.report.judged import Judged
from unelisa.report.wording import show_name
from unelisa.votes.coding import encode_classes

Floats = NDArray[np.float64]

MOST_LISTED = 200  # items of each kind
MOST_NAMED, LONGEST_NAME = 4, 20  # voters that are named beside each label


def list_uncertain(judged: Judged) -> list[dict[str, Any]]:
    """Return the items closest to one half.

    With more than two classes, those whose label is the least probable, or ahead by the least.
    """
    sure = judged.leads if judged.two_classes or judged.chances is None else judged.chances
    return _name_items(judged, sure)


def list_hard(judged: Judged) -> list[dict[str, Any]]:
    """Return the items of least ease, without those of which it is unknown."""
    return [] if judged.ease is None else _name_items(judged, judged.ease)


def list_differing(judged: Judged) -> list[dict[str, Any]]:
    """Return the items whose label differs from that of the majority, the surest label first.

    Examples
    --------
    >>> import unelisa as ue
    >>> votes = ue.Votes.of([["yes", "yes", "no"], ["no", "no", "yes"]])
    >>> list_differing(Judged.of(ue.MajorityVote().fit(votes), votes))
    []
    """
    return _name_items(judged, np.where(judged.differs, -judged.leads, np.nan))


def _name_items(judged: Judged, order: Floats) -> list[dict[str, Any]]:
    """Return the first items in an order, without those where it is NaN."""
    ease = np.full(len(order), np.nan) if judged.ease is None else judged.ease
    first = [int(i) for i in np.argsort(order, kind="stable")[:MOST_LISTED] if order[i] == order[i]]
    return [
        {
            "item": str(judged.votes.items[i]),
            "label": str(judged.labels(slice(i, i + 1))[0]),
            "probability": None if judged.chances is None else float(judged.chances[i]),
            "score": float(judged.scores[i] if judged.two_classes else judged.leads[i]),
            "ease": None if not np.isfinite(ease[i]) else float(ease[i]),
            "said": said,
        }
        for i, said in zip(first, tell_votes(judged, first), strict=True)
    ]


def tell_votes(judged: Judged, items: list[int]) -> list[str]:
    """Return who said what about some items, in words, the most frequent label first."""
    votes, codes = judged.votes, encode_classes(len(judged.classes))
    names = [show_name(name, LONGEST_NAME) for name in votes.voters]
    told = []
    for row in votes.blocks.take(np.array(items, dtype=np.intp)).table() if items else ():
        found = [
            (label, np.flatnonzero(row == np.int8(code)))
            for label, code in zip(judged.classes, codes, strict=True)
        ]
        parts = [
            f"{show_name(label, LONGEST_NAME)} {len(who)}: {_name_some(names, who)}"
            for label, who in sorted(found, key=lambda one: -len(one[1]))
            if len(who)
        ]
        told.append("; ".join(parts))
    return told


def _name_some(names: list[str], voters: NDArray[np.intp]) -> str:
    some = ", ".join(names[s] for s in voters[:MOST_NAMED])
    return some if len(voters) <= MOST_NAMED else f"{some}\u00a0…"
