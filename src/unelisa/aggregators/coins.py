"""Coins: EM of Dawid and Skene's model from several initializations, and what its users share."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from unelisa.aggregators.base import Floats, PosteriorAggregator
from unelisa.aggregators.confusions import Confusions, VoterModel, estimate_confusions
from unelisa.aggregators.orientation import Orient
from unelisa.errors import ConvergenceWarning, ExpertsWarning, ModelError, warn_user
from unelisa.paper.em import Reliability, list_starts, rank_fits
from unelisa.votes import Votes
from unelisa.votes.ballots import list_ballots
from unelisa.votes.blocks import ItemBlocks
from unelisa.votes.canonical import order_voters

# without smoothing a coin may reach 0 or 1, where the log-odds are infinite
CLIP = 1e-9
LEAST_VARYING = 3  # who vary: two have three moments, and the model five parameters
FEW_VARYING = "fewer than three voters vary: their reliability is taken from the majority vote"
TIED_FITS = "a tie: fits of nearly equal likelihood"


@dataclass(frozen=True)
class TwoCoins:
    """The model's parameters as estimated by EM."""

    # two rows, one column per voter: P(says yes | truth is no), P(says yes | truth is yes)
    coins: Floats
    prevalence: float  # pi = P(truth is yes)
    lower_bound: Floats  # penalized log-likelihood per item after each iteration; it never falls
    converged: bool  # whether the last iteration raised it by less than the tolerance


Fit = TypeVar("Fit", TwoCoins, Reliability)


def estimate_coins(
    blocks: ItemBlocks,
    start: Floats,
    smoothing: float = 1.0,
    max_iter: int = 500,
    tol: float = 1e-9,
) -> TwoCoins:
    """Return the fixed point of EM from starting posteriors tau_i = P(truth_i is yes).

    M-step, a the smoothing and q_s the voter's own share of yes::

        P(s says yes | yes) = (sum_i tau_i [f_is = 1] + a q_s) / (sum_i tau_i |f_is| + a)

    and the same with 1 - tau_i for the other coin. E-step: Bayes. Both maximize the log-likelihood
    plus the log prior, Beta(1 + a q_s, 1 + a (1 - q_s)) for both coins, over coins and a prevalence
    kept off 0 and 1, so that the sum never falls. Items without any vote add nothing to the
    likelihood and are ignored in the prevalence.
    """
    ones = np.ones(blocks.n_voters)
    voted = blocks.weigh(np.zeros_like(ones), ones) > 0
    totals = blocks.tally(voted.astype(np.float64))
    # a voter who never voted has q = 1/2
    share = 0.5 + totals[0] / np.maximum(totals[1], 1.0) / 2
    yes, no = smoothing * share, smoothing * (1 - share)
    posterior, history = np.where(voted, start, 0.0), [-np.inf]
    coins, prevalence = np.empty((2, len(ones))), 0.5
    for _ in range(max_iter):
        coins = _estimate(blocks.tally(posterior), totals, yes, no)
        # half an item off 0 and 1: a class not seen so far may still exist
        prevalence = float(np.clip(posterior.sum(), 0.5, voted.sum() - 0.5) / voted.sum())
        joint = log_joint(blocks, coins, prevalence)
        posterior = np.where(voted, expit(joint[1] - joint[0]), 0.0)
        likelihood = np.logaddexp(joint[0], joint[1])[voted].sum()
        penalized = likelihood + float((yes * np.log(coins) + no * np.log1p(-coins)).sum())
        history.append(float(penalized / voted.sum()))
        if history[-1] - history[-2] < tol:
            break
    converged = history[-1] - history[-2] < tol
    return TwoCoins(coins, prevalence, np.array(history[1:]), converged)


def _estimate(
    tallies: tuple[Floats, Floats], totals: tuple[Floats, Floats], yes: Floats, no: Floats
) -> Floats:
    """Return both coins from the votes' tallies weighted by tau, their totals and pseudo-counts."""
    signed = np.stack([totals[0] - tallies[0], tallies[0]])
    observed = np.stack([totals[1] - tallies[1], tallies[1]])
    mass = observed + yes + no
    # without smoothing, a coin that was never tossed has no estimate: 1/2 carries no information
    heads = np.where(mass > 0, (signed + observed) / 2 + yes, 0.5)
    return np.clip(heads / np.where(mass > 0, mass, 1.0), CLIP, 1 - CLIP)


def log_joint(blocks: ItemBlocks, coins: Floats, prevalence: float) -> Floats:
    """Return log P(truth, votes) per item in two rows: truth is no, truth is yes."""
    signed, observed = logit(coins) / 2, (np.log(coins) + np.log1p(-coins)) / 2
    rows = [blocks.weigh(signed[y], observed[y]) for y in (0, 1)]
    return np.stack(rows) + np.log([[1 - prevalence], [prevalence]])


class CoinAggregator(PosteriorAggregator):
    """Base of the models whose coins are estimated by EM from several initializations.

    With more than two classes, the majority vote is the only one.
    """

    multiclass = True

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

    def _fit(self, votes: Votes) -> None:
        voters = order_voters(votes)
        told = votes.take_voters(voters)
        varying = int(np.count_nonzero(~votes.constant()[voters]))
        starts = list_shares(told.blocks, self.n_starts)
        estimate = partial(self._estimate, tol=self.tol)
        best, *tied = choose_fits(told.blocks, starts, varying, estimate, self.max_iter)
        if varying >= LEAST_VARYING and not best.converged:
            self._warn_of_limit()
        for fit in tied if best.converged else []:
            self._adopt(fit, votes, voters)
            self._note_rival(votes, TIED_FITS)
        self._adopt(best, votes, voters)

    def _learn_classes(self, votes: Votes, gold: NDArray[np.int8] | None) -> None:
        if self.orient != "majority":
            raise ModelError("orient decides between two classes; leave 'majority' for more")
        voters = np.flatnonzero(votes.discerning())
        told = votes if len(voters) == votes.n_voters else votes.take_voters(voters)
        varying = int(np.count_nonzero(~votes.constant()))
        if varying < LEAST_VARYING:
            warn_user(FEW_VARYING, ExpertsWarning)
        fit = estimate_confusions(
            list_ballots(told.blocks),
            (told.n_voters, votes.n_classes),
            self._voter_model(),
            np.empty(0, np.uint8) if gold is None else gold.view(np.uint8),
            max_iter=self.max_iter if varying >= LEAST_VARYING else 1,
            tol=self.tol,
        )
        if varying >= LEAST_VARYING and not fit.converged:
            self._warn_of_limit()
        self.prevalence_ = fit.shares
        self.lower_bound_, self.n_iter_ = fit.lower_bound, len(fit.lower_bound)
        self.weights_ = np.zeros(votes.n_voters)
        self.weights_[voters] = fit.weights
        self._adopt_classes(fit, votes, voters)

    def _warn_of_limit(self) -> None:
        warn_user(
            f"EM did not converge in {self.max_iter} iterations: raise max_iter",
            ConvergenceWarning,
        )

    def _voter_model(self) -> VoterModel:
        """Return how voters err among more than two classes."""
        raise NotImplementedError

    def _adopt_classes(self, fit: Confusions, votes: Votes, voters: NDArray[np.intp]) -> None:
        """Store a fit to more than two classes, as `_adopt` does."""
        raise NotImplementedError

    def _estimate(self, blocks: ItemBlocks, start: Floats, **limits: Any) -> Any:
        """Return the fixed point of EM from starting posteriors."""
        raise NotImplementedError

    def _adopt(self, fit: Any, votes: Votes, voters: NDArray[np.intp]) -> None:
        """Store a fit to these voters; the others carry no information."""
        raise NotImplementedError


def choose_fits(
    blocks: ItemBlocks,
    starts: list[Floats],
    varying: int,
    estimate: Callable[..., Fit],
    max_iter: int = 500,
) -> list[Fit]:
    """Return the most likely fit of `estimate(blocks, start, max_iter=)`, then those tied with it.

    If fewer than three voters vary, it is one iteration from the first start, the majority vote.
    """
    if varying < LEAST_VARYING:
        if varying:
            warn_user(FEW_VARYING, ExpertsWarning)
        return [estimate(blocks, starts[0], max_iter=1)]
    fits = [estimate(blocks, start, max_iter=max_iter) for start in starts]
    return rank_fits(fits, len(blocks))


def list_shares(blocks: ItemBlocks, n_starts: int) -> list[Floats]:
    """Return starting posteriors: shares of yes in crowds weighted by `list_starts`."""
    nothing = np.zeros(blocks.n_voters)
    shares = []
    for weights in list_starts(blocks, nothing + 1, n_starts):
        margin, mass = blocks.weigh(weights, nothing), blocks.weigh(nothing, np.abs(weights))
        shares.append(0.5 + margin / np.where(mass > 0, mass, 1.0) / 2)
    return shares
