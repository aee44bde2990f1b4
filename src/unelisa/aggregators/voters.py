"""What is told of every voter: how much it voted, why it is idle, and what it confuses."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.votes import Votes

Floats = NDArray[np.float64]


def describe_votes(votes: Votes) -> dict[str, NDArray[Any]]:
    """Return per voter the number of votes, and snorkel's coverage, overlaps and conflicts.

    Shares of all items: voted on; also voted on by others; another voted otherwise.
    """
    overlaps, conflicts = votes.comparison[0][-2:]
    counts, n = votes.vote_counts(), votes.n_items
    return {
        "votes": counts,
        "coverage": counts / n,
        "overlaps": overlaps / n,
        "conflicts": conflicts / n,
    }


def idle_reason(votes: Votes, voter: int) -> str | None:
    """Return why a voter is uninformative, or None."""
    given = np.count_nonzero(votes.answers[:, voter])
    words = {0: "it never voted", 1: "it always gave the same vote"}
    return words.get(int(given))


def tabulate_confusions(model: Any, tables: Floats, votes: Floats) -> Any:
    """Return the pandas table of confusions [voters, meant, said] and votes [voters, meant]."""
    import pandas as pd  # noqa: PLC0415 - a third of a second that only tables need

    n_voters, n_classes = votes.shape
    voter, meant, said = np.indices((n_voters, n_classes, n_classes)).reshape(3, -1)
    return pd.DataFrame(
        {
            "voter": model.voter_names_[voter],
            "said": model.classes_[said],
            "meant": model.classes_[meant],
            "probability": tables.ravel(),
            "votes": votes[voter, meant],
        }
    )
