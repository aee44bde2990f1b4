"""Spectral meta-learners: weights from the covariance of the votes, also of groups of voters."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, polar, qr

from unelisa.aggregators.base import Floats
from unelisa.aggregators.orientation import Orient, OrientedAggregator, pool_votes
from unelisa.errors import ConvergenceWarning, ExpertsWarning, warn_user
from unelisa.kernels.rank_one import descend_rank_one, sum_minors
from unelisa.memory import refuse_pairs
from unelisa.schema import stored
from unelisa.votes import Votes, order_voters
from unelisa.votes.blocks import ItemBlocks, weigh_votes

Groups = NDArray[np.intp]
# sums over k and l use at most so many voters: 956 take 2 s, not 2 min
MAX_WITNESSES = 128
TIED_GROUPS = "a tie: groupings of the voters that fit their covariances equally well"
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


def measure_pairs(values: NDArray[np.int8]) -> PairMoments:
    """Return unbiased covariances over the items on which both voters of a pair voted."""
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


def fit_rank_one(
    moments: PairMoments, max_iter: int = 10_000, tol: float = 1e-8
) -> tuple[Floats, bool]:
    """Return v with v v' nearest to the covariances off the diagonal, and whether it converged.

    Minimizes sum_{s != t} w_st (r_st - v_s v_t)^2, w the precisions, over |v_s| <= deviation_s:
    without bounds one v_s may diverge.
    """
    covariance, precision, bound = moments
    weighted, last = covariance * precision, len(bound) - 1
    np.fill_diagonal(weighted, 0.0)
    if not weighted.any():
        return np.zeros(len(bound)), True
    size, lead = eigh(weighted / precision.max(), subset_by_index=[last, last])
    start = np.clip(lead[:, 0] * np.sqrt(size[0]), -bound, bound)
    vector, n_iter = descend_rank_one(covariance, precision, bound, start, max_iter, tol)
    return vector, n_iter < max_iter


def unit_weights(moments: PairMoments, voters: NDArray[np.intp], n_voters: int) -> Floats:
    """Return v scaled to length 1, 0 for other voters; equal weights, with a warning, if v is 0."""
    vector, converged = fit_rank_one(moments)
    if not converged:
        warn_user("the rank-one fit did not converge", ConvergenceWarning)
    if not vector.any():
        warn_user(
            "no two voters are correlated: all voters count equally, as in majority vote",
            ExpertsWarning,
        )
        vector = np.ones(len(voters))
    weights = np.zeros(n_voters)
    weights[voters] = vector / np.linalg.norm(vector)
    return weights


@stored()
class SpectralMetaLearner(OrientedAggregator):
    """Voters weighted by the leading eigenvector of their covariance (Parisi et al. 2014).

    If voters err independently given the truth, their covariances off the diagonal are those of a
    rank-one matrix v v', and v_s is proportional to 2 pi_s - 1, pi_s the balanced accuracy of
    voter s. The score is the margin sum_s v_s f_s, not a probability, so there is no
    `predict_proba`.

    v is fitted to the covariances off the diagonal by least squares. With missing votes, each
    covariance is taken over the items on which both voted, and weighted by their number.

    Parameters
    ----------
    orient
        As in `DawidSkene`.

    Attributes
    ----------
    weights_
        v, scaled to length 1.

    References
    ----------
    Parisi, Strino, Nadler and Kluger (2014), Ranking and combining multiple predictors without
    labeled data. doi:10.1073/pnas.1219097111

    Examples
    --------
    >>> import unelisa as ue
    >>> votes = [[1, 1, 1, -1], [1, 1, -1, 1], [-1, -1, -1, 1], [-1, -1, 1, 1], [1, 1, 1, -1]]
    >>> ue.SpectralMetaLearner().fit_predict(votes)
    array([ 1,  1, -1, -1,  1])
    """

    def __init__(self, orient: Orient = "majority") -> None:
        self.orient = orient

    def _fit(self, votes: Votes) -> None:
        voters = order_voters(votes)
        moments = measure_pairs(votes.values).take(voters)
        self.weights_ = unit_weights(moments, voters, votes.n_voters)

    def _score(self, votes: Votes) -> Floats:
        return votes.blocks.weigh(self.weights_, np.zeros(votes.n_voters))

    def _side_votes(self) -> Floats:
        return pool_votes(self.weights_)


class BlockModel(NamedTuple):
    """Two rank-one matrices: one within the groups, one between them."""

    groups: Groups  # group of each voter, from 0
    within: Floats  # v_on: r_st = v_on_s v_on_t for two voters of one group
    residual: float  # weighted mean squared error of the covariances
    n_parameters: int  # number of free parameters


def score_pairs(moments: PairMoments) -> Floats:
    """Return the score matrix of Jaffe et al., large if two voters share a group.

    S_st = sum_{k, l} |r_st r_kl - r_sl r_kt|: between groups the covariance has rank one, so most
    minors vanish. Of more than 128 voters, k and l are those who share the most items with others.
    """
    lead = fit_rank_one(moments)[0]
    covariance = np.where(moments.precision > 0, moments.covariance, np.outer(lead, lead))
    n_voters = len(lead)
    witnesses = np.arange(n_voters)
    if n_voters > MAX_WITNESSES:
        busiest = np.argsort(-moments.precision.sum(axis=1), kind="stable")
        witnesses = np.sort(busiest[:MAX_WITNESSES])
    return np.asarray(sum_minors(covariance, witnesses))


def propose_groups(scores: Floats, n_groups: list[int]) -> list[Groups]:
    """Return one partition for each number of groups, by spectral clustering of the scores.

    Pivoted QR (Damle, Minden and Ying, 2019, doi:10.1093/imaiai/iay008) rotates the eigenvectors of
    D^-1/2 S D^-1/2 toward indicators of groups, without a seed, whatever the voters' order.
    """
    degree = np.sqrt(np.maximum(scores.sum(axis=1), np.finfo(float).tiny))
    vectors = eigh(scores / np.outer(degree, degree))[1]
    partitions = []
    for k in n_groups:
        leading = vectors[:, len(vectors) - k :]
        heads = qr(leading.T, mode="r", pivoting=True)[1][:k]
        nearest = np.abs(leading @ polar(leading[heads].T)[0]).argmax(axis=1)
        partitions.append(np.unique(nearest, return_inverse=True)[1])
    return partitions


def fit_blocks(moments: PairMoments, groups: Groups) -> BlockModel:
    """Return the block model of a partition: v_on and v_off by weighted least squares."""
    same = groups[:, None] == groups[None, :]
    within, n_parameters = np.zeros(len(groups)), 0
    for group in range(int(groups.max()) + 1):
        members = np.flatnonzero(groups == group)
        within[members] = fit_rank_one(moments.take(members))[0]
        # two voters have one covariance between them, a single one has none
        n_parameters += len(members) if len(members) > 2 else len(members) - 1
    fitted = np.outer(within, within)
    if groups.any():
        apart = moments._replace(precision=moments.precision * ~same)
        between = fit_rank_one(apart)[0]
        fitted = np.where(same, fitted, np.outer(between, between))
        n_parameters += len(groups)
    errors = moments.precision * (moments.covariance - fitted) ** 2
    residual = float(errors.sum() / moments.precision.sum())
    return BlockModel(groups, within, residual, n_parameters)


def find_blocks(moments: PairMoments, max_groups: int) -> list[BlockModel]:
    """Return the block model with the best number of groups K, then those tied with it.

    The residual, the paper's criterion, decreases with every split. K minimizes
    m log(residual) + 2 q log(m), with m covariances and q parameters: BIC with its penalty doubled,
    because groups are chosen after seeing the covariances. Ties are within sqrt(2 m).
    """
    n_voters = len(moments.deviation)
    one = fit_blocks(moments, np.zeros(n_voters, dtype=np.intp))
    # v_on is not identified with fewer than three voters per group
    n_groups = list(range(3, min(max_groups, n_voters // 3) + 1))
    if not n_groups:
        return [one]
    proposals = propose_groups(score_pairs(moments), n_groups)
    models = [one, *(fit_blocks(moments, groups) for groups in proposals if groups.max() >= 2)]
    n_pairs = np.count_nonzero(moments.precision) / 2
    # rounding errors must not decide if the model fits without error
    floor = 1e-12 * float(np.square(moments.deviation).max() ** 2)
    criteria = [
        n_pairs * np.log(model.residual + floor) + 2 * model.n_parameters * np.log(n_pairs)
        for model in models
    ]
    behind = np.array(criteria) - min(criteria)
    return [
        models[k] for k in np.argsort(behind, kind="stable") if behind[k] <= np.sqrt(2 * n_pairs)
    ]


def read_latents(blocks: ItemBlocks, weights: Floats, groups: Groups) -> NDArray[np.int8]:
    """Return the sign of each group's weighted majority, items x groups; 0 for a tie (< 1e-9)."""
    nothing = np.zeros(len(weights))
    latents = np.zeros((len(blocks), int(groups.max()) + 1), dtype=np.int8, order="F")
    for group in range(latents.shape[1]):
        margin = blocks.weigh(np.where(groups == group, weights, 0.0), nothing)
        latents[:, group] = np.where(np.abs(margin) > 1e-9, np.sign(margin), 0)
    return latents


@stored(group_weights_="finite[groups]", groups_="group(groups)[voters]")
class LatentSpectralMetaLearner(SpectralMetaLearner):
    """Groups of dependent voters, each with a latent variable of its own (Jaffe et al. 2016).

    The votes of group k depend on the truth through one latent variable alpha_k alone, so that
    covariances are v_on_s v_on_t within a group and v_off_s v_off_t between groups. Groups are
    found by spectral clustering of sums of 2 x 2 minors of the covariance, alpha_k by the spectral
    meta-learner within group k, the truth by that across the alpha_k, whose margin is the score; it
    is not a probability, so there is no `predict_proba`.

    With a single group this is `SpectralMetaLearner`. If another grouping fits nearly as well and
    labels more than 1 % of the items differently, `reliable_` is False, with a warning.

    Parameters
    ----------
    max_groups
        Largest number of groups tried; at most a third of the voters.
    orient, random_state
        As in `DawidSkene`.

    Attributes
    ----------
    groups_
        Group of each voter, -1 for constant voters.
    group_weights_
        Weight of each group's latent variable.
    weights_
        Weight of the group times v_on_s: the voter's covariance with the truth under the model.

    References
    ----------
    Jaffe, Fetaya, Nadler, Jiang and Kluger (2016), Unsupervised ensemble learning with dependent
    classifiers. AISTATS, PMLR 51.

    Examples
    --------
    >>> import numpy as np, unelisa as ue
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.choice([-1, 1], size=(2000, 1))
    >>> latent = np.where(rng.random((2000, 4)) < .8, truth, -truth)
    >>> votes = np.where(rng.random((2000, 20)) < .8, 1, -1) * np.repeat(latent, 5, axis=1)
    >>> model = ue.LatentSpectralMetaLearner(random_state=0).fit(votes)
    >>> bool((np.diff(model.groups_.reshape(4, 5)) == 0).all())
    True
    """

    def __init__(
        self,
        max_groups: int = 10,
        *,
        orient: Orient = "majority",
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.max_groups = max_groups
        self.orient = orient
        self.random_state = random_state

    def _fit(self, votes: Votes) -> None:
        voters = order_voters(votes)
        moments = measure_pairs(votes.values).take(voters)
        usable = np.flatnonzero((moments.deviation > 0) & moments.precision.any(axis=1))
        active = voters[usable]
        found = find_blocks(moments.take(usable), self.max_groups) if len(active) > 2 else []
        if not any(self._adopt(model, active, votes) for model in found[:1]):
            self.weights_ = unit_weights(moments, voters, votes.n_voters)
            self.groups_, self.group_weights_ = np.full(votes.n_voters, -1), np.ones(1)
            self.groups_[active] = 0
        chosen = self.weights_, self.groups_, self.group_weights_
        for model in found[1:]:
            if self._adopt(model, active, votes):
                self._note_rival(votes, TIED_GROUPS)
        self.weights_, self.groups_, self.group_weights_ = chosen

    def _adopt(self, model: BlockModel, active: NDArray[np.intp], votes: Votes) -> bool:
        """Store the weights of a block model; return whether its groups have a common truth."""
        groups, within = np.full(votes.n_voters, -1), np.zeros(votes.n_voters)
        groups[active], within[active] = model.groups, model.within
        meta = fit_rank_one(measure_pairs(read_latents(votes.blocks, within, groups)))[0]
        if len(meta) < 3 or not meta.any():
            return False
        lead = meta / np.linalg.norm(meta)
        self.weights_ = within * np.where(groups >= 0, lead[groups], 0.0)
        self.groups_, self.group_weights_ = groups, np.abs(lead)
        return True

    def _score(self, votes: Votes) -> Floats:
        if len(self.group_weights_) == 1:
            return super()._score(votes)
        latents = read_latents(votes.blocks, self.weights_, self.groups_)
        nothing = np.zeros(latents.shape[1])
        return np.asarray(weigh_votes(latents, self.group_weights_, nothing))

    def _voter_estimates(self) -> dict[str, Groups]:
        return {"group": self.groups_}

    def _reason(self, voter: int) -> str:
        reason, group = super()._reason(voter), self.groups_[voter]
        if group < 0 or len(self.group_weights_) == 1:
            return reason
        return f"{reason}, within a group of {np.count_nonzero(self.groups_ == group)}"
