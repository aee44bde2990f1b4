"""Every pass, beside the same sums as products of matrices; blocks add up to one table."""

import numpy as np
import pytest

import naive_solver
from naive_rows import (
    all_slopes_of,
    assert_square,
    block_of,
    counted_of,
    drift_of,
    point_of,
    square_of,
)
from unelisa.blocks import Block, SparseVotes
from unelisa.kernels.l1_logistic import CHUNK, Items
from unelisa.solvers import passes
from unelisa.solvers.passes import (
    PANEL,
    STREAM,
    Sampling,
    items_of,
    measure_all_slopes,
    measure_curvatures,
    measure_drift,
    measure_moments,
    measure_slopes,
    place_squares,
)

NONE = np.empty(0)
BLOCK = block_of(
    {
        2: ({0: 0.5, 3: -0.4, 4: 0.3}, (0.4, 0.2)),
        0: ({1: -1.0}, (-0.3, -0.1)),
        4: ({}, (0.8, 0.0)),
    }
)
CASES = pytest.mark.parametrize(
    ("weighted", "extra", "abstain"),
    [(False, False, 0.0), (False, False, 0.3), (True, False, 0.3), (False, True, 0.0),
     (True, True, 0.3)],
)  # fmt: skip


def draw(n_items, weighted=False, extra=False, abstain=0.0, n_voters=5):
    rng = np.random.default_rng(4)
    votes = rng.choice([-1, 1], size=(n_items, n_voters)).astype(np.int8, order="F")
    votes[rng.random(votes.shape) < abstain] = 0
    weights = rng.choice([0.0, 0.5, 2.0], n_items) if weighted else NONE
    column = rng.standard_normal(n_items) if extra else NONE
    return votes, weights, column


def or_none(array):
    return array if array.size else None


def test_items_are_read_only_runs_of_voters_and_the_callers_arrays_stay_as_they_are():
    votes, weights, column = draw(6, True, True)
    items = items_of(Block(votes, 0), weights, column)
    assert isinstance(items, Items)
    assert np.shares_memory(items.votes, votes)
    for array, own in zip(items, (votes, weights, column), strict=True):
        assert not array.flags.writeable
        assert array.flags.c_contiguous
        assert own.flags.writeable
    for other in (np.ascontiguousarray(votes), SparseVotes.of(votes)):
        assert np.array_equal(items_of(Block(other, 0), NONE, NONE).votes, votes.T)


@CASES
@pytest.mark.parametrize("n_items", [1, 700, STREAM + 1])
def test_moments(weighted, extra, abstain, n_items):
    votes, weights, column = draw(n_items, weighted, extra, abstain)
    sums, counts, firsts, corner = measure_moments(Block(votes, 0), weights, column, 1)
    w = weights if weighted else np.ones(n_items)
    x = column if extra else np.zeros(n_items)
    assert np.allclose(sums, naive_solver.agreements(votes, w), rtol=1e-5, atol=1e-3 * weighted)
    cast, above = np.count_nonzero(votes, axis=0), np.count_nonzero(votes > 0, axis=0)
    assert counts.tolist() == np.column_stack([cast, above]).tolist()
    heavy = votes[w > 0]  # those without weight are not counted among a voter's yes and no
    expected = [w @ np.abs(votes), w @ votes, (w * x) @ votes]
    expected += [np.count_nonzero(heavy > 0, axis=0), np.count_nonzero(heavy < 0, axis=0)]
    assert np.allclose(firsts, np.array(expected).T, rtol=1e-9, atol=1e-9)
    assert np.allclose(corner, [[w.sum(), w @ x], [w @ x, w @ x**2]])


def test_agreements_are_exact_wherever_the_packing_cuts(monkeypatch):
    """The first run is complete, the second is not: each is counted in its own way."""
    monkeypatch.setattr(passes, "PACKED", 128)
    votes, _, _ = draw(300)
    votes[128:256][np.random.default_rng(0).random((128, 5)) < 0.3] = 0
    sums, counts, _, _ = measure_moments(Block(votes, 0), NONE, NONE, 1)
    assert np.array_equal(sums, naive_solver.agreements(votes))
    assert np.array_equal(counts[:, 0], np.count_nonzero(votes, axis=0))


@pytest.mark.parametrize("abstain", [0.0, 0.3])
def test_panels_of_voters_add_up_whatever_the_threads(abstain):
    votes, _, _ = draw(90, abstain=abstain, n_voters=2 * PANEL + 3)
    found = [measure_moments(Block(votes, 0), NONE, NONE, n)[0] for n in (1, 2, 5)]
    for sums in found:
        assert np.array_equal(sums, naive_solver.agreements(votes))


def test_moments_of_nothing():
    votes = np.empty((0, 3), dtype=np.int8, order="F")
    sums, counts, firsts, corner = measure_moments(Block(votes, 0), NONE, NONE, 1)
    assert (sums.shape, counts.shape, firsts.shape) == ((3, 3), (3, 2), (3, 5))
    assert not any(part.any() for part in (sums, counts, firsts, corner))


@CASES
@pytest.mark.parametrize("precise", [False, True])
def test_slopes_and_loss_of_the_chosen_and_zeros_of_the_others(weighted, extra, abstain, precise):
    votes, weights, column = draw(CHUNK + 3, weighted, extra, abstain)
    chosen = np.array([0, 2])
    sums = measure_slopes(Block(votes, 0), weights, column, BLOCK, chosen, precise)
    error = 1e-9 if precise else 0.05
    for q in chosen:
        design, z = point_of(votes, BLOCK, q, or_none(column))
        r = naive_solver.residuals(votes, BLOCK.voters[q], z, or_none(weights))
        members = slice(BLOCK.starts[q], BLOCK.starts[q + 1])
        assert np.allclose(sums.slopes[members], (r @ design)[:-2], atol=error)
        assert np.allclose(sums.free[q], (r @ design)[-2:], atol=error)
        if precise:
            loss = naive_solver.loss(votes, BLOCK.voters[q], z, or_none(weights))
            assert sums.loss[q] == pytest.approx(loss)
    assert not sums.slopes[3:4].any()
    assert not sums.free[1].any()
    assert sums.loss[1] == 0


@CASES
@pytest.mark.parametrize("n_items", [1, STREAM, STREAM + 1, 2 * STREAM + 9])
def test_slopes_against_all_voters(weighted, extra, abstain, n_items):
    votes, weights, column = draw(n_items, weighted, extra, abstain)
    (found,) = measure_all_slopes(Block(votes, 0), weights, column, BLOCK)
    expected = all_slopes_of(votes, BLOCK, or_none(weights), or_none(column))
    assert np.allclose(found, expected, rtol=0, atol=2e-6 * n_items)


def test_squares_lie_one_behind_the_other():
    assert place_squares(BLOCK).tolist() == [0, 25, 34, 38]


@pytest.mark.parametrize("strides", [[1, 1, 1], [1, 2, 3], [4, 3, 2]])
@pytest.mark.parametrize("precise", [False, True])
def test_every_kth_chunk_of_all_items_is_taken_wherever_a_block_begins(strides, precise):
    votes, weights, column = draw(5 * CHUNK + 11, True, True, 0.2)
    sampling = Sampling(np.array(strides), precise)
    whole = measure_curvatures(Block(votes, 0), weights, column, BLOCK, sampling, np.zeros(3))
    parts = [
        measure_curvatures(
            Block(votes[low:high], low), weights[low:high], column[low:high], BLOCK, sampling,
            np.zeros(3),
        )
        for low, high in ((0, CHUNK), (CHUNK, 4 * CHUNK), (4 * CHUNK, len(votes)))
    ]  # fmt: skip
    chunks, places = np.arange(len(votes)) // CHUNK, place_squares(BLOCK)
    for squares, mass in (whole, [sum(part) for part in zip(*parts, strict=True)]):
        for q, stride in enumerate(strides):
            some = chunks % stride == 0
            expected = square_of(votes[some], BLOCK, q, weights[some], column[some])
            assert_square(squares[places[q] : places[q + 1]], expected, rtol=1e-4, atol=0.05)
            counted = counted_of(votes, BLOCK.voters[q], weights)
            assert mass[q] == pytest.approx(counted[some].sum())


@CASES
def test_drift(weighted, extra, abstain):
    votes, weights, column = draw(CHUNK + 3, weighted, extra, abstain)
    moved = BLOCK._replace(theta=BLOCK.theta - 0.1, free=BLOCK.free + 0.05)
    (found,) = measure_drift(Block(votes, 0), weights, column, BLOCK, moved)
    for q in range(3):
        expected = drift_of(votes, BLOCK, moved, q, or_none(weights), or_none(column))
        assert np.allclose(found[q], expected, rtol=1e-4, atol=1e-6)
