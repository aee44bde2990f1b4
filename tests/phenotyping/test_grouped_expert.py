import numpy as np
import pytest

from unelisa.phenotyping.evidence import (
    OrdinalExperts,
    correlate,
    learn_group,
    remove_utilization,
    screen_features,
)


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


def test_correlations_are_numpys_and_zero_for_constants(cohort):
    _, _, rates = cohort
    constant = np.column_stack([rates, np.ones(len(rates))]).astype(np.float32)
    found = correlate(constant, rates[:, :2])
    assert found[:6] == pytest.approx(np.corrcoef(rates.T)[:, :2], abs=1e-5)
    assert found[6].tolist() == [0, 0]


def test_the_bar_rises_in_small_samples():
    correlations = np.full((500, 2), 0.2)
    assert (screen_features(correlations, 10_000) == 1).all()
    assert (screen_features(correlations, 100) == 0).all()


def test_an_ordinal_expert_knows_what_its_levels_say(cohort):
    case, _, rates = cohort
    experts = OrdinalExperts.learn(rates[:, :1], case.astype(float))
    levels = experts.voters.levels(rates[:, :1])[:, 0]
    top = levels == levels.max()
    truth = np.log(top[case].mean() / top[~case].mean())
    assert experts.log_ratios[0][-1] == pytest.approx(truth, abs=0.05)
    assert (np.diff(experts.log_ratios[0]) > 0).all()


def test_the_group_counts_copies_once_and_never_backwards(cohort):
    _, chances, rates = cohort
    group = learn_group(rates, chances, np.random.default_rng(0))
    assert (group.weights >= 0).all()
    assert group.weights[3] > 0  # its evidence is a log ratio: high levels speak against a case
    spread = group.parts(rates).std(axis=0)
    assert spread[:4].min() > 5 * spread[4:].max()
    single = learn_group(rates[:, [0, 1, 3]], chances, np.random.default_rng(0))
    ratios = group.log_ratio(rates), single.log_ratio(rates[:, [0, 1, 3]])
    assert np.corrcoef(*ratios)[0, 1] > 0.98
    assert ratios[0].std() == pytest.approx(ratios[1].std(), rel=0.1)


def test_the_groups_evidence_is_a_log_likelihood_ratio(cohort):
    case, chances, rates = cohort
    group = learn_group(rates[:, :2], chances, np.random.default_rng(0))
    odds = group.log_ratio(rates[:, :2]) + np.log(case.mean() / (1 - case.mean()))
    for low, high in ((-2, -1), (-1, 0), (0, 1), (1, 2)):
        inside = (odds > low) & (odds < high)
        assert case[inside].mean() == pytest.approx(1 / (1 + np.exp(-odds[inside])).mean(), abs=0.1)
