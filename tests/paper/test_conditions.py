import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_sampling
from small_models import SEEDS, random_ising, star, with_edges
from unelisa.errors import VotesWarning
from unelisa.paper.conditions import (
    approximate_edges,
    check_assumptions,
    estimate_assumptions,
    fisher_information,
    project,
)
from unelisa.paper.neighborhood import Neighborhoods, select_neighborhoods
from unelisa.votes import Votes


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


def test_a_lonely_voter_meets_the_assumptions_trivially():
    found = check_assumptions(with_edges(4, {(0, 1): 1.0, (0, 2): 1.0}))
    assert found.c_min[2] == np.inf
    assert found.alpha.tolist() == pytest.approx([1.0, 1.0, 1.0])


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


def test_without_regressions_the_paper_s_are_fitted():
    votes, _ = draw_nearest(star(4), 3000)
    fitted = select_neighborhoods(votes, fit_intercept=False)
    for ours, same in zip(
        estimate_assumptions(votes), estimate_assumptions(votes, fitted), strict=True
    ):
        assert np.array_equal(ours, same)
