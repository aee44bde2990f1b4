import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from unelisa.errors import ModelError
from unelisa.simulation.designs import (
    EDGE_STRENGTHS,
    REPEATED,
    count_experts,
    count_items,
    design_graph,
    figure_2_1,
    sample_ising,
    simulate_classes,
    simulate_votes,
)

SEEDS = st.integers(0, 2**32 - 1)
DENSITIES = st.sampled_from(["half", "full", "tree"])


@st.composite
def sizes(draw):
    """p and d_0 >= 3."""
    p = draw(st.integers(3, 40))
    return p, draw(st.integers(3, p))


def voter_edges(model):
    return np.count_nonzero(model.edges[1:, 1:]) // 2


# --- Figure 2.1 -------------------------------------------------------------------------------


def test_figure_2_1_is_the_papers_and_algorithm_1_finds_its_experts():
    model = figure_2_1(weight=0.9, edge=0.5, field=0.1)
    assert (model.experts + 1).tolist() == [1, 2, 3, 4, 5]
    assert (model.effective_neighborhoods[0] + 1).tolist() == [2, 3, 4, 5, 6, 7]
    assert model.degrees.tolist() == [5, 3, 2, 3, 1, 3, 3, 2, 3, 2, 3, 3, 2, 1, 1, 1, 2, 1, 1]
    assert model.identifiable()
    assert model.fields[0] == 0.1
    assert set(np.unique(model.edges)) == {0.0, 0.5, 0.9}
    # knots ranked by size: f_16, which cannot reach the truth, is a knot but ranks too low
    hoods = [set(hood.tolist()) for hood in figure_2_1().effective_neighborhoods]
    knots = naive.knots(hoods)
    assert 15 in knots
    ranked = sorted(knots, key=lambda s: -len(hoods[s]))
    assert {s for i, s in enumerate(ranked) if len(hoods[s]) >= i} == {0, 1, 2, 3, 4}


# --- the designs ------------------------------------------------------------------------------


@given(sizes(), DENSITIES, SEEDS)
@settings(deadline=None, max_examples=80)
def test_designs_satisfy_the_conditions(size, density, seed):
    p, d0 = size
    model = design_graph(p, d0, "low", density=density, random_state=seed)
    result = model.identifiable()
    assert result, result.violations
    assert len(model.experts) == d0
    assert model.edges[0].sum() > 0  # positive experts are the strict majority
    assert set(np.abs(model.edges[0, 1:][model.experts])) == {1.0}


@given(sizes(), DENSITIES, SEEDS)
@settings(deadline=None, max_examples=40)
def test_from_four_experts_on_every_voter_reaches_the_truth(size, density, seed):
    p, d0 = size
    model = design_graph(p, d0, density=density, random_state=seed)
    reached, frontier = set(), {0}
    while frontier:
        reached |= frontier
        frontier = {int(t) for s in frontier for t in np.flatnonzero(model.edges[s])} - reached
    if d0 >= 4:
        assert len(reached) == p + 1
    else:
        assert len(reached) == 4  # the truth and its three experts: (G1) leaves no other place
        assert model.degrees[1:].max() == 1


@given(sizes(), SEEDS)
@settings(deadline=None, max_examples=40)
def test_densities_are_ordered(size, seed):
    p, d0 = size
    tree, half, full = (
        design_graph(p, d0, density=density, random_state=seed)
        for density in ("tree", "half", "full")
    )
    places = p * (d0 - 2) - d0  # ends of voters' edges that (G1) leaves
    joined = p - d0 if d0 > 3 else (p - d0) // 2
    assert voter_edges(tree) == joined
    assert joined <= voter_edges(half) <= max(joined, places // 4)
    assert voter_edges(half) <= voter_edges(full) <= places // 2


def test_half_is_half_and_full_is_saturated():
    half = design_graph(49, 13, random_state=0)
    assert voter_edges(half) == (49 * 11 - 13) // 4
    full = design_graph(49, 13, density="full", random_state=0)
    free = full.degrees[1:] < 11
    expert = full.edges[0, 1:] != 0
    open_pairs = np.outer(free, free) & ~np.outer(expert, expert) & (full.edges[1:, 1:] == 0)
    assert np.count_nonzero(np.triu(open_pairs, 1)) == 0


@pytest.mark.parametrize("snr", ["high", "medium", "low", 0.3])
def test_voters_edges_have_the_stated_strength_and_both_signs(snr):
    model = design_graph(49, "sqrt", snr, random_state=3)
    weights = model.edges[1:, 1:][np.triu_indices(49, 1)]
    strength = EDGE_STRENGTHS.get(snr, snr)
    assert set(weights) == {-strength, 0.0, strength}
    assert 0.2 < (weights > 0).sum() / (weights != 0).sum() < 0.8


def test_voters_are_in_random_order_and_seven_of_ten_experts_positive():
    places = [design_graph(25, 5, random_state=seed).experts for seed in range(200)]
    counts = np.bincount(np.concatenate(places), minlength=25)
    # 40 expected per place, standard deviation 5.7.
    assert counts.min() > 40 - 5 * 5.7
    assert counts.max() < 40 + 5 * 5.7
    draws = [design_graph(60, 60, density="tree", random_state=seed) for seed in range(40)]
    share = np.mean([(model.edges[0, 1:] > 0).mean() for model in draws])
    assert share == pytest.approx(0.7, abs=5 * math.sqrt(0.21 / 2400))


def test_expert_counts_are_rounded_up():
    found = {
        size: [count_experts(p, size) for p in (25, 49, 81)] for size in ("log", "sqrt", "quarter")
    }
    assert found == {"log": [4, 4, 5], "sqrt": [5, 7, 9], "quarter": [7, 13, 21]}


@pytest.mark.parametrize(
    ("p", "d0", "largest", "n"),
    [(25, 4, 4, 387), (49, 7, 10, 1168), (81, 9, 14, 1846), (25, 5, 6, 580)],
)
def test_number_of_items_is_the_papers_formula(p, d0, largest, n):
    """The largest effective degree, d_s + d_0 - 2 with d_s = d_0 - 2, is 2 d_0 - 4."""
    model = design_graph(p, d0, density="full", random_state=0)
    assert max(len(hood) for hood in model.effective_neighborhoods) == largest == 2 * d0 - 4
    assert count_items(model) == n == math.ceil(30 * largest * math.log(p))


@given(sizes(), SEEDS)
@settings(deadline=None, max_examples=30)
def test_an_expert_has_d_s_plus_d_0_minus_two_effective_neighbors(size, seed):
    model = design_graph(*size, random_state=seed)
    for s in model.experts:
        expected = model.degrees[s + 1] + model.degrees[0] - 2
        assert len(model.effective_neighborhoods[s]) == expected


# --- flaws ------------------------------------------------------------------------------------


def test_flaws_are_the_stated_ones_and_no_more():
    sound = design_graph(49, 7, "medium", random_state=1)
    flaws = {"field": 0.4, "expert_edges": 3, "voter_fields": 0.6}
    flawed, unflawed = (
        simulate_votes(49, 7, "medium", 1, random_state=1, **given).model for given in (flaws, {})
    )
    np.testing.assert_array_equal(unflawed.edges, sound.edges)
    assert not unflawed.fields.any()
    joined = [v for v in flawed.identifiable().violations if v.condition == "G3"]
    assert len(joined) == 3
    added = flawed.edges - sound.edges
    assert sorted(np.abs(added[np.triu_indices(50, 1)]))[-4:] == [0.0, 0.5, 0.5, 0.5]
    assert flawed.fields[0] == 0.4
    assert flawed.fields[1:].std() == pytest.approx(0.6, abs=5 * 0.6 / math.sqrt(98))
    flawed = simulate_votes(25, 5, n_items=1, expert_edges=10, random_state=0).model
    assert np.count_nonzero(flawed.edges[np.ix_(flawed.experts + 1, flawed.experts + 1)]) == 20
    with pytest.raises(ModelError, match=r"in 0\.\.10, found 11"):
        simulate_votes(25, 5, n_items=1, expert_edges=11)


# --- sampling ---------------------------------------------------------------------------------


@pytest.mark.parametrize("sampler", ["tempering", "gibbs-sweeps"])
def test_samples_follow_the_model(sampler):
    model = figure_2_1(edge=0.4, field=0.3)
    n = 5000
    states, flips = sample_ising(model, n, sampler, random_state=0)
    moments = model.marginal()
    for s, t in ((0, 1), (0, 7), (5, 6), (15, 16)):
        others = tuple(k for k in range(18) if k not in (s, t))
        table = moments.sum(axis=others)
        exact = table[0, 0] + table[1, 1] - table[0, 1] - table[1, 0]
        found = (states[:, s + 1].astype(float) * states[:, t + 1]).mean()
        assert found == pytest.approx(exact, abs=6 / math.sqrt(n))  # 6 standard errors
    share = 1 / (1 + math.exp(-0.6))
    assert (states[:, 0] == 1).mean() == pytest.approx(share, abs=3 / math.sqrt(n))
    assert flips > 0.2 * n
    assert states.dtype == np.int8


def test_the_two_readings_of_an_iteration_differ_by_the_number_of_nodes():
    model = design_graph(25, 7, "low", random_state=0)
    site = sample_ising(model, 1000, "gibbs", random_state=0)
    sweeps = sample_ising(model, 1000, "gibbs-sweeps", random_state=0)
    assert site.flips < sweeps.flips / 4


def test_accuracy_of_the_bayes_rule_is_what_the_model_says():
    simulated = simulate_votes(25, "sqrt", "medium", 5_000, random_state=5)
    values, model = simulated.votes.values, simulated.model
    right = (model.decision(values) == simulated.truth).mean()
    sure = np.maximum(model.posterior(values), 1 - model.posterior(values))
    # The mean confidence is the expected accuracy; 5 standard errors.
    assert right == pytest.approx(sure.mean(), abs=5 * math.sqrt(0.015 / 5_000))
    assert right > 0.97


# --- the whole --------------------------------------------------------------------------------


def test_simulated_votes_are_consistent_with_gaps():
    simulated = simulate_votes(random_state=0)
    assert simulated.votes.shape == (count_items(simulated.model), 25)
    assert simulated.votes.values.flags.f_contiguous
    assert simulated.votes.values.dtype == simulated.truth.dtype == np.int8
    assert set(np.unique(simulated.votes.values)) == set(np.unique(simulated.truth)) == {-1, 1}
    np.testing.assert_array_equal(simulated.experts, simulated.model.experts)
    assert 0 < simulated.flips < len(simulated.truth)
    # An expert's vote goes with the truth, with the sign of its edge.
    agreement = simulated.votes.values[:, simulated.experts].T.astype(float) @ simulated.truth
    signs = np.sign(simulated.model.edges[0, 1:][simulated.experts])
    np.testing.assert_array_equal(np.sign(agreement), signs)
    whole = simulate_votes(n_items=1500, random_state=1)
    holed = simulate_votes(n_items=1500, missing=0.3, random_state=1)
    lost = holed.votes.values == 0
    assert lost.mean() == pytest.approx(0.3, abs=5 * math.sqrt(0.21 / lost.size))
    by_voter = lost.mean(axis=0)
    assert np.abs(by_voter - 0.3).max() < 5 * math.sqrt(0.21 / 1500)
    np.testing.assert_array_equal(holed.votes.values[~lost], whole.votes.values[~lost])
    np.testing.assert_array_equal(holed.truth, whole.truth)


@pytest.mark.parametrize("sampler", ["tempering", "gibbs", "gibbs-sweeps"])
def test_the_same_seed_gives_the_same_bits(sampler):
    first, second = (
        simulate_votes(
            n_items=50,
            sampler=sampler,
            expert_edges=2,
            voter_fields=0.3,
            missing=0.2,
            random_state=9,
        )
        for _ in range(2)
    )
    assert first.votes.values.tobytes() == second.votes.values.tobytes()
    assert first.truth.tobytes() == second.truth.tobytes()
    assert first.model.edges.tobytes() == second.model.edges.tobytes()
    assert first.model.fields.tobytes() == second.model.fields.tobytes()
    other = simulate_votes(n_items=50, sampler=sampler, random_state=10)
    assert first.votes.values.tobytes() != other.votes.values.tobytes()


def test_the_same_generator_moves_on_and_an_unbalanced_truth():
    before = np.random.get_state()[1].copy()  # noqa: NPY002 -- the state that must not move
    rng = np.random.default_rng(0)
    first, second = (simulate_votes(n_items=20, random_state=rng) for _ in range(2))
    assert first.votes.values.tobytes() != second.votes.values.tobytes()
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002
    simulated = simulate_votes(n_items=3000, field=0.8, random_state=2)
    share = 1 / (1 + math.exp(-1.6))
    # Twice the variance of independent items, 5 standard errors.
    bound = 5 * math.sqrt(2 * share * (1 - share) / 3000)
    assert (simulated.truth == 1).mean() == pytest.approx(share, abs=bound)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_voters": 2}, "at least 3 voters, found 2"),
        (
            {"n_voters": 5, "n_experts": "quarter"},
            "needs 3 experts or more among 5 voters, found 2",
        ),
        ({"n_experts": 26}, "among 25 voters, found 26"),
        ({"n_experts": "many"}, "found 'many'"),
        ({"snr": "loud"}, "found 'loud'"),
        ({"density": "sparse"}, "found 'sparse'"),
        ({"sampler": "magic"}, "found 'magic'"),
        ({"missing": 1.0}, "from 0 to below 1"),
        ({"n_items": 0}, "at least 1, found 0"),
    ],
)
def test_impossible_designs_are_rejected(arguments, message):
    with pytest.raises(ModelError, match=message):
        simulate_votes(random_state=0, **arguments)


@pytest.mark.slow
def test_tempering_is_close_to_independent_in_the_hardest_design():
    """81 voters, 21 experts, low SNR: pair moments vary little more than independent states do."""
    model, n = design_graph(81, "quarter", "low", random_state=1), 4000
    samples = [sample_ising(model, n, random_state=seed).states.astype(float) for seed in range(6)]
    moments = np.array([states.T @ states / n for states in samples])
    mean = moments.mean(axis=0)
    movable = np.triu(np.abs(mean) < 0.95, 1)
    inflation = moments.var(axis=0, ddof=1)[movable] / ((1 - mean**2) / n)[movable]
    assert inflation.mean() < 3


def test_votes_follow_confusions_spammers_and_copies():
    drawn = simulate_classes(3, 6, 40_000, spammers=0, copies=0, missing=0.2, random_state=1)
    values = drawn.votes.values
    for k in range(3):
        here = values[drawn.truth == k + 1]
        found = np.stack([(here == c + 1).sum(axis=0) for c in range(3)]) / (here != 0).sum(axis=0)
        assert np.allclose(found.T, drawn.confusions[:, k], atol=0.02)
    assert np.mean(values == 0) == pytest.approx(0.2, abs=0.01)
    drawn = simulate_classes(5, 20, 2000, spammers=0.2, copies=0.3, missing=0, random_state=2)
    assert len(drawn.spammers) == 4
    assert np.allclose(drawn.confusions[drawn.spammers], drawn.confusions[drawn.spammers, :1])
    copies = np.flatnonzero(drawn.sources != np.arange(20))
    assert len(copies) == 6
    assert not np.isin(drawn.sources[copies], [*copies, *drawn.spammers]).any()
    values = drawn.votes.values
    alike = (values[:, copies] == values[:, drawn.sources[copies]]).mean(axis=0)
    assert alike.min() > REPEATED - 0.03


def test_ordered_classes_are_confused_with_their_neighbors_first_and_many_fit_a_byte():
    drawn = simulate_classes(5, 4, 50, ordered=True, spammers=0, random_state=3)
    assert drawn.votes.ordered
    assert drawn.votes.classes == (1, 2, 3, 4, 5)
    assert np.all(np.diff(drawn.confusions[:, 0, 1:], axis=1) < 0)
    drawn = simulate_classes(200, 5, 300, random_state=4)
    assert drawn.votes.values.view(np.uint8).max() > 127
    assert drawn.truth.view(np.uint8).max() <= 200


@pytest.mark.parametrize(
    "given",
    [{"n_classes": 2}, {"n_classes": 201}, {"missing": 1.0}, {"spammers": 0.7, "copies": 0.3}],
)
def test_impossible_crowds_are_refused(given):
    with pytest.raises(ModelError, match="must be"):
        simulate_classes(**given)
