"""Advice to a jury: how many human labels would settle it, and which judges it can do without.

Backward search: a voter is dropped if, in a fit without it, nearly all labels stay and neither
expected accuracy nor reliability falls.
"""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, xlogy

from unelisa.aggregators import Aggregator
from unelisa.analysis.judged import Judged
from unelisa.base import clone
from unelisa.errors import UnelisaWarning
from unelisa.latent.crowd import draw_items
from unelisa.votes import Votes

Floats = NDArray[np.float64]
WITHIN, LEVEL = 0.05, 0.95  # how precisely the accuracy is to be known, and how surely
LIKELIER = 20.0  # times, by which labels must favor a reading
LEAST_LABELS, MOST_LABELS = 10, 10_000  # fewer do not choose between readings in `fit`
SAME_LABELS = 0.99  # of the whole panel's labels that must stay
LOST_ACCURACY = 0.005  # of the expected accuracy that may be lost
LEAST_JUDGES = 4  # as many independent voters as can check each other
MOST_FITS, MOST_VOTES = 30, 20_000
TRIED = 2  # voters in each step
LEAST_CHANCE = 0.01  # of an answer that a reading thinks impossible: people err


def count_labels(model: Aggregator, judged: Judged) -> dict[str, Any] | None:
    """Return how many human labels would settle whether the panel is right; None: it is trusted.

    With a second reading, labels of random items must give likelihood ratios of 20 of the reading P
    to each rival Q (the other reading, that upside down, and a coin), after log n nats for what
    `fit` learns from them: n min_Q mean_i KL(P_i, Q_i) >= log 20 + log n. Otherwise they show the
    panel's accuracy a within 5 points, at 95 %: n = m / (1 + (m - 1) / N), m = z^2 a (1 - a) /
    .05^2.
    """
    if getattr(model, "reliable_", True):
        return None
    fitted: Any = model
    if getattr(model, "two_readings_", False) and len(fitted.readings_) > 1:
        found = _separate_readings(fitted, judged)
        if found is not None:
            return found
    low = (getattr(model, "expected_accuracy_interval_", None) or (0.5, 0.5))[0]
    n = count_for_accuracy(low, judged.votes.n_items)
    return {"n": n, "settles": "accuracy", "among": judged.votes.n_items}


def count_for_accuracy(accuracy: float, n_items: int) -> int:
    """Return the number of labels that give the accuracy within 5 points, of so many items."""
    worst = float(np.clip(accuracy, 0.5, 1 - LEAST_CHANCE))
    z = float(ndtri((1 + LEVEL) / 2))
    many = z**2 * worst * (1 - worst) / WITHIN**2
    return min(int(np.ceil(many / (1 + (many - 1) / n_items))), n_items)


def _separate_readings(model: Any, judged: Judged) -> dict[str, Any] | None:
    """Return the number of labels that reject the other reading; None if they agree everywhere."""
    first, second = (
        np.clip(one.predict_proba(judged.votes), LEAST_CHANCE, 1 - LEAST_CHANCE)
        for one in (model, model.read(1))
    )
    if np.array_equal(first.argmax(axis=1), second.argmax(axis=1)):
        return None
    rivals = [second, np.full_like(first, 1 / first.shape[1])]
    if judged.two_classes:
        rivals.append(1 - second)
    gains = [(xlogy(first, first) - xlogy(first, one)).sum(axis=1).mean() for one in rivals]
    n_items = judged.votes.n_items
    n = min(count_for_ratio(min(gains)), n_items)
    return {"n": n, "settles": "readings", "among": n_items}


def count_for_ratio(divergence: float) -> int:
    """Return the number of labels that reject the other reading, given what each adds."""
    counts = np.arange(LEAST_LABELS, MOST_LABELS)
    enough = counts * divergence >= np.log(LIKELIER) + np.log(counts)
    return int(counts[enough.argmax()]) if enough.any() else MOST_LABELS


class Smaller(NamedTuple):
    """A panel without some voters, compared with the whole one."""

    dropped: list[Any]  # names, in the order of dropping
    kept: list[Any]
    labels_kept: float  # share of the labels that stay
    accuracy_change: float  # of the expected accuracy
    items: int  # on which panels were compared


def find_smaller_panel(model: Aggregator, votes: Votes, gold: Any = None) -> Smaller:
    """Return the smallest panel found that loses nothing visible; `dropped` may be empty."""
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
    return float(model.expected_accuracy_ or 0.0)


def rank_silent(model: Any, votes: Votes) -> list[int]:
    """Return the voters, those first without whom most labels stay; ties: copies, low weight."""
    before, everybody = model.predict_proba(votes), np.arange(votes.n_voters)
    stay = []
    for s, weight in enumerate(np.abs(np.nan_to_num(model.weights_)).tolist()):
        blocks = votes.blocks.rearrange(np.where(everybody == s, -1, everybody))
        after = model.predict_proba(replace(votes, blocks=blocks))
        same = float(np.mean(after.argmax(axis=1) == before.argmax(axis=1)))
        least = 0.0 if np.allclose(after, before) else weight
        stay.append((-min(round(same, 3), SAME_LABELS), least, s))
    return [s for _, _, s in sorted(stay)]
