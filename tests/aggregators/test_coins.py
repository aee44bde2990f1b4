"""Where EM begins, and which of its fits is kept."""

from typing import NamedTuple

import numpy as np
import pytest

from unelisa.aggregators.coins import CoinAggregator, draw_starts
from unelisa.blocks import SparseVotes, WholeTable
from unelisa.errors import ConvergenceWarning, ExpertsWarning
from unelisa.votes import Votes

TABLE = np.array([[1, 1, -1], [1, 0, 0], [0, 0, 0], [-1, -1, 1]], dtype=np.int8, order="F")


class Fit(NamedTuple):
    """What EM would give, and what it was given."""

    start: np.ndarray
    lower_bound: np.ndarray
    converged: bool
    options: tuple


class Coins(CoinAggregator):
    """Only the choice among fits is looked at."""

    method = "coins"

    def choose(self, table, bounds, converged=True):
        """The fit kept, and all that were made, when they reach these bounds in turn."""
        made = []

        def estimate(values, start, max_iter, tol):
            bound = np.array([-9.0, bounds[len(made)]])
            made.append(Fit(start, bound, converged, (max_iter, tol)))
            return made[-1]

        return self._best_fit(Votes.of(table, coding="pm1"), estimate), made


def test_the_first_start_is_the_share_of_yes_votes():
    first, *others = draw_starts(WholeTable(TABLE), 3, np.random.default_rng(0))
    assert first.tolist() == [pytest.approx(2 / 3), 1.0, 0.5, pytest.approx(1 / 3)]
    assert len(others) == 2


def test_the_others_are_shares_in_crowds_weighed_at_random():
    """One weight per voter and start, between 0 and 1; the first start has drawn its own too."""
    drawn = np.random.default_rng(5).uniform(0, 1, (3, 4))
    starts = draw_starts(WholeTable(TABLE), 4, np.random.default_rng(5))
    for start, weights in zip(starts[1:], drawn.T[1:], strict=True):
        yes, all_of_them = (TABLE > 0) @ weights, np.abs(TABLE) @ weights
        assert start[[0, 1, 3]] == pytest.approx((yes / np.maximum(all_of_them, 1e-9))[[0, 1, 3]])
        assert start[2] == 0.5


def test_who_never_voted_leaves_no_trace_in_the_random_numbers():
    wider = np.insert(TABLE, 1, 0, axis=1)
    for one, other in zip(
        draw_starts(WholeTable(TABLE), 3, np.random.default_rng(1)),
        draw_starts(WholeTable(np.asfortranarray(wider)), 3, np.random.default_rng(1)),
        strict=True,
    ):
        assert np.array_equal(one, other)


def test_starts_are_the_same_for_sparse_votes():
    here = draw_starts(WholeTable(TABLE), 3, np.random.default_rng(1))
    there = draw_starts(WholeTable(SparseVotes.of(TABLE)), 3, np.random.default_rng(1))
    assert np.allclose(here, there, rtol=0, atol=1e-15)


def test_votes_of_nobody_start_at_one_half():
    nobody = WholeTable(np.zeros((3, 2), np.int8))
    assert np.all(np.array(draw_starts(nobody, 2, np.random.default_rng(0))) == 0.5)


def test_the_likeliest_fit_is_kept_and_the_first_of_equals():
    model = Coins(n_starts=4, max_iter=7, tol=0.5, random_state=0)
    best, made = model.choose(TABLE, [-3.0, -1.0, -2.0, -1.0])
    assert len(made) == 4
    assert best is made[1]
    assert best.options == (7, 0.5)


def test_fewer_than_three_varying_voters_get_the_majority_vote():
    two = np.array([[1, 1, 1], [-1, 1, 1], [1, -1, 1]], dtype=np.int8)
    with pytest.warns(ExpertsWarning, match="fewer than three voters vary"):
        best, made = Coins(n_starts=4, random_state=0).choose(two, [0.0] * 4)
    assert len(made) == 1
    assert best.start.tolist() == pytest.approx([1.0, 2 / 3, 2 / 3])
    assert best.options[0] == 1


def test_no_warning_where_nobody_varies():
    _, made = Coins(n_starts=4, random_state=0).choose(np.ones((3, 3), np.int8), [0.0] * 4)
    assert len(made) == 1


def test_a_fit_that_did_not_converge_warns():
    with pytest.warns(ConvergenceWarning, match="EM did not converge in 500 iterations: raise"):
        Coins(n_starts=2, random_state=0).choose(TABLE, [0.0, 0.0], converged=False)
