"""Dawid and Skene (1979): two coins per voter, estimated by EM."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from unelisa.aggregators.base import Floats, pool_ballots
from unelisa.aggregators.classes import is_two_class
from unelisa.aggregators.coins import CLIP, CoinAggregator, TwoCoins, estimate_coins, log_joint
from unelisa.aggregators.confusions import Confusions, FullTables, score_classes
from unelisa.aggregators.two_coins import TwoCoinVoters
from unelisa.errors import ExpertsWarning, warn_user
from unelisa.schema import stored
from unelisa.votes import Votes
from unelisa.votes.ballots import list_ballots
from unelisa.votes.blocks import ItemBlocks


@stored(
    coins_="?coin[2, voters]",
    _confusion="?chance[voters, classes, classes]",
    prevalence_="coin | chance[classes]",
    lower_bound_="float[steps]",
    n_iter_="count",
)
class DawidSkene(TwoCoinVoters, CoinAggregator):
    """Two coins per voter: given the truth, voters err independently (Dawid and Skene, 1979).

    Voter s says yes with probability sensitivity_s where the truth is yes and 1 - specificity_s
    where it is no; missing votes are ignored. The score is the exact log-odds::

        log pi / (1 - pi) + sum_s log P(f_s | yes) / P(f_s | no)

    With more than two classes, every voter has a full table of confusions, P(says c | truth is k),
    and the score of a class is its exact log-probability.

    Parameters
    ----------
    smoothing
        Strength of the Beta prior of each coin, in votes: see Notes. 0 gives maximum likelihood.
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
    sensitivity_, specificity_
        P(says yes | yes) and P(says no | no) per voter, of two classes.
    confusions_
        P(says c | truth is k) of every voter, as a pandas table.
    prevalence_
        pi = P(truth is yes); with more than two classes, the share of each.
    weights_
        1/4 log(sens spec / ((1 - sens) (1 - spec))): the weight theta_0s of the paper if
        sensitivity and specificity are equal; otherwise a yes and a no carry different weights.
        With more classes, half the mean of log P(says k | k) / P(says k | l) over k and l != k.
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
    >>> votes = [[1, 1, 1, -1], [1, 1, None, 1], [-1, -1, -1, 1], [-1, -1, 1, 1], [1, 1, 1, -1]]
    >>> model = ue.DawidSkene(random_state=0).fit(votes)
    >>> model.predict(votes)
    array([ 1,  1, -1, -1,  1])
    >>> model.polarity_
    array([ 1,  1,  1, -1], dtype=int8)
    """

    def _fit(self, votes: Votes) -> None:
        super()._fit(votes)
        self._warn_if_uninformative()

    def _warn_if_uninformative(self) -> None:
        if not self.weights_.any():
            warn_user(
                "no voter is informative: every item gets the same probability",
                ExpertsWarning,
            )

    def _estimate(self, blocks: ItemBlocks, start: Floats, **limits: Any) -> TwoCoins:
        return estimate_coins(blocks, start, self.smoothing, **limits)

    def _adopt(self, fit: TwoCoins, votes: Votes, voters: NDArray[np.intp]) -> None:
        # both coins of a voter who carries no information are its share of yes
        share = (votes.sides[1] + 0.5 * CLIP) / (votes.vote_counts() + CLIP)
        self.coins_ = np.clip(np.stack([share, share]), CLIP, 1 - CLIP)
        self.coins_[:, voters] = fit.coins
        self.prevalence_ = fit.prevalence
        self.lower_bound_, self.n_iter_ = fit.lower_bound, len(fit.lower_bound)
        # both logits of a constant voter are the same number: its weight is exactly 0
        self.weights_ = (logit(self.coins_[1]) - logit(self.coins_[0])) / 4

    def _learn_classes(self, votes: Votes, gold: NDArray[np.int8] | None) -> None:
        super()._learn_classes(votes, gold)
        self._warn_if_uninformative()

    def _voter_model(self) -> FullTables:
        return FullTables(self.smoothing)

    def _adopt_classes(self, fit: Confusions, votes: Votes, voters: NDArray[np.intp]) -> None:
        counts = votes.vote_counts()[:, None]
        said = (votes.answers.T + CLIP / votes.n_classes) / (counts + CLIP)
        # every row of a voter who carries no information is its share of answers
        self._confusion = np.repeat(said[:, None], votes.n_classes, axis=1)
        self._confusion[voters] = fit.tables
        self._confusion_votes = counts * fit.shares
        self._confusion_votes[voters] = fit.votes

    def _score(self, votes: Votes) -> Floats:
        if votes.n_classes > 2:
            ballots = list_ballots(votes.blocks)
            return score_classes(ballots, self._confusion, self.prevalence_)
        joint = log_joint(votes.blocks, self.coins_, self.prevalence_)
        return np.asarray(joint[1] - joint[0])

    def _turn_around(self) -> None:
        super()._turn_around()
        self.coins_ = self.coins_[::-1]

    def _ballots(self) -> Floats:
        return pool_ballots(self.coins_[1] - self.coins_[0])

    def _reason(self, voter: int) -> str:
        if not is_two_class(self):
            return f"is right on {self._share_right(voter):.0%} of the items"
        alarms, hits = self.coins_[:, voter]
        return f"says yes on {hits:.0%} of the positive and {alarms:.0%} of the negative items"
