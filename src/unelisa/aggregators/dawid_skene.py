"""Dawid and Skene (1979): what voters confuse, by EM; with one coin per voter, or more."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators import confusions as em
from unelisa.aggregators.base import Floats, is_two_class
from unelisa.aggregators.confusions import NO_GOLD, ConfusionAggregator, Confusions, has_confusions
from unelisa.aggregators.orientation import Orient, PosteriorAggregator, pool_votes
from unelisa.errors import ConvergenceWarning, ExpertsWarning, warn_user
from unelisa.estimator import Takes
from unelisa.schema import stored
from unelisa.votes import Votes, order_voters
from unelisa.votes.ballots import Ballots, keep_voters, list_ballots
from unelisa.votes.blocks import ItemBlocks

TIED_FITS = "a tie: fits of nearly equal likelihood"


@stored(prevalence_="coin | chance[classes]", lower_bound_="float[steps]", n_iter_="count")
class EMAggregator(ConfusionAggregator, PosteriorAggregator):
    """Base of the models whose confusions are estimated by EM from several starts."""

    takes = Takes(any_class=True, gold="labels")
    _errors: ClassVar[type[em.FullTables]]  # how voters err

    def __init__(  # noqa: PLR0913 - a public signature
        self,
        smoothing: float = 1.0,
        *,
        n_starts: int = 5,
        max_iter: int = 500,
        tol: float = 1e-9,
        orient: Orient = "majority",
        n_jobs: int | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.smoothing = smoothing
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.tol = tol
        self.orient = orient
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit(self, votes: Votes) -> None:
        voters = order_voters(votes)
        ballots = self._arrange_ballots(votes, voters)
        starts = em.list_expected(ballots, len(voters), self.n_starts)
        best, *tied = self._find_fits(ballots, starts, votes, voters)
        for fit in tied if best.converged else []:
            self._adopt(fit, votes, voters)
            self._note_rival(votes, TIED_FITS)
        self._adopt(best, votes, voters)

    def _learn_classes(self, votes: Votes, gold: NDArray[np.int8] | None) -> None:
        voters = np.flatnonzero(votes.discerning())
        ballots, equal = self._arrange_ballots(votes, voters), np.ones(len(voters))
        known = NO_GOLD if gold is None else gold.view(np.uint8)
        # the majority of the voters may exchange two classes, which gold labels alone can show
        starts = [
            em.start_from(ballots, equal, votes.n_classes, known, only_gold=only)
            for only in ((False, True) if known.any() else (False,))
        ]
        self._adopt(self._find_fits(ballots, starts, votes, voters, known)[0], votes, voters)

    def _arrange_ballots(self, votes: Votes, voters: NDArray[np.intp]) -> ItemBlocks:
        """Return the votes of these voters item by item; the others have not voted."""
        places = np.full(votes.n_voters, -1, dtype=np.int32)
        places[voters] = np.arange(len(voters))
        return list_ballots(votes.blocks, self.n_jobs).view(_place_voters, places)

    def _find_fits(
        self,
        ballots: ItemBlocks,
        starts: Any,
        votes: Votes,
        voters: NDArray[np.intp],
        gold: em.Codes = NO_GOLD,
    ) -> list[Confusions]:
        varying = int(np.count_nonzero(~votes.constant()[voters]))
        model = self._errors(self.smoothing)
        limits: Any = {"max_iter": self.max_iter, "tol": self.tol, "gold": gold}
        fits = em.find_fits(ballots, model, starts, varying, **limits)
        if varying >= em.LEAST_VARYING and not fits[0].converged:
            warn_user(
                f"EM did not converge in {self.max_iter} iterations: raise max_iter",
                ConvergenceWarning,
            )
        return fits

    def _adopt(self, fit: Confusions, votes: Votes, voters: NDArray[np.intp]) -> None:
        """Store a fit to these voters; the others carry no information."""
        self.weights_ = np.zeros(votes.n_voters)
        self.weights_[voters] = fit.weights
        self.prevalence_ = float(fit.shares[1]) if is_two_class(self) else fit.shares
        self.lower_bound_, self.n_iter_ = fit.lower_bound, len(fit.lower_bound)

    def _score(self, votes: Votes) -> Floats:
        tables = self._answer_tables()
        if is_two_class(self):
            return em.score_two(votes.blocks, tables[:, :, 1].T, self.prevalence_)
        return em.score_classes(list_ballots(votes.blocks), tables, self.prevalence_)


@stored(
    has_confusions,
    coins_="?coin[2, voters]",
    _confusion="?chance[voters, classes, classes]",
    _confusion_votes="?finite[voters, classes]",
)
class DawidSkene(EMAggregator):
    """Two coins per voter: given the truth, voters err independently (Dawid and Skene, 1979).

    Voter s says yes with probability sensitivity_s where the truth is yes and 1 - specificity_s
    where it is no; missing votes are ignored. The score is the exact log-odds::

        log pi / (1 - pi) + sum_s log P(f_s | yes) / P(f_s | no)

    With more than two classes, every voter has a table of confusions, P(says c | truth is k), and
    the score of a class is its log-probability.

    Dawid and Skene do not smooth. The prior shrinks both coins toward the same point, at which the
    voter is uninformative. If fewer than three voters vary, the model is not identified: EM stops
    after one iteration from the majority vote, with an `ExpertsWarning`. With as many iterations
    and without smoothing, labels equal crowd-kit's (`benchmarks/dawid_skene.py`).

    Parameters
    ----------
    smoothing
        Strength of each coin's Beta prior, in votes; 0 gives maximum likelihood.
    n_starts
        Number of initializations of EM, five at most: the majority vote, then weighted majorities.
        With more than two classes, the majority vote is the only one.
    max_iter, tol
        EM stops when the penalized log-likelihood per item rises by less than `tol`.
    orient
        "majority" (the informative voters are mostly right), or an anchor voter's name or index.
    n_jobs, random_state
        Number of threads, which does not change the result; `random_state` is not used.

    Attributes
    ----------
    sensitivity_, specificity_
        P(says yes | yes) and P(says no | no) per voter, of two classes.
    confusions_
        P(says c | truth is k) of every voter, as a pandas table.
    prevalence_
        pi = P(truth is yes); with more than two classes, the share of each.
    weights_
        Half the mean of log P(says k | k) / P(says k | l) over k and l != k. Of two classes that is
        theta_0s of the paper if sensitivity and specificity are equal.
    lower_bound_, n_iter_
        Penalized log-likelihood per item after each iteration, and their number.

    References
    ----------
    Dawid and Skene (1979), Maximum likelihood estimation of observer error-rates using the EM
    algorithm. doi:10.2307/2346806

    Examples
    --------
    >>> import unelisa as ue
    >>> votes = [[1, 1, 1, -1], [1, 1, None, 1], [-1, -1, -1, 1], [-1, -1, 1, 1], [1, 1, 1, -1]]
    >>> ue.DawidSkene().fit_predict(votes)
    array([ 1,  1, -1, -1,  1])
    """

    _errors = em.FullTables

    def _learn(self, votes: Votes, gold: NDArray[np.int8] | None, prior: Floats | None) -> None:
        super()._learn(votes, gold, prior)
        if not self.weights_.any():
            nothing = "no voter is informative: every item gets the same probability"
            warn_user(nothing, ExpertsWarning)

    def _adopt(self, fit: Confusions, votes: Votes, voters: NDArray[np.intp]) -> None:
        super()._adopt(fit, votes, voters)
        counts, n_classes = votes.vote_counts()[:, None], votes.n_classes
        said = (votes.answers.T + em.CLIP / n_classes) / (counts + em.CLIP)
        # every row of a voter who carries no information is its share of answers
        tables = np.repeat(np.clip(said, em.CLIP, 1 - em.CLIP)[:, None], n_classes, axis=1)
        tables[voters] = fit.tables
        if n_classes == 2:
            self.coins_ = np.ascontiguousarray(tables[:, :, 1].T)
            return
        self._confusion, self._confusion_votes = tables, counts * fit.shares
        self._confusion_votes[voters] = fit.votes

    def _turn_around(self) -> None:
        super()._turn_around()
        self.coins_ = self.coins_[::-1]

    def _side_votes(self) -> Floats:
        return pool_votes(self.coins_[1] - self.coins_[0])

    def _reason(self, voter: int) -> str:
        if not is_two_class(self):
            return f"is right on {self._share_right(voter):.0%} of the items"
        alarms, hits = self.coins_[:, voter]
        return f"says yes on {hits:.0%} of the positive and {alarms:.0%} of the negative items"


@stored(accuracies_="coin[voters]")
class OneCoinDawidSkene(EMAggregator):
    """One coin per voter: right with probability psi_s on every item (one-coin Dawid-Skene).

    `DawidSkene` with sensitivity = specificity. The score is the exact log-odds::

        log pi / (1 - pi) + sum_s f_s log psi_s / (1 - psi_s)

    which is the paper's Bayes rule (2.3) with all voters as experts. With K classes, a voter who
    errs says each of the K - 1 other classes with the same probability.

    Parameters
    ----------
    smoothing
        Votes added to each coin, one in K of them right.
    n_starts, max_iter, tol, orient, n_jobs, random_state
        As in `DawidSkene`.

    Attributes
    ----------
    accuracies_
        psi_s = P(f_s is the truth) per voter; 1/K for one who gave every item the same vote.
    confusions_, prevalence_, lower_bound_, n_iter_
        As in `DawidSkene`.
    weights_
        theta_0s = 1/2 log psi_s / (1 - psi_s), (4.1) of the paper; with K classes,
        1/2 log (K - 1) psi_s / (1 - psi_s).

    References
    ----------
    Zhang, Chen, Zhou and Jordan (2014), Spectral methods meet EM: a provably optimal algorithm for
    crowdsourcing. JMLR 17.

    Examples
    --------
    >>> import unelisa as ue
    >>> votes = [[1, 1, 1, -1], [1, 1, None, 1], [-1, -1, -1, 1], [-1, -1, 1, 1], [1, 1, 1, -1]]
    >>> ue.OneCoinDawidSkene().fit_predict(votes)
    array([ 1,  1, -1, -1,  1])
    """

    _errors = em.OneReliability

    def _adopt(self, fit: Confusions, votes: Votes, voters: NDArray[np.intp]) -> None:
        super()._adopt(fit, votes, voters)
        self.accuracies_ = np.full(votes.n_voters, 1 / votes.n_classes)
        self.accuracies_[voters] = fit.tables[:, 0, 0]

    def _answer_tables(self) -> Floats:
        return em.spread_errors(self.accuracies_, len(self.classes_))

    def _turn_around(self) -> None:
        super()._turn_around()
        self.accuracies_ = 1 - self.accuracies_

    def _side_votes(self) -> Floats:
        return pool_votes(2 * self.accuracies_ - 1)

    def _voter_estimates(self) -> dict[str, Floats]:
        return {"accuracy": self.accuracies_}

    def _reason(self, voter: int) -> str:
        return f"is right on {self.accuracies_[voter]:.0%} of the items"


def _place_voters(run: Ballots, places: NDArray[np.int32]) -> Ballots:
    kept = keep_voters(run, places >= 0)
    return kept._replace(voters=places[kept.voters])
