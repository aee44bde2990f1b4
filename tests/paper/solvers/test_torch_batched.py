"""The GPU solver beyond the contract of all solvers, on the processor: its sums, and its steps."""

from dataclasses import replace

import numpy as np
import pytest

import naive_solver
from unelisa.paper.solvers import L1Problem, WorkingSet, optimality
from unelisa.paper.solvers.base import design_voters, scores
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


def test_ordinary_votes_and_tight_tolerances_are_met_on_the_device(problem):
    solution = on_device(problem)
    assert solution.missed(problem.tol).size == 0
    assert np.all(certificate(problem, solution) <= solution.kkt + 1e-9)
    assert solution.n_iter.mean() < 6
    reference = WorkingSet().solve(problem)
    assert solution.weights == pytest.approx(reference.weights, abs=2e-4)
    solution = on_device(replace(problem, tol=1e-6))
    assert solution.missed(1e-6).size == 0
    assert certificate(problem, solution).max() <= 1e-6


@pytest.mark.parametrize("kind", naive_solver.KINDS)
def test_the_device_never_claims_too_much(kind):
    for seed in range(2):
        hard = naive_solver.hard_problem(kind, seed)
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


def test_samples_and_chunks_give_the_same(problem, monkeypatch):
    monkeypatch.setattr(sums, "SAMPLE", 1024)
    assert sums.DeviceItems.of(problem, CPU).stride == 8
    solution = on_device(problem)
    assert solution.missed(problem.tol).size == 0
    assert certificate(problem, solution).max() <= problem.tol
    whole = on_device(problem)
    monkeypatch.setattr(sums, "CHUNK", 1)
    assert len(list(sums.DeviceItems.of(problem, CPU).chunks())) == 2
    parts = on_device(problem)
    assert np.array_equal(whole.weights, parts.weights)
    monkeypatch.setattr(batched, "MAX_MEMBERS", 3)
    solution = batched.TorchBatched(device="cpu").solve(problem)
    assert certificate(problem, solution).max() <= problem.tol


def large_problem(abstaining):
    """More items than one exact run, and not a multiple of it."""
    rng = np.random.default_rng(0)
    votes = np.asfortranarray(rng.choice([-1, 1], size=(9001, 12), p=[0.3, 0.7]).astype(np.int8))
    votes[rng.random(votes.shape) < 0.3 * abstaining] = 0
    return L1Problem(votes, np.full(12, 0.05))


def random_point(items, seed):
    rng, n = np.random.default_rng(seed), items.n_voters
    point = torch.zeros((n, items.n_parameters), dtype=torch.float64)
    point[:, : n + 1] = torch.tensor(rng.standard_normal((n, n + 1)))
    point[:, :n].fill_diagonal_(0.0)
    return point


@pytest.mark.parametrize("abstaining", [False, True])
def test_scores_err_by_less_than_their_bound(abstaining):
    problem = large_problem(abstaining)
    items = sums.DeviceItems.of(problem, CPU)
    task = batched.Task.of(problem, items)
    for seed, bits in enumerate([sums.COARSE, sums.FINE, sums.DOUBLE]):
        point = sums.round_to_grid(random_point(items, seed), bits)
        found, _ = task.scores(torch.arange(12), point, bits)
        expected = np.column_stack(scores(problem, point[:, :12].numpy(), point[:, 12].numpy()))
        worst = np.abs(found[:, :13].numpy() - expected).max(axis=1)
        bound = items.noise(task.totals, bits).numpy()
        assert np.all(worst <= bound + 1e-12)
        # the finer the pass, the smaller the bound
        assert np.all(bound <= {11: 1e-3, 22: 1e-5, 53: 0.0}[bits])


def test_halves_are_exact_on_the_grid():
    point = torch.tensor(np.random.default_rng(1).standard_normal((50, 9)) * 3.0)
    point[0] *= 1e-6
    fine = sums.round_to_grid(point, sums.FINE)
    high, low = sums.split_coefficients(fine, sums.FINE)
    assert torch.equal(high + low * 2.0**-11, fine)
    # what a GPU multiplies are these numbers in float16
    assert torch.equal(high.to(torch.float16).double(), high)
    assert torch.equal(low.to(torch.float16).double(), low)
    assert float((fine - point).abs().max()) <= 2.0**-19
    coarse = sums.round_to_grid(point, sums.COARSE)
    assert not sums.split_coefficients(coarse, sums.COARSE)[1].any()


def test_split_products_are_exact_up_to_their_grid():
    rng = np.random.default_rng(2)
    t = torch.tensor(rng.uniform(-1, 1, (5, 3 * sums.RUN)).astype(np.float32))
    design = torch.tensor(rng.choice([-1.0, 0.0, 1.0], (7, 3 * sums.RUN)).astype(np.float32))
    for bits in (sums.COARSE, sums.FINE):
        grid = torch.round(t.double() * 2.0**bits) * 2.0**-bits
        assert torch.equal(
            sums.add_split_products(t.clone(), design, bits), grid @ design.double().T
        )


def test_moments_are_whole_numbers():
    problem = large_problem(True)
    problem.votes[:, 3] = 1
    problem.votes[:, 4] = 0
    items = sums.DeviceItems.of(problem, CPU)
    votes = np.column_stack([problem.votes, np.ones(9001)]).astype(float)
    assert np.array_equal(items.moments()[:13, :13].numpy(), votes.T @ votes)
    assert np.array_equal(batched.Task.of(problem, items).inside.numpy(), design_voters(problem))
    problem = naive_solver.hard_problem("ordinary", 0)
    votes = problem.votes.copy(order="F")
    votes.flags.writeable = False
    items = sums.DeviceItems.of(replace(problem, votes=votes), CPU)
    assert np.array_equal(items.votes.numpy(), votes.T)


@pytest.fixture
def batch():
    rng = np.random.default_rng(0)
    roots = rng.standard_normal((4, 30, 6))
    hessians = np.einsum("sik,sil->skl", roots, roots) / 30
    limits = rng.uniform(0.05, 0.5, (4, 6))
    limits[:, -1] = 0.0
    return hessians, rng.standard_normal((4, 6)), rng.standard_normal((4, 6)) * 0.3, limits


def minimize(hessians, scores, x, limits):
    tensors = [torch.tensor(a) for a in (x, scores, limits, np.full(len(x), 1e-9))]
    quadratics = batched.Quadratics.of(torch.tensor(hessians))
    return batched.minimize(quadratics, *tensors, 3000).numpy()


def test_the_minimizer_is_the_naive_one(batch):
    hessians, scores, x, limits = batch
    found = minimize(hessians, scores, x, limits)
    for s in range(4):
        step = naive_solver.lasso_step(hessians[s], scores[s], x[s], limits[s])
        assert found[s] == pytest.approx(x[s] + step, abs=1e-7)
    assert (found[:, :-1] == 0).any()


def test_an_infinite_limit_keeps_a_coordinate_at_zero(batch):
    hessians, scores, x, limits = batch
    limits[:, 2] = np.inf
    x[:, 2] = 0.0
    found = minimize(hessians, scores, x, limits)
    assert not found[:, 2].any()
    rest = [0, 1, 3, 4, 5]
    alone = minimize(hessians[:, rest][:, :, rest], scores[:, rest], x[:, rest], limits[:, rest])
    assert found[:, rest] == pytest.approx(alone, abs=1e-7)


def test_members_in_use_and_free_ones_come_first():
    scores = torch.tensor([[0.5, 0.1, 3.0, 0.0, 0.9, 2.0]])
    point = torch.tensor([[0.0, 0.2, 0.0, 0.0, 0.0, 0.0]])
    limits = torch.tensor([[1.0, 1.0, torch.inf, 0.0, 1.0, 1.0]])
    chosen = batched.choose_members(scores, point, limits, 4)[0].tolist()
    assert set(chosen[:2]) == {1, 3}
    assert chosen[2:] == [5, 4]
    assert batched.count_members(scores, point, limits, 0.85).tolist() == [4]
