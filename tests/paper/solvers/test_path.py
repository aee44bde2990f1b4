from dataclasses import replace

import numpy as np
import pytest

import naive_solver
from unelisa.paper.solvers import L1Problem, WorkingSet, ebic_path, optimality
from unelisa.paper.solvers.path import Path

EVERYONE = np.arange(12)


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


@pytest.mark.parametrize("abstain", [0.0, 0.2])
def test_every_step_is_optimal(abstain):
    votes = ising_votes(300, 12, seed=3)
    votes[np.random.default_rng(0).random(votes.shape) < abstain] = 0
    problem = problem_of(votes)
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
            loss = naive_solver.loss(votes, s, logits)
            assert walk.estimate.loss[s] == pytest.approx(loss)


def test_a_path_agrees_with_single_solves_and_early_stop_changes_only_the_work():
    problem = problem_of(ising_votes(300, 12, seed=4), tol=1e-6)
    walk = Path.begin(problem)
    for penalty in (0.2, 0.05):
        walk.move(np.full(12, penalty), EVERYONE)
        alone = WorkingSet().solve(replace(problem, penalties=np.full(12, penalty)))
        assert np.allclose(walk.estimate.weights, alone.weights, atol=1e-5)
    problem = problem_of(ising_votes(400, 8, seed=2))
    early, early_penalties = ebic_path(problem, 0.25)
    late, late_penalties = ebic_path(problem, 0.25, patience=1000)
    assert np.array_equal(early.weights, late.weights)
    assert np.array_equal(early_penalties, late_penalties)
    assert early.n_iter.sum() < late.n_iter.sum()


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
