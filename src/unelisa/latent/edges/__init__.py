"""The edges reading: the truth is the hub of the voters' graph, and voters depend on each other.

1. A graph without a truth node is fitted (`pilot`).
2. What its edges leave unexplained suggests where the truth may be (`pilot` too).
3. A search from each start alternates EM with moves that change the graph (`search`), and the
   network with the shortest description of the votes wins.

All of it maximizes one pseudo-likelihood (`likelihood`) by Newton steps (`newton`) under
spike-and-slab priors (`slab`).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.kernels.blas import one_blas_thread
from unelisa.latent.edges.likelihood import PseudoLikelihood
from unelisa.latent.edges.newton import Newton, slab_penalty
from unelisa.latent.edges.pilot import Start, fit_pilot, propose_starts, resembles, warm_up
from unelisa.latent.edges.search import Search
from unelisa.latent.edges.slab import Floats, learn_weight_slab
from unelisa.progress import each, until

__all__ = ["EdgesFit", "fit_edges"]

UNBALANCED = 3.0  # mean chi-square of the voters' balance above which biases are fitted
UNTOLD = -10.0  # gain below which the votes do not tell who is an expert, and all weights count
CARRIED = 3  # the cheapest starts, which are improved to the end


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
    """Return the latent Ising model of the votes (items x voters) in the edges reading.

    Every voter gave both answers.
    """
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
            starts = _keep_distinct([search.renew(start) for start in each(warm)])
        with until(0.95):
            ends = [search.improve(start) for start in each(starts[:CARRIED])]
        return _summarize(sorted(ends, key=lambda end: end.cost), search)


def _keep_distinct(starts: list[Start]) -> list[Start]:
    """Return the starts that differ from each other, cheapest first."""
    kept: list[Start] = []
    for start in sorted(starts, key=lambda start: start.cost):
        if not resembles(start.network.weights, [other.network.weights for other in kept]):
            kept.append(start)
    return kept


def _summarize(ends: list[Start], search: Search) -> EdgesFit:
    """Return the cheapest network with a free refit of its weights, and the other ends."""
    network, likelihood = ends[0].network, search.likelihood
    posterior = likelihood.posterior(network)
    newton = Newton(likelihood, network.support)
    free = newton.run(network, slab_penalty(network), 3, posterior=posterior)
    weights, errors = free.network.weights, newton.standard_errors(free.hessians)
    slab, gain = learn_weight_slab(weights, errors), search.gain(network)
    shrunk = slab.shrink(weights, errors) if gain > UNTOLD else network.weights
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
