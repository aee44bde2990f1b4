"""A crowd as a graph: every voter's tie to the truth, and the links between voters."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators import Aggregator
from unelisa.ising import Ising

Floats = NDArray[np.float64]
Link = tuple[int, int, float]

MOST_LINKS = 1_500  # more lines than this are a grey disc, and slow to move


class Network(NamedTuple):
    """What a picture of the crowd shows.

    Attributes
    ----------
    names
        The voters' names.
    weights
        Tie of each voter to the truth; 0 for those who do not count.
    counted
        Whether a voter stands next to the truth.
    links
        (s, t, weight) between voters, strongest first.
    """

    names: list[str]
    weights: Floats
    counted: NDArray[np.bool_]
    links: list[Link]

    @classmethod
    def of_model(cls, model: Aggregator) -> "Network":
        """Return the network of a fitted model; without links where it learns no graph."""
        counted = np.zeros(model.n_features_in_, dtype=np.bool_)
        counted[model.experts_] = True
        graph: Any = getattr(model, "graph_", None)
        return cls(
            [str(name) for name in model.voter_names_],
            np.where(counted, model.weights_, 0.0),
            counted,
            [] if graph is None else sort_links(graph.edges),
        )

    @classmethod
    def of_ising(cls, model: Ising) -> "Network":
        """Return the network of an Ising model, its voters named f1, f2, ... as in the paper.

        Examples
        --------
        >>> from unelisa.simulation import figure_2_1
        >>> network = Network.of_ising(figure_2_1())
        >>> network.names[:2], int(network.counted.sum()), len(network.links)
        (['f1', 'f2'], 5, 16)
        """
        weights, edges = model.edges[0, 1:], np.triu(model.edges[1:, 1:])
        found = [(int(s), int(t), float(edges[s, t])) for s, t in np.argwhere(edges)]
        names = [f"f{s + 1}" for s in range(model.n_voters)]
        return cls(names, weights, weights != 0, sort_links(found))

    def neighbors(self) -> list[list[tuple[int, float]]]:
        """Return for every voter the others it is linked to, with weights, strongest first."""
        found: list[list[tuple[int, float]]] = [[] for _ in self.names]
        for s, t, weight in self.links:
            found[s].append((t, weight))
            found[t].append((s, weight))
        return found


def sort_links(links: list[Link]) -> list[Link]:
    """Return the links, strongest first; equals in the order of the voters."""
    return sorted(links, key=lambda link: (-abs(link[2]), link[0], link[1]))
