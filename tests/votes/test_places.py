"""What every place of votes promises: the sums and rows of one table in memory."""

from dataclasses import replace

import numpy as np
import pytest

import naive_solver
from places import NAMES, crowd, put
from unelisa.paper.em import estimate_reliability, weigh_posterior
from unelisa.paper.solvers import L1Problem, WorkingSet, ebic_path
from unelisa.paper.solvers.base import Rows
from unelisa.votes import Votes
from unelisa.votes.blocks import WholeTable, tally_votes, weigh_votes

EVERY_PLACE = pytest.mark.parametrize("place", NAMES)


@pytest.fixture
def held(place, tmp_path, monkeypatch):
    return put(place, crowd(), tmp_path, monkeypatch)


def show_start(block):
    return np.full(len(block.votes), block.start)


@EVERY_PLACE
def test_blocks_know_their_place_and_rows_come_in_order(held, place):
    starts = held.concatenate(show_start)
    assert held.shape == (len(starts), 12)
    changes = np.flatnonzero(np.diff(starts)) + 1
    assert np.array_equal(starts[changes], changes)
    assert (len(changes) > 0) == (not held.whole) == (place not in ("memory", "device"))
    rng = np.random.default_rng(1)
    signed, observed, x = rng.normal(size=12), rng.normal(size=12), rng.normal(size=len(held))
    assert held.weigh(signed, observed) == pytest.approx(
        weigh_votes(crowd(), signed, observed), abs=1e-12
    )
    for found, expected in zip(held.tally(x), tally_votes(crowd(), x), strict=True):
        assert found == pytest.approx(expected, abs=1e-9)
    columns = np.array([5, -1, 0])
    turned = held.rearrange(columns, side=-1)
    expected = -crowd()[:, columns]
    expected[:, 1] = 0
    weights = np.array([1.0, 2.0, 4.0])
    assert np.array_equal(turned.weigh(weights, np.zeros(3)), expected @ weights)


@EVERY_PLACE
def test_most_items_stay_where_they_are(held):
    """Each pass, also over views, finds the same rows and sums as in the table of these items."""
    votes = Votes(held, np.arange(len(held)), np.arange(12))
    items = np.flatnonzero(np.random.default_rng(2).random(len(held)) < 0.7)
    some, table = votes.keep_items(items), crowd()[items]
    x, weights = np.random.default_rng(3).normal(size=len(items)), np.arange(12.0)
    assert some.shape == table.shape
    assert held.place in (some.blocks.place, "sparse")
    assert np.array_equal(some.blocks.weigh(weights, 0 * weights), table @ weights)
    assert some.blocks.tally(x)[0] == pytest.approx(x @ table, abs=1e-9)
    assert np.array_equal(some.take_voters([3, 1]).blocks.expand(), table[:, [3, 1]])
    assert np.array_equal(some.take_items([0, 5]).values, table[[0, 5]])
    again = some.keep_items(np.arange(1, len(items)))
    assert again.blocks.tally(x[1:])[0] == pytest.approx(x[1:] @ table[1:], abs=1e-9)


@EVERY_PLACE
def test_some_items_are_taken_into_memory(held):
    items = np.array([0, 36, 37, 38, 999, 5000, len(held) - 1])
    assert np.array_equal(held.take(items).table(), crowd()[items])
    assert held.take(items[:0]).shape == (0, 12)
    some = held.rearrange(np.array([4, 2])).take(items).table()
    assert np.array_equal(some, crowd()[items][:, [4, 2]])
    names = np.array([f"v{s}" for s in range(12)], dtype=object)
    votes = Votes(held, np.arange(len(held)), names)
    some = votes.take_items([5000, 3, 3, 40])
    assert np.array_equal(some.values, crowd()[[5000, 3, 3, 40]])
    assert some.items.tolist() == [5000, 3, 3, 40]
    assert sum(len(part) for part in votes.parts()) == len(held)


@EVERY_PLACE
def test_votes_are_recoded_and_classes_compared(place, tmp_path, monkeypatch):
    """Classes 1, 2 and 200, whose byte has wrapped."""
    codes = np.array([200, 0, 2], dtype=np.uint8).view(np.int8)[crowd() + 1]
    codes[::7, 3] = 1
    held = put(place, np.asfortranarray(codes), tmp_path, monkeypatch)
    whole = WholeTable(np.asfortranarray(codes))
    assert np.array_equal(held.compare(200)[0], whole.compare(200)[0])
    assert held.compare(200)[1] == whole.compare(200)[1]
    lookup = np.zeros(256, dtype=np.int8)
    lookup[[1, 2, 200]] = 1, 1, -1
    signs = lookup[codes.view(np.uint8)]
    recoded = held.recode(lookup)
    items = np.array([0, 36, 5000])
    assert np.array_equal(recoded.take(items).table(), signs[items])
    weights = np.arange(12.0)
    assert np.array_equal(recoded.weigh(weights, np.zeros(12)), signs @ weights)


@EVERY_PLACE
def test_the_solver_finds_the_same_regressions(held):
    problem = L1Problem(held, np.full(12, 0.02), n_jobs=2)
    here = WorkingSet().solve(replace(problem, votes=crowd(), tol=1e-7))
    there = WorkingSet().solve(replace(problem, tol=1e-7))
    for name in ("weights", "intercepts"):
        assert np.allclose(getattr(here, name), getattr(there, name), atol=1e-6)
    assert (here.weights != 0).sum() > 12


@pytest.mark.parametrize("place", ["mapped", "uneven partitions"])
def test_a_path_finds_the_same_penalties(held):
    problem = L1Problem(held, np.ones(12), tol=1e-5)
    here, penalties = ebic_path(replace(problem, votes=crowd()), 0.25, n_penalties=20)
    there, same = ebic_path(problem, 0.25, n_penalties=20)
    assert penalties == pytest.approx(same, rel=1e-6)
    assert np.allclose(here.weights, there.weights, atol=1e-5)


@EVERY_PLACE
def test_em_finds_the_same_reliabilities(held):
    here, there = (
        estimate_reliability(votes, weigh_posterior(votes, np.ones(12)))
        for votes in (WholeTable(crowd()), held)
    )
    assert there.reliabilities == pytest.approx(here.reliabilities, abs=1e-6)
    assert there.lower_bound[-1] == pytest.approx(here.lower_bound[-1], abs=1e-6)


@pytest.mark.parametrize("place", ["mapped", "sparse"])
def test_the_bits_do_not_depend_on_the_threads(held):
    problem = L1Problem(held, np.full(12, 0.02))
    alone = WorkingSet().solve(problem)
    for n_jobs in (2, 3):
        again = WorkingSet().solve(replace(problem, n_jobs=n_jobs))
        assert again.weights.tobytes() == alone.weights.tobytes()


def test_a_table_in_any_layout_is_one_block():
    votes = np.ascontiguousarray(crowd())
    assert WholeTable(votes).whole
    assert naive_solver.agreements(votes) == pytest.approx(
        Rows.of(L1Problem(votes, np.ones(12)), 1).moments().agreement * len(votes)
    )
