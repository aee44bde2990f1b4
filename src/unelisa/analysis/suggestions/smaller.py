"""A smaller panel: which judges can be dropped without changing the labels.

Greedy and backward. In each step the voters are ranked by how many labels stay if a voter falls
silent under the fitted model, which needs no fit. The model is fitted again without the first of
them; the voter is dropped if nearly all labels of the whole panel stay and nothing is lost that can
be seen: the expected accuracy, or that the labels can be relied on. Otherwise the next one is
tried. So there is about one fit per voter who is dropped, at most `MOST_FITS` in all, each on at
most `MOST_VOTES` votes.
"""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators import Aggregator
from unelisa.base import clone
from unelisa.errors import UnelisaWarning
from unelisa.latent.crowd import draw_items
from unelisa.votes import Votes

Floats = NDArray[np.float64]
SAME_LABELS = 0.99  # of the whole panel's labels that must stay
LOST_ACCURACY = 0.005  # of the expected accuracy that may be lost
LEAST_JUDGES = 4  # as many independent voters as can check each other
MOST_FITS, MOST_VOTES = 30, 20_000
TRIED = 2  # voters in each step


class Smaller(NamedTuple):
    """A panel without some voters, compared with the whole one."""

    dropped: list[Any]  # names, in the order of dropping
    kept: list[Any]
    labels_kept: float  # share of the labels that stay
    accuracy_change: float  # of the expected accuracy
    items: int  # on which panels were compared


def find_smaller_panel(model: Aggregator, votes: Votes, gold: Any = None) -> Smaller:
    """Return the smallest panel found that loses nothing visible; `dropped` may be empty.

    `gold` are the gold labels that the model was fitted with: a dict, or one per item.
    """
    rows = draw_items(votes.n_items, max(MOST_VOTES // max(votes.n_voters, 1), 1))
    some = votes.take_items(rows)
    if isinstance(gold, Mapping):
        inside = set(map(str, some.items))
        gold = {item: label for item, label in gold.items() if str(item) in inside} or None
    elif gold is not None:
        gold = np.asarray(gold, dtype=object)[rows]
    search = _Search(model, some, gold, part=some.n_items < votes.n_items)
    while search.advance():
        pass
    change = search.accuracy - search.accuracy_before
    dropped = [name for name, _ in search.dropped]
    share = search.dropped[-1][1] if search.dropped else 1.0
    return Smaller(dropped, search.votes.voters.tolist(), share, change, some.n_items)


class _Search:
    """The panel so far."""

    def __init__(self, model: Aggregator, votes: Votes, gold: Any, *, part: bool) -> None:
        self.votes, self.gold, self.fits = votes, gold, 0
        self.dropped: list[tuple[Any, float]] = []
        fitted: Any = self._fit(votes, model) if part else model
        self.model = fitted
        self.labels = self.model.predict_proba(votes).argmax(axis=1)
        self.accuracy = self.accuracy_before = _expect_accuracy(self.model)

    def advance(self) -> bool:
        """Drop one voter, if any can be; return whether one was."""
        if self.votes.n_voters <= LEAST_JUDGES:
            return False
        for s in rank_silent(self.model, self.votes)[:TRIED]:
            if self.fits >= MOST_FITS:
                return False
            rest = self.votes.take_voters(np.delete(np.arange(self.votes.n_voters), s))
            model = self._fit(rest, self.model)
            share = float(np.mean(model.predict_proba(rest).argmax(axis=1) == self.labels))
            if self._loses(model, share):
                continue
            self.dropped.append((self.votes.voters[s], share))
            self.votes, self.model = rest, model
            self.accuracy = _expect_accuracy(model)
            return True
        return False

    def _loses(self, model: Any, share: float) -> bool:
        lost = _expect_accuracy(model) < self.accuracy_before - LOST_ACCURACY
        doubted = not model.reliable_ and self.model.reliable_
        return share < SAME_LABELS or lost or doubted

    def _fit(self, votes: Votes, like: Any) -> Any:
        self.fits += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnelisaWarning)  # of the whole panel they were shown
            return clone(like).fit(votes, self.gold)


def _expect_accuracy(model: Any) -> float:
    """Return the expected accuracy; 0 where nothing can be said."""
    return float(model.expected_accuracy_ or 0.0)


def rank_silent(model: Any, votes: Votes) -> list[int]:
    """Return the voters in the order of how many labels stay without them; the model stays.

    Where equally many stay, or nearly all, those first whose silence changes nothing at all, as
    that of a copy, and then those of the least weight.
    """
    before, everybody = model.predict_proba(votes), np.arange(votes.n_voters)
    stay = []
    for s, weight in enumerate(np.abs(np.nan_to_num(model.weights_)).tolist()):
        blocks = votes.blocks.rearrange(np.where(everybody == s, -1, everybody))
        after = model.predict_proba(replace(votes, blocks=blocks))
        same = float(np.mean(after.argmax(axis=1) == before.argmax(axis=1)))
        least = 0.0 if np.allclose(after, before) else weight
        stay.append((-min(round(same, 3), SAME_LABELS), least, s))
    return [s for _, _, s in sorted(stay)]
