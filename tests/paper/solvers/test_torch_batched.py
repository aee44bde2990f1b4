"""The GPU solver beyond the contract of all solvers (`test_contract`), on the processor."""

from dataclasses import replace

import numpy as np
import pytest

import naive_solver
from unelisa.paper.solvers import L1Problem, WorkingSet, optimality
from unelisa.simulation.designs import simulate_votes

torch = pytest.importorskip("torch", reason="torch is not installed: make test-gpu")
batched = pytest.importorskip("unelisa.paper.solvers.torch_batched")
sums = pytest.importorskip("unelisa.paper.solvers.torch_sums")

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def problem():
    votes = simulate_votes(n_voters=40, n_experts=8, n_items=9000, random_state=1).votes.values
    return L1Problem(votes, np.full(40, np.sqrt(np.log(40) / 9000)))


def on_device(problem):
    items = sums.DeviceItems.of(problem, CPU)
    return batched.fetch(batched.solve_items(problem, items))


def certificate(problem, solution):
    return optimality(problem, solution.weights, solution.intercepts)


def test_ordinary_votes_are_solved_on_the_device_alone(problem):
    solution = on_device(problem)
    assert solution.missed(problem.tol).size == 0
    assert np.all(certificate(problem, solution) <= solution.kkt + 1e-9)
    assert solution.n_iter.mean() < 6
    reference = WorkingSet().solve(problem)
    assert solution.weights == pytest.approx(reference.weights, abs=2e-4)


def test_a_tight_tolerance_is_met_in_float64(problem):
    solution = on_device(replace(problem, tol=1e-6))
    assert solution.missed(1e-6).size == 0
    assert certificate(problem, solution).max() <= 1e-6


@pytest.mark.parametrize("kind", naive_solver.KINDS)
def test_the_device_never_claims_too_much(kind):
    for seed in range(2):
        hard = naive_solver.hard_problem(kind, seed, weighted=seed == 1)
        solution = on_device(hard)
        assert np.all(certificate(hard, solution) <= solution.kkt + 1e-9)


def test_what_the_device_leaves_the_processor_finishes(problem, monkeypatch):
    monkeypatch.setattr(batched, "MAX_PASSES", 2)
    unfinished = on_device(problem)
    assert unfinished.missed(problem.tol).size > 0
    assert np.all(certificate(problem, unfinished) <= unfinished.kkt + 1e-9)
    solution = batched.TorchBatched(device="cpu").solve(problem)
    assert certificate(problem, solution).max() <= problem.tol
    assert np.all(solution.n_iter >= unfinished.n_iter)


def test_more_members_than_the_working_sets_hold(problem, monkeypatch):
    monkeypatch.setattr(batched, "MAX_MEMBERS", 3)
    solution = batched.TorchBatched(device="cpu").solve(problem)
    assert certificate(problem, solution).max() <= problem.tol


def test_a_sampled_hessian_will_do(problem, monkeypatch):
    monkeypatch.setattr(sums, "SAMPLE", 1024)
    assert sums.DeviceItems.of(problem, CPU).stride == 8
    solution = on_device(problem)
    assert solution.missed(problem.tol).size == 0
    assert certificate(problem, solution).max() <= problem.tol


def test_items_in_several_chunks_give_the_same(problem, monkeypatch):
    whole = on_device(problem)
    monkeypatch.setattr(sums, "CHUNK", 1)
    assert len(list(sums.DeviceItems.of(problem, CPU).chunks())) == 2
    parts = on_device(problem)
    assert np.array_equal(whole.weights, parts.weights)
