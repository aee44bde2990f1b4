"""Overlap: items that everybody is asked about, which show who repeats whom.

A model that takes the opinion of a clique for the truth calls its members experts, and asks one of
them about each item. Their votes never meet, and that they repeat each other never shows. So a part
of each batch goes to items that all voters answer, as long as pairs of voters have met on fewer
items than show that.
"""

import numpy as np
from numpy.typing import NDArray

from unelisa.analysis.suggestions.batch import Question, Terms, open_items
from unelisa.analysis.suggestions.panels import Panel
from unelisa.votes.ballots import Ballots, Floats, Sums
from unelisa.votes.blocks import ItemBlocks

SHARE = 0.25  # of a batch
COMMON = 50  # items on which a pair must meet, so that ten voters who repeat each other show


def ask_everybody(
    panel: Panel, ballots: ItemBlocks, chances: Floats, terms: Terms, n: int
) -> list[Question]:
    """Return questions that complete some items, at most a quarter of n; gains are of each alone.

    The items with the most votes come first, and of them those whose label is least certain. There
    are none if a quarter of n is less than one question per voter, if half of the pairs of voters
    have met on fifty items, or if there are not fifty items per voter.
    """
    asked = np.isfinite(terms.prices[:-1])
    n_asked, left = int(np.count_nonzero(asked)), int(SHARE * n)
    if not 1 < n_asked <= left or COMMON * n_asked > len(chances):
        return []
    (common,) = ballots.sum(_count_common, asked)
    if np.median(common[np.triu_indices(n_asked, 1)]) >= COMMON:
        return []
    counts = ballots.concatenate(_count_votes, asked)
    order = np.lexsort((chances.max(axis=1), -counts))
    order = order[counts[order] < n_asked][:left]  # more items than votes are never completed
    numbers = np.sort(order)
    items = {item.number: item for item in open_items(panel, ballots, chances, terms, numbers)}
    found: list[Question] = []
    for item in (items[number] for number in order.tolist()):
        voters = np.flatnonzero(np.isfinite(item.prices[:-1])).tolist()
        if len(found) + len(voters) > left:
            break
        found += [Question(item.number, s, float(item.gains[s])) for s in voters]
    return found


def without(terms: Terms, questions: list[Question], shape: tuple[int, int]) -> Terms:
    """Return the terms on which these questions are not asked again."""
    offered = np.ones(shape, dtype=np.bool_) if terms.offered is None else terms.offered.copy()
    for question in questions:
        offered[question.item, question.voter] = False
    return terms._replace(offered=offered)


def _count_common(ballots: Ballots, asked: NDArray[np.bool_]) -> Sums:
    """Return on how many items each pair of the voters who can be asked have met. A pass."""
    own = asked[ballots.voters]
    place = np.cumsum(asked) - 1
    there = np.zeros((ballots.n_items, int(np.count_nonzero(asked))), dtype=np.float32)
    there[ballots.items[own], place[ballots.voters[own]]] = 1
    return (np.asarray(there.T @ there, dtype=np.float64),)


def _count_votes(ballots: Ballots, asked: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return how many of the voters who can be asked have voted on each item."""
    return np.bincount(ballots.items[asked[ballots.voters]], minlength=ballots.n_items)
