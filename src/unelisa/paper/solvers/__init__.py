"""Solvers for every voter's l1-penalized logistic regression, by name."""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass

from unelisa.errors import missing_extra
from unelisa.paper.solvers.base import L1Problem, L1Solution, Solver, optimality
from unelisa.paper.solvers.path import ebic_path
from unelisa.paper.solvers.working_set import WorkingSet

__all__ = ["SOLVERS", "Auto", "L1Problem", "L1Solution", "WorkingSet", "ebic_path", "optimality"]

WORTH = 1e11  # items x voters^2 from which on a GPU pays off: a second or more on one core


def torch_solver() -> Solver:
    """Return the GPU solver; torch is imported here, not with unelisa."""
    try:
        from unelisa.paper.solvers.torch_batched import TorchBatched  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise missing_extra("solver 'torch' needs torch", "gpu") from None
    return TorchBatched()


@dataclass(frozen=True)
class Auto:
    """Solve on a GPU if there is one and items x voters^2 >= 1e11, otherwise on the processor."""

    def solve(self, problem: L1Problem) -> L1Solution:
        """Return the minimizer for every voter, with its certificate."""
        return choose_solver(problem).solve(problem)


def choose_solver(problem: L1Problem) -> Solver:
    """Return the GPU solver for large votes in memory that fit it, else the working-set solver."""
    n_items, n_voters = problem.votes.shape
    large = problem.blocks.whole and float(n_items) * n_voters**2 >= WORTH
    return torch_solver() if large and _gpu_fits(n_items * n_voters) else WorkingSet()


def _gpu_fits(n_votes: int) -> bool:
    """Return whether there is a GPU with room for the votes and 8 GB to work in."""
    if importlib.util.find_spec("torch") is None:
        return False
    import torch  # noqa: PLC0415 - an extra

    return bool(torch.cuda.is_available()) and torch.cuda.mem_get_info()[0] > n_votes + 8e9


SOLVERS: dict[str, Callable[[], Solver]] = {
    "working_set": WorkingSet,
    "torch": torch_solver,
    "auto": Auto,
}
