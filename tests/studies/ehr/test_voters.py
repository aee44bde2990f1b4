import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer

from studies.ehr.voters import two_means, votes_from_percentiles
from unelisa.aggregators import DawidSkene
from unelisa.ehr.counts import read_counts


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
