"""VoterGraph -> experts: knots and ranks (Theorem 3.3), polarity (section 4.2)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from unelisa.graph import VoterGraph


@dataclass(frozen=True)
class ExpertSelection:
    r"""Algorithm 1's answer, with what it rests on.

    Attributes
    ----------
    experts
        Indices of the experts N_0, sorted.
    knots
        Whether each voter is a knot: A_s = {s}.
    ranks
        i_s, the position of each knot by falling degree, from 1; 0 for other voters.
    shared
        For each voter how many *other* voters all of its neighbors have in common, |A_s \\ s|.
    """

    experts: NDArray[np.intp]
    knots: NDArray[np.bool_]
    ranks: NDArray[np.int64]
    shared: NDArray[np.int64]


def select_experts(graph: VoterGraph, rng: np.random.Generator) -> ExpertSelection:
    """Return the experts by Theorem 3.3.

    A_s is the intersection of the neighborhoods of all neighbors of s; s is a knot if A_s = {s}.
    Among the knots, ordered by falling degree, keep s if its degree is at least i_s - 1.

    Open in the text, decided here: a voter without neighbors is no knot; ties in the order are
    broken by `rng`, never by the order of the voters, which may leak who is an expert.

    Examples
    --------
    >>> import numpy as np
    >>> clique = VoterGraph.of(np.ones((3, 3)) - np.eye(3))
    >>> select_experts(clique, np.random.default_rng(0)).experts
    array([0, 1, 2])
    """
    degrees = graph.degrees
    shared = _common_neighbors(graph.adjacency) - 1  # s itself is always in A_s
    knots = (shared == 0) & (degrees > 0)
    candidates = np.flatnonzero(knots)
    order = candidates[np.lexsort((rng.random(len(candidates)), -degrees[candidates]))]
    ranks = np.zeros(graph.n_voters, dtype=np.int64)
    ranks[order] = np.arange(1, len(order) + 1)
    experts = np.flatnonzero(knots & (degrees >= ranks - 1))
    return ExpertSelection(experts, knots, ranks, shared)


def _common_neighbors(adjacency: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return |A_s|: how many voters are neighbors of every neighbor of s.

    t lies in A_s if and only if the number of common neighbors of s and t equals |N_s|.
    """
    counts = adjacency.astype(np.float32)
    paths = counts @ counts  # whole numbers up to 2**24 are exact in float32
    degrees = adjacency.sum(axis=1)
    return np.asarray((paths == degrees[:, None]).sum(axis=1), dtype=np.int64)


def split_polarity(graph: VoterGraph, experts: NDArray[np.intp]) -> NDArray[np.int8]:
    """Return +1 / -1 per expert: the two groups of section 4.2, the larger one positive.

    By Proposition 3.1 two experts on the same side have theta-tilde > 0. Estimated signs may
    contradict each other, so the split is the sign of the leading eigenvector of the experts'
    weights, which is the paper's split wherever the signs agree. Where the experts fall into parts
    without an edge between them, each part is split by itself: an eigenvector of all of them is
    zero up to rounding outside one part, and its signs there mean nothing.
    """
    weights = graph.weights[np.ix_(experts, experts)]
    parts = connected_components(weights != 0, directed=False)[1]
    signs = np.zeros(len(experts), dtype=np.int8)
    for part in range(parts.max(initial=-1) + 1):
        members = np.flatnonzero(parts == part)
        signs[members] = _split_part(weights[np.ix_(members, members)])
    return signs


def _split_part(weights: NDArray[np.float64]) -> NDArray[np.int8]:
    """Return the split of experts that are connected."""
    lead = np.linalg.eigh(weights)[1][:, -1]
    signs = np.where(lead >= 0, 1, -1).astype(np.int8)
    # equal groups: the side with more weight is called positive, then the first expert's side
    balance = signs.sum() or np.sign(np.round(lead.sum(), 12)) or signs[0]
    return signs if balance > 0 else -signs
