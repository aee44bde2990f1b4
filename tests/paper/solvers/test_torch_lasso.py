"""Batches of small quadratic problems against a plain proximal gradient."""

import numpy as np
import pytest

import naive_solver

torch = pytest.importorskip("torch", reason="torch is not installed: make test-gpu")
lasso = pytest.importorskip("unelisa.paper.solvers.torch_batched")


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
    quadratics = lasso.Quadratics.of(torch.tensor(hessians))
    return lasso.minimize(quadratics, *tensors, 3000).numpy()


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


def test_a_singular_hessian_has_a_minimizer(batch):
    hessians, scores, x, limits = batch
    hessians[:, 1], scores[:, 1], x[:, 1], limits[:, 1] = hessians[:, 0], scores[:, 0], 0.0, 0.2
    hessians[:, :, 1] = hessians[:, :, 0]
    found = minimize(hessians, scores, x, limits)
    rest = scores + np.einsum("skl,sl->sk", hessians, x - found)
    moved = np.abs(rest - limits * np.sign(found))
    assert np.all(np.where(found != 0, moved, np.abs(rest) - limits) <= 1e-7)


def test_members_in_use_and_free_ones_come_first():
    scores = torch.tensor([[0.5, 0.1, 3.0, 0.0, 0.9, 2.0]])
    point = torch.tensor([[0.0, 0.2, 0.0, 0.0, 0.0, 0.0]])
    limits = torch.tensor([[1.0, 1.0, torch.inf, 0.0, 1.0, 1.0]])
    chosen = lasso.choose_members(scores, point, limits, 4)[0].tolist()
    assert set(chosen[:2]) == {1, 3}
    assert chosen[2:] == [5, 4]
    assert lasso.count_members(scores, point, limits, 0.85).tolist() == [4]
