"""Items to look at and votes to ask for next, by name only for readers who may see the names."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators import Aggregator
from unelisa.analysis.judged import Judged
from unelisa.analysis.suggestions import can_suggest, suggest_votes
from unelisa.errors import UnelisaWarning
from unelisa.outputs import make_plain
from unelisa.report.wording import show_name
from unelisa.votes.coding import encode_classes

Floats = NDArray[np.float64]

MOST_LISTED = 200  # items of each kind
SUGGESTED = 50
MOST_CELLS = 50_000_000  # items x voters beyond which a report does not look for them
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
    """Return the items whose label differs from that of the majority, the surest label first."""
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
        for i, said in zip(first, describe_votes(judged, first), strict=True)
    ]


def describe_votes(judged: Judged, items: list[int]) -> list[str]:
    """Return who voted for what on some items, in words, the most frequent label first."""
    votes, codes = judged.votes, encode_classes(len(judged.classes))
    names = [show_name(name, LONGEST_NAME) for name in votes.voters]
    described = []
    for row in votes.blocks.take(np.array(items, dtype=np.intp)).expand() if items else ():
        found = [
            (label, np.flatnonzero(row == np.int8(code)))
            for label, code in zip(judged.classes, codes, strict=True)
        ]
        parts = [
            f"{show_name(label, LONGEST_NAME)} {len(who)}: {_name_some(names, who)}"
            for label, who in sorted(found, key=lambda one: -len(one[1]))
            if len(who)
        ]
        described.append("; ".join(parts))
    return described


def _name_some(names: list[str], voters: NDArray[np.intp]) -> str:
    some = ", ".join(names[s] for s in voters[:MOST_NAMED])
    return some if len(voters) <= MOST_NAMED else f"{some}\u00a0…"


def describe_next(
    model: Aggregator, judged: Judged | None, *, show_items: bool = False
) -> dict[str, Any]:
    """Return the section's data by its name in the findings; nothing where there is no section.

    Whom to ask how often, and what it is expected to gain; items only where they may be named.
    """
    if judged is None or not can_suggest(model):
        return {}
    votes = judged.votes
    if votes.n_items * votes.n_voters > MOST_CELLS:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnelisaWarning)  # the note says why there are fewer
        rows = suggest_votes(model, votes, n=SUGGESTED, chances=judged.as_columns())
    sums = rows.groupby("voter", sort=False).agg(votes=("gain", "size"), gain=("gain", "sum"))
    sums = sums.sort_values(["votes", "gain"], ascending=False, kind="stable")
    listed = rows.head(MOST_LISTED).to_dict("records") if show_items else []
    place = {item: i for i, item in enumerate(votes.items.tolist())} if listed else {}
    said = describe_votes(judged, [place[row["item"]] for row in listed])
    found = {
        "n": len(rows),
        "items": int(rows["item"].nunique()),
        "gain": float(rows["gain"].sum()),
        **{key: rows.attrs[key] for key in ("stop", "expected_errors", "note")},
        "voters": [
            {"voter": name, "votes": int(row.votes), "gain": float(row.gain)}
            for name, row in sums.iterrows()
        ],
        "rows": [
            {**{key: make_plain(value) for key, value in row.items()}, "said": who}
            for row, who in zip(listed, said, strict=True)
        ],
    }
    return {"next_votes": found}
