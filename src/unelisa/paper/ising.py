"""The Ising model of the truth and its voters: (2.1)-(2.3), (3.1), (3.2), (G1)-(G3).

Node 0 is the truth f_0; voter s, column s of the votes, is node s + 1. A distribution over nodes is
a tensor with one axis of length 2 per node, index 0 for -1 and 1 for +1.
"""

from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logsumexp, softmax

from unelisa.errors import ModelError, VotesError
from unelisa.memory import refuse_beyond
from unelisa.schema import stored

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# 2^22 states are 32 MB a copy; every further node doubles that.
MAX_NODES = 22
_SIGNS = np.array([-1.0, 1.0])
_ROWS = 8192  # items per block: the float copy of a block of votes stays in the cache


class Violation(NamedTuple):
    """A violated condition: its name, the node that violates it, and a sentence that says how."""

    condition: str
    node: int
    sentence: str


@dataclass(frozen=True)
class Identifiability:
    """Which of (G1)-(G3) are violated, and where; true when none is."""

    violations: tuple[Violation, ...]

    def __bool__(self) -> bool:
        return not self.violations


@dataclass(frozen=True, init=False, eq=False)
class Ising:
    """The joint distribution (2.1) of the truth and p voters.

    P(f) = exp(sum_s θ_s f_s + sum_{s<t} θ_st f_s f_t - A(θ)) for f in {-1, +1}^(p+1). In the
    paper only the truth has a field; if voters have fields, P(f_0 = +1) is not sigmoid(2 θ_0).

    Parameters
    ----------
    field
        θ_0, or the fields of all p + 1 nodes.
    edges
        θ_st, symmetric (p+1) x (p+1) with a zero diagonal; row 0 belongs to the truth.

    Examples
    --------
    >>> edges = np.zeros((4, 4))
    >>> edges[0, 1:] = edges[1:, 0] = 1.0, 1.0, -1.0
    >>> model = Ising(0.0, edges)
    >>> model.decision(np.array([[1, -1, 1], [1, 0, -1]])).tolist()
    [-1, 1]
    >>> model.experts.tolist(), bool(model.identifiable())
    ([0, 1, 2], True)
    """

    fields: Floats
    edges: Floats

    def __init__(self, field: ArrayLike, edges: ArrayLike) -> None:
        object.__setattr__(self, "edges", _checked_edges(edges))
        object.__setattr__(self, "fields", _checked_fields(field, len(self.edges)))

    @property
    def n_voters(self) -> int:
        """Return p."""
        return len(self.fields) - 1

    @property
    def neighborhoods(self) -> tuple[Indices, ...]:
        """Return N_s, as node numbers, for every node 0..p."""
        return tuple(np.flatnonzero(row) for row in self.edges)

    @property
    def degrees(self) -> Indices:
        """Return d_s, the size of N_s, for every node 0..p."""
        return np.asarray(np.count_nonzero(self.edges, axis=1))

    @property
    def experts(self) -> Indices:
        """Return N_0 as voter numbers 0..p-1, sorted."""
        return np.flatnonzero(self.edges[0, 1:])

    @property
    def effective_neighborhoods(self) -> tuple[Indices, ...]:
        """Return Ñ_s per voter: neighbors, and an expert's siblings, d_s + d_0 - 2 under (G3)."""
        expert = self.edges[0, 1:] != 0
        linked = (self.edges[1:, 1:] != 0) | np.outer(expert, expert)
        return tuple(np.setdiff1d(np.flatnonzero(row), s) for s, row in enumerate(linked))

    def joint(self) -> Floats:
        """Return (2.1) for every state, by enumeration: a tensor of shape (2,) * (p + 1)."""
        return np.asarray(softmax(log_weights(self.fields, self.edges)))

    def marginal(self) -> Floats:
        """Return P̃(f_1, ..., f_p), f_0 summed out: a tensor of shape (2,) * p."""
        return np.asarray(softmax(self._log_marginal()))

    def log_partition(self) -> float:
        """Return A(θ) of (2.1)."""
        return float(logsumexp(self._log_marginal()))

    def conditional(self, votes: ArrayLike, voter: int) -> Floats:
        """Return P(f_s = +1 | all other voters) per item, f_0 summed out: (3.1) and (3.2).

        With L_s = θ_0 + sum_{t != s} θ_0t f_t the log odds are 2 (θ_s + sum_t θ_st f_t) + log
        cosh(L_s + θ_0s) - log cosh(L_s - θ_0s). All other voters must have voted.
        """
        values = _checked_votes(votes, self.n_voters)
        if not 0 <= voter < self.n_voters:
            raise ModelError(f"voter must be in 0..{self.n_voters - 1}, found {voter}")
        others = np.delete(np.arange(self.n_voters), voter)
        if np.any(values[:, others] == 0):
            raise VotesError(
                "a voter's conditional needs all other votes, found missing ones; drop those items"
            )
        own = _weigh(values, self.edges[voter + 1, 1:], self.fields[voter + 1])
        rest = _weigh(values[:, others], self.edges[0, 1:][others], self.fields[0])
        link = self.edges[0, voter + 1]
        return np.asarray(expit(2 * own + _log_two_cosh(rest + link) - _log_two_cosh(rest - link)))

    def posterior(self, votes: ArrayLike) -> Floats:
        """Return P(f_0 = +1 | f) = sigmoid(2 (θ_0 + sum_s θ_0s f_s)) per item.

        Exact for complete votes; ignoring a missing vote is exact without edges and field.
        """
        score = _weigh(_checked_votes(votes, self.n_voters), self.edges[0, 1:], self.fields[0])
        return np.asarray(expit(2 * score))

    def decision(self, votes: ArrayLike) -> NDArray[np.int8]:
        """Return the Bayes label (2.3), sgn(θ_0 + sum_s θ_0s f_s), per item, with sgn 0 = +1."""
        return np.where(self.posterior(votes) >= 0.5, 1, -1).astype(np.int8)

    def identifiable(self) -> Identifiability:
        """Return where the graph violates (G1)-(G3).

        (G1): d_s <= d_0 - 2 for every voter. (G3): no edge between experts. (G2), every path from a
        non-expert to the truth leads through an expert, holds for every model of this class.
        """
        degrees, experts, violations = self.degrees, self.experts + 1, []
        limit = degrees[0] - 2
        for s in np.flatnonzero(degrees[1:] > limit) + 1:
            text = f"f_{s} has degree {degrees[s]}, (G1) allows at most d_0 - 2 = {limit}."
            violations.append(Violation("G1", int(s), text))
        for s, t in experts[np.argwhere(np.triu(self.edges[np.ix_(experts, experts)]))]:
            text = f"f_{s} and f_{t} are both experts and share an edge, which (G3) forbids."
            violations.append(Violation("G3", int(s), text))
        return Identifiability(tuple(violations))

    def _log_marginal(self) -> Floats:
        voters = log_weights(self.fields[1:], self.edges[1:, 1:])
        return voters + _log_two_cosh(linear(self.fields[0], self.edges[0, 1:]))


def linear(intercept: float, weights: Floats) -> Floats:
    """Return intercept + sum_s w_s f_s for all states, as a tensor."""
    return np.asarray(reduce(np.add.outer, np.outer(weights, _SIGNS), np.float64(intercept)))


def log_weights(fields: Floats, edges: Floats) -> Floats:
    """Return sum_s θ_s f_s + sum_{s<t} θ_st f_s f_t for all states, node by node."""
    if len(fields) > MAX_NODES:
        raise ModelError(f"enumeration is limited to {MAX_NODES} nodes, found {len(fields)}")
    energy = np.zeros(())
    for s, field in enumerate(fields):
        energy = energy[..., None] + np.multiply.outer(linear(field, edges[s, :s]), _SIGNS)
    return energy


def _log_two_cosh(x: Floats) -> Floats:
    return np.asarray(np.logaddexp(x, -x))


def _weigh(votes: NDArray[np.int8], weights: Floats, intercept: float) -> Floats:
    """Return intercept + votes @ weights, reading only the columns with a nonzero weight."""
    columns = np.flatnonzero(weights)
    score = np.empty(len(votes))
    for start in range(0, len(votes), _ROWS):
        block = slice(start, start + _ROWS)
        score[block] = votes[block, columns] @ weights[columns]
    return score + intercept


def _checked_votes(votes: ArrayLike, p: int) -> NDArray[np.int8]:
    values = np.asarray(votes)
    if values.ndim != 2 or values.shape[1] != p:
        raise VotesError(f"votes must be items x {p} voters, found shape {values.shape}")
    # Byte by byte: a comparison of int8 votes makes no copy wider than the votes.
    if values.dtype.kind not in "if" or np.any((values != 0) & (np.abs(values) != 1)):
        raise VotesError(f"votes must be -1, 0 or +1, found other values of type {values.dtype}")
    return values.astype(np.int8, copy=False)


def _checked_edges(edges: ArrayLike) -> Floats:
    values = np.array(edges, dtype=np.float64)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or len(values) < 2:
        raise ModelError(f"edges must be (p+1) x (p+1) with p >= 1, found shape {values.shape}")
    if (
        not (np.isfinite(values).all() and np.array_equal(values, values.T))
        or np.diag(values).any()
    ):
        raise ModelError("edges must be finite and symmetric, with a zero diagonal")
    values.flags.writeable = False
    return values


def _checked_fields(field: ArrayLike, n_nodes: int) -> Floats:
    given = np.asarray(field, dtype=np.float64)
    if given.shape not in ((), (n_nodes,)) or not np.isfinite(given).all():
        raise ModelError(f"field must be one finite number, or one for each of {n_nodes} nodes")
    values = np.zeros(n_nodes)
    values[: given.size] = given
    values.flags.writeable = False
    return values


EdgeRule = Literal["either", "both"]
Edge = tuple[int, int, float]  # s, t and the weight


@stored(weights="finite[voters, voters]", adjacency="flag[voters, voters]")
@dataclass(frozen=True, eq=False)
class VoterGraph:
    """Symmetric signed edges between voters.

    Attributes
    ----------
    weights
        Voters x voters, symmetric, zero diagonal: the mean of the two regressions' coefficients.
    adjacency
        Voters x voters, symmetric: whether there is an edge.

    Examples
    --------
    >>> import numpy as np
    >>> nodewise = np.array([[0, .5, 0], [.3, 0, 0], [0, -.2, 0]])
    >>> VoterGraph.of(nodewise, edge_rule="both").edges
    [(0, 1, 0.4)]
    """

    weights: NDArray[np.float64]
    adjacency: NDArray[np.bool_]

    @classmethod
    def of(cls, nodewise: NDArray[np.float64], edge_rule: EdgeRule = "either") -> "VoterGraph":
        """Return the graph of nodewise coefficients (row s = voter s's regression).

        Of voters one of whom selects the other, which the paper leaves open, "either" keeps the
        edge (and reproduces its tables), "both" drops it.
        """
        if edge_rule not in ("either", "both"):
            raise ModelError(f"edge_rule must be 'either' or 'both', found {edge_rule!r}")
        chosen = nodewise != 0
        adjacency = chosen | chosen.T if edge_rule == "either" else chosen & chosen.T
        np.fill_diagonal(adjacency, False)
        return cls(np.where(adjacency, (nodewise + nodewise.T) / 2, 0.0), adjacency)

    @classmethod
    def of_edges(cls, edges: list[Edge], n_voters: int) -> "VoterGraph":
        """Return the graph of its edges (s, t, weight)."""
        what = f"the graph of {n_voters:,} voters as matrices (its edges alone do not)"
        refuse_beyond(9 * n_voters**2, what, ModelError)
        graph = cls.of(np.zeros((n_voters, n_voters)))
        for s, t, weight in edges:
            graph.weights[s, t] = graph.weights[t, s] = weight
            graph.adjacency[s, t] = graph.adjacency[t, s] = True
        return graph

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return len(self.adjacency)

    @property
    def degrees(self) -> NDArray[np.int64]:
        """Size of each voter's neighborhood."""
        return np.asarray(self.adjacency.sum(axis=1), dtype=np.int64)

    @property
    def edges(self) -> list[Edge]:
        """Edges as (s, t, weight) with s < t."""
        rows, columns = np.nonzero(np.triu(self.adjacency))
        return [
            (int(s), int(t), float(self.weights[s, t])) for s, t in zip(rows, columns, strict=True)
        ]

    def neighbors(self, voter: int) -> NDArray[np.intp]:
        """Return the neighborhood N_s of a voter."""
        return np.flatnonzero(self.adjacency[voter])

    def __repr__(self) -> str:
        return f"VoterGraph({self.n_voters} voters, {int(self.adjacency.sum()) // 2} edges)"

    def _repr_html_(self) -> str:
        # imported by name: the report's layer lies above this one
        shown: str = import_module("unelisa.report.notebook").show_graph(self)
        return shown

    def to_networkx(self, names: Any = None) -> Any:
        """Return a networkx.Graph with the edge attribute `weight` (needs the report extra)."""
        import networkx  # noqa: PLC0415 - optional

        labels = range(self.n_voters) if names is None else names
        graph = networkx.Graph()
        graph.add_nodes_from(labels)
        graph.add_weighted_edges_from((labels[s], labels[t], w) for s, t, w in self.edges)
        return graph
