"""The second-order log-linear model of a hidden truth and its voters (Donmez et al. 2010)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from unelisa.aggregators.base import Floats
from unelisa.aggregators.confusions import LEAST_VARYING, Confusions, fit_coins
from unelisa.aggregators.orientation import Orient, PosteriorAggregator, pool_votes
from unelisa.errors import ConvergenceWarning, warn_user
from unelisa.estimator import Takes
from unelisa.schema import stored
from unelisa.votes import Votes, order_voters

BLOCK = 4096  # items converted to floats at a time
TIED_OPTIMA = "a tie: optima of the pseudo-likelihood that two starts reach"


class Terms(NamedTuple):
    """The terms of the log-linear model."""

    field: float  # b_0: main effect of the truth
    main: Floats  # b_s: main effect of each voter
    truth: Floats  # a_s: pairwise term of voter and truth
    pairs: Floats  # w_st: pairwise terms of voters, symmetric with zero diagonal

    @property
    def absence(self) -> Floats:
        """What summing over a missing vote adds to the truth's field: d_s / 2, see `LogLinear`."""
        return np.asarray(log_cosh(self.main + self.truth) - log_cosh(self.main - self.truth)) / 2

    def pack(self) -> Floats:
        """Return all terms as one vector."""
        upper = np.triu_indices(len(self.main), 1)
        return np.concatenate([[self.field], self.main, self.truth, self.pairs[upper]])

    @classmethod
    def unpack(cls, vector: Floats, n_voters: int) -> "Terms":
        """Return the terms in a vector."""
        pairs = np.zeros((n_voters, n_voters))
        pairs[np.triu_indices(n_voters, 1)] = vector[2 * n_voters + 1 :]
        main, truth = vector[1 : 2 * n_voters + 1].reshape(2, -1)
        return cls(float(vector[0]), main, truth, pairs + pairs.T)

    @classmethod
    def of_coins(cls, fit: Confusions) -> "Terms":
        """Return Dawid and Skene's model as log-linear terms: no pairs of voters."""
        says = logit(fit.coins) / 2
        main, truth = (says[1] + says[0]) / 2, (says[1] - says[0]) / 2
        terms = cls(0.0, main, truth, np.zeros((len(main), len(main))))
        return terms._replace(field=float(logit(fit.shares[1]) / 2 - terms.absence.sum()))

    def half_log_odds(self, votes: Floats) -> Floats:
        """Return u_i = b_0 + sum_voted a_s f_is + sum_absent d_s / 2, half the log-odds."""
        return np.asarray(self.field + votes @ self.truth + (1 - votes * votes) @ self.absence)


def log_cosh(x: Floats) -> Floats:
    """Return log cosh x without overflow."""
    size = np.abs(x)
    return np.asarray(size + np.log1p(np.exp(-2 * size)) - np.log(2))


def measure_block(votes: Floats, counts: Floats, terms: Terms) -> tuple[float, Floats]:
    """Return a block's pseudo-log-likelihood and its gradient in the order of `Terms.pack`.

    With the truth summed out, the logit of f_s = 1 given the item's other votes is, with
    r_s = u - a_s f_s, 2 (b_s + sum_t w_st f_t) + log cosh(r_s + a_s) - log cosh(r_s - a_s).
    """
    truth, main = terms.truth, terms.main
    rest = terms.half_log_odds(votes)[:, None] - truth * votes
    logits = 2 * (main + votes @ terms.pairs) + log_cosh(rest + truth) - log_cosh(rest - truth)
    weights = counts[:, None] * votes * votes
    value = -float((weights * np.logaddexp(0, -votes * logits)).sum())
    residual = counts[:, None] * votes * expit(-votes * logits)
    if_yes, if_no = np.tanh(rest + truth), np.tanh(rest - truth)
    pull = residual * (if_yes - if_no)
    shifts = pull.sum(axis=1)
    absent = (1 - votes * votes).T @ shifts / 2
    both = np.tanh(main + truth), np.tanh(main - truth)
    products = residual.T @ votes
    gradient = Terms(
        float(shifts.sum()),
        2 * residual.sum(axis=0) + absent * (both[0] - both[1]),
        votes.T @ shifts
        + (residual * (if_yes + if_no) - pull * votes).sum(axis=0)
        + absent * (both[0] + both[1]),
        2 * (products + products.T),
    )
    return value, gradient.pack()


def measure_fit(
    vector: Floats, rows: NDArray[np.int8], counts: Floats, ridge: float
) -> tuple[float, Floats]:
    """Return minus the penalized pseudo-log-likelihood per item, and its gradient."""
    n_voters = rows.shape[1]
    terms, total = Terms.unpack(vector, n_voters), counts.sum()
    penalty = np.ones(len(vector))
    penalty[2 * n_voters + 1 :] = ridge
    value, gradient = -float(penalty @ vector**2) / 2, -penalty * vector
    for first in range(0, len(rows), BLOCK):
        some = slice(first, first + BLOCK)
        part, change = measure_block(rows[some].astype(np.float64), counts[some], terms)
        value += part
        gradient += change
    return -value / total, -gradient / total


def fit_terms(
    values: NDArray[np.int8], start: Terms, ridge: float, max_iter: int
) -> tuple[Terms, int, bool]:
    """Return the maximizer of the penalized pseudo-likelihood by L-BFGS, n_iter, convergence."""
    from scipy.optimize import minimize  # noqa: PLC0415 - takes a tenth of a second

    rows, first, counts = np.unique(values, axis=0, return_index=True, return_counts=True)
    order = np.argsort(first)
    found = minimize(
        measure_fit,
        start.pack(),
        args=(rows[order], counts[order].astype(np.float64), ridge),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter, "maxfun": 2 * max_iter, "gtol": 1e-8, "ftol": 0.0},
    )
    # a line search that fails at the limit of rounding is as good as a zero gradient
    done = found.nit < max_iter and float(np.abs(found.jac).max()) < 1e-4
    return Terms.unpack(found.x, values.shape[1]), int(found.nit), done


@stored(main_="finite[voters]", pairs_="finite[voters, voters]", field_="finite", n_iter_="count")
class LogLinear(PosteriorAggregator):
    """Truth and voters in one log-linear model with all pairwise terms (Donmez et al. 2010).

    ::

        log P(y, f) = b_0 y + sum_s b_s f_s + sum_s a_s y f_s + sum_{s<t} w_st f_s f_t - log Z

    Unlike in `DawidSkene`, two voters may agree beyond what the truth explains: w_st. Given the
    votes, half the log-odds of the truth are b_0 + sum_s a_s f_s; twice that is the score.

    Departures: the pseudo-likelihood prod_s P(f_s | the item's other votes) replaces the
    likelihood, whose Z sums over 2^(p + 1) states; the share of positive items is estimated; a
    missing vote adds log cosh(b_s + a_s) - log cosh(b_s - a_s), which is exact without pairs.

    EM of Dawid and Skene gives the start; if the majority vote leads to an optimum that labels more
    than 1 % of the items differently, `reliable_` is False, with a warning. If fewer than three
    voters vary, the result is the majority vote's.

    Parameters
    ----------
    ridge
        The prior of a pair of voters is w_st ~ N(0, 1 / ridge); that of other terms is N(0, 1).
    max_iter
        Limit on the optimizer's iterations.
    orient, random_state
        As in `DawidSkene`.

    Attributes
    ----------
    weights_
        a_s: pairwise term of voter and truth, theta_0s of the paper.
    main_, pairs_, field_
        b_s, w_st and b_0.
    prevalence_, n_iter_
        Mean probability over the items with votes; iterations of the optimizer.

    References
    ----------
    Donmez, Lebanon and Balasubramanian (2010), Unsupervised supervised learning I: estimating
    classification and regression errors without labels. JMLR 11.

    Examples
    --------
    >>> import unelisa as ue
    >>> votes = [[1, 1, 1, -1], [1, 1, None, 1], [-1, -1, -1, 1], [-1, -1, 1, 1], [1, 1, 1, -1]]
    >>> ue.LogLinear(random_state=0).fit_predict(votes)
    array([ 1,  1, -1, -1,  1])
    """

    # they have 300 pairs; with more, usual data cannot separate the pairs from the truth
    takes = Takes(gold="side", voters=25)

    def __init__(
        self,
        ridge: float = 100.0,
        *,
        max_iter: int = 1000,
        orient: Orient = "majority",
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.ridge = ridge
        self.max_iter = max_iter
        self.orient = orient
        self.random_state = random_state

    def _fit(self, votes: Votes) -> None:
        voters = order_voters(votes)
        active = voters[~votes.constant()[voters]]
        best, *tied = self._estimate(votes, active)
        for terms in tied:
            self._adopt(terms, votes, active)
            self._note_rival(votes, TIED_OPTIMA)
        self._adopt(best, votes, active)

    def _adopt(self, terms: Terms, votes: Votes, active: NDArray[np.intp]) -> None:
        n = votes.n_voters
        self.weights_, self.main_, self.pairs_ = np.zeros(n), np.zeros(n), np.zeros((n, n))
        self.weights_[active], self.main_[active] = terms.truth, terms.main
        self.pairs_[np.ix_(active, active)] = terms.pairs
        self.field_ = terms.field
        self._average_chances(votes)

    def _estimate(self, votes: Votes, active: NDArray[np.intp]) -> list[Terms]:
        """Return the terms of the voters who vary: from Dawid-Skene, then from the majority."""
        self.n_iter_, varying = 1, len(active)
        if not varying:
            return [Terms(0.0, np.empty(0), np.empty(0), np.empty((0, 0)))]
        values = np.asfortranarray(votes.values[:, active])
        start = Terms.of_coins(fit_coins(values, varying, 5))
        if varying < LEAST_VARYING:
            return [start]
        terms, self.n_iter_, done = fit_terms(values, start, self.ridge, self.max_iter)
        if not done:
            warn_user("the optimizer did not converge: raise max_iter", ConvergenceWarning)
            return [terms]
        majority = Terms.of_coins(fit_coins(values, varying, 1, max_iter=1))
        return [terms, fit_terms(values, majority, self.ridge, self.max_iter)[0]]

    def _score(self, votes: Votes) -> Floats:
        terms = Terms(self.field_, self.main_, self.weights_, self.pairs_)
        firsts = range(0, votes.n_items, BLOCK)
        parts = (votes.values[first : first + BLOCK].astype(np.float64) for first in firsts)
        return 2 * np.concatenate([terms.half_log_odds(part) for part in parts])

    def _turn_around(self) -> None:
        super()._turn_around()
        self.field_ = -self.field_

    def _side_votes(self) -> Floats:
        return pool_votes(np.tanh(self.weights_))

    def _reason(self, voter: int) -> str:
        partner = np.abs(self.pairs_[voter]).argmax()
        return (
            f"weight {self.weights_[voter]:+z.2f}; its strongest tie is "
            f"{self.pairs_[voter, partner]:+z.2f}, with {self.voter_names_[partner]}"
        )
