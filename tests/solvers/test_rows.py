"""What the solver asks of the items, in the problem's own terms."""

from dataclasses import replace

import numpy as np
import pytest

import naive_solver
from naive_rows import all_slopes_of, assert_square, block_of, drift_of, square_of
from places import write_blocks
from unelisa.kernels.l1_logistic import CHUNK, Sums
from unelisa.solvers import L1Problem
from unelisa.solvers.passes import place_squares
from unelisa.solvers.rows import SAMPLE, Rows, _take

BLOCK = block_of(
    {
        2: ({0: 0.5, 3: -0.4, 4: 0.3}, (0.4, 0.2)),
        0: ({1: -1.0}, (-0.3, -0.1)),
        4: ({}, (0.8, 0.0)),
        1: ({4: 0.6, 2: 0.1}, (0.0, 0.3)),
    }
)
SOME = np.array([1, 3])


def draw(n_items, weighted=False, extra=False, abstain=0.0, n_threads=1):
    """A problem of five voters and its rows."""
    rng = np.random.default_rng(6)
    votes = rng.choice([-1, 1], size=(n_items, 5)).astype(np.int8, order="F")
    votes[rng.random(votes.shape) < abstain] = 0
    problem = L1Problem(
        votes,
        np.ones(5),
        item_weights=rng.choice([0.0, 0.5, 2.0], n_items) if weighted else None,
        column=50 * rng.standard_normal(n_items) if extra else None,
    )
    return problem, Rows.of(problem, n_threads)


def test_rows_hold_the_problem_with_its_column_scaled_to_one():
    problem, rows = draw(200, True, True)
    assert (rows.n_items, rows.n_voters, rows.n_threads) == (200, 5, 1)
    assert rows.weights is problem.item_weights
    assert np.average(rows.column**2, weights=problem.item_weights) == pytest.approx(1.0)
    assert np.allclose(rows.column / rows.column[0], problem.column / problem.column[0])
    plain = Rows.of(L1Problem(problem.votes, np.ones(5)), 1)
    assert (plain.weights.size, plain.column.size) == (0, 0)


def test_votes_of_another_layout_are_copied_once():
    problem, _ = draw(30)
    rows = Rows.of(replace(problem, votes=np.ascontiguousarray(problem.votes)), 1)
    assert rows.blocks.votes.flags.f_contiguous
    assert Rows.of(problem, 1).blocks.votes is problem.votes


@pytest.mark.parametrize(("weighted", "abstain"), [(False, 0.0), (False, 0.4), (True, 0.4)])
def test_moments_are_means_and_counts_are_exact(weighted, abstain):
    problem, rows = draw(300, weighted, True, abstain)
    votes, moments = problem.votes, rows.moments()
    w = problem.item_weights if weighted else np.ones(300)
    free = np.column_stack([np.ones(300), rows.column])
    assert moments.total == pytest.approx(w.sum())
    assert np.allclose(moments.agreement * w.sum(), naive_solver.agreements(votes, w), rtol=1e-5)
    assert np.allclose(moments.cross * w.sum(), votes.T @ (w[:, None] * free))
    assert np.allclose(moments.corner * w.sum(), free.T @ (w[:, None] * free))
    assert np.allclose(moments.totals, w @ np.abs(votes))
    assert np.allclose(moments.means, w @ votes / (w @ np.abs(votes)))
    assert moments.counts.tolist() == np.count_nonzero(votes, axis=0).tolist()
    assert moments.varied.all()


def test_who_varies_is_told_by_the_items_with_weight():
    votes = np.array([[1, 1, 0, 1], [-1, 1, 0, 0], [1, 1, 0, -1]], np.int8, order="F")
    plain = L1Problem(votes, np.ones(4))
    assert Rows.of(plain, 1).moments().varied.tolist() == [True, False, False, True]
    heavy = replace(plain, item_weights=np.array([1.0, 0.0, 1.0]))
    assert Rows.of(heavy, 1).moments().varied.tolist() == [False, False, False, True]


@pytest.mark.parametrize("weights", [None, np.zeros(4)])
def test_totals_of_nothing_are_one_so_that_means_are_numbers(weights):
    votes = np.zeros((4, 3), np.int8, order="F")
    moments = Rows.of(L1Problem(votes, np.ones(3), item_weights=weights), 1).moments()
    assert moments.total == (4.0 if weights is None else 1.0)
    assert moments.totals.tolist() == [1.0] * 3
    assert not moments.means.any()
    assert not moments.agreement.any()
    assert not moments.varied.any()


def fill(rows, chosen, precise=True):
    sums = Sums(np.full(6, 7.0), np.full((4, 2), 7.0), np.full(4, 7.0))
    rows.slopes(BLOCK, chosen, precise, sums)
    return sums


def test_slopes_are_written_for_the_chosen_alone():
    problem, rows = draw(100, True, True, 0.2)
    everyone, some = fill(rows, np.arange(4)), fill(rows, SOME)
    expected = all_slopes_of(problem.votes, BLOCK, problem.item_weights, rows.column)
    owners = np.repeat(np.arange(4), np.diff(BLOCK.starts))
    assert np.allclose(everyone.slopes, expected[owners, BLOCK.members])
    mine = np.isin(owners, SOME)
    for part, whole, own in zip(some, everyone, (mine, SOME, SOME), strict=True):
        assert np.array_equal(part[own], whole[own])
        rest = np.delete(part, np.flatnonzero(own) if own is mine else own, axis=0)
        assert np.all(rest == 7.0)


def curve(rows, chosen, counts, floors=0.0):
    places = place_squares(BLOCK)
    out = np.full(places[-1], 7.0)
    mass = rows.curvatures(BLOCK, chosen, counts, np.full(4, floors), places, out)
    return [out[places[q] : places[q + 1]] for q in range(4)], mass


@pytest.mark.parametrize("chosen", [np.arange(4), SOME])
def test_curvature_over_all_items_and_of_the_chosen_alone(chosen):
    problem, rows = draw(300, True, True, 0.2)
    squares, mass = curve(rows, chosen, None, 0.05)
    for q in range(4):
        if q not in chosen:
            assert np.all(squares[q] == 7.0)
            assert mass[q] == 0.0
            continue
        expected = square_of(problem.votes, BLOCK, q, problem.item_weights, rows.column, 0.05)
        assert_square(squares[q], expected)
        counted = problem.item_weights @ np.abs(problem.votes[:, BLOCK.voters[q]])
        assert mass[q] == pytest.approx(counted)


def test_a_quick_hessian_takes_as_many_chunks_as_make_a_sample():
    problem, rows = draw(4 * SAMPLE + 5)
    counts = np.array([len(problem.votes), SAMPLE, SAMPLE + 1, 1])
    squares, mass = curve(rows, np.arange(4), counts)
    chunks = np.arange(len(problem.votes)) // CHUNK
    for q, stride in enumerate((5, 1, 2, 1)):
        some = chunks % stride == 0
        assert_square(squares[q], square_of(problem.votes[some], BLOCK, q), rtol=1e-4, atol=0.05)
        assert mass[q] == np.count_nonzero(some)


def test_all_slopes_and_drift():
    problem, rows = draw(300, True, True, 0.2)
    expected = all_slopes_of(problem.votes, BLOCK, problem.item_weights, rows.column)
    assert np.allclose(rows.all_slopes(BLOCK), expected, atol=1e-3)
    moved = BLOCK._replace(theta=BLOCK.theta + 0.2)
    for q, found in enumerate(rows.drift(BLOCK, moved)):
        wanted = drift_of(problem.votes, BLOCK, moved, q, problem.item_weights, rows.column)
        assert np.allclose(found, wanted, rtol=1e-4, atol=1e-6)


def test_regressions_are_taken_in_the_order_asked_for():
    taken = _take(BLOCK, np.array([3, 2, 0]))
    assert taken.voters.tolist() == [1, 4, 2]
    assert taken.starts.tolist() == [0, 2, 2, 5]
    assert taken.members.tolist() == [4, 2, 0, 3, 4]
    assert taken.theta.tolist() == [0.6, 0.1, 0.5, -0.4, 0.3]
    assert taken.free.tolist() == [[0.0, 0.3], [0.8, 0.0], [0.4, 0.2]]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_items_in_a_file_give_the_sums_of_a_table_with_the_same_bits(tmp_path, n_threads):
    problem, rows = draw(3 * CHUNK + 5, False, False, 0.2)
    file = replace(problem, votes=write_blocks(tmp_path / "votes", problem.votes, CHUNK))
    there = Rows.of(file, n_threads)
    for one, other in zip(rows.moments(), there.moments(), strict=True):
        assert np.array_equal(one, other)
    assert there.all_slopes(BLOCK).tobytes() == rows.all_slopes(BLOCK).tobytes()
    for one, other in zip(fill(rows, np.arange(4)), fill(there, np.arange(4)), strict=True):
        assert np.allclose(one, other, rtol=1e-12)
