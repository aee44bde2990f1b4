"""The edges reading: the truth is the hub of the voters' graph, and voters depend on each other.

A graph without a truth node is fitted first (`pilot`). What its edges leave over tells where the
truth may be (`starts`); a search from each start (`search`) ends in a network, and the cheapest one
wins.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.latent.joint import Floats, Joint, Network
from unelisa.latent.newton import Newton
from unelisa.latent.pilot import Pilot, edge_penalty, fit_pilot
from unelisa.latent.search import Search
from unelisa.latent.slab import learn_weight_slab
from unelisa.latent.starts import Start, propose_starts, resembles, warm_up
from unelisa.solvers.blas import one_blas_thread

LEANING_CHI_SQUARE = 3.0  # mean over the voters' sums from which fields are fitted; 1 is balance
PART_FROM, PART = 2500, 2000  # of more items than this, starts are compared on a part
SMALL = 1e7  # items x voters^2 up to which more starts are tried
TRIED_SMALL, TRIED = 10, 4  # starts whose edges are chosen anew
CARRIED = 2  # the best of them, which go on to the end


class StartRow(NamedTuple):
    """One start that was carried to the end."""

    name: str
    cost: float  # nats
    agreement: float  # share of the items on which its truth is the winner's, up to sign


class EdgesFit(NamedTuple):
    """The latent Ising model with edges between voters; the truth's sign is open."""

    field: float  # theta_0
    weights: Floats  # posterior means of a_s, near 0 for those that are no experts
    standard_errors: Floats  # of a_s
    expert_chance: Floats  # gamma_s
    fields: Floats  # b_s
    edges: Floats  # W, voters x voters
    gain: float  # nats by which the fit beats the graph without a truth node
    starts: list[StartRow]  # cheapest first


class _Candidate(NamedTuple):
    """A network that a start led to; its search holds the slab that goes with it."""

    name: str
    network: Network
    search: Search
    cost: float


def fit_edges(values: NDArray[np.int8], prior: Floats | None, rng: np.random.Generator) -> EdgesFit:
    """Return the latent Ising model of the votes in the edges reading.

    Parameters
    ----------
    values
        Items x voters, -1, 0 (abstained) or +1; every voter gave both answers.
    prior
        Log-odds of the truth per item, known beforehand.
    rng
        Draws the items on which starts are compared.
    """
    sums, counts = values.sum(axis=0, dtype=np.float64), np.count_nonzero(values, axis=0)
    leaning = bool(np.mean(sums**2 / np.maximum(counts, 1)) > LEANING_CHI_SQUARE)
    with one_blas_thread():
        joint = Joint(values, prior, fit_fields=leaning)
        pilot = fit_pilot(joint)
        rows = _part(len(values), rng)
        part = Joint(values[rows], None if prior is None else prior[rows], fit_fields=leaning)
        starts = _choose_starts(joint, part, pilot)
        candidates = [_candidate(start, Search(joint, pilot)) for start in starts]
        ends = [_carry(candidate) for candidate in _distinct(candidates)]
        ends.sort(key=lambda end: end.cost)
        return _summarise(ends)


def _part(n_items: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the items on which starts are compared."""
    if n_items <= PART_FROM:
        return np.arange(n_items)
    return np.sort(rng.choice(n_items, PART, replace=False))


def _choose_starts(joint: Joint, part: Joint, pilot: Pilot) -> list[Start]:
    """Return the cheapest distinct starts after some EM, half of them without explained edges."""
    search = Search(part, pilot)
    warm = [warm_up(part, start, pilot) for start in propose_starts(joint, pilot)]
    warm.sort(key=lambda start: search.cost(start.network))
    small = joint.n_items * joint.n_voters**2 < SMALL
    n_tried = TRIED_SMALL if small else TRIED
    chosen: list[Start] = []
    for start in warm:
        same_kind = sum(other.explained == start.explained for other in chosen)
        known = resembles(start.network.weights, [other.network.weights for other in chosen])
        if 2 * same_kind < n_tried and not known:
            chosen.append(start)
    return chosen


def _candidate(start: Start, search: Search) -> _Candidate:
    """Return where a start leads when its edges are chosen anew."""
    network = search.reselect(start.network)
    return _Candidate(start.name, network, search, search.cost(network))


def _distinct(candidates: list[_Candidate]) -> list[_Candidate]:
    """Return the cheapest candidates that differ from each other."""
    kept: list[_Candidate] = []
    for candidate in sorted(candidates, key=lambda candidate: candidate.cost):
        known = resembles(candidate.network.weights, [other.network.weights for other in kept])
        if len(kept) < CARRIED and not known:
            kept.append(candidate)
    return kept


def _carry(candidate: _Candidate) -> _Candidate:
    """Return where the moves lead from a candidate."""
    network = candidate.search.improve(candidate.network)
    return candidate._replace(network=network, cost=candidate.search.cost(network))


def _summarise(ends: list[_Candidate]) -> EdgesFit:
    """Return the cheapest network with a free refit of its weights, and the other ends."""
    best = ends[0]
    joint = best.search.joint
    posterior = joint.posterior(best.network)
    newton = Newton(joint, best.network.support)
    penalty = edge_penalty(best.network, best.search.slab)
    free = newton.run(best.network, penalty, 3, posterior=posterior)
    errors = newton.standard_errors()
    slab = learn_weight_slab(free.weights, errors)
    yes = posterior > 0.5
    shares = [float(np.mean((joint.posterior(end.network) > 0.5) == yes)) for end in ends]
    return EdgesFit(
        best.network.field,
        slab.means(free.weights, errors),
        errors,
        slab.expert_chances(free.weights, errors),
        free.fields,
        best.network.edges,
        best.search.gain(best.network),
        [
            StartRow(end.name, end.cost, max(share, 1 - share))
            for end, share in zip(ends, shares, strict=True)
        ],
    )
