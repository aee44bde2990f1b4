"""The edges as a reading: the truth is the hub of the voters' graph."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from unelisa.blocks import ItemBlocks
from unelisa.errors import VotesError
from unelisa.kernels.ballots import weigh_ballots
from unelisa.latent.ballots import Ballots, Floats, fill_silence
from unelisa.latent.crowd import Crowd
from unelisa.latent.edges import EdgesFit, fit_edges
from unelisa.latent.reading import (
    DECIDE,
    NOTHING_FOUND,
    TWO_READINGS,
    Caution,
    Links,
    Reading,
    count_effective,
)
from unelisa.schema import stored

FEWEST_VOTERS = 2
EDGE_ITEMS = 6000  # largest number of items that a graph is fitted to
NEAR_COST = 10.0  # nats within which two starts of the graph are equally good
SAME_AXIS = 0.85  # share of the items on which two starts with the same truth agree
MOST_ODDS = 30.0  # log-odds of a gold label in the graph's fit


@stored(
    weights="finite[voters]",
    biases="finite[voters]",
    standard_errors="float[voters]",
    field="finite",
    links="Links",
)
@dataclass(frozen=True, eq=False)
class Hub:
    """The hub of the voters' graph."""

    # weights, biases, standard_errors: a, b and the standard error of a per voter
    weights: Floats
    biases: Floats
    standard_errors: Floats
    field: float  # theta_0
    links: Links  # the edges
    converged: ClassVar[bool] = True


@stored(model="Hub")
@dataclass(frozen=True, eq=False, kw_only=True)
class EdgesReading(Reading):
    """The truth is the hub of the voters' graph; its sign is open."""

    name: str = "edges"
    model: Hub
    sign_is_open = True

    @property
    def field(self) -> float:
        """theta_0: half the log-odds of an item without votes."""
        return self.model.field

    @property
    def links(self) -> Links:
        """The edges between voters."""
        return self.model.links

    @property
    def effective_voters(self) -> float:
        """(sum |a|)^2 / sum a^2: how many equally good independent voters."""
        return count_effective(self.model.weights)

    def score(self, ballots: ItemBlocks) -> Floats:
        """Return the log-odds of every item's truth."""
        filled = ballots.view(fill_silence, self.silence)
        return filled.concatenate(score_edges, self.model.weights, self.model.field)

    def is_upside_down(self, ballots: ItemBlocks, prior_odds: Floats) -> bool:
        """Return whether prior odds, or else most experts, say that the sides are swapped."""
        if prior_odds.any() and (side := prior_odds @ self.score(ballots)) != 0:
            return bool(side < 0)
        weights = self.model.weights
        weights = weights[self.experts if self.experts.any() else np.abs(weights) > 0]
        return (float(np.sign(weights).sum()) or float(weights.sum())) < 0

    def turned(self) -> "EdgesReading":
        """Return the same reading with the two sides of the truth swapped."""
        hub = replace(self.model, weights=-self.model.weights, field=-self.model.field)
        answers = None if self.answers is None else self.answers.turned()
        return replace(self, model=hub, answers=answers)


def read_edges(crowd: Crowd) -> EdgesReading:
    """Return the hub of the voters' graph."""
    voters, n_voters = crowd.varied, crowd.ballots.n_voters
    if len(voters) < FEWEST_VOTERS:
        raise VotesError(
            f"a graph needs {FEWEST_VOTERS} voters who gave both answers, found {len(voters)}: "
            "choose another structure than 'edges'"
        )
    sample = crowd.draw(EDGE_ITEMS)
    prior_odds = np.clip(sample.ballots.prior_odds, -MOST_ODDS, MOST_ODDS)
    values = np.asfortranarray(sample.tabulate()[:, voters])
    found = fit_edges(values, prior_odds)
    weights, biases, chances = np.zeros((3, n_voters))
    weights[voters], biases[voters] = found.weights, found.biases
    errors, chances[voters] = np.full(n_voters, np.nan), found.expert_chance
    errors[voters] = found.standard_errors
    s, t = np.nonzero(np.triu(found.edges, 1))
    ends = voters[s].astype(np.int32), voters[t].astype(np.int32)
    informative = found.gain > len(voters)  # one nat per weight, as in Akaike's criterion
    best, *others = found.starts
    reasons = [
        Caution(
            f"{TWO_READINGS}: the two best starts of the graph agree on {start.agreement:.0%} of "
            f"the items; {DECIDE}"
        )
        for start in others[:1]
        if start.agreement < SAME_AXIS and start.cost - best.cost < NEAR_COST
    ]
    if not informative:
        gain = f"a truth gains {found.gain:.1f} nats, one per voter is needed"
        reasons.insert(0, Caution(f"{NOTHING_FOUND} ({gain})"))
    return EdgesReading(
        structure="edges",
        model=Hub(weights, biases, errors, found.field, Links(*ends, found.edges[s, t])),
        experts=(chances > 0.5) & informative,
        silence=crowd.silence,
        family=np.full(n_voters, -1, dtype=np.int32),
        branches=int(np.count_nonzero(crowd.votes)),
        evidence=found.gain,
        reasons=tuple(reasons),
        table=_list_starts(found),
    )


def score_edges(ballots: Ballots, weights: Floats, field: float) -> Floats:
    """Return 2 (theta_0 + z_i / 2 + sum_s a_s f_is) per item. A pass."""
    said = weigh_ballots(*ballots[:3], weights)
    return np.asarray(2 * (field + said) + ballots.prior_odds)


def _list_starts(found: EdgesFit) -> tuple[dict[str, Any], ...]:
    return tuple(
        {
            "structure": f"edges, start {start.name}",
            "gain": found.gain - (start.cost - found.starts[0].cost),
            "agreement": start.agreement,
            "cost": start.cost,
            "kept": k == 0,
        }
        for k, start in enumerate(found.starts)
    )
