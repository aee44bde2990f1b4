"""The GPU's sums against float64, on the processor: the same grids, blocks and bounds."""

from dataclasses import replace

import numpy as np
import pytest

import naive_solver
from unelisa.paper.solvers import L1Problem
from unelisa.paper.solvers.base import design_voters, scores

torch = pytest.importorskip("torch", reason="torch is not installed: make test-gpu")
sums = pytest.importorskip("unelisa.paper.solvers.torch_sums")
batched = pytest.importorskip("unelisa.paper.solvers.torch_batched")

CPU = torch.device("cpu")


def large_problem(abstaining, weighted):
    """More items than one exact run, and not a multiple of it."""
    rng = np.random.default_rng(0)
    votes = np.asfortranarray(rng.choice([-1, 1], size=(9001, 12), p=[0.3, 0.7]).astype(np.int8))
    votes[rng.random(votes.shape) < 0.3 * abstaining] = 0
    return L1Problem(
        votes,
        np.full(12, 0.05),
        item_weights=rng.choice([0.0, 0.3, 2.0], 9001) if weighted else None,
    )


def random_point(items, seed):
    rng, n = np.random.default_rng(seed), items.n_voters
    point = torch.zeros((n, items.n_parameters), dtype=torch.float64)
    point[:, : n + 1] = torch.tensor(rng.standard_normal((n, n + 1)))
    point[:, :n].fill_diagonal_(0.0)
    return point


@pytest.mark.parametrize("abstaining", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_err_by_less_than_their_bound(abstaining, weighted):
    problem = large_problem(abstaining, weighted)
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


def test_moments_are_whole_numbers_and_tell_who_varies():
    problem = large_problem(True, False)
    problem.votes[:, 3] = 1
    problem.votes[:, 4] = 0
    items = sums.DeviceItems.of(problem, CPU)
    votes = np.column_stack([problem.votes, np.ones(9001)]).astype(float)
    assert np.array_equal(items.moments()[:13, :13].numpy(), votes.T @ votes)
    assert np.array_equal(batched.Task.of(problem, items).inside.numpy(), design_voters(problem))


def test_weights_enter_the_moments():
    problem = naive_solver.hard_problem("abstaining", 0, weighted=True)
    weights = problem.item_weights / problem.item_weights.max()
    design = np.column_stack([problem.votes, np.ones(60)])
    moments = sums.DeviceItems.of(problem, CPU).moments()[:7, :7].numpy()
    assert moments == pytest.approx(design.T @ (weights[:, None] * design))


def test_votes_that_are_read_only_are_taken_without_a_warning():
    problem = naive_solver.hard_problem("ordinary", 0)
    votes = problem.votes.copy(order="F")
    votes.flags.writeable = False
    items = sums.DeviceItems.of(replace(problem, votes=votes), CPU)
    assert np.array_equal(items.votes.numpy(), votes.T)
