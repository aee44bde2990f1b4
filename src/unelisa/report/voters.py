"""The voters: their graph, their rows with verdicts and figures, the columns and the dot plot."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators import Aggregator
from unelisa.analysis.confusions import tally_confusions
from unelisa.analysis.judged import Judged
from unelisa.outputs import make_plain
from unelisa.paper.ising import Edge, Ising
from unelisa.report.wording import OUTSIDE, quote, show_name, show_verdict
from unelisa.votes import Votes

Floats = NDArray[np.float64]

NAMED_LINKS = 5  # the strongest links of a voter are named, the others counted
MOST_LINKS = 1_500  # more lines than this form a gray disc, and are slow to move
MEASURES = ("accuracy", "agreement")  # what is drawn: the first that is known of any voter
STEP = 0.1  # between the lines of the scale
INSET = 3.0  # percent of the width at both ends of the scale, so that no dot is cut
MOST_ALONE = 20  # more voters than this without edges are drawn as one node


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
        roles = [show_verdict(verdict) for verdict in model.voter_columns_["verdict"]]
        return cls(
            [str(name) for name in model.voter_names_],
            np.where([role not in OUTSIDE for role in roles], model.weights_, 0.0),
            roles,
            sort_links(getattr(model, "edges_", [])),
            find_families(model),
        )

    @classmethod
    def of_ising(cls, model: Ising) -> "Network":
        """Return the network of an Ising model, its voters named f1, f2, ... as in the paper."""
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
        """Whether each voter is drawn in the node of those without edges, where they are many."""
        linked = {s for link in self.links for s in link[:2]}.union(*self.families)
        free = np.array([s not in linked for s in range(len(self.names))], dtype=np.bool_)
        free &= self.weights > 0
        return free if np.count_nonzero(free) > MOST_ALONE else np.zeros_like(free)

    def links_between_families(self) -> list[Edge]:
        """Return the links that are drawn: those within a family are not."""
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
    """Return whether only experts count; in a consensus they are better than others who count."""
    return "expert" in model.verdicts and getattr(model, "reading_", "edges") == "edges"


def find_families(model: Aggregator) -> list[list[int]]:
    """Return the families of voters who repeat each other, the heaviest voter of each first."""
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
    """Return one row per voter in the order of the ranking: the columns of `voters_`, and links."""
    table = {**rates, **model.voter_columns_}
    place = {voter: row for row, voter in enumerate(ranking)}
    neighbors = network.neighbors()
    rows = []
    for s in ranking:
        row = {name: make_plain(column[s]) for name, column in table.items()}
        near = [{"voter": place[t], "weight": w} for t, w in neighbors[s][:NAMED_LINKS]]
        name, links = str(model.voter_names_[s]), len(neighbors[s])
        rows.append({**row, "voter": name, "links": links, "depends_on": near})
    return rows


def estimate_rates(judged: Judged) -> dict[str, Floats]:
    """Return rates of every voter, judged by the items' labels; NaN where it has no such vote.

    agreement: the share of its votes that equal the label. Of two classes also lean, its share of
    yes minus the mean posterior tau on its items, and specificity like sensitivity::

        sensitivity_s = sum_i tau_i [f_is = 1] / sum_i tau_i |f_is|
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
    varies = votes.sides.all(axis=0)
    return {
        "agreement": _share(same, counts),
        "lean": np.where(varies, _share(votes.sides[1] - observed, counts), np.nan),
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


class Column(NamedTuple):
    """One column of the voters' table: the row's key, its title, how values are written."""

    key: str
    title: str
    kind: str
    hint: str = ""
    detail: bool = False  # whether only a voter's card shows it


_COLUMNS = (  # yes and no are the two classes, in the user's words
    Column("voter", "Voter", "name"),
    Column("verdict", "Verdict", "verdict"),
    Column("family", "Family", "family", "voters who repeat each other, named after the heaviest"),
    Column("accuracy", "Accuracy", "interval", "probability that a vote is right, 90% interval"),
    Column("sensitivity", "Sensitivity", "percent", "says {yes} where the label is {yes}"),
    Column("specificity", "Specificity", "percent", "says {no} where the label is {no}"),
    Column("ppv", "PPV", "percent", "right when it says {yes}", True),
    Column("npv", "NPV", "percent", "right when it says {no}", True),
    Column("lean", "Says {yes}", "lean", "how much too often it says {yes}", True),
    Column("weight", "Weight", "number", "how much a vote counts"),
    Column("standard_error", "Std. error", "number", "standard error of the weight", True),
    Column("stability", "Stability", "percent", "share of the resamples with the same verdict"),
    Column("agreement", "Agreement", "percent", "share of the votes that equal the label"),
    Column("votes", "Votes", "count", "", True),
    Column("coverage", "Coverage", "percent", "share of items with a vote"),
    Column("overlaps", "Overlaps", "percent", "items that another voter also voted on", True),
    Column("conflicts", "Conflicts", "percent", "items on which another voter disagrees", True),
)
_END = (Column("depends_on", "Depends on", "links"), Column("reason", "Reason", "text"))
_RECALL, _N_RATES = "recall_", 9  # of one of more than two classes; the columns before these


def choose_columns(voters: Sequence[Mapping[str, Any]], classes: Sequence[Any]) -> list[Column]:
    """Return the columns that hold anything, including a method's own further figures."""
    words = {"no": quote(classes[0]), "yes": quote(classes[-1])}
    recalls = [
        Column(key, f"Recall of {show_name(key.removeprefix(_RECALL), 24)}", "percent", "", True)
        for key in voters[0]
        if key.startswith(_RECALL) and not key.endswith(("_low", "_high"))
    ]
    usual = [
        c._replace(title=c.title.format(**words), hint=c.hint.format(**words)) for c in _COLUMNS
    ]
    usual[_N_RATES:_N_RATES] = recalls
    known = {column.key for column in (*usual, *_END)} | {"links"}
    known |= {f"{key}_{end}" for key in voters[0] for end in ("low", "high")}
    own = [Column(k, k.capitalize(), "number", detail=True) for k in voters[0] if k not in known]
    # voters with relatives depend on them, and the family's column shows these
    families = any(voter.get("family") for voter in voters)
    wanted = (*usual, *own, *(_END[1:] if families else _END))
    return [c for c in wanted if any(voter.get(c.key) not in (None, [], "") for voter in voters)]


def draw_dots(
    voters: Sequence[Mapping[str, Any]], families: Sequence[Sequence[int]]
) -> dict[str, Any] | None:
    """Return a row for every voter, the least accurate first; None where nothing is known."""
    measure = next((m for m in MEASURES if any(v.get(m) is not None for v in voters)), None)
    if measure is None:
        return None
    values = [voter.get(measure) for voter in voters]
    bounds = [[voter.get(f"{measure}_{end}") for end in ("low", "high")] for voter in voters]
    known = [x for x in (*values, *chain(*bounds)) if x is not None]
    floor = min(np.floor(min(known) / STEP + 1e-9) * STEP, 1 - STEP)
    rows = [
        {
            "voter": s,
            "x": _place(values[s], floor),
            "low": _place(bounds[s][0], floor),
            "high": _place(bounds[s][1], floor),
            "family": family,
            "first": k == 0,
            "last": k == len(group) - 1,
        }
        for group in _order_groups(values, families)
        for k, (s, family) in enumerate(group)
    ]
    ticks = [(_place(x, floor), round(100 * x)) for x in np.arange(floor, 1 + STEP / 2, STEP)]
    return {"measure": measure, "rows": rows, "ticks": ticks}


def _order_groups(
    values: Sequence[float | None], families: Sequence[Sequence[int]]
) -> list[list[tuple[int, int | None]]]:
    """Return families and voters without one, as (voter, family): the worst first."""
    rank = [np.inf if value is None else value for value in values]
    groups: list[Any] = [
        sorted(((s, c) for s in family), key=lambda one: rank[one[0]])
        for c, family in enumerate(families)
        if len(family) > 1
    ]
    inside = {s for group in groups for s, _ in group}
    groups += [[(s, None)] for s in range(len(values)) if s not in inside]
    return sorted(groups, key=lambda group: rank[group[0][0]])


def _place(value: float | None, floor: float) -> float | None:
    if value is None:
        return None
    return round(INSET + (100 - 2 * INSET) * float((value - floor) / (1 - floor)), 1)
