"""VoterGraph: which voters depend on each other, with sign and strength."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import ModelError
from unelisa.memory import refuse_beyond
from unelisa.schema import stored

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
    >>> graph = VoterGraph.of(nodewise, edge_rule="either")
    >>> graph.degrees
    array([1, 2, 1])
    >>> VoterGraph.of(nodewise, edge_rule="both").edges
    [(0, 1, 0.4)]
    """

    weights: NDArray[np.float64]
    adjacency: NDArray[np.bool_]

    @classmethod
    def of(cls, nodewise: NDArray[np.float64], edge_rule: EdgeRule = "either") -> "VoterGraph":
        """Return the graph of nodewise coefficients (row s = voter s's regression).

        The paper does not say what to do if voter s selects t but t does not select s: "either"
        keeps the edge (which reproduces its tables), "both" drops it.
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
