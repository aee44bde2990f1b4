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
    """The model's parameters, and how EM reached them.

    Attributes
    ----------
    coins
        Two rows, one column per voter: P(says yes | truth is no), P(says yes | truth is yes).
    prevalence
        pi = P(truth is yes).
    lower_bound
        Penalised log-likelihood per item after each round; it never falls.
    converged
        Whether the last round raised it by less than the tolerance.
    """

    coins: Floats
    prevalence: float
    lower_bound: Floats
    converged: bool


@dataclass(frozen=True)
class CoinPrior:
    """Beta priors worth a few votes: what smoothing adds to the counts.

    A voter's two coins both have the prior Beta(1 + a q, 1 + a (1 - q)), q its own share of yes
    and a the strength: `a` further votes per coin that do not tell the two truths apart.

    Attributes
    ----------
    yes, no
        Pseudo-counts a q and a (1 - q) per voter.
    """

    yes: Floats
    no: Floats

    @classmethod
    def of(cls, blocks: ItemBlocks, strength: float) -> "CoinPrior":
        """Return the prior for these voters; one who never voted gets q = 1/2."""
        signed, observed = blocks.tally(np.ones(len(blocks)))
        share = 0.5 + signed / np.maximum(observed, 1.0) / 2
        return cls(strength * share, strength * (1 - share))

    def log_density(self, coins: Floats) -> float:
        """Return the logarithm of the priors' density, up to a constant."""
        return float((self.yes * np.log(coins) + self.no * np.log1p(-coins)).sum())


def estimate_coins(
    blocks: ItemBlocks,
    start: Floats,
    prior: CoinPrior,
    max_iter: int = 500,
    tol: float = 1e-9,
) -> TwoCoins:
    """Return EM's fixed point from a starting posterior tau_i = P(truth_i is yes).

    M-step, with the prior's pseudo-counts A_s of yes and B_s of no::

        P(s says yes | yes) = (sum_i tau_i [f_is = 1] + A_s) / (sum_i tau_i |f_is| + A_s + B_s)

    and the same with 1 - tau_i for the other coin. E-step: Bayes. Both maximise the log-likelihood
    plus the log prior, over coins and a prevalence kept off 0 and 1, so that sum never falls. Items
    without any vote add nothing to the likelihood and are left out of the prevalence.
    """
    ones = np.ones(blocks.n_voters)
    voted = blocks.weigh(np.zeros_like(ones), ones) > 0
    totals = blocks.tally(voted.astype(np.float64))
    posterior, history = np.where(voted, start, 0.0), [-np.inf]
    coins, prevalence = np.empty((2, len(ones))), 0.5
    for _ in range(max_iter):
        coins = _toss(blocks.tally(posterior), totals, prior)
        prevalence = _share(posterior.sum(), voted.sum())
        evidence = _evidence(blocks, coins, prevalence)
        posterior = np.where(voted, expit(evidence[1] - evidence[0]), 0.0)
        likelihood = np.logaddexp(evidence[0], evidence[1])[voted].sum()
        penalised = likelihood + prior.log_density(coins)
        history.append(float(penalised / voted.sum()))
        if history[-1] - history[-2] < tol:
            break
    converged = history[-1] - history[-2] < tol
    return TwoCoins(coins, prevalence, np.array(history[1:]), converged)


def _toss(
    tallies: tuple[Floats, Floats], totals: tuple[Floats, Floats], prior: CoinPrior
) -> Floats:
    """Return both coins from the votes' tallies weighted by tau, and their totals."""
    signed = np.stack([totals[0] - tallies[0], tallies[0]])
    observed = np.stack([totals[1] - tallies[1], tallies[1]])
    mass = observed + prior.yes + prior.no
    # unsmoothed, a coin that was never tossed has no estimate: 1/2 says nothing
    heads = np.where(mass > 0, (signed + observed) / 2 + prior.yes, 0.5)
    return np.clip(heads / np.where(mass > 0, mass, 1.0), CLIP, 1 - CLIP)


def _share(positives: float, n_items: int) -> float:
    """Return pi half an item off 0 and 1: a class not seen so far may still exist."""
    return float(np.clip(positives, 0.5, n_items - 0.5) / n_items)


def _evidence(blocks: ItemBlocks, coins: Floats, prevalence: float) -> Floats:
    """Return log P(truth, votes) per item in two rows: truth is no, truth is yes."""
    signed, observed = logit(coins) / 2, (np.log(coins) + np.log1p(-coins)) / 2
    rows = [blocks.weigh(signed[y], observed[y]) for y in (0, 1)]
    return np.stack(rows) + np.log([[1 - prevalence], [prevalence]])


class DawidSkene(CoinAggregator):
    """Two coins per voter: given the truth, voters err independently (Dawid and Skene, 1979).

    Voter s says yes with probability sensitivity_s where the truth is yes and 1 - specificity_s
    where it is no; an abstention leaves no trace. The score is the exact log odds::

        log pi / (1 - pi) + sum_s log P(f_s | yes) / P(f_s | no)

    Parameters
    ----------
    smoothing
        Strength of the Beta prior of each coin, in votes: see Notes. 0 gives maximum likelihood.
    n_starts
        Starts of EM; the one with the highest penalised likelihood is kept. The first is the
        majority, the others are majorities of randomly weighed voters.
    max_iter, tol
        EM stops when a round raises the penalised log-likelihood per item by less than `tol`.
    orient
        "majority" (the voters who tell most are mostly right, see `pool_ballots`), or an anchor
        voter's name or index.
    random_state
        Seed or generator of the random starts.

    Attributes
    ----------
    sensitivity_, specificity_
        P(says yes | yes) and P(says no | no) per voter.
    prevalence_
        pi = P(truth is yes).
    weights_
        1/4 log(sens spec / ((1 - sens) (1 - spec))): the reliability theta_0s of the paper
        wherever the two coins are alike. What a yes and a no say differs otherwise.
    lower_bound_
        Penalised log-likelihood per item after each round of the start that was kept.
    n_iter_
        Its number of rounds.

    Notes
    -----
    Dawid and Skene do not smooth, so that a voter with few votes becomes infallible. The prior
    adds `smoothing` votes to each coin, split as the voter's own votes are. It pulls both coins to
    the same point, where the voter says nothing; a pull to 1/2 would make a voter who always says
    yes look informed.

    Two voters have three moments and the model five parameters. So where fewer than three voters
    vary, EM stops after one round, at what the majority says of them, with an `ExpertsWarning`.

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
        best = self._best_fit(votes, estimate_coins, CoinPrior.of(votes.blocks, self.smoothing))
        self.coins_, self.prevalence_ = best.coins, best.prevalence
        self.lower_bound_, self.n_iter_ = best.lower_bound, len(best.lower_bound)
        # both logits are the same number for a voter who never varies: exactly no weight
        self.weights_ = (logit(best.coins[1]) - logit(best.coins[0])) / 4
        if not self.weights_.any():
            warn_user(
                "no voter tells items apart: every item gets the same probability",
                ExpertsWarning,
            )

    def _score(self, votes: Votes) -> Floats:
        evidence = _evidence(votes.blocks, self.coins_, self.prevalence_)
        return np.asarray(evidence[1] - evidence[0])

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
