"""What the models with coins share: initializations, and EM from several of them."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np

from unelisa.aggregators.base import Floats, PosteriorAggregator, weighed_margin
from unelisa.blocks import ItemBlocks
from unelisa.errors import ConvergenceWarning, ExpertsWarning, warn_user
from unelisa.orientation import Orient
from unelisa.votes import Votes

# without smoothing a coin may reach 0 or 1, where the log-odds are infinite
CLIP = 1e-9


class CoinFit(Protocol):
    """The result of EM, whatever the coins."""

    @property
    def lower_bound(self) -> Floats:
        """Penalized log-likelihood per item after each iteration."""

    @property
    def converged(self) -> bool:
        """Whether EM converged."""


Fit = TypeVar("Fit", bound=CoinFit)


class CoinAggregator(PosteriorAggregator):
    """Base of the models whose coins are estimated by EM from several initializations."""

    def __init__(
        self,
        smoothing: float = 1.0,
        *,
        n_starts: int = 5,
        max_iter: int = 500,
        tol: float = 1e-9,
        orient: Orient = "majority",
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.smoothing = smoothing
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.tol = tol
        self.orient = orient
        self.random_state = random_state

    def _best_fit(self, votes: Votes, estimate: Callable[..., Fit], prior: Any) -> Fit:
        """Return the most likely fit of `estimate(blocks, start, prior, max_iter, tol)`."""
        blocks, rng = votes.blocks, np.random.default_rng(self.random_state)
        starts = draw_starts(blocks, self.n_starts, rng)
        varying = np.count_nonzero(~votes.constant())
        if varying < 3:
            if varying:
                warn_few_voters()
            return estimate(blocks, starts[0], prior, max_iter=1)
        fits = [estimate(blocks, x, prior, self.max_iter, self.tol) for x in starts]
        best = max(fits, key=lambda fit: float(fit.lower_bound[-1]))
        if not best.converged:
            warn_user(
                f"EM did not converge in {self.max_iter} iterations: raise max_iter",
                ConvergenceWarning,
            )
        return best


def warn_few_voters() -> None:
    """Warn that the voters who vary are too few to estimate their reliability."""
    warn_user(
        "fewer than three voters vary: their reliability is taken from the majority vote",
        ExpertsWarning,
    )


def draw_starts(blocks: ItemBlocks, n_starts: int, rng: np.random.Generator) -> list[Floats]:
    """Return starting posteriors: the share of yes votes, then shares in crowds weighed at random.

    The weights are uniform between 0 and 1. Only voters who voted draw one, so that a voter who
    never did does not change the random numbers.
    """
    voted = blocks.tally(np.ones(len(blocks)))[1] > 0
    weights = np.zeros((blocks.n_voters, n_starts))
    weights[voted] = rng.uniform(0, 1, (int(voted.sum()), n_starts))
    weights[voted, 0] = 1.0
    return [0.5 + weighed_margin(blocks, weights[:, start]) / 2 for start in range(n_starts)]
