"""Votes -> neighborhoods: one l1-penalized logistic regression per voter (3.6)."""

from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unelisa.errors import ModelError
from unelisa.memory import refuse_pairs
from unelisa.paper.solvers import SOLVERS, L1Problem, ebic_path
from unelisa.schema import stored
from unelisa.votes import Votes

Floats = NDArray[np.float64]
Penalty = Literal["theory", "ebic"] | float | ArrayLike
EBIC_GAMMA = 0.25  # IsingFit's default


@stored(
    weights="finite[voters, voters]",
    intercepts="finite[voters]",
    kkt="float[voters]",
    n_iter="count[voters]",
    penalties="float[voters]",
)
class Neighborhoods(NamedTuple):
    """Every voter's regression on all other voters.

    Attributes
    ----------
    weights
        weights[s, t]: coefficient of voter t in voter s's regression, logit = 2 (b + theta'f).
    intercepts, penalties
        b_s and lambda_s per voter.
    kkt, n_iter
        Largest violation of the optimality conditions, in units of lambda, and passes, per voter.
    """

    weights: Floats
    intercepts: Floats
    kkt: Floats
    n_iter: NDArray[np.int64]
    penalties: Floats


def select_neighborhoods(
    votes: Any,
    penalty: Penalty = "theory",
    fit_intercept: bool = True,
    tol: float = 1e-3,
    *,
    solver: str = "auto",
    n_jobs: int | None = None,
) -> Neighborhoods:
    """Return every voter's neighborhood: minimize (3.6), with its first sign corrected.

    Items on which voter s abstained are ignored in the regression of s; n_s counts the others.

    Parameters
    ----------
    votes
        `Votes`, or a table that `Votes.of` reads.
    penalty
        "theory": lambda = 2 sqrt(log p / n_s), the paper's rate on w = 2 theta. "ebic": per voter
        that of least extended BIC, gamma = .25. A number, or one per voter: lambda on theta.
    fit_intercept
        Whether each voter has an unpenalized intercept b_s. The paper has none.
    tol
        Largest accepted violation of the optimality conditions, in units of lambda.
    solver, n_jobs
        As in `ExpertSelector`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> leader = rng.choice([-1, 1], size=(400, 1))
    >>> crowd = np.where(rng.random((400, 3)) < .8, leader, -leader)
    >>> result = select_neighborhoods(np.hstack([crowd, rng.choice([-1, 1], size=(400, 1))]))
    >>> (result.weights != 0).astype(int)
    array([[0, 1, 1, 0],
           [1, 0, 1, 0],
           [1, 1, 0, 0],
           [0, 0, 0, 0]])
    """
    votes = Votes.accept(votes)
    if votes.n_classes > 2:
        raise ModelError(
            f"neighborhoods need two classes, found {votes.n_classes}; use votes.one_against_rest"
        )
    refuse_pairs(int(np.count_nonzero(~votes.constant())))
    problem = L1Problem(
        votes.blocks,
        theory_penalty(votes),
        fit_intercept=fit_intercept,
        tol=tol,
        n_jobs=n_jobs,
        names=[str(name) for name in votes.voters],
    )
    if isinstance(penalty, str) and penalty == "ebic":
        if solver not in ("auto", "working_set"):
            raise ModelError("penalty 'ebic' has its own solver: leave solver='auto'")
        solution, penalties = ebic_path(problem, EBIC_GAMMA)
    else:
        penalties = _read_penalty(penalty, problem.penalties)
        if solver not in list(SOLVERS):  # settings may be unhashable
            raise ModelError(f"unknown solver {solver!r}; choose one of {', '.join(SOLVERS)}")
        solution = SOLVERS[solver]().solve(replace(problem, penalties=penalties))
    return Neighborhoods(
        solution.weights, solution.intercepts, solution.kkt, solution.n_iter, penalties
    )


def theory_penalty(votes: Votes) -> Floats:
    """Return lambda_s = 2 sqrt(log p / n_s) per voter: the paper's, on w = 2 theta of the logit."""
    counts = np.maximum(votes.vote_counts(), 1)
    return np.asarray(2 * np.sqrt(np.log(max(votes.n_voters, 2)) / counts), dtype=np.float64)


def _read_penalty(penalty: Penalty, theory: Floats) -> Floats:
    if isinstance(penalty, str):
        if penalty == "theory":
            return theory
        raise ModelError(f"penalty must be 'theory', 'ebic' or a number, found {penalty!r}")
    numbers = np.asarray(penalty)
    if numbers.dtype.kind not in "iuf":
        raise ModelError("penalty must be 'theory', 'ebic', a number, or one number for each voter")
    if numbers.shape not in ((), theory.shape) or not np.all(np.isfinite(numbers) & (numbers > 0)):
        raise ModelError("a numeric penalty must be positive: one number, or one for each voter")
    return np.broadcast_to(numbers, theory.shape).astype(np.float64)
