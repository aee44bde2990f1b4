import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import naive_spectral
from unelisa.aggregators.spectral import (
    BLOCK,
    PairMoments,
    RankOne,
    SpectralMetaLearner,
    fit_rank_one,
    measure_pairs,
    unit_weights,
)
from unelisa.errors import ConvergenceWarning, ExpertsWarning
from unelisa.votes import Votes


def test_without_abstentions_the_covariances_are_numpys():
    rng = np.random.default_rng(0)
    values = rng.choice(np.array([-1, 1], dtype=np.int8), (BLOCK + 77, 5))  # two blocks
    moments = measure_pairs(values)
    assert moments.covariance == pytest.approx(np.cov(values, rowvar=False))
    assert moments.deviation == pytest.approx(np.std(values, axis=0, ddof=1))
    assert moments.precision[0].tolist() == [0, *[BLOCK + 76] * 4]


@given(arrays(np.int8, (7, 4), elements=st.sampled_from([-1, 0, 1])))
def test_covariances_over_common_items_are_their_slow_twin(values):
    covariance, freedom = naive_spectral.covariance(values)
    moments = measure_pairs(values)
    assert moments.covariance == pytest.approx(covariance, abs=1e-12)
    assert moments.precision == pytest.approx(freedom)


def test_three_covariances_determine_three_weights():
    """v_1^2 = r_12 r_13 / r_23 and so on, by hand: r = (.4, -.2, -.1)."""
    r = np.array([[9.0, 0.4, -0.2], [0.4, 9.0, -0.1], [-0.2, -0.1, 9.0]])
    fit = fit_rank_one(PairMoments(r, np.ones((3, 3)), np.ones(3)))
    expected = np.sqrt([0.4 * 0.2 / 0.1, 0.4 * 0.1 / 0.2, 0.2 * 0.1 / 0.4]) * [1, 1, -1]
    assert fit.converged
    assert fit.vector * np.sign(fit.vector[0]) == pytest.approx(expected, abs=1e-6)


def test_the_weights_are_an_eigenvector_of_the_completed_covariance(crowd):
    moments = measure_pairs(crowd[0].values)
    v = fit_rank_one(moments).vector
    completed = moments.covariance.copy()
    np.fill_diagonal(completed, v**2)
    sizes, vectors = np.linalg.eigh(completed)
    assert sizes[-1] == pytest.approx(v @ v)
    assert np.abs(vectors[:, -1]) == pytest.approx(np.abs(v) / np.linalg.norm(v), abs=1e-6)


def test_no_voter_shares_more_variance_than_it_has():
    r = np.array([[1, 0.9, 0.9], [0.9, 1, 0.1], [0.9, 0.1, 1]])
    v = np.abs(fit_rank_one(PairMoments(r, np.ones((3, 3)), np.ones(3))).vector)
    assert v[0] == 1.0  # unbounded it would be 2.8
    assert v.max() <= 1.0


def test_better_estimated_covariances_count_more():
    v = np.array([0.8, 0.6, 0.5, 0.7])
    r, precision = np.outer(v, v), np.full((4, 4), 1000.0)
    r[0, 1] = r[1, 0] = 0.9  # a wild estimate from very few common items
    precision[0, 1] = precision[1, 0] = 1.0
    found = np.abs(fit_rank_one(PairMoments(r, precision, np.ones(4))).vector)
    assert found == pytest.approx(v, abs=2e-3)


def test_weights_are_proportional_to_balanced_accuracy_minus_half():
    rng = np.random.default_rng(2)
    truth = np.where(rng.random(20_000) < 0.2, 1, -1)
    sensitivity = np.array([0.9, 0.6, 0.7, 0.5, 0.2])
    specificity = np.array([0.7, 0.9, 0.8, 0.5, 0.3])
    yes = np.where(truth[:, None] > 0, sensitivity, 1 - specificity)
    values = np.where(rng.random((20_000, 5)) < yes, 1, -1)
    model = SpectralMetaLearner().fit(values)
    expected = sensitivity + specificity - 1
    assert model.weights_ == pytest.approx(expected / np.linalg.norm(expected), abs=0.05)


def test_the_score_is_the_margin(crowd):
    votes, truth = crowd
    model = SpectralMetaLearner().fit(votes)
    assert model.decision_function(votes) == pytest.approx(votes.values @ model.weights_)
    assert np.linalg.norm(model.weights_) == pytest.approx(1.0)
    assert model.polarity_[[0, 1, 2, 3, 4, 7, 8]].tolist() == [1, 1, 1, 1, 1, -1, -1]
    assert model.score(votes, truth) > 0.95
    assert not hasattr(model, "predict_proba")


def test_voters_who_do_not_vary_together_count_equally():
    with pytest.warns(ExpertsWarning, match="all voters count equally"):
        model = SpectralMetaLearner().fit(np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]]))
    assert model.weights_ == pytest.approx(np.sqrt([0.5, 0.5]))


def test_a_descent_that_was_cut_short_is_a_warning(crowd):
    votes = crowd[0]
    fit = fit_rank_one(measure_pairs(votes.values), max_iter=2)
    assert not fit.converged
    with pytest.warns(ConvergenceWarning, match="rank-one"):
        unit_weights(fit, np.arange(9), 9)
    found = unit_weights(RankOne(np.array([3.0, 4.0]), True), np.array([2, 0]), 4)
    assert found == pytest.approx([0.8, 0, 0.6, 0])


def test_nothing_of_the_size_of_the_votes_is_copied():
    import tracemalloc  # noqa: PLC0415

    values = np.ones((200_000, 30), dtype=np.int8, order="F")
    values[::2] = -1
    tracemalloc.start()
    SpectralMetaLearner().fit(Votes.of_values(values, np.arange(200_000), np.arange(30)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * values.nbytes


@pytest.mark.shared
def test_bluebirds_is_better_than_the_majority(bluebirds):
    votes, truth = bluebirds
    assert SpectralMetaLearner().fit(votes).score(votes, truth) > 0.84
