"""The edges reading: the truth is the hub of the voters' graph, and voters depend on each other.

Starts come from what the edges of a graph without a truth node leave unexplained.
"""

from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import VotesError
from unelisa.kernels.tally import weigh_ballots
from unelisa.kernels.threads import one_blas_thread
from unelisa.latent.crowd import Crowd
from unelisa.latent.edges.network import Newton, PseudoLikelihood, learn_weight_slab, slab_penalty
from unelisa.latent.edges.search import Search, Start, fit_pilot, propose_starts, resembles, warm_up
from unelisa.latent.reading import DECIDE, TWO_READINGS, Caution, Correction, Links, Reading
from unelisa.progress import each, until
from unelisa.schema import stored
from unelisa.votes.ballots import Ballots, Floats

NOTHING_FOUND = "a model of uninformative voters fits equally well: no expert is claimed"
FEWEST_VOTERS = 2
EDGE_ITEMS = 6000  # largest number of items that a graph is fitted to
NEAR_COST = 10.0  # nats within which two starts of the graph are equally good
SAME_AXIS = 0.85  # share of the items on which two starts with the same truth agree
MOST_ODDS = 30.0  # log-odds of a gold label in the graph's fit
UNBALANCED = 3.0  # mean chi-square of the voters' balance above which biases are fitted
UNDECIDED = -10.0  # gain below which the votes do not show who is an expert, and all weights count
CARRIED = 3  # the cheapest starts, which are improved to the end


@stored()
@dataclass(frozen=True, eq=False)
class Hub:
    """The hub of the voters' graph."""

    weights: Annotated[Floats, "finite[voters]"]  # a_s
    biases: Annotated[Floats, "finite[voters]"]  # b_s
    standard_errors: Annotated[Floats, "float[voters]"]  # of a_s
    field: Annotated[float, "finite"]  # theta_0
    links: Annotated[Links, "Links"]  # the edges


@stored(model="Hub")
@dataclass(frozen=True, eq=False, kw_only=True)
class EdgesReading(Reading):
    """The truth is the hub of the voters' graph; its sign is open."""

    name: str = "edges"
    model: Hub
    sign_is_open = True

    def think(self, ballots: Ballots) -> Floats:
        """Return plus and minus theta_0 + sum_s a_s f_is. A pass."""
        weights = self.model.weights
        said = self.model.field + weigh_ballots(ballots[:3], weights, 0 * weights)
        return np.stack([-said, said], axis=1)

    def needs_turning(self) -> bool:
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


class EdgesFit(NamedTuple):
    """The latent Ising model with edges between voters; the sign of the truth is not identified."""

    field: float  # theta_0
    weights: Floats  # posterior means of a_s, near 0 for voters that are not experts
    standard_errors: Floats  # of a_s
    expert_chance: Floats  # gamma_s
    biases: Floats  # b_s
    edges: Floats  # W, voters x voters
    gain: float  # nats by which the fit is cheaper than the graph without a truth node
    starts: list[Start]  # those that were improved to the end, cheapest first


def fit_edges(values: NDArray[np.int8], prior_odds: Floats) -> EdgesFit:
    """Return the latent Ising model of the votes (items x voters) in the edges reading."""
    sums, counts = values.sum(axis=0, dtype=np.float64), np.count_nonzero(values, axis=0)
    unbalanced = bool(np.mean(sums**2 / np.maximum(counts, 1)) > UNBALANCED)
    with one_blas_thread():
        likelihood = PseudoLikelihood(values, prior_odds, fit_biases=unbalanced)
        with until(0.3):
            pilot = fit_pilot(likelihood)
        search, proposed = Search(likelihood, pilot), list(propose_starts(likelihood, pilot))
        with until(0.4):
            warm = [warm_up(likelihood, start) for start in each(proposed)]
        with until(0.7):
            renewed = sorted((search.renew(start) for start in each(warm)), key=_cost)
        starts: list[Start] = []
        for start in renewed:
            if not resembles(start.network.weights, [one.network.weights for one in starts]):
                starts.append(start)
        with until(0.95):
            ends = [search.improve(start) for start in each(starts[:CARRIED])]
        return _summarize(sorted(ends, key=_cost), search)


def _cost(start: Start) -> float:
    return start.cost


def _summarize(ends: list[Start], search: Search) -> EdgesFit:
    """Return the cheapest network with a free refit of its weights, and the other ends."""
    network, likelihood = ends[0].network, search.likelihood
    posterior = likelihood.posterior(network)
    newton = Newton(likelihood, network.support)
    free = newton.run(network, slab_penalty(network), 3, posterior=posterior)
    weights, errors = free.network.weights, newton.standard_errors(free.hessians)
    slab, gain = learn_weight_slab(weights, errors), search.gain(network)
    shrunk = slab.shrink(weights, errors) if gain > UNDECIDED else network.weights
    yes = posterior > 0.5
    shares = [float(np.mean((likelihood.posterior(end.network) > 0.5) == yes)) for end in ends]
    pairs = zip(ends, shares, strict=True)
    return EdgesFit(
        network.field,
        shrunk,
        errors,
        slab.expert_probabilities(weights, errors),
        free.network.biases,
        network.edges,
        gain,
        [end._replace(agreement=max(share, 1 - share)) for end, share in pairs],
    )
