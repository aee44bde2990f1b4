import numpy as np
import pytest

from unelisa.ehr.grouped_expert import OrdinalExperts, OrdinalVoters, learn_group


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


def test_the_group_counts_copies_once_and_never_backwards(cohort):
    _, chances, rates = cohort
    group = learn_group(rates, chances, np.random.default_rng(0))
    assert (group.weights >= 0).all()
    assert group.weights[3] > 0  # as a log ratio: its high levels count against a case
    spread = group.parts(rates).std(axis=0)
    assert spread[:4].min() > 5 * spread[4:].max()
    single = learn_group(rates[:, [0, 1, 3]], chances, np.random.default_rng(0))
    ratios = group.log_ratio(rates), single.log_ratio(rates[:, [0, 1, 3]])
    assert np.corrcoef(*ratios)[0, 1] > 0.98
    assert ratios[0].std() == pytest.approx(ratios[1].std(), rel=0.1)


def test_the_group_gives_a_log_likelihood_ratio(cohort):
    case, chances, rates = cohort
    group = learn_group(rates[:, :2], chances, np.random.default_rng(0))
    odds = group.log_ratio(rates[:, :2]) + np.log(case.mean() / (1 - case.mean()))
    for low, high in ((-2, -1), (-1, 0), (0, 1), (1, 2)):
        inside = (odds > low) & (odds < high)
        assert case[inside].mean() == pytest.approx(1 / (1 + np.exp(-odds[inside])).mean(), abs=0.1)


def test_levels_count_the_cuts_that_are_passed():
    rates = np.array([[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]], dtype=np.float32).T
    voters = OrdinalVoters.learn(rates)
    assert voters.levels(rates)[:, 0].tolist() == [0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    sparse = OrdinalVoters.learn(np.array([[0], [0], [0], [5]], dtype=np.float32))
    assert sparse.levels(np.array([[0], [9]], dtype=np.float32))[:, 0].tolist()[0] == 0
