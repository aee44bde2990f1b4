"""UnElisa, the paper's method: prune by the Ising graph, then predict from the experts."""

from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from unelisa.aggregators.base import Floats
from unelisa.aggregators.dawid_skene import TIED_FITS
from unelisa.aggregators.orientation import Orient, PosteriorAggregator
from unelisa.base import available_if
from unelisa.errors import (
    ConvergenceWarning,
    ExpertsWarning,
    Hint,
    ModelError,
    VotesWarning,
    warn_user,
)
from unelisa.paper.em import Reliability, best_reliability, estimate_reliability, weigh_posterior
from unelisa.paper.experts import ExpertSelector, measure_agreement, select_experts, split_polarity
from unelisa.paper.ising import Edge, EdgeRule
from unelisa.paper.neighborhood import Penalty
from unelisa.schema import stored
from unelisa.votes import Votes

Rule = Literal["bayes", "majority"]
TIED_KNOTS = "a tie: two choices between knots of equal degree"
BIASED_SQUARE = 0.1  # mean square of voters' mean votes: as if each said yes two times in three


def _has_posterior(estimator: "UnElisa") -> bool:
    if estimator.rule == "majority":
        raise AttributeError("rule 'majority' gives a margin, not a probability")
    return True


@stored(
    selector_="ExpertSelector",
    graph_="VoterGraph",
    field_="finite",
    prevalence_="share | nan",
    lower_bound_="float[steps]",
    n_iter_="?count",
)
class UnElisa(PosteriorAggregator):
    """Unsupervised ensemble learning via Ising model approximation (Zhang and Cai).

    1. Prune (Algorithm 1): learn the graph of voters, keep the experts.
    2. Predict (Algorithm 2): rule "bayes" estimates the experts' reliabilities by EM and applies
       the Bayes rule (2.3); rule "majority" flips the smaller group of experts and counts
       (augmented majority voting, section 4.2).

    If no expert is found, all voters count equally, with an `ExpertsWarning`, and rule "bayes"
    estimates one reliability for all. If another choice between knots of equal degree, or another
    fixed point of EM of nearly the same likelihood, labels more than 1 % of the items differently,
    `reliable_` is False, with a warning.

    Parameters
    ----------
    rule
        "bayes" or "majority".
    penalty, edge_rule, fit_intercept, solver
        As in `ExpertSelector`; unbalanced votes need intercepts.
    orient
        "majority" (more experts are right than wrong), or an anchor voter's name or index.
    n_starts, n_jobs, random_state
        As in `DawidSkene`.

    Attributes
    ----------
    experts_, weights_, polarity_, voters_
        The experts, all voters' weights (theta_0s) and signs, and the table of voters.
    prevalence_, field_
        P(truth = positive) and theta_0; NaN and 0 with rule "majority".
    reliabilities_
        psi_s = P(f_s = truth) per voter, .5 for pruned voters; NaN with rule "majority".
    graph_, edges_
        The learned `VoterGraph`, and its edges as (s, t, weight).
    lower_bound_
        EM's bound per iteration.

    Examples
    --------
    >>> import unelisa as ue
    >>> simulated = ue.simulate_votes(n_voters=25, n_experts=5, random_state=1)
    >>> model = ue.UnElisa(random_state=0).fit(simulated.votes)
    >>> model.score(simulated.votes, simulated.truth) > .9
    True
    """

    verdicts = ("contrarian", "pruned", "expert")

    def __init__(  # noqa: PLR0913 - the contract's parameters
        self,
        rule: Rule = "bayes",
        penalty: Penalty = "theory",
        edge_rule: EdgeRule = "either",
        fit_intercept: bool = False,
        *,
        orient: Orient = "majority",
        n_starts: int = 5,
        solver: str = "auto",
        n_jobs: int | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.rule = rule
        self.penalty = penalty
        self.edge_rule = edge_rule
        self.fit_intercept = fit_intercept
        self.orient = orient
        self.n_starts = n_starts
        self.solver = solver
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit(self, votes: Votes) -> None:
        if self.rule not in ("bayes", "majority"):
            raise ModelError(f"rule must be 'bayes' or 'majority', found {self.rule!r}")
        self._prune(votes)
        experts = self.selector_.experts_
        rivals = select_experts(self.graph_, reverse=True).experts
        if not np.array_equal(experts, rivals):
            self._weigh(votes, rivals)
            self._note_rival(votes, TIED_KNOTS)
        if not self._weigh(votes, experts):
            warn_user(f"EM did not converge in {self.n_iter_} iterations", ConvergenceWarning)

    def _weigh(self, votes: Votes, experts: NDArray[np.intp]) -> bool:
        """Learn all voters' weights if these are the experts; return whether EM converged."""
        self.field_, self.prevalence_, self.lower_bound_ = 0.0, float("nan"), np.empty(0)
        polarity = np.zeros(votes.n_voters)
        agreement = partial(measure_agreement, votes, experts)
        polarity[experts] = split_polarity(self.graph_, experts, agreement)
        if len(experts) == 0:
            polarity = votes.discerning().astype(np.float64)  # majority vote
        if self.rule == "majority":
            self.weights_ = polarity
            return True
        return self._estimate(votes, polarity, len(experts) > 0)

    def _prune(self, votes: Votes) -> None:
        if not self.fit_intercept and _bias_square(votes) > BIASED_SQUARE:
            warn_user(
                "voters favor one label, which looks like dependence without intercepts",
                VotesWarning,
                Hint("fit_intercept", True),
            )
        self.selector_ = ExpertSelector(
            self.penalty, self.edge_rule, self.fit_intercept, self.solver, self.n_jobs
        ).fit(votes)
        self.graph_ = self.selector_.graph_
        found = len(self.selector_.experts_)
        if found == 0:
            nobody = "no expert was found: all voters count equally, as in majority vote"
            warn_user(nobody, ExpertsWarning)
        elif found < 3:
            few = f"only {_count(found, 'expert')} found: reliability needs at least three"
            warn_user(few, ExpertsWarning)

    def _estimate(self, votes: Votes, polarity: Floats, found: bool) -> bool:
        counted = np.flatnonzero(polarity)
        blocks = votes.take_voters(counted).blocks
        if found:
            best, *tied = best_reliability(blocks, polarity[counted], self.n_starts)
        else:
            start = weigh_posterior(blocks, polarity[counted] / 2)
            best, tied = estimate_reliability(blocks, start, pooled=True), []
        for fit in tied:
            self._adopt(fit, counted, votes.n_voters)
            self._note_rival(votes, TIED_FITS)
        self._adopt(best, counted, votes.n_voters)
        return best.converged

    def _adopt(self, fit: Reliability, voters: NDArray[np.intp], n_voters: int) -> None:
        self.weights_ = np.zeros(n_voters)
        self.weights_[voters] = fit.weights
        self.field_, self.prevalence_ = fit.field, fit.prevalence
        self.lower_bound_, self.n_iter_ = fit.lower_bound, len(fit.lower_bound)

    def _score(self, votes: Votes) -> Floats:
        margin = votes.blocks.weigh(self.weights_, np.zeros(votes.n_voters))
        return np.asarray(2 * (self.field_ + margin) if self.rule == "bayes" else margin)

    def _turn_around(self) -> None:
        super()._turn_around()
        self.field_ = -self.field_

    @property
    def experts_(self) -> NDArray[np.intp]:
        """Indices of the experts N_0; empty if none was found."""
        return np.asarray(self.selector_.experts_)

    @property
    def reliabilities_(self) -> Floats:
        """psi_s = P(f_s = truth) = sigmoid(2 theta_0s) per voter."""
        if self.rule == "majority":
            return np.full(len(self.weights_), np.nan)
        return np.asarray(expit(2 * self.weights_))

    @property
    def edges_(self) -> list[Edge]:
        """The edges of the graph as (s, t, weight) with s < t."""
        return self.graph_.edges

    @available_if(_has_posterior)
    def predict_proba(self, X: Any) -> Floats:
        """Return P(negative), P(positive) per item of X, in the order of `classes_`."""
        return super().predict_proba(X)

    def _reason(self, voter: int) -> str:
        chosen, degree = self.selector_.selection_, len(self.graph_.neighbors(voter))
        if len(self.selector_.experts_) == 0:
            return "no expert was found, so every voter counts"
        if degree == 0:
            return "no other voter helps to predict its votes"
        if not chosen.knots[voter]:
            others = int(chosen.shared[voter])
            who = "1 other voter shares" if others == 1 else f"{others} other voters share"
            return f"not a knot: {who} all of its {_count(degree, 'neighbor')}"
        knot = f"knot of rank {chosen.ranks[voter]} with"
        if self.weights_[voter] == 0:
            return f"{knot} only {_count(degree, 'neighbor')}"
        side = "agrees with" if self.weights_[voter] > 0 else "contradicts"
        return f"{knot} {_count(degree, 'neighbor')}, {side} the truth"


def _bias_square(votes: Votes) -> float:
    """Return the mean square of the voters' mean votes beyond chance; 0 for balanced votes."""
    no, yes = votes.sides[:, ~votes.constant()].astype(np.float64)
    signed, observed = yes - no, yes + no
    return float(np.mean((signed**2 / observed - 1) / observed)) if len(signed) else 0.0


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
