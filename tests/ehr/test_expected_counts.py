import numpy as np
import pandas as pd
import pytest

from unelisa.ehr.counts import ExpectedCounts, read_counts


@pytest.fixture(scope="module")
def records():
    """Counts that grow with utilization, by the powers 0, .5 and 1."""
    rng = np.random.default_rng(3)
    use = np.round(np.exp(rng.normal(3, 1, 20_000)))
    means = {"flat": 2 + 0 * use, "root": 0.5 * (1 + use) ** 0.5, "linear": 0.1 * (1 + use)}
    counts = {name: rng.poisson(mean * rng.gamma(2, 0.5, len(use))) for name, mean in means.items()}
    return read_counts(pd.DataFrame({**counts, "never": 0, "use": use}), "use")


def test_expected_counts_find_the_powers_of_utilization(records):
    expected = ExpectedCounts.learn(records)
    assert expected.slopes[:3] == pytest.approx([0, 0.5, 1], abs=0.03)
    assert expected.scales[:3] == pytest.approx([2, 0.5, 0.1], rel=0.1)
    assert expected.expect(records, 1).mean() == pytest.approx(records.values[:, 1].mean())


def test_one_voter_per_feature_that_does_not_follow_utilization(records):
    votes = ExpectedCounts.learn(records).votes(records)
    assert votes.voters.tolist() == ["flat", "root", "linear", "never"]
    follows = [np.corrcoef(votes.values[:, j], records.log_use)[0, 1] for j in range(3)]
    assert np.abs(follows).max() < 0.1
    naive = np.corrcoef(records.values[:, 2] > 0, records.log_use)[0, 1]
    assert naive > 0.4
    assert (votes.values[:, 3] == -1).all()


def test_rates_are_zero_where_a_count_is_as_expected(records):
    expected = ExpectedCounts.learn(records)
    rates = expected.rates(records)
    above = expected.votes(records).values > 0
    assert (rates[above] > 0).all()
    assert (rates[~above] <= 1e-6).all()


def test_without_utilization_the_mean_is_expected():
    table = read_counts(pd.DataFrame({"a": [0, 0, 6, 2]}))
    expected = ExpectedCounts.learn(table)
    assert expected.slopes.tolist() == [0]
    assert expected.scales.tolist() == [2]
