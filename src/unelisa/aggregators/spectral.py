"""The spectral meta-learner (Parisi et al. 2014): weights from the covariance of the votes."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from unelisa.aggregators.base import Floats
from unelisa.aggregators.orientation import Orient, OrientedAggregator, pool_votes
from unelisa.errors import ConvergenceWarning, ExpertsWarning, warn_user
from unelisa.kernels.rank_one import descend_rank_one
from unelisa.memory import refuse_pairs
from unelisa.schema import stored
from unelisa.votes import Votes, order_voters

# items converted to float32 at a time; whole numbers up to 2**24 are exact there
BLOCK = 4096


class PairMoments(NamedTuple):
    """Covariances of the voters, pair by pair."""

    covariance: Floats  # r_st over the items on which both voted, 0 where there are fewer than two
    # n_st - 1 off the diagonal: the number of items behind r_st, less one for the means
    precision: Floats
    deviation: Floats  # standard deviation of each voter

    def take(self, voters: NDArray[np.intp]) -> "PairMoments":
        """Return the moments of some voters."""
        pairs = np.ix_(voters, voters)
        return PairMoments(self.covariance[pairs], self.precision[pairs], self.deviation[voters])


class RankOne(NamedTuple):
    """The vector v of a fitted rank-one matrix v v', and whether its descent converged."""

    vector: Floats
    converged: bool


def measure_pairs(values: NDArray[np.int8]) -> PairMoments:
    """Return unbiased covariances over the items on which both voters of a pair voted.

    r_st = (sum f_s f_t - sum f_s sum f_t / n_st) / (n_st - 1), all sums over common items. Without
    abstentions these are the entries of `np.cov`.
    """
    refuse_pairs(values.shape[1])
    # sums over items of f_s f_t, f_s |f_t| and |f_s f_t|
    totals = np.zeros((3, values.shape[1], values.shape[1]))
    for first in range(0, len(values), BLOCK):
        votes = values[first : first + BLOCK].astype(np.float32)
        voted = np.abs(votes)
        totals += np.stack([votes.T @ votes, votes.T @ voted, voted.T @ voted])
    products, sums, common = totals
    freedom = np.maximum(common - 1, 0)
    centered = products - sums * sums.T / np.maximum(common, 1)
    covariance = np.where(freedom > 0, centered / np.maximum(freedom, 1), 0.0)
    deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    np.fill_diagonal(freedom, 0.0)
    return PairMoments(covariance, freedom, deviation)


def fit_rank_one(moments: PairMoments, max_iter: int = 10_000, tol: float = 1e-8) -> RankOne:
    """Return v with v v' nearest to the covariances off the diagonal.

    Minimizes sum_{s != t} w_st (r_st - v_s v_t)^2, w the precisions, over |v_s| <= deviation_s: a
    voter shares no more variance with the truth than it has. (Without bounds there may be no
    minimum: one v_s diverges and fits its row alone.) The diagonal, which contains the voters' own
    noise, is ignored; if no bound is active and all w are equal, v is an eigenvector of the matrix
    whose diagonal is replaced with v_s^2, the rank-one completion.
    """
    covariance, precision, bound = moments
    weighted = covariance * precision
    np.fill_diagonal(weighted, 0.0)
    top = precision.max(initial=0.0)
    if not weighted.any():
        return RankOne(np.zeros(len(bound)), True)
    last = len(bound) - 1
    size, lead = eigh(weighted / top, subset_by_index=[last, last])
    start = np.clip(lead[:, 0] * np.sqrt(size[0]), -bound, bound)
    vector, n_iter = descend_rank_one(covariance, precision, bound, start, max_iter, tol)
    return RankOne(vector, n_iter < max_iter)


def unit_weights(fit: RankOne, voters: NDArray[np.intp], n_voters: int) -> Floats:
    """Return v scaled to length 1, 0 for other voters; equal weights, with a warning, if v is 0."""
    if not fit.converged:
        warn_user("the rank-one fit did not converge", ConvergenceWarning)
    length = float(np.linalg.norm(fit.vector))
    weights = np.zeros(n_voters)
    if length > 0:
        weights[voters] = fit.vector / length
        return weights
    warn_user(
        "no two voters are correlated: all voters count equally, as in majority vote",
        ExpertsWarning,
    )
    weights[voters] = 1 / np.sqrt(len(voters))
    return weights


@stored()
class SpectralMetaLearner(OrientedAggregator):
    """Voters weighted by the leading eigenvector of their covariance (Parisi et al. 2014).

    If voters err independently given the truth, their covariances off the diagonal are those of a
    rank-one matrix v v', and v_s is proportional to 2 pi_s - 1, pi_s the balanced accuracy of
    voter s. The score is the margin sum_s v_s f_s, not a probability, so there is no
    `predict_proba`.

    Parameters
    ----------
    orient
        As in `DawidSkene`.

    Attributes
    ----------
    weights_
        v, scaled to length 1.

    Notes
    -----
    v is fitted to the covariances off the diagonal by least squares. With missing votes, each
    covariance is taken over the items on which both voted, and weighted by their number.

    References
    ----------
    Parisi, Strino, Nadler and Kluger (2014), Ranking and combining multiple predictors without
    labeled data. doi:10.1073/pnas.1219097111

    Examples
    --------
    >>> import unelisa as ue
    >>> votes = [[1, 1, 1, -1], [1, 1, -1, 1], [-1, -1, -1, 1], [-1, -1, 1, 1], [1, 1, 1, -1]]
    >>> model = ue.SpectralMetaLearner().fit(votes)
    >>> model.predict(votes)
    array([ 1,  1, -1, -1,  1])
    """

    def __init__(self, orient: Orient = "majority") -> None:
        self.orient = orient

    def _fit(self, votes: Votes) -> None:
        voters = order_voters(votes)
        fit = fit_rank_one(measure_pairs(votes.values).take(voters))
        self.weights_ = unit_weights(fit, voters, votes.n_voters)

    def _score(self, votes: Votes) -> Floats:
        return votes.blocks.weigh(self.weights_, np.zeros(votes.n_voters))

    def _side_votes(self) -> Floats:
        return pool_votes(self.weights_)
