from dataclasses import replace

import numpy as np
import pytest

import naive_solver
from naive_rows import all_scores_of, counted_of
from unelisa.paper.solvers import L1Problem, WorkingSet, ebic_path, optimality, path
from unelisa.paper.solvers.base import gather
from unelisa.paper.solvers.path import Landmarks, Path, measure_pairs
from unelisa.paper.solvers.working_set import (
    Frame,
    float32_noise,
    gather_members,
    solve_batch,
    start_estimate,
)

EVERYONE = np.arange(12)
CASES = pytest.mark.parametrize(("weighted", "abstain"), [(False, 0.0), (True, 0.0), (True, 0.3)])


def ising_votes(n_items, n_voters, seed):
    """A ring of edges .4 and fields up to .3, by Gibbs sampling."""
    rng = np.random.default_rng(seed)
    fields = rng.uniform(-0.3, 0.3, n_voters)
    votes = rng.choice([-1.0, 1.0], size=(n_items, n_voters))
    for _ in range(60):
        for s in range(n_voters):
            z = fields[s] + 0.4 * (votes[:, s - 1] + votes[:, (s + 1) % n_voters])
            votes[:, s] = np.where(2 * rng.random(n_items) - 1 < np.tanh(z), 1, -1)
    return np.asfortranarray(votes.astype(np.int8))


def problem_of(votes, **changes):
    return L1Problem(votes, np.ones(votes.shape[1]), **changes)


@pytest.mark.parametrize("gamma", [0.0, 0.25])
def test_ebic_picks_the_edges_of_a_plain_path(gamma):
    problem = problem_of(ising_votes(400, 8, seed=0))
    weights, chosen = naive_solver.ebic_path(problem, gamma, 40, 0.01)
    solution, penalties = ebic_path(problem, gamma, n_penalties=40)
    assert np.array_equal(solution.weights != 0, weights != 0)
    assert np.allclose(penalties, chosen, rtol=1e-4)
    assert np.allclose(solution.weights, weights, atol=1e-3)
    ring = np.abs(np.subtract.outer(np.arange(8), np.arange(8))) % 6 == 1
    assert np.all(solution.weights[ring] > 0)


def test_the_chosen_solution_is_optimal_at_its_penalties():
    votes = ising_votes(400, 8, seed=1)
    votes[np.random.default_rng(0).random(votes.shape) < 0.1] = 0
    votes[:, 3] = 1
    problem = problem_of(votes)
    solution, penalties = ebic_path(problem, 0.25)
    problem = replace(problem, penalties=penalties)
    kkt = optimality(problem, solution.weights, solution.intercepts)
    assert kkt.max() <= problem.tol
    assert not solution.weights[3].any()


def test_early_stop_changes_nothing_but_the_work():
    problem = problem_of(ising_votes(400, 8, seed=2))
    early, early_penalties = ebic_path(problem, 0.25)
    late, late_penalties = ebic_path(problem, 0.25, patience=1000)
    assert np.array_equal(early.weights, late.weights)
    assert np.array_equal(early_penalties, late_penalties)
    assert early.n_iter.sum() < late.n_iter.sum()


@pytest.mark.parametrize("options", [{}, {"item_weights": True}, {"abstain": True}])
@pytest.mark.parametrize("many", [2, 1000])
def test_every_step_is_optimal_with_and_without_the_cheap_certificate(monkeypatch, many, options):
    monkeypatch.setattr(path, "MANY", many)
    votes = ising_votes(300, 12, seed=3)
    rng = np.random.default_rng(0)
    if "abstain" in options:
        votes[rng.random(votes.shape) < 0.2] = 0
    weights = rng.random(300) if "item_weights" in options else None
    problem = problem_of(votes, item_weights=weights)
    grid = np.geomspace(0.4, 0.01, 25)[:, None] * np.ones(12)
    walk = Path.begin(problem)
    for penalties in grid:
        walk.move(penalties, EVERYONE)
        found = walk.estimate.solution()
        kkt = optimality(replace(problem, penalties=penalties), found.weights, found.intercepts)
        assert kkt.max() <= problem.tol
        assert np.all(kkt <= found.kkt + 1e-9)
        for s in range(12):
            logits = votes @ found.weights[s] + found.intercepts[s]
            loss = naive_solver.loss(votes, s, logits, weights)
            assert walk.estimate.loss[s] == pytest.approx(loss)


def test_a_path_agrees_with_single_solves():
    problem = problem_of(ising_votes(300, 12, seed=4), tol=1e-6)
    walk = Path.begin(problem)
    for penalty in (0.2, 0.05):
        walk.move(np.full(12, penalty), EVERYONE)
        alone = WorkingSet().solve(replace(problem, penalties=np.full(12, penalty)))
        assert np.allclose(walk.estimate.weights, alone.weights, atol=1e-5)


def test_only_the_voters_asked_for_are_moved():
    walk = Path.begin(problem_of(ising_votes(300, 6, seed=5)))
    walk.move(np.full(6, 0.3), np.arange(6))
    before = walk.estimate.weights.copy()
    walk.move(np.full(6, 0.05), np.array([4, 5]))
    assert np.array_equal(walk.estimate.weights[:4], before[:4])
    assert not np.array_equal(walk.estimate.weights[4:], before[4:])


def test_the_bits_of_a_path_do_not_depend_on_the_number_of_threads():
    votes = ising_votes(2_000, 80, seed=6)
    chosen = [
        ebic_path(problem_of(votes, n_jobs=n_jobs), 0.25, n_penalties=8, ratio=0.1)
        for n_jobs in (1, 2, 4)
    ]
    assert len({solution.weights.tobytes() for solution, _ in chosen}) == 1


def draw(weighted=False, abstain=0.0, penalty=0.1):
    """Twelve voters of one trait, and their regressions solved on the first working sets."""
    rng = np.random.default_rng(5)
    trait = rng.standard_normal((400, 1))
    votes = np.where(trait + rng.standard_normal((400, 12)) > 0, 1, -1)
    votes[rng.random(votes.shape) < abstain] = 0
    problem = L1Problem(
        np.asfortranarray(votes.astype(np.int8)),
        np.full(12, penalty),
        item_weights=rng.choice([0.0, 0.5, 2.0], 400) if weighted else None,
    )
    frame = Frame.of(problem)
    estimate = start_estimate(frame)
    batch = solve_batch(frame, estimate, EVERYONE)
    marks = Landmarks.empty(12)
    marks.measure_all(frame, estimate, batch)
    return problem, frame, estimate, batch, marks


def mean_scores(problem, batch):
    """By definition, in float64."""
    totals = [counted_of(problem.votes, s, problem.item_weights).sum() for s in batch.voters]
    return all_scores_of(problem.votes, batch, problem.item_weights) / np.array(totals)[:, None]


def move(frame, estimate, penalty):
    """Solve the same working sets at another penalty."""
    elsewhere = replace(frame, penalties=np.full(12, penalty))
    return elsewhere, solve_batch(elsewhere, estimate, EVERYONE)


@CASES
def test_a_landmark_is_the_point_and_its_scores(weighted, abstain):
    problem, frame, estimate, _, _ = draw(weighted, abstain)
    marks = Landmarks.empty(12)
    some = gather_members(estimate, np.array([7, 2]))
    scores = marks.measure_all(frame, estimate, some)
    assert np.allclose(scores, mean_scores(problem, some), atol=1e-5)
    for kept, wanted in (
        (marks.weights, estimate.weights),
        (marks.intercepts, estimate.intercepts),
    ):
        assert np.array_equal(kept[[7, 2]], wanted[[7, 2]])
        assert not np.shares_memory(kept, wanted)
    for kept in (marks.scores, marks.latest):
        assert np.array_equal(kept[[7, 2]], scores.astype(np.float32))
        assert not np.delete(kept, [7, 2], axis=0).any()


@CASES
@pytest.mark.parametrize("penalty", [0.1, 0.09, 0.02])
def test_predicted_scores_err_less_than_their_bound(weighted, abstain, penalty):
    problem, frame, estimate, _, marks = draw(weighted, abstain)
    frame, moved = move(frame, estimate, penalty)
    scores, error = marks.bound(frame, estimate, moved)
    assert np.all(np.abs(scores - mean_scores(problem, moved)) <= error)
    # the bound is of use: it is small for voters that hardly moved
    assert np.all(error < (1e-4 if penalty == 0.1 else 0.25))


def test_the_moments_predict_most_of_the_change_where_nobody_abstained():
    _, frame, estimate, _, marks = draw()
    frame, moved = move(frame, estimate, 0.02)
    change = np.abs(frame.rows.all_scores(moved) / 400 - marks.scores)
    _, error = marks.bound(frame, estimate, moved)
    old = gather(EVERYONE, marks.weights != 0, marks.weights, marks.intercepts)
    plain = np.sqrt(frame.rows.drift(old, moved)[:, 0] / 400)
    assert np.all(error[:, 0] < 0.5 * plain)
    assert change.max() > error.max()


def test_the_bound_counts_float32s_own_errors_at_both_ends():
    _, frame, estimate, batch, marks = draw()
    _, error = marks.bound(frame, estimate, batch)  # nobody moved
    assert error[:, 0] == pytest.approx(4 * float32_noise(frame, batch))


def test_where_nothing_is_undecided_the_old_landmark_stays(monkeypatch):
    monkeypatch.setattr(path, "MANY", 2)
    problem, frame, estimate, _, marks = draw(penalty=0.3)
    before = marks.weights.copy(), marks.scores.copy()
    frame, moved = move(frame, estimate, 0.31)
    assert marks.check(frame, estimate, moved).size == 0
    assert np.array_equal(marks.weights, before[0])
    assert np.array_equal(marks.scores, before[1])
    assert not np.array_equal(marks.latest, before[1])
    assert np.allclose(marks.latest, mean_scores(problem, moved), atol=0.01)


@CASES
def test_undecided_pairs_are_measured_in_float64(weighted, abstain):
    problem, frame, estimate, batch, _ = draw(weighted, abstain)
    voters = np.array([3, 8, 5])
    undecided = np.zeros((3, 12), bool)
    undecided[0, [1, 9]] = undecided[2, 4] = True
    scores, error = np.full((3, 12), 7.0), np.full((3, 12), 7.0)
    measure_pairs(frame, estimate, voters, undecided, scores, error)
    exact = mean_scores(problem, batch)[voters]
    assert np.allclose(scores[undecided], exact[undecided], rtol=0, atol=1e-12)
    assert not error[undecided].any()
    assert np.all(scores[1] == 7.0)
    assert np.all(error[1] == 7.0)
    before = scores.copy()
    measure_pairs(frame, estimate, voters, np.zeros((3, 12), bool), scores, error)
    assert np.array_equal(scores, before)


@CASES
@pytest.mark.parametrize("penalty", [0.095, 0.01])
def test_the_cheap_check_covers_what_the_full_one_finds(monkeypatch, weighted, abstain, penalty):
    """Every violator by the full product is one by the bound; certificates are no smaller."""
    problem, frame, estimate, _, marks = draw(weighted, abstain)
    frame, moved = move(frame, estimate, penalty)
    members, kkt = estimate.members.copy(), estimate.kkt.copy()
    monkeypatch.setattr(path, "MANY", 2)
    pending = marks.check(frame, estimate, moved)
    excess = np.abs(mean_scores(problem, moved)) - penalty
    excess[members | np.eye(12, dtype=bool)] = -np.inf
    assert np.all(estimate.members[excess > frame.tol * penalty])
    assert set(pending) == set(np.flatnonzero((estimate.members & ~members).any(axis=1)))
    assert np.all(estimate.kkt >= np.maximum(kkt, excess.max(axis=1) / penalty) - 1e-9)
