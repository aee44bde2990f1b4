"""The table of labels: one row per item, with its label, probability and where it comes from."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.votes import Votes
from unelisa.votes.ballots import count_heard, list_ballots


def tabulate_labels(
    votes: Votes,
    labels: NDArray[Any],
    chances: NDArray[np.float64],
    gold: NDArray[np.int8] | None,
) -> Any:
    """Return item, label, probability and status (gold, model or no votes) as a pandas table.

    Examples
    --------
    >>> votes = Votes.of([["a", "b"], ["b", None]])
    >>> chances = np.array([[0.5, 0.5], [0.1, 0.9]])
    >>> tabulate_labels(votes, np.array(["a", "b"]), chances, None)["status"].tolist()
    ['model', 'model']
    """
    import pandas as pd  # noqa: PLC0415 - a third of a second that only tables need

    heard = list_ballots(votes.blocks).concatenate(count_heard) > 0
    status = np.where(heard, "model", "no votes").astype(object)
    if gold is not None:
        status[gold != 0] = "gold"
    columns = {"item": list(votes.items), "label": labels, "probability": chances.max(axis=1)}
    return pd.DataFrame({**columns, "status": status})
