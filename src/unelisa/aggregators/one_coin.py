"""One-coin Dawid-Skene: each voter is right with one probability, whatever the truth."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from unelisa.aggregators.base import Floats, idle_reason, pool_ballots
from unelisa.aggregators.coins import CLIP, CoinAggregator
from unelisa.blocks import ItemBlocks
from unelisa.votes import Votes


@dataclass(frozen=True)
class OneCoin:
    """The model's parameters, and how EM reached them.

    Attributes
    ----------
    accuracies
        psi_s = P(f_s is the truth) per voter.
    prevalence
        pi = P(truth is yes).
    lower_bound
        Penalised log-likelihood per item after each round; it never falls.
    converged
        Whether the last round raised it by less than the tolerance.
    """

    accuracies: Floats
    prevalence: float
    lower_bound: Floats
    converged: bool


def estimate_coin(
    blocks: ItemBlocks,
    start: Floats,
    smoothing: float = 1.0,
    max_iter: int = 500,
    tol: float = 1e-9,
) -> OneCoin:
    """Return EM's fixed point from a starting posterior tau_i = P(truth_i is yes).

    M-step, a the smoothing and n_s the votes of s::

        psi_s = (n_s/2 + sum_i (tau_i - 1/2) f_is + a/2) / (n_s + a),      pi = mean tau

    E-step: tau_i = sigmoid(logit pi + sum_s logit(psi_s) f_is). Both maximise the log-likelihood
    plus sum_s a/2 log(psi_s (1 - psi_s)), so that sum never falls. Items without any vote are left
    out of the prevalence.

    Examples
    --------
    >>> votes = np.array([[1, 1, 1], [1, 1, -1], [-1, -1, -1], [-1, -1, 1]], dtype=np.int8)
    >>> fit = estimate_coin(votes, np.array([1.0, 1.0, 0.0, 0.0]))
    >>> np.round(fit.accuracies, 2)
    array([0.89, 0.89, 0.5 ])
    """
    ones, nothing = np.ones(blocks.n_voters), np.zeros(blocks.n_voters)
    voted = blocks.weigh(nothing, ones) > 0
    counts = blocks.tally(np.ones(len(blocks)))[1]
    posterior, history = start, [-np.inf]
    accuracies, prevalence = ones / 2, 0.5
    for _ in range(max_iter):
        agreement = blocks.tally(posterior - 0.5)[0]
        accuracies = _toss(agreement, counts, smoothing)
        prevalence = float(np.clip(posterior[voted].sum(), 0.5, voted.sum() - 0.5) / voted.sum())
        score = blocks.weigh(logit(accuracies) / 2, nothing)
        posterior = expit(logit(prevalence) + 2 * score)
        likelihood = np.logaddexp(np.log(prevalence) + score, np.log1p(-prevalence) - score)
        scale = (counts + smoothing) @ np.log(accuracies * (1 - accuracies)) / 2
        history.append(float((likelihood[voted].sum() + scale) / voted.sum()))
        if history[-1] - history[-2] < tol:
            break
    converged = history[-1] - history[-2] < tol
    return OneCoin(accuracies, prevalence, np.array(history[1:]), converged)


def _toss(agreement: Floats, counts: Floats, smoothing: float) -> Floats:
    # who never voted knows nothing, exactly: without smoothing 0 / 0 would not say so
    mass = np.where(counts > 0, counts + smoothing, 1.0)
    right = np.where(counts > 0, (counts + smoothing) / 2 + agreement, 0.5)
    return np.clip(right / mass, CLIP, 1 - CLIP)


class OneCoinDawidSkene(CoinAggregator):
    """One coin per voter: right with probability psi_s on every item (one-coin Dawid-Skene).

    `DawidSkene` with sensitivity = specificity. The score is the exact log odds::

        log pi / (1 - pi) + sum_s f_s log psi_s / (1 - psi_s)

    which is also the paper's Bayes rule (2.3) if everybody were an expert.

    Parameters
    ----------
    smoothing
        Votes added to each coin, half of them right: strength of the prior Beta(1 + a/2, 1 + a/2).
        0 gives maximum likelihood, under which a voter with few votes becomes infallible.
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
    accuracies_
        psi_s = P(f_s is the truth) per voter.
    prevalence_
        pi = P(truth is yes).
    weights_
        theta_0s = 1/2 log psi_s / (1 - psi_s), (4.1) of the paper.
    lower_bound_, n_iter_
        Penalised log-likelihood per item after each round of the start that was kept; how many.

    Notes
    -----
    Half the parameters of `DawidSkene`: better where voters cast few votes and err alike on both
    sides, worse where the classes are unequal. Two voters leave open which of them is right, so
    where fewer than three voters vary, EM stops after one round with an `ExpertsWarning`.

    References
    ----------
    Zhang, Chen, Zhou and Jordan (2014), Spectral methods meet EM: a provably optimal algorithm for
    crowdsourcing. JMLR 17.

    Examples
    --------
    >>> import unelisa as ue
    >>> votes = [[1, 1, 1, -1], [1, 1, 0, 1], [-1, -1, -1, 1], [-1, -1, 1, 1], [1, 1, 1, -1]]
    >>> model = ue.OneCoinDawidSkene(random_state=0).fit(votes)
    >>> model.predict(votes)
    array([ 1,  1, -1, -1,  1])
    >>> model.polarity_
    array([ 1,  1,  1, -1], dtype=int8)
    """

    def _fit(self, votes: Votes) -> None:
        best = self._best_fit(votes, estimate_coin, self.smoothing)
        self.accuracies_, self.prevalence_ = best.accuracies, best.prevalence
        self.lower_bound_, self.n_iter_ = best.lower_bound, len(best.lower_bound)
        self.weights_ = np.asarray(logit(best.accuracies) / 2)

    def _score(self, votes: Votes) -> Floats:
        margin = votes.blocks.weigh(self.weights_, np.zeros(votes.n_voters))
        return np.asarray(logit(self.prevalence_) + 2 * margin)

    def _turn_around(self) -> None:
        super()._turn_around()
        self.accuracies_ = 1 - self.accuracies_
        self.prevalence_ = 1 - self.prevalence_

    def _ballots(self) -> Floats:
        return pool_ballots(2 * self.accuracies_ - 1)

    def _voter_estimates(self) -> dict[str, Floats]:
        return {"accuracy": self.accuracies_}

    def _reasons(self, votes: Votes) -> list[str]:
        return [
            idle_reason(votes, s) or f"is right on {self.accuracies_[s]:.0%} of the items"
            for s in range(votes.n_voters)
        ]
