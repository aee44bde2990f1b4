"""More than two classes: how many items each got, what voters confuse, and which pairs are hard."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators import Aggregator
from unelisa.analysis.confusions import list_pairs, measure_confusions, pool_confusions
from unelisa.analysis.judged import Judged
from unelisa.outputs import make_plain

Floats = NDArray[np.float64]

MOST_DRAWN = 24  # classes in a picture of confusions; more cannot be read
MOST_CELLS = 200_000  # numbers of voters' own confusions in a page, so that it stays small


def describe_classes(
    model: Aggregator,
    judged: Judged | None,
    ranking: list[int],
    shares: Sequence[dict[str, Any]] | None = None,
) -> dict[str, Any] | None:
    """Return what a report says of more than two classes; None for two.

    Classes are given by their place in `classes_`, voters by their row in the ranking; `shares` are
    the estimated shares of the classes.

    Examples
    --------
    >>> import unelisa as ue
    >>> votes = ue.Votes.of([["a", "a", "b"], ["b", "b", "b"], ["c", "c", "a"]])
    >>> model = ue.MajorityVote().fit(votes)
    >>> found = describe_classes(model, Judged.of(model, votes), [0, 1, 2])
    >>> [one["labeled"] for one in found["shares"]]
    [1, 1, 1]
    """
    if len(model.classes_) == 2:
        return None
    listed = _list_shares(model, judged, shares)
    found = {"ordered": bool(getattr(model, "ordered_", False)), "shares": listed}
    measured = measure_confusions(model, judged)
    if measured is None:
        return {**found, "drawn": [], "confusion": None, "pairs": [], "voters": []}
    tables, votes = measured
    pooled = pool_confusions(tables, votes)
    drawn = _choose_drawn(votes.sum(axis=0))
    own = [tables[s][np.ix_(drawn, drawn)] for s in ranking[: MOST_CELLS // len(drawn) ** 2]]
    return {
        **found,
        "drawn": drawn,
        "confusion": pooled[np.ix_(drawn, drawn)].round(4).tolist(),
        "pairs": list_pairs(pooled, votes.sum(axis=0)),
        "voters": [table.round(3).tolist() for table in own],
    }


def _list_shares(
    model: Aggregator, judged: Judged | None, shares: Sequence[dict[str, Any]] | None
) -> list[dict[str, Any]]:
    """Return per class its label, the items labeled so, and its estimated share of all items."""
    labels, n = [make_plain(label) for label in model.classes_.tolist()], len(model.classes_)
    counts = [None] * n if judged is None else np.bincount(judged.picked, minlength=n).tolist()
    unknown = {"share": None, "low": None, "high": None}
    return [
        {
            "label": label,
            "labeled": count,
            "prevalence": one["share"],
            "low": one["low"],
            "high": one["high"],
        }
        for label, count, one in zip(labels, counts, shares or [unknown] * n, strict=True)
    ]


def _choose_drawn(votes: Floats) -> list[int]:
    """Return the classes that are drawn: all, or those with most votes, in their own order."""
    kept = np.argsort(-votes, kind="stable")[:MOST_DRAWN]
    return sorted(int(k) for k in kept)
