import numpy as np
import pytest

from unelisa.latent import edges as edges_module
from unelisa.latent.edges import fit_edges
from unelisa.paper.ising import Ising
from unelisa.simulation.designs import sample_ising, simulate_votes


def fit(values, prior_odds=None):
    values = np.asarray(values).astype(np.int8)
    known = np.zeros(len(values)) if prior_odds is None else prior_odds
    return fit_edges(values, known)


def accuracy(found, values, truth):
    share = np.mean(np.sign(found.field + values @ found.weights) == truth)
    return max(share, 1 - share)


def check_recovery(simulated, loss=0.01):
    values = np.asarray(simulated.votes.values)
    found = fit(values)
    assert np.array_equal(np.flatnonzero(found.expert_chance > 0.5), simulated.experts)
    assert found.gain > values.shape[1]
    oracle = np.mean(simulated.model.decision(values) == simulated.truth)
    assert accuracy(found, values, simulated.truth) > oracle - loss
    return found


@pytest.mark.parametrize("snr", ["high", "medium", "low"])
def test_experts_and_labels_of_the_paper_designs_are_recovered(snr):
    simulated = simulate_votes(25, "sqrt", snr, random_state=0)
    found = check_recovery(simulated)
    true = simulated.model.edges[1:, 1:] != 0
    assert np.mean(found.edges[true] != 0) > 0.9
    assert np.mean(found.edges[~true] != 0) < 0.02


@pytest.mark.parametrize(
    "departure",
    [{"expert_edges": 2}, {"voter_fields": 0.3, "field": 0.3}, {"missing": 0.2}],
    ids=["expert edges", "fields", "missing"],
)
def test_departures_from_the_paper_are_tolerated(departure):
    check_recovery(
        simulate_votes(20, 6, "medium", n_items=1500, random_state=1, **departure), loss=0.02
    )


def test_biases_are_recovered_and_a_graph_without_truth_supports_none():
    simulated = simulate_votes(
        20, 6, "medium", n_items=2000, voter_fields=0.5, field=0.4, random_state=2
    )
    found = fit(simulated.votes.values)
    assert np.corrcoef(found.biases, simulated.model.fields[1:])[0, 1] > 0.8
    edges = np.zeros((21, 21))
    for s in range(20):
        t = (s + 1) % 20
        edges[s + 1, t + 1] = edges[t + 1, s + 1] = 0.6 if s % 2 else -0.6
    states = sample_ising(Ising(0.0, edges), 1000, random_state=0).states
    assert fit(states[:, 1:]).gain <= 20


@pytest.mark.parametrize("seed", range(3))
def test_pure_noise_does_not_support_a_truth(seed):
    values = np.random.default_rng(seed).choice([-1, 1], size=(600, 20))
    assert fit(values).gain <= 20


def test_where_experts_cannot_be_told_all_weights_count(monkeypatch):
    """Edges freeze the votes: the labels are right, but who is an expert is not in the votes."""
    simulated = simulate_votes(49, "quarter", "low", random_state=4)
    values = np.asarray(simulated.votes.values)
    found = fit(values)
    assert found.gain < edges_module.UNDECIDED
    assert accuracy(found, values, simulated.truth) > 0.98
    monkeypatch.setattr(edges_module, "UNDECIDED", -np.inf)
    assert np.abs(fit(values).weights).sum() < np.abs(found.weights).sum()


def test_flipping_all_votes_flips_signs_only_and_a_prior_moves_the_truth():
    values = np.asarray(simulate_votes(15, 5, "high", n_items=500, random_state=4).votes.values)
    one, two = fit(values), fit(-values)
    assert np.allclose(np.abs(one.weights), np.abs(two.weights), atol=1e-3)
    assert np.allclose(one.edges, two.edges, atol=1e-3)
    simulated = simulate_votes(15, 5, "medium", n_items=500, random_state=6)
    values = np.asarray(simulated.votes.values)
    found = fit(values, prior_odds=4.0 * simulated.truth)
    signs = np.sign(found.weights[simulated.experts])
    assert np.array_equal(signs, np.sign(simulated.model.edges[0, 1:][simulated.experts]))


def test_starts_are_listed_from_the_cheapest_and_the_same_votes_give_the_same_bits():
    starts = fit(simulate_votes(15, 5, "medium", n_items=500, random_state=5).votes.values).starts
    assert starts[0].agreement == 1.0
    costs = [start.cost for start in starts]
    assert costs == sorted(costs)
    assert all(0.5 <= start.agreement <= 1 for start in starts)
    values = np.asarray(simulate_votes(15, 5, "low", n_items=2600, random_state=3).votes.values)
    one, two = fit(values), fit(values)
    for a, b in zip(one[:-1], two[:-1], strict=True):
        assert np.array_equal(a, b)
    assert [start.cost for start in one.starts] == [start.cost for start in two.starts]


def degenerate():
    rng = np.random.default_rng(0)
    plain = rng.choice([-1, 1], size=(60, 6))
    sparse = np.where(rng.random((40, 8)) < 0.9, 0, rng.choice([-1, 1], size=(40, 8)))
    sparse[:2] = [[1] * 8, [-1] * 8]
    return {
        "two items": np.array([[1, 1, -1, 1, -1], [-1, -1, 1, -1, 1]]),
        "fewer items than voters": np.vstack([rng.choice([-1, 1], (8, 30)), [[1] * 30, [-1] * 30]]),
        "duplicates": np.hstack([plain, plain]),
        "opposites": np.hstack([plain, -plain]),
        "one answer all over": np.repeat(plain[:, :1], 7, axis=1),
        "hardly any votes": sparse,
        "two voters": plain[:, :2],
    }


@pytest.mark.parametrize("case", degenerate().items(), ids=lambda case: case[0])
def test_strange_votes_give_finite_fits(case):
    found = fit(case[1])
    for part in found[:-1]:
        assert np.all(np.isfinite(part))
    assert np.all((found.expert_chance >= 0) & (found.expert_chance <= 1))
    assert found.edges.shape == (case[1].shape[1],) * 2
