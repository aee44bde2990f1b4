"""Dawid and Skene (1979): two coins per voter, estimated by EM."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from unelisa.aggregators.base import Floats, idle_reason, pool_ballots
from unelisa.aggregators.coins import CLIP, CoinAggregator
from unelisa.blocks import ItemBlocks
from unelisa.errors import ExpertsWarning, warn_user
from unelisa.votes import Votes


@dataclass(frozen=True)
class TwoCoins:
    """The model's parameters as estimated by EM."""

    # two rows, one column per voter: P(says yes | truth is no), P(says yes | truth is yes)
    coins: Floats
    prevalence: float  # pi = P(truth is yes)
    lower_bound: Floats  # penalized log-likelihood per item after each iteration; it never falls
    converged: bool  # whether the last iteration raised it by less than the tolerance


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
        joint = _log_joint(blocks, coins, prevalence)
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


def _log_joint(blocks: ItemBlocks, coins: Floats, prevalence: float) -> Floats:
    """Return log P(truth, votes) per item in two rows: truth is no, truth is yes."""
    signed, observed = logit(coins) / 2, (np.log(coins) + np.log1p(-coins)) / 2
    rows = [blocks.weigh(signed[y], observed[y]) for y in (0, 1)]
    return np.stack(rows) + np.log([[1 - prevalence], [prevalence]])


class DawidSkene(CoinAggregator):
    """Two coins per voter: given the truth, voters err independently (Dawid and Skene, 1979).

    Voter s says yes with probability sensitivity_s where the truth is yes and 1 - specificity_s
    where it is no; missing votes are ignored. The score is the exact log-odds::

        log pi / (1 - pi) + sum_s log P(f_s | yes) / P(f_s | no)

    Parameters
    ----------
    smoothing
        Strength of the Beta prior of each coin, in votes: see Notes. 0 gives maximum likelihood.
    n_starts
        Number of initializations of EM; the fit with the highest penalized likelihood is kept. The
        first is the majority vote, the others are majorities of randomly weighted voters.
    max_iter, tol
        EM stops when an iteration raises the penalized log-likelihood per item by less than `tol`.
    orient
        "majority" (the informative voters are mostly right, see `pool_ballots`), or an anchor
        voter's name or index.
    random_state
        Seed or generator for the random initializations.

    Attributes
    ----------
    sensitivity_, specificity_
        P(says yes | yes) and P(says no | no) per voter.
    prevalence_
        pi = P(truth is yes).
    weights_
        1/4 log(sens spec / ((1 - sens) (1 - spec))): the weight theta_0s of the paper if
        sensitivity and specificity are equal; otherwise a yes and a no carry different weights.
    lower_bound_
        Penalized log-likelihood per item after each iteration of the best fit.
    n_iter_
        Its number of iterations.

    Notes
    -----
    Dawid and Skene do not smooth, so that a voter with few votes can become infallible. The prior
    adds `smoothing` votes to each coin, split like the voter's own votes. It shrinks both coins
    toward the same point, where the voter is uninformative; shrinking toward 1/2 would make a voter
    who always says yes look informative.

    Two voters have three moments and the model five parameters. So if fewer than three voters vary,
    EM stops after one iteration from the majority vote, with an `ExpertsWarning`.

    References
    ----------
    Dawid and Skene (1979), Maximum likelihood estimation of observer error-rates using the EM
    algorithm. doi:10.2307/2346806

    Examples
    --------
    >>> import unelisa as ue
    >>> votes = [[1, 1, 1, -1], [1, 1, 0, 1], [-1, -1, -1, 1], [-1, -1, 1, 1], [1, 1, 1, -1]]
    >>> model = ue.DawidSkene(random_state=0).fit(votes)
    >>> model.predict(votes)
    array([ 1,  1, -1, -1,  1])
    >>> model.polarity_
    array([ 1,  1,  1, -1], dtype=int8)
    """

    def _fit(self, votes: Votes) -> None:
        best = self._best_fit(votes, estimate_coins, self.smoothing)
        self.coins_, self.prevalence_ = best.coins, best.prevalence
        self.lower_bound_, self.n_iter_ = best.lower_bound, len(best.lower_bound)
        # both logits of a constant voter are the same number: its weight is exactly 0
        self.weights_ = (logit(best.coins[1]) - logit(best.coins[0])) / 4
        if not self.weights_.any():
            warn_user(
                "no voter is informative: every item gets the same probability",
                ExpertsWarning,
            )

    def _score(self, votes: Votes) -> Floats:
        joint = _log_joint(votes.blocks, self.coins_, self.prevalence_)
        return np.asarray(joint[1] - joint[0])

    def _turn_around(self) -> None:
        super()._turn_around()
        self.coins_ = self.coins_[::-1]
        self.prevalence_ = 1 - self.prevalence_

    def _ballots(self) -> Floats:
        return pool_ballots(self.coins_[1] - self.coins_[0])

    @property
    def sensitivity_(self) -> Floats:
        """P(says yes | truth is yes) per voter."""
        return np.asarray(self.coins_[1])

    @property
    def specificity_(self) -> Floats:
        """P(says no | truth is no) per voter."""
        return np.asarray(1 - self.coins_[0])

    def _voter_estimates(self) -> dict[str, Floats]:
        return {"sensitivity": self.sensitivity_, "specificity": self.specificity_}

    def _reasons(self, votes: Votes) -> list[str]:
        return [idle_reason(votes, s) or self._reason(s) for s in range(votes.n_voters)]

    def _reason(self, voter: int) -> str:
        alarms, hits = self.coins_[:, voter]
        return f"says yes on {hits:.0%} of the positive and {alarms:.0%} of the negative items"
