"""ExpertSelector: the pruning step (section 3) as a scikit-learn transformer."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from unelisa.estimator import VotesEstimator
from unelisa.experts import select_experts, split_polarity
from unelisa.frames import long_columns
from unelisa.graph import EdgeRule, VoterGraph
from unelisa.neighborhood import Penalty, select_neighborhoods
from unelisa.votes import Votes


class ExpertSelector(SelectorMixin, VotesEstimator):  # type: ignore[misc]
    """Select the experts by Algorithm 1 and keep their columns.

    Parameters
    ----------
    penalty
        "theory", "ebic" or a number: see `select_neighborhoods`.
    edge_rule
        Whether "either" or "both" of two voters must select the other for an edge.
    fit_intercept
        Whether each voter's regression has an intercept; the paper has none.
    solver
        A name in `unelisa.solvers.SOLVERS`. "auto" is "working_set", or "torch" if torch finds a
        GPU and items x voters^2 is at least 1e11.
    n_jobs
        Number of threads, as in scikit-learn.
    random_state
        Seed or generator for breaking ties in the ranking.

    Attributes
    ----------
    experts_
        Indices of the experts, sorted.
    polarity_
        Per voter +1 or -1 for the two groups of experts, 0 for pruned voters.
    graph_
        The learned `VoterGraph`.
    neighborhoods_
        The regressions behind it.
    selection_
        Knots and ranks.

    Examples
    --------
    >>> import unelisa as ue
    >>> simulated = ue.simulate_votes(n_voters=25, n_experts=5, random_state=1)
    >>> selector = ue.ExpertSelector(random_state=0).fit(simulated.votes)
    >>> sorted(selector.experts_.tolist()) == sorted(simulated.experts.tolist())
    True
    """

    def __init__(
        self,
        penalty: Penalty = "theory",
        edge_rule: EdgeRule = "either",
        fit_intercept: bool = False,
        solver: str = "auto",
        n_jobs: int | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.penalty = penalty
        self.edge_rule = edge_rule
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> "ExpertSelector":  # noqa: ARG002 - scikit-learn's
        """Return the fitted selector; y is ignored."""
        votes = self._enter(X)
        self.neighborhoods_ = select_neighborhoods(
            votes,
            self.penalty,
            self.fit_intercept,
            solver=self.solver,
            n_jobs=self.n_jobs,
        )
        self.graph_ = VoterGraph.of(self.neighborhoods_.weights, self.edge_rule)
        self.selection_ = select_experts(self.graph_, np.random.default_rng(self.random_state))
        self.experts_ = self.selection_.experts
        self.polarity_ = np.zeros(votes.n_voters, dtype=np.int8)
        self.polarity_[self.experts_] = split_polarity(self.graph_, self.experts_)
        return self

    def transform(self, X: Any) -> Any:
        """Return the experts' votes.

        As `Votes` if X is `Votes` or a long table; otherwise as scikit-learn does: an array, or a
        frame if `set_output` asks for one.
        """
        check_is_fitted(self)
        if isinstance(X, Votes) or _is_long(X):
            return self._reenter(X).take_voters(self.experts_)
        return super().transform(X)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return np.asarray(self.polarity_ != 0)


def _is_long(table: Any) -> bool:
    """Return whether a table has one row per vote, and so no columns to keep."""
    names: Any = getattr(table, "column_names", None) or getattr(table, "columns", ())
    return None not in long_columns(map(str, names), (None, None, None))
