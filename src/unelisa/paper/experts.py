"""VoterGraph -> experts (Theorem 3.3) and their polarity (section 4.2); ExpertSelector."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.base import check_is_fitted
from unelisa.estimator import VotesEstimator, fit_aside
from unelisa.paper.ising import EdgeRule, VoterGraph
from unelisa.paper.neighborhood import Neighborhoods, Penalty, select_neighborhoods
from unelisa.schema import stored
from unelisa.votes import Votes, order_voters
from unelisa.votes.frames import long_columns

STRENGTH_DIGITS = 6  # the solver's last digits do not rank knots


@stored(
    neighborhoods_="Neighborhoods",
    graph_="VoterGraph",
    selection_="ExpertSelection",
    experts_="index(voters)[experts]",
    polarity_="sign[voters]",
)
class ExpertSelector(VotesEstimator):
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
        A name in `unelisa.paper.solvers.SOLVERS`. "auto" is "working_set", or "torch" if torch
        finds a GPU and items x voters^2 is at least 1e11.
    n_jobs
        Number of threads, as in scikit-learn.
    random_state
        Not used: ties are broken by the votes.

    Attributes
    ----------
    experts_, selection_
        Indices of the experts, sorted; knots and ranks.
    polarity_
        Per voter +1 or -1 for the two groups of experts, 0 for pruned voters.
    graph_, neighborhoods_
        The learned `VoterGraph`, and the regressions behind it.

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

    @fit_aside
    def fit(self, X: Any, y: Any = None) -> "ExpertSelector":  # noqa: ARG002 - scikit-learn's
        """Return the selector fitted to X, votes of two classes; y is ignored."""
        votes = self._enter(X)
        order = order_voters(votes)
        found = select_neighborhoods(
            votes.take_voters(order),
            _take_penalties(self.penalty, order, votes.n_voters),
            self.fit_intercept,
            solver=self.solver,
            n_jobs=self.n_jobs,
        )
        self.neighborhoods_ = spread_neighborhoods(found, order, votes.n_voters)
        self.graph_ = VoterGraph.of(self.neighborhoods_.weights, self.edge_rule)
        self.selection_ = select_experts(self.graph_, order)
        self.experts_ = self.selection_.experts
        self.polarity_ = np.zeros(votes.n_voters, dtype=np.int8)
        agreement = partial(measure_agreement, votes, self.experts_)
        self.polarity_[self.experts_] = split_polarity(self.graph_, self.experts_, agreement)
        return self

    def transform(self, X: Any) -> Any:
        """Return the experts' votes of X: `Votes` for `Votes` or a long table, else a table."""
        if isinstance(X, Votes) or _is_long(X):
            return self._reenter(X).take_voters(self.experts_)
        return self._columns.transform(X)

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Return the experts' votes of X, to which the selector is fitted; y is ignored."""
        return self.fit(X, y).transform(X)

    def inverse_transform(self, X: Any) -> Any:
        """Return the experts' votes X as columns of a whole table, where the others abstain."""
        return self._columns.inverse_transform(X)

    def get_support(self, indices: bool = False) -> NDArray[Any]:
        """Return which voters are experts: a mask, or their indices."""
        return np.asarray(self._columns.get_support(indices))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the experts, of those in `input_features` if given."""
        return np.asarray(self._columns.get_feature_names_out(input_features))

    def set_output(self, *, transform: str | None = None) -> "ExpertSelector":
        """Choose what `transform` returns: "default" (an array), "pandas" or "polars"."""
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    @property
    def _columns(self) -> Any:
        """What is fitted, as scikit-learn's selector of columns."""
        check_is_fitted(self, "polarity_")
        columns = _make_selector(type(self).__name__)()
        vars(columns).update(vars(self))
        return columns

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import TransformerTags  # noqa: PLC0415 - takes two seconds

        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags()
        return tags


@lru_cache(maxsize=4)
def _make_selector(name: str) -> type[Any]:
    from sklearn.base import BaseEstimator  # noqa: PLC0415 - takes two seconds
    from sklearn.feature_selection import SelectorMixin  # noqa: PLC0415

    def allow_missing(self: Any) -> Any:
        tags = BaseEstimator.__sklearn_tags__(self)
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags

    methods = {
        "fit": ExpertSelector.fit,
        "_get_support_mask": lambda self: np.asarray(self.polarity_ != 0),
        "__sklearn_tags__": allow_missing,
    }
    return type(name, (SelectorMixin, BaseEstimator), methods)


def _is_long(table: Any) -> bool:
    """Return whether a table has one row per vote, and so no columns to keep."""
    names: Any = getattr(table, "column_names", None) or getattr(table, "columns", ())
    return None not in long_columns(map(str, names), (None, None, None))


def _take_penalties(penalty: Penalty, order: NDArray[np.intp], n_voters: int) -> Penalty:
    """Return the penalties of the voters in an order; one for all stays what it is."""
    numbers = np.asarray(penalty)
    return numbers[order] if numbers.shape == (n_voters,) else penalty


def measure_agreement(votes: Votes, voters: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return how many more votes of these voters agree with the majority of all than disagree."""
    counted = votes.discerning().astype(np.float64)
    agreement = votes.blocks.tally(np.sign(votes.blocks.weigh(counted, 0 * counted)))[0]
    return np.asarray(agreement[voters])


def spread_neighborhoods(
    found: Neighborhoods, order: NDArray[np.intp], n_voters: int
) -> Neighborhoods:
    """Return the regressions of some voters as those of all; the others have no neighbors."""
    weights = np.zeros((n_voters, n_voters))
    weights[np.ix_(order, order)] = found.weights
    per_voter: list[Any] = [np.zeros(n_voters, dtype=values.dtype) for values in found[1:]]
    for values, some in zip(per_voter, found[1:], strict=True):
        values[order] = some
    return Neighborhoods(weights, *per_voter)


@stored(
    experts="index(voters)[experts]",
    knots="flag[voters]",
    ranks="count[voters]",
    shared="whole[voters]",
)
@dataclass(frozen=True)
class ExpertSelection:
    r"""The result of Algorithm 1, and how it came about."""

    experts: NDArray[np.intp]  # indices of the experts N_0, sorted
    knots: NDArray[np.bool_]  # whether each voter is a knot: A_s = {s}
    # i_s, the rank of each knot by decreasing degree, from 1; 0 for other voters
    ranks: NDArray[np.int64]
    # per voter, the number of *other* voters that all of its neighbors share, |A_s \\ s|
    shared: NDArray[np.int64]


def select_experts(
    graph: VoterGraph, order: NDArray[np.intp] | None = None, *, reverse: bool = False
) -> ExpertSelection:
    """Return the experts by Theorem 3.3.

    A_s is the intersection of the neighborhoods of all neighbors of s; s is a knot if A_s = {s}.
    Among the knots, ordered by decreasing degree, keep s if its degree is at least i_s - 1.

    The paper leaves two points open. Here a voter without neighbors is not a knot. Among knots of
    equal degree those come first whose neighbors have more neighbors (experts are neighbors of
    experts), then those with stronger edges, sum_t ``|theta_st|``, and last `order` decides.

    Parameters
    ----------
    order
        All voters with neighbors, in an order that does not depend on the table, see
        `votes.order_voters`.
    reverse
        Whether ties are broken the other way: where the experts differ, they rest on a tie.

    Examples
    --------
    >>> import numpy as np
    >>> clique = VoterGraph.of(np.ones((3, 3)) - np.eye(3))
    >>> select_experts(clique).experts
    array([0, 1, 2])
    """
    degrees = graph.degrees
    shared = _common_neighbors(graph.adjacency) - 1  # s itself is always in A_s
    knots = (shared == 0) & (degrees > 0)
    voters = np.arange(graph.n_voters) if order is None else order
    candidates = voters[knots[voters]][:: -1 if reverse else 1]
    support = graph.adjacency @ degrees
    strengths = np.round(np.abs(graph.weights).sum(axis=1), STRENGTH_DIGITS)
    ties = [key[candidates] * (1 if reverse else -1) for key in (strengths, support)]
    ranked = candidates[np.lexsort([*ties, -degrees[candidates]])]
    ranks = np.zeros(graph.n_voters, dtype=np.int64)
    ranks[ranked] = np.arange(1, len(ranked) + 1)
    experts = np.flatnonzero(knots & (degrees >= ranks - 1))
    return ExpertSelection(experts, knots, ranks, shared)


def _common_neighbors(adjacency: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return |A_s|: t is in A_s if and only if s and t have |N_s| common neighbors."""
    counts = adjacency.astype(np.float32)
    paths = counts @ counts  # integers up to 2**24 are exact in float32
    degrees = adjacency.sum(axis=1)
    return np.asarray((paths == degrees[:, None]).sum(axis=1), dtype=np.int64)


def split_polarity(
    graph: VoterGraph,
    experts: NDArray[np.intp],
    agreement: Callable[[], NDArray[np.float64]] | None = None,
) -> NDArray[np.int8]:
    """Return +1 / -1 per expert: the two groups of section 4.2, the larger one positive.

    By the sign of the leading eigenvector of the experts' weights, which is the paper's split
    (Proposition 3.1) where signs are consistent; of each connected component, since elsewhere it is
    zero up to rounding. Of equal groups, that with the larger sum of `agreement()` is positive.
    """
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - takes .05 seconds

    weights = graph.weights[np.ix_(experts, experts)]
    components = connected_components(weights != 0, directed=False)[1]
    signs = np.zeros(len(experts), dtype=np.int8)
    for component in np.unique(components):
        members = np.flatnonzero(components == component)
        signs[members], decided = _split_component(weights[np.ix_(members, members)])
        if not decided and agreement is not None and signs[members] @ agreement()[members] < 0:
            signs[members] *= -1
    return signs


def _split_component(weights: NDArray[np.float64]) -> tuple[NDArray[np.int8], bool]:
    """Return the split of connected experts, and whether one side is larger or heavier."""
    lead = np.linalg.eigh(weights)[1][:, -1]
    signs = np.where(lead >= 0, 1, -1).astype(np.int8)
    # equal groups: the side with more weight is positive, and where that is equal the first's
    balance = signs.sum() or np.round(lead.sum(), 9)
    side = balance or signs[0]
    return (signs if side > 0 else -signs), bool(balance)
