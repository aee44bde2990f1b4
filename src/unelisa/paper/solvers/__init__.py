"""Solvers for every voter's l1-penalized logistic regression, by name."""

from collections.abc import Callable

from unelisa.paper.solvers.auto import Auto, torch_solver
from unelisa.paper.solvers.base import L1Problem, L1Solution, Solver, optimality
from unelisa.paper.solvers.path import ebic_path
from unelisa.paper.solvers.working_set import WorkingSet

SOLVERS: dict[str, Callable[[], Solver]] = {
    "working_set": WorkingSet,
    "torch": torch_solver,
    "auto": Auto,
}

__all__ = [
    "SOLVERS",
    "Auto",
    "L1Problem",
    "L1Solution",
    "Solver",
    "WorkingSet",
    "ebic_path",
    "optimality",
]
