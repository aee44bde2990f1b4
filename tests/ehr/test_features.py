import numpy as np
import pytest

from unelisa.ehr.counts import Roles
from unelisa.ehr.features import (
    OrdinalExperts,
    OrdinalVoters,
    correlate,
    learn_group,
    remove_utilization,
    screen,
    screen_features,
    tie_features,
)
from unelisa.votes import Votes


@pytest.fixture(scope="module")
def features():
    """Four features of the truth, and six of something more common that they all share."""
    rng = np.random.default_rng(2)
    truth = np.where(rng.random(8000) < 0.25, 1, -1)
    care = rng.choice([-1, 1], 8000)
    fields = np.column_stack([*[0.7 * truth] * 4, *[0.9 * care] * 6])
    values = np.where(rng.random((8000, 10)) < 1 / (1 + np.exp(-2 * fields)), 1, -1)
    return truth, Votes.of(values.astype(np.int8))


def test_features_of_the_truth_are_tied_to_it_and_others_are_not(features):
    truth, votes = features
    rng = np.random.default_rng(0)
    odds = 2 * truth + rng.normal(0, 2, len(truth))
    weights, clear = tie_features(votes, odds, rng)
    assert clear[:4].all()
    assert (weights[:4] > 0.3).all()
    assert np.abs(weights[4:]).max() < 0.15


def test_a_constant_feature_has_no_tie_and_two_features_no_graph(features):
    truth, votes = features
    values = votes.values.copy()
    values[:, 9] = -1
    rng = np.random.default_rng(0)
    weights, clear = tie_features(Votes.of(values), 2.0 * truth, rng)
    assert weights[9] == 0
    assert not clear[9]
    assert tie_features(votes.take_voters([0, 1]), 2.0 * truth, rng) is None


def test_utilization_is_taken_out_of_rates():
    rng = np.random.default_rng(0)
    use = rng.normal(3, 1, 4000)
    rates = np.column_stack([use, -(use**2), rng.normal(size=4000)]).astype(np.float32)
    left = remove_utilization(rates, use)
    assert np.abs(left.mean(axis=0)).max() < 1e-5
    assert left[:, :2].std(axis=0).max() < 0.15 * rates[:, :2].std(axis=0).min()
    assert np.corrcoef(left[:, 2], rates[:, 2])[0, 1] > 0.99
    alone = remove_utilization(rates, np.zeros(4000))
    assert alone == pytest.approx(rates - rates.mean(axis=0), abs=1e-4)


def test_correlations_are_numpys_and_the_bar_rises_in_small_samples():
    rates = np.random.default_rng(5).normal(size=(6000, 6)).astype(np.float32)
    rates[:, 2] -= rates[:, 0]
    constant = np.column_stack([rates, np.ones(len(rates))]).astype(np.float32)
    found = correlate(constant, rates[:, :2])
    assert found[:6] == pytest.approx(np.corrcoef(rates.T)[:, :2], abs=1e-5)
    assert found[6].tolist() == [0, 0]
    correlations = np.full((500, 2), 0.2)
    assert (screen_features(correlations, 10_000) == 1).all()
    assert (screen_features(correlations, 100) == 0).all()


def test_features_are_screened_against_every_anchor_and_within_the_graph(features):
    truth, votes = features
    rng = np.random.default_rng(0)
    odds = 2 * truth + rng.normal(0, 2, len(truth))
    anchors = np.outer(truth, [1, 1]) + rng.normal(0, 1, (len(truth), 2))
    rates = np.column_stack([votes.values, anchors]).astype(np.float32)
    both = Votes.of(np.where(rates > 0, 1, -1).astype(np.int8))
    found = screen(
        rates,
        both,
        np.zeros(len(truth)),
        odds,
        Roles(np.array([10, 11]), np.array([], dtype=int)),
        rng,
    )
    assert found.correlations.shape == (12, 2)
    assert found.directions.tolist() == [1] * 4 + [0] * 6 + [1, 1]
    assert found.selected.tolist() == [0, 1, 2, 3]  # the anchors are not among them
    assert np.isnan(found.ties[4:]).all()


@pytest.fixture(scope="module")
def cohort():
    """P(case), and rates: two know it, one is a copy, one is against it, two know nothing."""
    rng = np.random.default_rng(5)
    case = rng.random(6000) < 0.3
    noise = rng.normal(size=(6000, 6))
    signal = np.outer(case, [2, 1, 0, -1, 0, 0])
    rates = (signal + noise).astype(np.float32)
    rates[:, 2] = rates[:, 0]
    chances = np.clip(case + rng.normal(0, 0.1, 6000), 0.02, 0.98)
    return case, chances, rates


def test_an_ordinal_expert_knows_what_its_levels_say(cohort):
    case, _, rates = cohort
    experts = OrdinalExperts.learn(rates[:, :1], case.astype(float))
    levels = experts.voters.levels(rates[:, :1])[:, 0]
    top = levels == levels.max()
    truth = np.log(top[case].mean() / top[~case].mean())
    assert experts.log_ratios[0][-1] == pytest.approx(truth, abs=0.05)
    assert (np.diff(experts.log_ratios[0]) > 0).all()


def test_the_group_counts_copies_once_as_a_log_likelihood_ratio(cohort):
    case, chances, rates = cohort
    group = learn_group(rates, chances, np.random.default_rng(0))
    assert (group.weights >= 0).all()
    assert group.weights[3] > 0  # as a log ratio: its high levels count against a case
    spread = group.parts(rates).std(axis=0)
    assert spread[:4].min() > 5 * spread[4:].max()
    single = learn_group(rates[:, [0, 1, 3]], chances, np.random.default_rng(0))
    ratios = group.log_ratio(rates), single.log_ratio(rates[:, [0, 1, 3]])
    assert np.corrcoef(*ratios)[0, 1] > 0.98
    assert ratios[0].std() == pytest.approx(ratios[1].std(), rel=0.1)
    group = learn_group(rates[:, :2], chances, np.random.default_rng(0))
    odds = group.log_ratio(rates[:, :2]) + np.log(case.mean() / (1 - case.mean()))
    for low, high in ((-2, -1), (-1, 0), (0, 1), (1, 2)):
        inside = (odds > low) & (odds < high)
        assert case[inside].mean() == pytest.approx(1 / (1 + np.exp(-odds[inside])).mean(), abs=0.1)
    rates = np.array([[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]], dtype=np.float32).T
    voters = OrdinalVoters.learn(rates)
    assert voters.levels(rates)[:, 0].tolist() == [0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    sparse = OrdinalVoters.learn(np.array([[0], [0], [0], [5]], dtype=np.float32))
    assert sparse.levels(np.array([[0], [9]], dtype=np.float32))[:, 0].tolist()[0] == 0
