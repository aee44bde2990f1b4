"""One-coin Dawid-Skene: each voter is right with one probability, whatever the truth."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from unelisa.aggregators.base import Floats, pool_ballots
from unelisa.aggregators.coins import CLIP, CoinAggregator
from unelisa.aggregators.confusions import (
    Confusions,
    OneReliability,
    score_classes,
    spread_errors,
)
from unelisa.aggregators.voters import tabulate_confusions
from unelisa.paper.em import OneCoin, Reliability, estimate_reliability
from unelisa.schema import stored
from unelisa.votes import Votes
from unelisa.votes.ballots import list_ballots
from unelisa.votes.blocks import ItemBlocks


@stored(
    accuracies_="coin[voters]",
    prevalence_="coin | chance[classes]",
    lower_bound_="float[steps]",
    n_iter_="count",
)
class OneCoinDawidSkene(CoinAggregator):
    """One coin per voter: right with probability psi_s on every item (one-coin Dawid-Skene).

    `DawidSkene` with sensitivity = specificity. The score is the exact log-odds::

        log pi / (1 - pi) + sum_s f_s log psi_s / (1 - psi_s)

    which is the paper's Bayes rule (2.3) with all voters as experts. With K classes, a voter who
    errs says each of the K - 1 other classes with the same probability.

    Parameters
    ----------
    smoothing
        Votes added to each coin, half of them right (one in K of K classes): strength of the prior
        Beta(1 + a/2, 1 + a/2).
        0 gives maximum likelihood, under which a voter with few votes can become infallible.
    n_starts
        Number of initializations of EM, five at most; the fit with the highest penalized likelihood
        is kept. The first is the majority vote, the others are weighted majorities, see
        `em.list_starts`.
    max_iter, tol
        EM stops when an iteration raises the penalized log-likelihood per item by less than `tol`.
    orient
        "majority" (the informative voters are mostly right, see `pool_ballots`), or an anchor
        voter's name or index.
    random_state
        Not used: the votes alone determine the fit.

    Attributes
    ----------
    accuracies_
        psi_s = P(f_s is the truth) per voter; 1/K for one who gave every item the same vote.
    prevalence_
        pi = P(truth is yes); with more than two classes, the share of each.
    weights_
        theta_0s = 1/2 log psi_s / (1 - psi_s), (4.1) of the paper; with K classes,
        1/2 log (K - 1) psi_s / (1 - psi_s).
    lower_bound_, n_iter_
        Penalized log-likelihood per item after each iteration of the best fit; their number.

    Notes
    -----
    Half the parameters of `DawidSkene`: better if voters cast few votes and err equally on both
    classes, worse if the classes differ. With two voters it cannot be identified which one is
    right, so if fewer than three voters vary, EM stops after one iteration, with an
    `ExpertsWarning`.

    References
    ----------
    Zhang, Chen, Zhou and Jordan (2014), Spectral methods meet EM: a provably optimal algorithm for
    crowdsourcing. JMLR 17.

    Examples
    --------
    >>> import unelisa as ue
    >>> votes = [[1, 1, 1, -1], [1, 1, None, 1], [-1, -1, -1, 1], [-1, -1, 1, 1], [1, 1, 1, -1]]
    >>> model = ue.OneCoinDawidSkene(random_state=0).fit(votes)
    >>> model.predict(votes)
    array([ 1,  1, -1, -1,  1])
    >>> model.polarity_
    array([ 1,  1,  1, -1], dtype=int8)
    """

    def _estimate(self, blocks: ItemBlocks, start: Floats, **limits: Any) -> Reliability:
        nothing = np.zeros(blocks.n_voters)
        # items without any vote are ignored
        voted = (blocks.weigh(nothing, nothing + 1) > 0).astype(np.float64)
        model = OneCoin(self.smoothing, CLIP, prevalence_clip=None)
        return estimate_reliability(blocks, start, model, copies=voted, **limits)

    def _adopt(self, fit: Reliability, votes: Votes, voters: NDArray[np.intp]) -> None:
        self.accuracies_, self.weights_ = np.full(votes.n_voters, 0.5), np.zeros(votes.n_voters)
        self.accuracies_[voters], self.weights_[voters] = fit.reliabilities, fit.weights
        self.prevalence_ = fit.prevalence
        self.lower_bound_, self.n_iter_ = fit.lower_bound, len(fit.lower_bound)

    def _voter_model(self) -> OneReliability:
        return OneReliability(self.smoothing)

    def _adopt_classes(self, fit: Confusions, votes: Votes, voters: NDArray[np.intp]) -> None:
        self.accuracies_ = np.full(votes.n_voters, 1 / votes.n_classes)
        self.accuracies_[voters] = fit.tables[:, 0, 0]

    @property
    def confusions_(self) -> Any:
        """What each voter says of items of each class, as a pandas table: see `DawidSkene`."""
        n_classes, counts = len(self.classes_), self._voter_columns["votes"]
        rate = np.asarray(self.prevalence_)
        shares = rate if rate.ndim else np.array([1 - rate, rate])
        tables = spread_errors(self.accuracies_, n_classes)
        return tabulate_confusions(self, tables, np.outer(counts, shares))

    def _score(self, votes: Votes) -> Floats:
        if votes.n_classes > 2:
            tables = spread_errors(self.accuracies_, votes.n_classes)
            return score_classes(list_ballots(votes.blocks), tables, self.prevalence_)
        margin = votes.blocks.weigh(self.weights_, np.zeros(votes.n_voters))
        return np.asarray(logit(self.prevalence_) + 2 * margin)

    def _turn_around(self) -> None:
        super()._turn_around()
        self.accuracies_ = 1 - self.accuracies_

    def _ballots(self) -> Floats:
        return pool_ballots(2 * self.accuracies_ - 1)

    def _voter_estimates(self) -> dict[str, Floats]:
        return {"accuracy": self.accuracies_}

    def _reason(self, voter: int) -> str:
        return f"is right on {self.accuracies_[voter]:.0%} of the items"
