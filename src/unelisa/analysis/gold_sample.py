"""Gold labels of a random sample of the items, which the model must not have been fitted to."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators.known import by_name, read_gold
from unelisa.errors import ModelError, VotesError
from unelisa.votes import Votes


def read_sample(gold: Any, votes: Votes) -> NDArray[np.int8]:
    """Return the gold labels in the codes of the votes, 0 where unknown.

    Examples
    --------
    >>> votes = Votes.of([["yes", "no"], ["no", "no"]])
    >>> read_sample({1: "no"}, votes)
    array([ 0, -1], dtype=int8)
    """
    if not isinstance(gold, Mapping) and hasattr(gold, "index") and hasattr(gold, "items"):
        gold = dict(gold.items())  # a Series names its items, also if they are called 0, 1, 2, ...
    unknown = len((by_name(gold) or {}).keys() - {str(item) for item in votes.items})
    if unknown:
        raise VotesError(
            f"{unknown} of the {len(gold)} items with gold labels are not among the votes: gold "
            "labels must be a random sample of the items with votes"
        )
    codes = read_gold(gold, votes, "gold")
    if not codes.any():
        raise VotesError("gold has no label; omit it, or label a random sample of the items")
    return codes


def count_forgotten(model: Any, votes: Votes, codes: NDArray[np.int8]) -> int:
    """Return how many gold labels the model was fitted to without naming them any more.

    Raises `ModelError` where it was fitted to some of these: it predicts them better than others.
    """
    fitted: NDArray[np.int8] | None = model._recall_gold(votes)
    if fitted is None:
        return int(model.__dict__.get("_n_gold", 0))
    both = int(np.count_nonzero((fitted != 0) & (codes != 0)))
    if both:
        raise ModelError(
            f"the model was fitted to {both} of the {np.count_nonzero(codes)} gold labels, "
            "which it predicts better than other items: fit it without them, or pass labels that "
            "it has not seen"
        )
    return 0
