import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer

from unelisa.aggregators import DawidSkene
from unelisa.sources.counts import read_counts
from unelisa.sources.phenotype import (
    ExpectedCounts,
    OrdinalVoters,
    two_means,
    votes_from_percentiles,
)


@pytest.fixture(scope="module")
def records():
    """Counts that grow with utilisation, by the powers 0, .5 and 1."""
    rng = np.random.default_rng(3)
    use = np.round(np.exp(rng.normal(3, 1, 20_000)))
    means = {"flat": 2 + 0 * use, "root": 0.5 * (1 + use) ** 0.5, "linear": 0.1 * (1 + use)}
    counts = {name: rng.poisson(mean * rng.gamma(2, 0.5, len(use))) for name, mean in means.items()}
    return read_counts(pd.DataFrame({**counts, "never": 0, "use": use}), "use")


def test_the_papers_voters_of_the_breast_cancer_measurements():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    made = votes_from_percentiles(read_counts(X))
    assert made.votes.shape == (569, 300)  # 30 measurements, nine percentiles and k-means
    assert np.bincount(made.features).tolist() == [10] * 30
    first = made.votes.values[:, :9]
    shares = (first > 0).mean(axis=0)
    assert shares == pytest.approx(np.arange(0.9, 0, -0.1), abs=0.01)
    assert (np.diff(first.astype(int), axis=1) <= 0).all()  # nested: a higher cut says yes less
    # malignant tumours (label 0) measure more
    malignant = DawidSkene().fit_predict(made.votes) == 1
    assert np.mean(malignant == (y.to_numpy() == 0)) > 0.85


def test_percentiles_that_coincide_are_one_voter_and_constants_are_none():
    frame = pd.DataFrame({"rare": [0] * 95 + [7] * 5, "never": [0] * 100})
    made = votes_from_percentiles(read_counts(frame))
    assert made.votes.voters.tolist() == ["rare > 0", "rare > 3.5 (k-means)"]
    assert made.features.tolist() == [0, 0]
    plain = votes_from_percentiles(read_counts(frame), k_means=False)
    assert plain.votes.voters.tolist() == ["rare > 0"]


def test_two_means_are_those_of_k_means():
    rng = np.random.default_rng(0)
    column = np.concatenate([rng.poisson(2, 300), rng.poisson(30, 100)]).astype(np.float32)
    reference = KMeans(2, n_init=10, random_state=0).fit(column[:, None])
    upper = reference.labels_ == np.argmax(reference.cluster_centers_[:, 0])
    assert ((column > two_means(column)) == upper).all()
    assert two_means(np.full(3, 4, dtype=np.float32)) == 4


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


def test_levels_count_the_cuts_that_are_passed():
    rates = np.array([[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]], dtype=np.float32).T
    voters = OrdinalVoters.learn(rates)
    assert voters.levels(rates)[:, 0].tolist() == [0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    sparse = OrdinalVoters.learn(np.array([[0], [0], [0], [5]], dtype=np.float32))
    assert sparse.levels(np.array([[0], [9]], dtype=np.float32))[:, 0].tolist()[0] == 0
