"""Where EM begins, and which of its fits is kept."""

from typing import NamedTuple

import numpy as np
import pytest

from unelisa.aggregators.coins import CoinAggregator, list_shares
from unelisa.errors import ConvergenceWarning, ExpertsWarning
from unelisa.paper.em import list_starts
from unelisa.votes import Votes
from unelisa.votes.blocks import SparseVotes, WholeTable

TABLE = np.array([[1, 1, -1], [1, 0, 0], [0, 0, 0], [-1, -1, 1]], dtype=np.int8, order="F")


class Fit(NamedTuple):
    """What EM would give, and what it was given."""

    start: np.ndarray
    lower_bound: np.ndarray
    converged: bool
    options: tuple


class Coins(CoinAggregator):
    """Only the choice among fits is looked at; a fit scores items by its bound."""

    def learn(self, table, bounds, converged=True):
        """Return the fit kept, all that were made, and the rivals noted."""
        self.bounds, self.converged, self.made, self._rivals = bounds, converged, [], []
        self._fit(Votes.of(table, coding="pm1"))
        return self.kept, self.made, self._rivals

    def _estimate(self, blocks, start, max_iter, tol):
        bound = np.array([-9.0, self.bounds[len(self.made)]])
        self.made.append(Fit(start, bound, self.converged, (max_iter, tol)))
        return self.made[-1]

    def _adopt(self, fit, votes, voters):
        self.kept, self.weights_ = fit, np.full(votes.n_voters, fit.lower_bound[-1])

    def _score(self, votes):
        return np.full(votes.n_items, self.weights_[0])


def test_the_first_start_is_the_share_of_yes_votes():
    first, *others = list_shares(WholeTable(TABLE), 3)
    assert first.tolist() == [pytest.approx(2 / 3), 1.0, 0.5, pytest.approx(1 / 3)]
    assert len(others) == 2


def test_the_others_are_shares_in_weighted_crowds():
    weights = list_starts(WholeTable(TABLE), np.ones(3), 5)
    for start, w in zip(list_shares(WholeTable(TABLE), 5), weights, strict=True):
        signed, mass = TABLE @ w, np.abs(TABLE) @ np.abs(w)
        assert start == pytest.approx(0.5 + signed / np.where(mass > 0, mass, 1) / 2)


def test_starts_are_the_same_for_sparse_votes():
    here = list_shares(WholeTable(TABLE), 5)
    there = list_shares(WholeTable(SparseVotes.of(TABLE)), 5)
    assert np.allclose(here, there, rtol=0, atol=1e-12)


def test_votes_of_nobody_start_at_one_half():
    nobody = WholeTable(np.zeros((3, 2), np.int8))
    assert np.all(np.array(list_shares(nobody, 5)) == 0.5)


def test_the_likeliest_fit_is_kept_and_the_first_of_equals():
    model = Coins(n_starts=4, max_iter=7, tol=0.5)
    best, made, rivals = model.learn(TABLE, [-3.0, -1.0, -2.0, -1.0])
    assert len(made) == 4
    assert best is made[1]
    assert best.options == (7, 0.5)
    assert rivals == []


def test_fits_of_nearly_equal_likelihood_are_rivals():
    best, made, rivals = Coins(n_starts=3).learn(TABLE, [-3.0, -1.0, -1.2])
    assert best is made[1]
    assert [rival.scores[0] for rival in rivals] == [-1.2]  # .8 nats behind on four items


def test_fewer_than_three_varying_voters_get_the_majority_vote():
    two = np.array([[1, 1, 1], [-1, 1, 1], [1, -1, 1]], dtype=np.int8)
    with pytest.warns(ExpertsWarning, match="fewer than three voters vary"):
        best, made, _ = Coins(n_starts=4).learn(two, [0.0] * 4)
    assert len(made) == 1
    # the third voter gave every item the same vote and has no part in it
    assert best.start.tolist() == pytest.approx([1.0, 0.5, 0.5])
    assert best.options[0] == 1


def test_no_warning_where_nobody_varies():
    _, made, _ = Coins(n_starts=4).learn(np.ones((3, 3), np.int8), [0.0] * 4)
    assert len(made) == 1


def test_a_fit_that_did_not_converge_warns():
    with pytest.warns(ConvergenceWarning, match="EM did not converge in 500 iterations: raise"):
        Coins(n_starts=2).learn(TABLE, [0.0, 0.0], converged=False)
