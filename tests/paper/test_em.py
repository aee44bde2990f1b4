from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import naive
from unelisa.paper import em
from unelisa.votes.blocks import WholeTable

VOTES = hnp.arrays(
    np.int8,
    st.tuples(st.integers(1, 30), st.integers(1, 6)),
    elements=st.sampled_from([-1, 0, 1, 1]),
)


def star(n_items, reliabilities, prevalence, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.where(rng.random(n_items) < prevalence, 1, -1)
    right = rng.random((n_items, len(reliabilities))) < np.asarray(reliabilities)
    return np.asfortranarray(np.where(right, truth[:, None], -truth[:, None]).astype(np.int8))


def fit_from(values, weights, **options):
    """The fixed point that EM reaches from the posteriors of these weights."""
    blocks = WholeTable(values)
    return em.estimate_reliability(blocks, em.weigh_posterior(blocks, weights), **options)


def expected_complete_log_likelihood(values, fit):
    """(4.4) as printed, with tau for Z."""
    tau, psi = fit.posterior(WholeTable(values)), fit.reliabilities
    right = np.where(values > 0, tau[:, None], 1 - tau[:, None]) * (values != 0)
    wrong = (values != 0) - right
    votes = (right * np.log(psi) + wrong * np.log(1 - psi)).sum()
    prior = (tau * np.log(fit.prevalence) + (1 - tau) * np.log(1 - fit.prevalence)).sum()
    return votes + prior


@settings(max_examples=200)
@given(VOTES, st.integers(0, 10_000))
def test_the_bound_never_falls_and_is_the_log_likelihood(values, seed):
    start = np.random.default_rng(seed).uniform(-1, 1, values.shape[1])
    fit = fit_from(np.asfortranarray(values), start, max_iter=40)
    assert np.all(np.diff(fit.lower_bound) >= -1e-12)
    exact = naive.expert_log_likelihood(values, fit.reliabilities, fit.prevalence)
    assert fit.lower_bound[-1] == pytest.approx(exact, abs=1e-10)


def test_4_4_without_the_entropy_can_fall_and_is_no_bound():
    values = star(200, [0.6, 0.6, 0.6], 0.5)
    start = np.ones(3)
    printed = [
        expected_complete_log_likelihood(values, fit_from(values, start, max_iter=k))
        for k in range(1, 30)
    ]
    assert min(np.diff(printed)) < 0


def test_abstentions_divide_by_the_observed_counts():
    values = star(40_000, [0.9, 0.8, 0.7, 0.65, 0.25], 0.3)
    polarity = np.array([1, 1, 1, 1, -1], dtype=np.int8)
    fit = em.best_reliability(WholeTable(values), polarity, 3)[0]
    assert fit.reliabilities == pytest.approx([0.9, 0.8, 0.7, 0.65, 0.25], abs=0.015)
    assert fit.prevalence == pytest.approx(0.3, abs=0.015)
    assert fit.converged
    values = star(40_000, [0.9, 0.8, 0.7, 0.75], 0.5)
    values[np.random.default_rng(1).random(values.shape) < 0.5] = 0
    fit = em.best_reliability(WholeTable(values), np.ones(4, dtype=np.int8), 2)[0]
    assert fit.reliabilities == pytest.approx([0.9, 0.8, 0.7, 0.75], abs=0.02)


def test_a_perfect_expert_stays_finite():
    truth = np.array([1, -1] * 20, dtype=np.int8)
    values = np.asfortranarray(np.column_stack([truth] * 3))
    fit = em.best_reliability(WholeTable(values), np.ones(3, dtype=np.int8), 1)[0]
    assert fit.reliabilities == pytest.approx(1 - em.CLIP)
    assert np.isfinite(fit.weights).all()
    assert np.array_equal(fit.posterior(WholeTable(values)) > 0.5, truth > 0)


def test_the_mirror_solution_turns_everything():
    values = star(300, [0.9, 0.8, 0.7], 0.4)
    fit = fit_from(values, np.array([0.3, 0.1, 0.2]))
    mirror = replace(fit, reliabilities=1 - fit.reliabilities, prevalence=1 - fit.prevalence)
    assert mirror.weights == pytest.approx(-fit.weights)
    assert mirror.field == pytest.approx(-fit.field)
    assert mirror.posterior(WholeTable(values)) == pytest.approx(
        1 - fit.posterior(WholeTable(values))
    )


def test_more_starts_never_give_a_lower_likelihood():
    values = star(150, [0.7, 0.65, 0.6, 0.55, 0.6], 0.5, seed=4)
    polarity = np.ones(5, dtype=np.int8)
    one = em.best_reliability(WholeTable(values), polarity, 1)[0]
    many = em.best_reliability(WholeTable(values), polarity, 5)[0]
    assert many.lower_bound[-1] >= one.lower_bound[-1]


def test_starts_follow_the_votes():
    values = star(4000, [0.9, 0.7, 0.6, 0.2], 0.5)
    values = np.asfortranarray(np.hstack([values, np.ones((4000, 1), np.int8)]))
    equal, agreement, lead, sharp, alone = em.list_starts(WholeTable(values), np.ones(5), 9)
    assert equal.tolist() == [1, 1, 1, 1, 1]
    side = np.sign(values.sum(axis=1))
    assert agreement == pytest.approx((values * side[:, None]).mean(axis=0))
    vectors = np.linalg.eigh(np.corrcoef(values[:, :4].T))[1]
    exact = vectors[:, -1] / np.abs(vectors[:, -1]).max()
    assert np.abs(lead[:4]) == pytest.approx(np.abs(exact), abs=1e-4)
    assert lead[4] == 0  # it always says yes
    assert sharp == pytest.approx(lead * np.abs(lead))
    assert np.flatnonzero(alone).tolist() == [0]


def test_starts_of_rows_that_stand_for_many_and_ranks_of_fits():
    values = star(12_000, [0.9, 0.8, 0.7, 0.3], 0.4)
    ballots, copies = em.distinct_rows(WholeTable(values))
    short = em.list_starts(ballots, np.ones(4), 5, copies)
    assert np.allclose(short, em.list_starts(WholeTable(values), np.ones(4), 5), rtol=0, atol=1e-9)

    class End(NamedTuple):
        lower_bound: np.ndarray

    ends = [End(np.array([-9.0, end])) for end in (-1.5, -1.0, -1.02, -1.0 - 1e-9, -1.1)]
    # times 50 items: 25, 0, 1, 5e-8 and 5 nats behind
    assert em.rank_fits(ends, 50) == [ends[1], ends[2]]


def test_pooled_votes_share_one_reliability_and_the_bound_still_rises():
    values = star(3000, [0.7] * 5, 0.5)
    fit = fit_from(values, np.full(5, 0.5), pooled=True)
    assert fit.reliabilities == pytest.approx(0.7, abs=0.02)
    assert fit.prevalence == 0.5
    assert np.all(np.diff(fit.lower_bound) >= -1e-12)
    assert np.array_equal(fit.posterior(WholeTable(values)) > 0.5, values.sum(axis=1) > 0)


@pytest.mark.parametrize("abstain", [0.0, 0.3])
def test_counted_ballots_give_the_fixed_point_of_all_items(abstain):
    values = star(12_000, [0.9, 0.8, 0.7, 0.3], 0.4)
    values[np.random.default_rng(2).random(values.shape) < abstain] = 0
    ballots, copies = em.distinct_rows(WholeTable(values))
    assert len(ballots) <= 3**4
    assert copies.sum() == 12_000
    start = np.array([1.0, 1.0, 1.0, -1.0])
    fit = fit_from(values, start)
    short = em.estimate_reliability(ballots, em.weigh_posterior(ballots, start), copies=copies)
    assert short.reliabilities == pytest.approx(fit.reliabilities, abs=1e-9)
    assert short.prevalence == pytest.approx(fit.prevalence, abs=1e-9)
    assert short.lower_bound == pytest.approx(fit.lower_bound, abs=1e-12)
