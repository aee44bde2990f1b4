"""What a model says of the items, as counts; their names only where that is asked for."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators import Aggregator
from unelisa.votes import Votes

Floats = NDArray[np.float64]

SURE = 0.95  # an item is decided where one side's posterior is above this
BINS = 20
MOST_UNCERTAIN = 20


class Judged(NamedTuple):
    """Per item: the score, P(positive) where the method has one, whether anybody voted."""

    scores: Floats
    chances: Floats | None
    voted_on: NDArray[np.bool_]

    @classmethod
    def of(cls, model: Aggregator, votes: Votes) -> "Judged":
        """Return what a fitted model says of the items."""
        # votes that are not in memory are many: half the bytes for each number
        real = np.float64 if votes.blocks.whole else np.float32
        scores: NDArray[Any] = np.empty(votes.n_items, dtype=real)
        chances: NDArray[Any] | None = None
        if hasattr(model, "predict_proba"):
            chances = np.empty_like(scores)
        voted_on = np.empty(votes.n_items, dtype=bool)
        everybody, low = np.ones(votes.n_voters), 0
        for part in votes.parts():
            rows = slice(low, low := low + part.n_items)
            scores[rows] = model.decision_function(part)
            if chances is not None:
                chances[rows] = model.predict_proba(part)[:, 1]
            voted_on[rows] = part.blocks.weigh(np.zeros_like(everybody), everybody) > 0
        return cls(scores, chances, voted_on)

    def as_shares(self) -> Floats:
        """Return P(positive), or the hard label as 0, 1/2 (a tie) or 1 where there is none."""
        return (np.sign(self.scores) + 1) / 2 if self.chances is None else self.chances


def describe_items(judged: Judged) -> dict[str, Any]:
    """Return how many items there are, and how many are positive, tied, without a vote, decided."""
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
        sure = (judged.chances > SURE) | (judged.chances < 1 - SURE)
        described["sure"] = int(np.count_nonzero(sure))
    return described


def count_scores(judged: Judged) -> dict[str, Any]:
    """Return the histogram of the posterior, or of the score where there is none."""
    if judged.chances is not None:
        values, kind, low, high = judged.chances, "probability", 0.0, 1.0
    else:
        values, kind = judged.scores, "score"
        high = float(np.abs(values).max()) or 1.0
        low = -high
    counts, edges = np.histogram(values, bins=BINS, range=(low, high))
    return {"kind": kind, "counts": counts.tolist(), "edges": edges.tolist()}


def list_uncertain(judged: Judged, votes: Votes) -> list[dict[str, Any]]:
    """Return the items nearest to one half, by name: only for those who may see the names."""
    gaps = np.abs(judged.scores)
    labels = votes.label(judged.scores)
    return [
        {
            "item": str(votes.items[i]),
            "label": str(labels[i]),
            "probability": None if judged.chances is None else float(judged.chances[i]),
            "score": float(judged.scores[i]),
        }
        for i in np.argsort(gaps, kind="stable")[:MOST_UNCERTAIN]
    ]
