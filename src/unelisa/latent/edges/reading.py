"""The edges as a reading: the truth is the hub of the voters' graph."""

from dataclasses import dataclass, replace

import numpy as np

from unelisa.errors import VotesError
from unelisa.kernels.ballots import weigh_ballots
from unelisa.latent.crowd import Crowd
from unelisa.latent.edges import fit_edges
from unelisa.latent.reading import DECIDE, TWO_READINGS, Caution, Correction, Links, Reading
from unelisa.schema import stored
from unelisa.votes.ballots import Ballots, Floats

NOTHING_FOUND = "a model of uninformative voters fits equally well: no expert is claimed"
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
    def weights(self) -> Floats:
        """a_s."""
        return self.model.weights

    @property
    def fields(self) -> Floats:
        """b_s."""
        return self.model.biases

    def think(self, ballots: Ballots) -> Floats:
        """Return plus and minus theta_0 + sum_s a_s f_is. A pass."""
        said = self.model.field + weigh_ballots(*ballots[:3], self.model.weights)
        return np.stack([-said, said], axis=1)

    def leans_down(self) -> bool:
        """Return whether most experts are on the other side."""
        weights = self.model.weights
        weights = weights[self.experts if self.experts.any() else np.abs(weights) > 0]
        return (float(np.sign(weights).sum()) or float(weights.sum())) < 0

    def turned(self) -> "EdgesReading":
        """Return the same reading with the two sides of the truth swapped."""
        hub = replace(self.model, weights=-self.model.weights, field=-self.model.field)
        return replace(self, model=hub, correction=self.correction.turned())


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
        heads=crowd.heads,
        family=np.full(n_voters, -1, dtype=np.int32),
        correction=Correction.none(2, n_voters),
        reasons=tuple(reasons),
    )
