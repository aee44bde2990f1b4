"""The cheap certificate never says less than the full product does."""

from dataclasses import replace

import numpy as np
import pytest

from naive_rows import all_slopes_of, block_of, counted_of
from unelisa.solvers import L1Problem, landmarks
from unelisa.solvers.landmarks import Landmarks, _measure, _regressions
from unelisa.solvers.working_set import (
    float32_noise,
    frame_of,
    gather,
    solve_block,
    start_estimate,
)

EVERYONE = np.arange(12)
CASES = pytest.mark.parametrize(
    ("weighted", "extra", "abstain"),
    [(False, False, 0.0), (True, True, 0.0), (False, False, 0.3), (True, True, 0.3)],
)


def draw(weighted=False, extra=False, abstain=0.0, penalty=0.1):
    """Twelve voters of one trait, and their regressions solved on the first working sets."""
    rng = np.random.default_rng(5)
    trait = rng.standard_normal((400, 1))
    votes = np.where(trait + rng.standard_normal((400, 12)) > 0, 1, -1)
    votes[rng.random(votes.shape) < abstain] = 0
    problem = L1Problem(
        np.asfortranarray(votes.astype(np.int8)),
        np.full(12, penalty),
        item_weights=rng.choice([0.0, 0.5, 2.0], 400) if weighted else None,
        column=rng.standard_normal(400) if extra else None,
    )
    frame = frame_of(problem)
    estimate = start_estimate(frame, problem)
    return problem, frame, estimate, solve_block(frame, estimate, EVERYONE)


def mean_slopes(problem, frame, block):
    """By definition, in float64."""
    weights = problem.item_weights
    column = frame.rows.column if frame.rows.column.size else None
    totals = [counted_of(problem.votes, s, weights).sum() for s in block.voters]
    return all_slopes_of(problem.votes, block, weights, column) / np.array(totals)[:, None]


def move(frame, estimate, penalty):
    """Solve the same working sets at another penalty."""
    elsewhere = replace(frame, penalties=np.full(12, penalty))
    return elsewhere, solve_block(elsewhere, estimate, EVERYONE)


@CASES
def test_a_landmark_is_the_point_and_its_slopes(weighted, extra, abstain):
    problem, frame, estimate, block = draw(weighted, extra, abstain)
    marks = Landmarks.empty(12)
    some = gather(estimate, np.array([7, 2]))
    slopes = marks.measure_all(frame, estimate, some)
    assert np.allclose(slopes, mean_slopes(problem, frame, some), atol=1e-5)
    for kept, wanted in (
        (marks.weights, estimate.weights),
        (marks.free, estimate.free),
    ):
        assert np.array_equal(kept[[7, 2]], wanted[[7, 2]])
        assert not np.shares_memory(kept, wanted)
    for kept in (marks.slopes, marks.latest):
        assert np.array_equal(kept[[7, 2]], slopes.astype(np.float32))
        assert not np.delete(kept, [7, 2], axis=0).any()
    assert block.voters.tolist() == EVERYONE.tolist()


@CASES
@pytest.mark.parametrize("penalty", [0.1, 0.09, 0.02])
def test_predicted_slopes_err_less_than_their_bound(weighted, extra, abstain, penalty):
    problem, frame, estimate, block = draw(weighted, extra, abstain)
    marks = Landmarks.empty(12)
    marks.measure_all(frame, estimate, block)
    frame, moved = move(frame, estimate, penalty)
    slopes, error = marks._bound(frame, moved, estimate)
    off = np.abs(slopes - mean_slopes(problem, frame, moved))
    assert np.all(off <= error)
    # the bound says something: who hardly moved is known well
    assert np.all(error < (1e-4 if penalty == 0.1 else 0.25))


def test_the_moments_predict_most_of_the_change_where_nobody_abstained():
    _, frame, estimate, block = draw()
    marks = Landmarks.empty(12)
    marks.measure_all(frame, estimate, block)
    frame, moved = move(frame, estimate, 0.02)
    change = np.abs(mean_slopes_of_change(marks, frame, moved))
    _, error = marks._bound(frame, moved, estimate)
    plain = np.sqrt(frame.rows.drift(old_of(marks), moved)[:, 0] / 400)
    assert np.all(error[:, 0] < 0.5 * plain)
    assert change.max() > error.max()


def old_of(marks):
    return _regressions(EVERYONE, marks.weights, marks.free)


def mean_slopes_of_change(marks, frame, moved):
    return frame.rows.all_slopes(moved) / 400 - marks.slopes


@CASES
@pytest.mark.parametrize("penalty", [0.095, 0.05, 0.01])
def test_the_cheap_check_covers_what_the_full_one_finds(
    monkeypatch, weighted, extra, abstain, penalty
):
    """Who is a violator by the full product is one by the bound; certificates are no smaller."""
    problem, frame, estimate, block = draw(weighted, extra, abstain)
    marks = Landmarks.empty(12)
    marks.measure_all(frame, estimate, block)
    frame, moved = move(frame, estimate, penalty)
    members, kkt = estimate.members.copy(), estimate.kkt.copy()
    monkeypatch.setattr(landmarks, "MANY", 2)
    pending = marks.check(frame, estimate, moved)
    excess = np.abs(mean_slopes(problem, frame, moved)) - frame.limits(EVERYONE)
    excess[members] = -np.inf
    violators = excess > frame.tol * penalty
    assert np.all(estimate.members[violators])
    assert set(pending) == set(np.flatnonzero((estimate.members & ~members).any(axis=1)))
    assert np.all(estimate.kkt >= np.maximum(kkt, excess.max(axis=1) / penalty) - 1e-9)


def test_few_voters_are_checked_by_the_full_product():
    _, frame, estimate, block = draw()
    marks = Landmarks.empty(12)
    marks.check(frame, estimate, block)  # becomes the landmark, which the bound would not do
    assert np.array_equal(marks.weights, estimate.weights)
    assert marks.slopes.any()


def test_where_much_is_open_the_full_product_becomes_the_new_landmark(monkeypatch):
    """No members at a large penalty: at a small one, all the others are violators."""
    monkeypatch.setattr(landmarks, "MANY", 2)
    problem, frame, estimate, block = draw(penalty=0.6)
    marks = Landmarks.empty(12)
    marks.measure_all(frame, estimate, block)
    frame, moved = move(frame, estimate, 0.02)
    assert not estimate.members.any()
    assert marks.check(frame, estimate, moved).tolist() == EVERYONE.tolist()
    assert np.array_equal(marks.weights, estimate.weights)
    assert np.allclose(marks.slopes, mean_slopes(problem, frame, moved), atol=1e-5)


def test_where_nothing_is_open_the_old_landmark_stays(monkeypatch):
    monkeypatch.setattr(landmarks, "MANY", 2)
    problem, frame, estimate, block = draw(penalty=0.3)
    marks = Landmarks.empty(12)
    marks.measure_all(frame, estimate, block)
    before = marks.weights.copy(), marks.slopes.copy()
    frame, moved = move(frame, estimate, 0.31)
    assert marks.check(frame, estimate, moved).size == 0
    assert np.array_equal(marks.weights, before[0])
    assert np.array_equal(marks.slopes, before[1])
    assert not np.array_equal(marks.latest, before[1])
    assert np.allclose(marks.latest, mean_slopes(problem, frame, moved), atol=0.01)


def test_regressions_have_the_voters_with_a_weight_as_members():
    weights = np.array([[0.0, 2.0, 0.0, -1.0], [0.0, 0.0, 0.0, 0.0]])
    free = np.array([[0.5, 0.0], [0.25, 0.0]])
    found = _regressions(np.array([0, 2]), weights, free)
    wanted = block_of({0: ({1: 2.0, 3: -1.0}, (0.5, 0.0)), 2: ({}, (0.25, 0.0))})
    for one, other in zip(found, wanted, strict=True):
        assert np.array_equal(one, other)
        assert one.dtype == other.dtype


@CASES
def test_undecided_pairs_are_measured_in_float64(weighted, extra, abstain):
    problem, frame, estimate, block = draw(weighted, extra, abstain)
    voters = np.array([3, 8, 5])
    undecided = np.zeros((3, 12), bool)
    undecided[0, [1, 9]] = undecided[2, 4] = True
    slopes, error = np.full((3, 12), 7.0), np.full((3, 12), 7.0)
    _measure(frame, estimate, voters, undecided, slopes, error)
    exact = mean_slopes(problem, frame, block)[voters]
    assert np.allclose(slopes[undecided], exact[undecided], rtol=0, atol=1e-12)
    assert not error[undecided].any()
    assert np.all(slopes[1] == 7.0)
    assert np.all(error[1] == 7.0)
    before = slopes.copy()
    _measure(frame, estimate, voters, np.zeros((3, 12), bool), slopes, error)
    assert np.array_equal(slopes, before)


def test_the_bound_counts_float32s_own_errors_at_both_ends():
    _, frame, estimate, block = draw()
    marks = Landmarks.empty(12)
    marks.measure_all(frame, estimate, block)
    _, error = marks._bound(frame, block, estimate)  # nobody moved
    assert error[:, 0] == pytest.approx(4 * float32_noise(frame, block))
