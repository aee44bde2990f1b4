import numpy as np
import pytest

from unelisa.ising import Ising
from unelisa.latent.edges.likelihood import PseudoLikelihood
from unelisa.latent.edges.pilot import MOST_PARTNERS, candidate_pairs, fit_pilot
from unelisa.simulation import sample_ising


@pytest.fixture(scope="module")
def ring():
    """Twelve voters on a ring with edges of either sign, and no truth."""
    edges = np.zeros((13, 13))
    for s in range(12):
        t = (s + 1) % 12
        edges[s + 1, t + 1] = edges[t + 1, s + 1] = 0.6 if s % 2 else -0.6
    return edges[1:, 1:], sample_ising(Ising(0.0, edges), 1500, random_state=0).states[:, 1:]


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_graph_without_truth_is_recovered(ring, missing):
    edges, states = ring
    values = states.astype(np.int8)
    values[np.random.default_rng(0).random(values.shape) < missing] = 0
    pilot = fit_pilot(PseudoLikelihood(values, np.zeros(1), fit_biases=False))
    assert np.array_equal(pilot.graph.support, edges != 0)
    assert pilot.graph.slab.size == pytest.approx(0.6, abs=0.12)
    if not missing:
        assert np.allclose(pilot.graph.edges, edges, atol=0.15)


def test_edges_stay_symmetric_and_off_the_diagonal(ring):
    graph = fit_pilot(PseudoLikelihood(ring[1].astype(np.int8), np.zeros(1), fit_biases=True)).graph
    assert np.array_equal(graph.edges, graph.edges.T)
    assert not graph.support.diagonal().any()


def test_with_very_many_voters_only_the_strongest_pairs_are_considered():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(200, 200))
    scores += scores.T
    scores[3, 4] = scores[4, 3] = 50.0
    pairs = candidate_pairs(scores)
    assert pairs[3, 4]
    assert np.array_equal(pairs, pairs.T)
    assert MOST_PARTNERS / 2 <= pairs.sum(axis=1).mean() < MOST_PARTNERS
    assert candidate_pairs(scores[:20, :20]).sum() == 20 * 19
