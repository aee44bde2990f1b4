"""What the solver asks of the items, beside the same sums as products of matrices."""

from dataclasses import replace

import numpy as np
import pytest

import naive_solver
from naive_rows import all_scores_of, assert_square, batch_of, counted_of, point_of, square_of
from places import write_blocks
from unelisa.kernels.l1_logistic import CHUNK
from unelisa.paper.solvers import L1Problem, base
from unelisa.votes.blocks import Block, SparseVotes

BATCH = batch_of(
    {
        2: ({0: 0.5, 3: -0.4, 4: 0.3}, 0.4),
        0: ({1: -1.0}, -0.3),
        4: ({}, 0.8),
        1: ({4: 0.6, 2: 0.1}, 0.0),
    }
)
CASES = pytest.mark.parametrize("abstain", [0.0, 0.3])


def draw(n_items, abstain=0.0, n_voters=5):
    """A problem and its rows."""
    rng = np.random.default_rng(6)
    votes = rng.choice([-1, 1], size=(n_items, n_voters)).astype(np.int8, order="F")
    votes[rng.random(votes.shape) < abstain] = 0
    problem = L1Problem(votes, np.ones(n_voters))
    return problem, base.Rows.of(problem, 1)


def test_votes_are_copied_once_where_another_layout_is_needed():
    problem, _ = draw(30)
    copied = base.Rows.of(replace(problem, votes=np.ascontiguousarray(problem.votes)), 1)
    assert copied.blocks.votes.flags.f_contiguous
    assert base.Rows.of(problem, 1).blocks.votes is problem.votes
    votes = draw(6)[0].votes
    items = base.items_of(Block(votes, 0))
    assert np.shares_memory(items.votes, votes)
    assert not any(array.flags.writeable for array in (items.votes, *items.rare))
    assert items.votes.flags.c_contiguous
    assert votes.flags.writeable
    for other in (np.ascontiguousarray(votes), SparseVotes.of(votes)):
        assert np.array_equal(base.items_of(Block(other, 0)).votes, votes.T)


@CASES
@pytest.mark.parametrize("n_items", [30, base.STREAM + 1])
def test_moments_are_means_and_counts_are_exact(abstain, n_items):
    problem, here = draw(n_items, abstain)
    votes, moments = problem.votes, here.moments()
    sums, counts = votes.sum(axis=0, dtype=float), np.abs(votes).sum(axis=0, dtype=float)
    assert moments.total == n_items
    assert np.allclose(moments.agreement * n_items, naive_solver.agreements(votes))
    assert np.allclose(moments.firsts * n_items, sums)
    assert np.allclose(moments.totals, counts)
    assert np.allclose(moments.means, sums / counts)
    assert moments.counts.tolist() == np.count_nonzero(votes, axis=0).tolist()
    assert moments.varied.all()


def test_agreements_are_exact_and_only_positive_weights_vary(monkeypatch):
    """The first run is complete, the second is not: each is counted in its own way."""
    monkeypatch.setattr(base, "PACKED", 128)
    votes = draw(300)[0].votes
    votes[128:256][np.random.default_rng(0).random((128, 5)) < 0.3] = 0
    sums, counts, _ = base.measure_moments(Block(votes, 0), 1)
    assert np.array_equal(sums, naive_solver.agreements(votes))
    assert np.array_equal(counts, np.count_nonzero(votes, axis=0))
    votes = np.array([[1, 1, 0, 1], [-1, 1, 0, 0], [1, 1, 0, -1]], np.int8, order="F")
    plain = L1Problem(votes, np.ones(4))
    assert base.Rows.of(plain, 1).moments().varied.tolist() == [True, False, False, True]
    votes = np.empty((0, 5), dtype=np.int8, order="F")
    assert not base.measure_all_scores(Block(votes, 0), base.NONE_LISTED, BATCH)[0].any()
    assert not any(part.any() for part in base.measure_moments(Block(votes, 0), 1))


@pytest.mark.parametrize("abstain", [0.0, 0.3])
def test_panels_of_voters_add_up_whatever_the_threads(abstain):
    votes = draw(90, abstain=abstain, n_voters=2 * base.PANEL + 3)[0].votes
    for n_threads in (1, 5):
        sums = base.measure_moments(Block(votes, 0), n_threads)[0]
        assert np.array_equal(sums, naive_solver.agreements(votes))


@pytest.mark.parametrize("n_items", [0, 4])
def test_totals_of_nothing_are_one_so_that_means_are_numbers(n_items):
    votes = np.zeros((n_items, 3), np.int8, order="F")
    moments = base.Rows.of(L1Problem(votes, np.ones(3)), 1).moments()
    assert moments.total == max(n_items, 1)
    assert moments.totals.tolist() == [1.0] * 3
    assert not moments.means.any()
    assert not moments.agreement.any()
    assert not moments.varied.any()


@CASES
@pytest.mark.parametrize("precise", [False, True])
def test_scores_and_loss(abstain, precise):
    problem, here = draw(CHUNK + 3, abstain)
    sums = here.scores(BATCH, precise)
    error = 1e-9 if precise else 0.05
    for q, s in enumerate(BATCH.voters):
        design, z = point_of(problem.votes, BATCH, q)
        r = naive_solver.residuals(problem.votes, s, z)
        members = slice(BATCH.starts[q], BATCH.starts[q + 1])
        assert np.allclose(sums.scores[members], (r @ design)[:-1], atol=error)
        assert sums.intercepts[q] == pytest.approx(r.sum(), abs=error)
        if precise:
            loss = naive_solver.loss(problem.votes, s, z)
            assert sums.loss[q] == pytest.approx(loss)


@CASES
@pytest.mark.parametrize("n_items", [1, base.STREAM, 2 * base.STREAM + 9])
def test_scores_against_all_voters(abstain, n_items):
    problem, here = draw(n_items, abstain)
    expected = all_scores_of(problem.votes, BATCH)
    assert np.allclose(here.all_scores(BATCH), expected, rtol=0, atol=2e-6 * n_items)


@pytest.mark.parametrize("everyone", [True, False])
def test_listed_votes_give_the_scores_and_curvatures_of_all(everyone):
    """Voter 3 usually says yes; voter 1, who is even or abstained once, is not listed."""
    n_items = 2 * CHUNK + 77
    shares = np.array([0.0, 0.02 if everyone else 0.5, 0.05, 0.08, 0.001])
    votes = np.where(np.random.default_rng(1).random((n_items, 5)) < shares, 1, -1)
    votes[:, 3] *= -1
    problem = L1Problem(np.asfortranarray(votes.astype(np.int8)), np.ones(5))
    plain = base.Rows.of(problem, 1)
    listed = plain.listing(plain.moments())
    usual = np.array([-1, -1 if everyone else 0, -1, 1, -1])
    assert np.array_equal(listed.rare.usual, usual)
    assert listed.rare.places.size == np.count_nonzero((votes != usual)[:, usual != 0])
    expected = all_scores_of(problem.votes, BATCH)
    assert np.allclose(listed.all_scores(BATCH), expected, rtol=0, atol=2e-6 * n_items)
    for floor in (0.0, 0.1, -1.0):
        found = [rows.curvatures(BATCH, None, np.full(4, floor)) for rows in (listed, plain)]
        assert np.array_equal(found[0][1], found[1][1])
        for place, side in zip(base.place_squares(BATCH), np.diff(BATCH.starts) + 1, strict=False):
            ours, theirs = (out[place : place + side**2].reshape(side, side) for out, _ in found)
            assert np.allclose(ours[:, -1], theirs[:, -1], rtol=0, atol=1e-9 * n_items)
            lower = np.tril_indices(side - 1)
            assert np.allclose(ours[lower], theirs[lower], rtol=0, atol=1e-9 * n_items)


def test_votes_that_are_not_rare_or_not_in_memory_are_not_listed(tmp_path):
    problem, even = draw(2 * CHUNK)
    assert even.listing(even.moments()) is even
    rare = np.full((2 * CHUNK, 5), -1, np.int8, order="F")
    rare[::50] = 1
    there = base.Rows.of(replace(problem, votes=write_blocks(tmp_path / "votes", rare, CHUNK)), 1)
    assert there.listing(there.moments()) is there
    rare[0] = 0  # an abstention would be a third vote
    here = base.Rows.of(replace(problem, votes=rare), 1)
    assert here.listing(here.moments()) is here


def test_regressions_lie_one_behind_the_other_and_are_taken_as_asked():
    assert base.place_squares(BATCH).tolist() == [0, 16, 20, 21, 30]
    taken = base.take(BATCH, np.array([3, 2, 0]))
    assert taken.voters.tolist() == [1, 4, 2]
    assert taken.starts.tolist() == [0, 2, 2, 5]
    assert taken.members.tolist() == [4, 2, 0, 3, 4]
    assert taken.theta.tolist() == [0.6, 0.1, 0.5, -0.4, 0.3]
    assert taken.intercepts.tolist() == [0.0, 0.8, 0.4]


def test_a_quick_hessian_takes_as_many_chunks_as_make_a_sample():
    problem, here = draw(4 * base.SAMPLE + 5)
    counts = np.array([len(problem.votes), base.SAMPLE, base.SAMPLE + 1, 1])
    squares, mass = here.curvatures(BATCH, counts, np.zeros(4))
    chunks, places = np.arange(len(problem.votes)) // CHUNK, base.place_squares(BATCH)
    for q, stride in enumerate((5, 1, 2, 1)):
        some = chunks % stride == 0
        expected = square_of(problem.votes[some], BATCH, q)
        assert_square(squares[places[q] : places[q + 1]], expected, rtol=1e-4, atol=0.05)
        assert mass[q] == np.count_nonzero(some)


@pytest.mark.parametrize("precise", [False, True])
def test_every_kth_chunk_of_all_items_is_taken_wherever_a_block_begins(precise):
    problem, _ = draw(5 * CHUNK + 11, 0.2)
    votes, strides = problem.votes, np.array([1, 2, 3, 4])

    def measure(low, high):
        block = Block(votes[low:high], low)
        given = base.NONE_LISTED, BATCH, (strides, np.zeros(4)), precise
        return base.measure_curvatures(block, *given)

    cuts = ((0, CHUNK), (CHUNK, 4 * CHUNK), (4 * CHUNK, len(votes)))
    parts = [measure(*cut) for cut in cuts]
    chunks, places = np.arange(len(votes)) // CHUNK, base.place_squares(BATCH)
    for squares, mass in (measure(0, len(votes)), [sum(part) for part in zip(*parts, strict=True)]):
        for q, stride in enumerate(strides):
            some = chunks % stride == 0
            expected = square_of(votes[some], BATCH, q)
            assert_square(squares[places[q] : places[q + 1]], expected, rtol=1e-4, atol=0.05)
            assert mass[q] == counted_of(votes, BATCH.voters[q])[some].sum()
