"""Which solver is chosen, and what is said without torch."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

import naive_solver
from unelisa import select_neighborhoods
from unelisa.errors import MissingExtraError
from unelisa.paper.solvers import SOLVERS, L1Problem, WorkingSet, choose_solver


@pytest.fixture
def large():
    """Large by its shape alone: the votes are one byte."""
    votes = np.broadcast_to(np.int8(1), (10**6, 400))
    return L1Problem(votes, np.ones(400))


def test_small_votes_are_solved_on_the_processor_as_ever():
    problem = naive_solver.hard_problem("ordinary", 0)
    assert isinstance(choose_solver(problem), WorkingSet)
    chosen, plain = SOLVERS["auto"]().solve(problem), WorkingSet().solve(problem)
    assert np.array_equal(chosen.weights, plain.weights)


def test_large_votes_go_to_a_gpu_only_where_one_is(large):
    gpu = False
    if importlib.util.find_spec("torch") is not None:
        import torch  # noqa: PLC0415 - an extra

        gpu = torch.cuda.is_available()
    assert isinstance(choose_solver(large), WorkingSet) is not gpu


def test_large_votes_go_to_a_gpu_with_room(large, monkeypatch):
    pytest.importorskip("torch", reason="torch is not installed: make test-gpu")
    asked = []
    monkeypatch.setattr(
        "unelisa.paper.solvers._gpu_fits", lambda n_votes: asked.append(n_votes) or True
    )
    assert type(choose_solver(large)).__name__ == "TorchBatched"
    assert asked == [4 * 10**8]


def test_without_torch_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "unelisa.paper.solvers.torch_batched", raising=False)
    monkeypatch.delitem(sys.modules, "unelisa.paper.solvers.torch_sums", raising=False)
    votes = naive_solver.hard_problem("ordinary", 0).votes
    with pytest.raises(MissingExtraError, match=r'pip install "unelisa\[gpu\]"'):
        select_neighborhoods(votes, solver="torch")


def test_torch_is_not_imported_with_unelisa():
    code = (
        "import sys, numpy as np, unelisa, unelisa.paper.solvers\n"
        "votes = np.random.default_rng(0).choice([-1, 1], size=(60, 4))\n"
        "unelisa.select_neighborhoods(votes)\n"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
