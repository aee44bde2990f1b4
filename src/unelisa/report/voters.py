"""The voters: their graph, and the table of verdicts, reasons, figures and dependences."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators import Aggregator
from unelisa.paper.graph import Edge
from unelisa.paper.ising import Ising
from unelisa.report.classes import tally_confusions
from unelisa.report.judged import Judged
from unelisa.report.wording import OUTSIDE, make_plain, show_verdict
from unelisa.votes import Votes

Floats = NDArray[np.float64]

NAMED_LINKS = 5  # the strongest links of a voter are named, the others counted
MOST_LINKS = 1_500  # more lines than this form a gray disc, and are slow to move
MOST_ALONE = 20  # more voters than this who depend on nobody are drawn as one node


class Network(NamedTuple):
    """The crowd as a graph."""

    names: list[str]  # the voters' names
    weights: Floats  # weight of each voter; 0 for those that do not count
    roles: list[str]  # the verdict on each voter, as `show_verdict` words it
    links: list[Edge]  # (s, t, weight) between voters, strongest first
    families: Sequence[list[int]] = ()  # voters who repeat each other, the heaviest first

    @classmethod
    def of_model(cls, model: Aggregator) -> "Network":
        """Return the network of a fitted model; without links where it learns no graph."""
        roles = [show_verdict(verdict) for verdict in model.voters_["verdict"]]
        return cls(
            [str(name) for name in model.voter_names_],
            np.where([role not in OUTSIDE for role in roles], model.weights_, 0.0),
            roles,
            sort_links(getattr(model, "edges_", [])),
            find_families(model),
        )

    @classmethod
    def of_ising(cls, model: Ising) -> "Network":
        """Return the network of an Ising model, its voters named f1, f2, ... as in the paper.

        Examples
        --------
        >>> from unelisa.simulation.designs import figure_2_1
        >>> network = Network.of_ising(figure_2_1())
        >>> network.names[:2], int(network.counted.sum()), len(network.links)
        (['f1', 'f2'], 5, 16)
        """
        words = {-1: "contrarian", 0: "pruned", 1: "expert"}
        weights, edges = model.edges[0, 1:], np.triu(model.edges[1:, 1:])
        found = [(int(s), int(t), float(edges[s, t])) for s, t in np.argwhere(edges)]
        names = [f"f{s + 1}" for s in range(model.n_voters)]
        roles = [words[int(np.sign(weight))] for weight in weights]
        return cls(names, weights, roles, sort_links(found))

    @property
    def counted(self) -> NDArray[np.bool_]:
        """Whether each voter counts."""
        return np.array([role not in OUTSIDE for role in self.roles], dtype=np.bool_)

    @property
    def alone(self) -> NDArray[np.bool_]:
        """Who is drawn as one node: those tied to the truth and to nobody else, where many are."""
        linked = {s for link in self.links for s in link[:2]}.union(*self.families)
        free = np.array([s not in linked for s in range(len(self.names))], dtype=np.bool_)
        free &= self.weights > 0
        return free if np.count_nonzero(free) > MOST_ALONE else np.zeros_like(free)

    def links_between_families(self) -> list[Edge]:
        """Return the links that are drawn: within a family its node stands for them."""
        family = {s: c for c, kin in enumerate(self.families) for s in kin}
        return [one for one in self.links if family.get(one[0], -1) != family.get(one[1], -2)]

    def neighbors(self) -> list[list[tuple[int, float]]]:
        """Return for every voter the others it is linked to, with weights, strongest first."""
        found: list[list[tuple[int, float]]] = [[] for _ in self.names]
        for s, t, weight in self.links:
            found[s].append((t, weight))
            found[t].append((s, weight))
        return found


def selects_experts(model: Aggregator) -> bool:
    """Return whether only experts count; in a consensus they are better than others who count.

    Examples
    --------
    >>> import unelisa as ue
    >>> votes = ue.simulate_votes(random_state=0).votes
    >>> selects_experts(ue.UnElisa(random_state=0).fit(votes))
    True
    """
    return "expert" in model.verdicts and getattr(model, "reading_", "edges") == "edges"


def find_families(model: Aggregator) -> list[list[int]]:
    """Return the families of voters who repeat each other, the heaviest voter of each first.

    Examples
    --------
    >>> import unelisa as ue
    >>> find_families(ue.MajorityVote().fit([[1, -1], [-1, 1]]))
    []
    """
    voter = {name: s for s, name in enumerate(model.voter_names_)}
    place = {s: k for k, s in enumerate(rank_voters(model))}
    families: Any = getattr(model, "families_", [])
    return [sorted((voter[name] for name in kin), key=place.__getitem__) for kin in families]


def sort_links(links: list[Edge]) -> list[Edge]:
    """Return the links, strongest first; ties in the order of the voters."""
    return sorted(links, key=lambda link: (-abs(link[2]), link[0], link[1]))


def rank_voters(model: Aggregator) -> list[int]:
    """Return the voters by decreasing absolute weight; ties in their own order."""
    sizes = np.abs(np.nan_to_num(model.weights_))
    return [int(s) for s in np.argsort(-sizes, kind="stable")]


def list_voters(
    model: Aggregator, ranking: list[int], network: Network, rates: dict[str, Floats]
) -> list[dict[str, Any]]:
    """Return one row per voter in the order of the ranking: the columns of `voters_`, and links.

    The columns of `estimate_rates` are used where the model has none of that name.
    """
    table = {**rates, **{name: column.to_numpy() for name, column in model.voters_.items()}}
    place = {voter: row for row, voter in enumerate(ranking)}
    neighbors = network.neighbors()
    rows = []
    for s in ranking:
        row = {name: make_plain(column[s]) for name, column in table.items()}
        near = neighbors[s]
        row["voter"] = str(model.voter_names_[s])
        row["links"] = len(near)
        row["depends_on"] = [{"voter": place[t], "weight": w} for t, w in near[:NAMED_LINKS]]
        rows.append(row)
    return rows


def estimate_rates(judged: Judged) -> dict[str, Floats]:
    """Return what the labels of the items say of every voter; NaN where it voted on no such item.

    agreement: the share of its votes that equal the label. Of two classes also, given the items'
    posteriors tau: lean, its share of yes beyond the mean of tau on its items, and::

        sensitivity_s = sum_i tau_i [f_is = 1] / sum_i tau_i |f_is|

    and likewise specificity for the other class.

    Examples
    --------
    >>> import unelisa as ue
    >>> votes = ue.Votes.of([[1, 1, -1], [1, 1, 1], [-1, -1, -1]], coding="pm1")
    >>> found = estimate_rates(Judged.of(ue.MajorityVote().fit(votes), votes))
    >>> found["agreement"].round(2), found["sensitivity"]
    (array([1.  , 1.  , 0.67]), array([1. , 1. , 0.5]))
    """
    votes = judged.votes
    counts = votes.vote_counts().astype(np.float64)
    if not judged.two_classes:
        own = np.eye(len(judged.classes))[judged.picked]
        same = np.trace(tally_confusions(votes, own), axis1=1, axis2=2)
        return {"agreement": _share(same, counts)}
    hits, rejections, _ = _count_sides(votes, judged.picked.astype(np.float64))
    same = hits + rejections
    hits, rejections, observed = _count_sides(votes, judged.as_shares())
    return {
        "agreement": _share(same, counts),
        "lean": np.where(
            votes.sides.all(axis=0), _share(votes.sides[1] - observed, counts), np.nan
        ),
        "sensitivity": _share(hits, observed),
        "specificity": _share(rejections, counts - observed),
    }


def _count_sides(votes: Votes, shares: Floats) -> tuple[Floats, Floats, Floats]:
    """Return per voter the expected yes on items that are yes, no on others, and items of yes."""
    signed, observed = votes.blocks.tally(np.ascontiguousarray(shares))
    return (observed + signed) / 2, votes.sides[0] - (observed - signed) / 2, observed


def _share(part: Floats, whole: Floats) -> Floats:
    shares = np.full(len(whole), np.nan)
    np.divide(part, whole, out=shares, where=whole > 1e-6)  # less is rounding
    return shares
