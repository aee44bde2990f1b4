import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import gammaln, softmax

import naive_sampling
from small_models import SEEDS, random_ising, star, with_edges
from unelisa.errors import ConvergenceWarning, ModelError, VotesError, VotesWarning
from unelisa.paper.conditions import (
    approximate_edges,
    check_assumptions,
    estimate_assumptions,
    fisher_information,
    project,
)
from unelisa.paper.ising import Ising
from unelisa.paper.neighborhood import Neighborhoods, select_neighborhoods
from unelisa.simulation.designs import simulate_votes
from unelisa.votes import Votes


@given(*[st.floats(-2, 2)] * 3)
def test_lemma_is_the_printed_formula_and_the_field_cancels(a, b, field):
    model = with_edges(3, {(0, 1): a, (0, 2): b}, field=field)
    above = sum(np.exp(i * (a + b) + j * field) for i in (1, -1) for j in (1, -1))
    below = sum(np.exp(i * (a - b) + j * field) for i in (1, -1) for j in (1, -1))
    printed = 0.5 * np.log(above / below)
    assert approximate_edges(model)[0, 1] == pytest.approx(printed, abs=1e-12)
    assert np.sign(np.round(printed, 12)) == np.sign(np.round(a * b, 12)) or abs(a * b) < 1e-6


@pytest.mark.parametrize("d0", [2, 3, 5, 9, 21, 60])
def test_lemma_says_the_same_for_any_number_of_experts(d0):
    between = approximate_edges(star(d0))[np.triu_indices(d0, 1)]
    np.testing.assert_allclose(between, 0.6625, atol=5e-5)


STAR_EDGES = {2: 0.663, 3: 0.469, 4: 0.360, 5: 0.292, 7: 0.210, 9: 0.163, 13: 0.112, 21: 0.068}


def exchangeable_edge(d0):
    """The one edge of the projection of a star, from the distribution of the sum of its votes."""
    total = 2.0 * np.arange(d0 + 1) - d0
    states = gammaln(d0 + 1) - gammaln(np.arange(d0 + 1) + 1) - gammaln(d0 - np.arange(d0 + 1) + 1)

    def square(log_weights):
        return softmax(states + log_weights) @ total**2

    wanted = square(np.logaddexp(total, -total))
    return brentq(lambda edge: square(edge * total**2 / 2) - wanted, 0.0, 1.0)


@pytest.mark.parametrize(("d0", "edge"), STAR_EDGES.items())
def test_the_true_projection_of_a_star_falls_with_the_number_of_experts(d0, edge):
    assert exchangeable_edge(d0) == pytest.approx(edge, abs=5.5e-4)
    if d0 < 13:  # enumeration takes seconds beyond
        found = project(star(d0))[np.triu_indices(d0, 1)]
        np.testing.assert_allclose(found, edge, atol=5.5e-4)


@given(st.integers(2, 5), SEEDS)
@settings(deadline=None, max_examples=25)
def test_projection_matches_the_moments(p, seed):
    model = random_ising(p, seed)
    pairs, _ = naive_sampling.pair_moments(np.zeros(p), project(model))
    wanted, _ = naive_sampling.pair_moments(model.fields, model.edges)
    np.testing.assert_allclose(pairs, wanted[1:, 1:], atol=1e-8)


def divergence_of(model, edges):
    marginal = model.marginal()
    chances = naive_sampling.joint(np.zeros(model.n_voters), edges)
    nearest = np.array(list(chances.values())).reshape(marginal.shape)
    return float((marginal * np.log(marginal / nearest)).sum())


def test_three_experts_are_exactly_an_ising_model_but_not_the_lemmas():
    model = star(5)
    lemma, found = (divergence_of(model, edges(model)) for edges in (approximate_edges, project))
    assert 0 <= found < lemma - 0.1
    found = project(star(3))
    assert divergence_of(star(3), found) < 1e-14
    assert abs(found[0, 1] - approximate_edges(star(3))[0, 1]) > 0.19


@pytest.mark.parametrize(("d0", "differs"), [(3, False), (4, True)])
def test_edges_of_a_non_expert_that_joins_three_of_four_experts_are_not_kept(d0, differs):
    links = {(0, s): 1.0 for s in range(1, d0 + 1)}
    model = with_edges(d0 + 2, {**links, **{(s, d0 + 1): 0.8 for s in (1, 2, 3)}})
    kept = np.abs(project(model)[-1] - model.edges[-1, 1:]).max()
    assert (kept > 1e-3) == differs
    assert (kept < 1e-8) != differs


@pytest.mark.parametrize("edges", [approximate_edges, project])
def test_proposition_3_1_siblings_have_the_sign_of_the_product_of_their_weights(edges):
    """θ̃_st is not 0 between any two experts, and positive exactly if θ_0s θ_0t is."""
    link = np.array([1.0, 0.4, -0.7, 0.2, -1.3])
    for field in (0.0, 0.5):
        star = np.zeros((6, 6))
        star[0, 1:] = star[1:, 0] = link
        found = edges(Ising(field, star))[np.triu_indices(5, 1)]
        assert np.array_equal(np.sign(found), np.sign(np.outer(link, link)[np.triu_indices(5, 1)]))
        assert np.abs(found).min() > 0.01


def naive_fisher(edges, s):
    total = np.zeros((len(edges) - 1, len(edges) - 1))
    for state, chance in naive_sampling.joint(np.zeros(len(edges)), edges).items():
        odds = np.exp(2 * state[s] * (edges[s] @ state))
        rest = np.delete(state, s)
        total += chance * 4 * odds / (odds + 1) ** 2 * np.outer(rest, rest)
    return total


@given(st.integers(2, 5), SEEDS)
@settings(deadline=None, max_examples=20)
def test_fisher_information_is_the_printed_expectation(p, seed):
    edges = random_ising(p - 1, seed).edges
    for s in range(p):
        np.testing.assert_allclose(fisher_information(edges, s), naive_fisher(edges, s), atol=1e-12)


@pytest.mark.parametrize("closed_form", [False, True])
def test_assumptions_equal_their_definitions(closed_form):
    model = with_edges(6, {(0, 1): 1, (0, 2): 1, (0, 3): -1, (3, 4): 0.5, (4, 5): -0.5})
    edges = approximate_edges(model) if closed_form else project(model)
    found = check_assumptions(model, closed_form=closed_form)
    for s, hood in enumerate(model.effective_neighborhoods):
        fisher, others = naive_fisher(edges, s), np.delete(np.arange(5), s)
        near, far = np.isin(others, hood), ~np.isin(others, hood)
        second = np.delete(
            np.delete(naive_sampling.pair_moments(np.zeros(5), edges)[0], s, 0), s, 1
        )
        rows = np.abs(fisher[np.ix_(far, near)] @ np.linalg.inv(fisher[np.ix_(near, near)]))
        assert found.c_min[s] == pytest.approx(np.linalg.eigvalsh(fisher[np.ix_(near, near)])[0])
        assert found.lambda_max[s] == pytest.approx(np.linalg.eigvalsh(second)[-1])
        assert found.alpha[s] == pytest.approx(1 - rows.sum(axis=1).max(initial=0))


def test_lonely_voters_and_unreachable_tolerances(monkeypatch):
    found = check_assumptions(with_edges(4, {(0, 1): 1.0, (0, 2): 1.0}))
    assert found.c_min[2] == np.inf
    assert found.alpha.tolist() == pytest.approx([1.0, 1.0, 1.0])
    monkeypatch.setattr("unelisa.paper.conditions._TOLERANCE", -1.0)
    with pytest.warns(ConvergenceWarning, match="did not match all moments"):
        found = project(star(2))
    assert found[0, 1] == pytest.approx(0.6625, abs=5e-5)


def draw_nearest(model, n_items, seed=0):
    """Votes from Q, the graph nearest to the model's votes, and its edges."""
    edges = project(model)
    chances = naive_sampling.joint(np.zeros(model.n_voters), edges)
    states = np.array(list(chances))
    rng = np.random.default_rng(seed)
    rows = states[rng.choice(len(states), n_items, p=np.array(list(chances.values())))]
    return Votes.of(rows.astype(np.int8), coding="pm1"), edges


@pytest.mark.parametrize("abstain", [0.0, 0.2])
def test_estimates_from_votes_come_near_those_of_the_model(abstain):
    model = star(4)
    votes, edges = draw_nearest(model, 40_000)
    values = votes.values.copy()
    values[np.random.default_rng(1).random(values.shape) < abstain] = 0
    votes = Votes.of(values, coding="pm1")
    given = Neighborhoods(edges, np.zeros(4), np.zeros(4), np.zeros(4, int), np.zeros(4))
    found, true = estimate_assumptions(votes, given), check_assumptions(model)
    if not abstain:  # missing votes of others weaken the moments
        for ours, expected in zip(found, true, strict=True):
            np.testing.assert_allclose(ours, expected, atol=0.03)
    assert found.holds.all()
    assert true.holds.all()


def test_fisher_information_of_votes_nears_the_models():
    drawn = simulate_votes(8, 4, "medium", 40_000, random_state=1)
    edges = project(drawn.model)
    found = fisher_information(edges, 2, drawn.votes)
    assert found == pytest.approx(fisher_information(edges, 2), abs=0.03)
    votes, _ = draw_nearest(star(4), 3000)
    fitted = select_neighborhoods(votes, fit_intercept=False)
    for ours, same in zip(
        estimate_assumptions(votes), estimate_assumptions(votes, fitted), strict=True
    ):
        assert np.array_equal(ours, same)


def test_copies_fail_and_are_named():
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], 2000)
    votes = np.where(rng.random((2000, 4)) < 0.8, truth[:, None], -truth[:, None])
    votes = np.column_stack([votes, votes[:, 3]])
    weights = np.ones((5, 5)) - np.eye(5)
    given = Neighborhoods(weights / 4, np.zeros(5), np.zeros(5), np.zeros(5, int), np.zeros(5))
    table = Votes.of(votes.astype(np.int8), coding="pm1")
    with pytest.warns(VotesWarning, match=r"\(A1\) or \(A2\) fails .* of v0, v1, v2:"):
        found = estimate_assumptions(table, given)
    assert found.alpha[:3].tolist() == [-np.inf] * 3
    assert np.abs(found.c_min[:3]).max() < 1e-6


@pytest.mark.parametrize(
    ("edges", "voter", "votes", "words"),
    [
        (np.zeros((3, 4)), 0, None, "edges must be p x p"),
        (np.eye(3), 0, None, "zero diagonal"),
        (np.triu(np.ones((3, 3)), 1), 0, None, "symmetric"),
        (np.full((3, 3), np.nan), 0, None, "finite"),
        (np.zeros((3, 3)), -1, None, "voter must be in 0..2"),
        (np.zeros((3, 3)), 0, np.eye(4, dtype=np.int8) * 2 - 1, "those of the 3 voters"),
    ],
)
def test_what_has_no_fisher_information_is_refused(edges, voter, votes, words):
    with pytest.raises((ModelError, VotesError), match=words):
        fisher_information(edges, voter, votes)
