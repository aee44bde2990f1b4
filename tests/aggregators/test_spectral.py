"""Spectral meta-learners: covariances, their rank-one fit, and groups of voters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import naive_spectral
from unelisa.aggregators import spectral
from unelisa.errors import ConvergenceWarning, ExpertsWarning
from unelisa.votes import Votes
from unelisa.votes.blocks import WholeTable


def test_without_abstentions_the_covariances_are_numpys():
    rng = np.random.default_rng(0)
    values = rng.choice(np.array([-1, 1], dtype=np.int8), (spectral.BLOCK + 77, 5))  # two blocks
    moments = spectral.measure_pairs(values)
    assert moments.covariance == pytest.approx(np.cov(values, rowvar=False))
    assert moments.deviation == pytest.approx(np.std(values, axis=0, ddof=1))
    assert moments.precision[0].tolist() == [0, *[spectral.BLOCK + 76] * 4]


@given(arrays(np.int8, (7, 4), elements=st.sampled_from([-1, 0, 1])))
def test_covariances_over_common_items_are_their_slow_twin(values):
    covariance, freedom = naive_spectral.covariance(values)
    moments = spectral.measure_pairs(values)
    assert moments.covariance == pytest.approx(covariance, abs=1e-12)
    assert moments.precision == pytest.approx(freedom)


def test_three_covariances_determine_three_weights_within_the_variance():
    """v_1^2 = r_12 r_13 / r_23 and so on, by hand: r = (.4, -.2, -.1)."""
    r = np.array([[9.0, 0.4, -0.2], [0.4, 9.0, -0.1], [-0.2, -0.1, 9.0]])
    v, converged = spectral.fit_rank_one(spectral.PairMoments(r, np.ones((3, 3)), np.ones(3)))
    expected = np.sqrt([0.4 * 0.2 / 0.1, 0.4 * 0.1 / 0.2, 0.2 * 0.1 / 0.4]) * [1, 1, -1]
    assert converged
    assert v * np.sign(v[0]) == pytest.approx(expected, abs=1e-6)
    r = np.array([[1, 0.9, 0.9], [0.9, 1, 0.1], [0.9, 0.1, 1]])
    v = np.abs(spectral.fit_rank_one(spectral.PairMoments(r, np.ones((3, 3)), np.ones(3)))[0])
    assert v[0] == 1.0  # unbounded it would be 2.8
    assert v.max() <= 1.0
    v = np.array([0.8, 0.6, 0.5, 0.7])
    r, precision = np.outer(v, v), np.full((4, 4), 1000.0)
    r[0, 1] = r[1, 0] = 0.9  # a wild estimate from very few common items
    precision[0, 1] = precision[1, 0] = 1.0
    found = np.abs(spectral.fit_rank_one(spectral.PairMoments(r, precision, np.ones(4)))[0])
    assert found == pytest.approx(v, abs=2e-3)


def test_the_weights_are_an_eigenvector_of_the_completed_covariance(crowd):
    moments = spectral.measure_pairs(crowd[0].values)
    v = spectral.fit_rank_one(moments)[0]
    completed = moments.covariance.copy()
    np.fill_diagonal(completed, v**2)
    sizes, vectors = np.linalg.eigh(completed)
    assert sizes[-1] == pytest.approx(v @ v)
    assert np.abs(vectors[:, -1]) == pytest.approx(np.abs(v) / np.linalg.norm(v), abs=1e-6)


def test_weights_are_proportional_to_balanced_accuracy_minus_half():
    rng = np.random.default_rng(2)
    truth = np.where(rng.random(20_000) < 0.2, 1, -1)
    sensitivity = np.array([0.9, 0.6, 0.7, 0.5, 0.2])
    specificity = np.array([0.7, 0.9, 0.8, 0.5, 0.3])
    yes = np.where(truth[:, None] > 0, sensitivity, 1 - specificity)
    values = np.where(rng.random((20_000, 5)) < yes, 1, -1)
    model = spectral.SpectralMetaLearner().fit(values)
    expected = sensitivity + specificity - 1
    assert model.weights_ == pytest.approx(expected / np.linalg.norm(expected), abs=0.05)


def test_the_score_is_the_margin_and_equal_where_voters_do_not_vary_together(crowd):
    votes, truth = crowd
    model = spectral.SpectralMetaLearner().fit(votes)
    assert model.decision_function(votes) == pytest.approx(votes.values @ model.weights_)
    assert np.linalg.norm(model.weights_) == pytest.approx(1.0)
    assert model.polarity_[[0, 1, 2, 3, 4, 7, 8]].tolist() == [1, 1, 1, 1, 1, -1, -1]
    assert model.score(votes, truth) > 0.95
    assert not hasattr(model, "predict_proba")
    with pytest.warns(ExpertsWarning, match="all voters count equally"):
        model = spectral.SpectralMetaLearner().fit(np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]]))
    assert model.weights_ == pytest.approx(np.sqrt([0.5, 0.5]))


def test_a_descent_that_was_cut_short_is_a_warning(crowd, monkeypatch):
    moments = spectral.measure_pairs(crowd[0].values)
    assert not spectral.fit_rank_one(moments, max_iter=2)[1]
    found = np.array([3.0, 4.0]), False
    monkeypatch.setattr(spectral, "fit_rank_one", lambda _: found)
    with pytest.warns(ConvergenceWarning, match="rank-one"):
        weights = spectral.unit_weights(moments, np.array([2, 0]), 4)
    assert weights == pytest.approx([0.8, 0, 0.6, 0])


def test_nothing_of_the_size_of_the_votes_is_copied():
    import tracemalloc  # noqa: PLC0415

    values = np.ones((200_000, 30), dtype=np.int8, order="F")
    values[::2] = -1
    tracemalloc.start()
    spectral.SpectralMetaLearner().fit(Votes.of_values(values, np.arange(200_000), np.arange(30)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * values.nbytes


def same_partition(a, b):
    return np.array_equal(np.equal.outer(a, a), np.equal.outer(b, b))


def block_moments(groups, on, off):
    """Covariances exactly as the block model says."""
    same = np.equal.outer(groups, groups)
    r = np.where(same, np.outer(on, on), np.outer(off, off))
    precision = 1.0 - np.eye(len(groups))
    return spectral.PairMoments(r, precision, np.ones(len(groups)))


def test_exact_blocks_leave_no_residual_and_small_groups_have_fewer_parameters():
    groups = np.repeat(np.arange(3), 4)
    on, off = np.linspace(0.6, 0.9, 12), np.linspace(0.2, 0.5, 12)
    moments = block_moments(groups, on, off)
    model = spectral.fit_blocks(moments, groups)
    assert model.residual < 1e-12
    assert np.abs(model.within) == pytest.approx(on, abs=1e-5)
    assert model.n_parameters == 24
    assert spectral.fit_blocks(moments, np.zeros(12, dtype=int)).residual > 1e-3
    assert same_partition(spectral.find_blocks(moments, 4)[0].groups, groups)
    groups = np.array([0, 1, 1, 2, 2, 2])
    moments = block_moments(groups, np.full(6, 0.7), np.full(6, 0.3))
    assert spectral.fit_blocks(moments, groups).n_parameters == 6 + 0 + 1 + 3


def test_the_groups_are_found_from_the_votes_also_with_abstentions(grouped):
    values, truth, groups = grouped
    model = spectral.LatentSpectralMetaLearner(random_state=0).fit(values)
    assert same_partition(model.groups_, groups)
    assert len(model.group_weights_) == 4
    assert model.score(values, truth) > 0.84
    assert model.voters_.group.tolist() == model.groups_.tolist()
    assert model.voters_.reason[0] == "it is counted, within a group of 5"
    seen = np.random.default_rng(2).random(values.shape) < 0.7
    votes = Votes.of(values * seen, coding="pm1")
    model = spectral.LatentSpectralMetaLearner(random_state=0).fit(votes)
    assert same_partition(model.groups_, groups)
    assert model.score(votes, truth) > 0.8
    assert np.linalg.norm(model.group_weights_) == pytest.approx(1.0)
    sides = np.sign([values[:, model.groups_ == k] @ model.weights_[model.groups_ == k]
                     for k in range(4)])  # fmt: skip
    assert model.decision_function(values) == pytest.approx(model.group_weights_ @ sides)


# another grouping of the twenty fits as well
def test_a_clique_of_parrots_does_not_outvote_the_others():
    """15 voters repeat one mediocre opinion; 20 others err independently."""
    draw = np.random.default_rng(0)
    truth = draw.choice([-1, 1], 2000)
    leader = np.where(draw.random(2000) < 0.7, truth, -truth)
    parrots = np.where(draw.random((2000, 15)) < 0.85, leader[:, None], -leader[:, None])
    others = np.where(draw.random((2000, 20)) < 0.7, truth[:, None], -truth[:, None])
    values = np.hstack([parrots, others]).astype(np.int8)
    fooled = spectral.SpectralMetaLearner().fit(values).score(values, truth)
    model = spectral.LatentSpectralMetaLearner(random_state=0).fit(values)
    assert len(set(model.groups_[:15])) == 1
    assert not set(model.groups_[:15]) & set(model.groups_[15:])
    assert model.score(values, truth) > fooled + 0.1


def test_independent_voters_are_one_group_and_the_method_is_sml(crowd):
    votes, _ = crowd
    model = spectral.LatentSpectralMetaLearner(random_state=0).fit(votes)
    plain = spectral.SpectralMetaLearner().fit(votes)
    assert model.groups_.tolist() == [0] * 9
    assert np.array_equal(model.weights_, plain.weights_)
    assert np.array_equal(model.decision_function(votes), plain.decision_function(votes))


def test_latent_variables_and_clear_scores_by_hand():
    values = np.asfortranarray([[1, 1, -1, 1], [-1, 1, -1, 0], [0, 0, 1, 1]], dtype=np.int8)
    weights = np.array([0.3, 0.1, 0.5, -0.5])
    latents = spectral.read_latents(WholeTable(values), weights, np.array([0, 0, 1, 1]))
    # item 0: .3 + .1 > 0 and -.5 - .5 < 0; item 1: -.3 + .1 < 0; item 2: silence and a tie
    assert latents.tolist() == [[1, -1], [-1, -1], [0, 0]]
    groups = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2])
    scores = np.where(np.equal.outer(groups, groups), 1.0, 0.05) * (1 - np.eye(9))
    (found,) = spectral.propose_groups(scores, [3])
    assert same_partition(found, groups)


def test_many_voters_are_witnessed_by_the_busiest():
    draw = np.random.default_rng(1)
    truth = draw.choice([-1, 1], (300, 1))
    latent = np.where(draw.random((300, 3)) < 0.8, truth, -truth)
    values = np.where(draw.random((300, 180)) < 0.8, 1, -1) * np.repeat(latent, 60, axis=1)
    assert values.shape[1] > spectral.MAX_WITNESSES
    moments = spectral.measure_pairs(values.astype(np.int8))
    missing = moments._replace(precision=moments.precision * np.linspace(1, 0.5, 180))
    few = spectral.score_pairs(missing._replace(precision=missing.precision + missing.precision.T))
    assert few.shape == (180, 180)
    assert np.all(few[:60, :60].sum(axis=1) > few[:60, 60:120].sum(axis=1))
    model = spectral.LatentSpectralMetaLearner(max_groups=4, random_state=0).fit(values)
    assert same_partition(model.groups_, np.repeat(np.arange(3), 60))


def test_voters_who_never_vary_belong_to_no_group(grouped):
    values = np.column_stack([grouped[0], np.ones(1500, dtype=np.int8)])
    with pytest.warns(UserWarning, match="same vote"):
        model = spectral.LatentSpectralMetaLearner().fit(Votes.of(values))
    assert model.groups_[-1] == -1
    assert model.weights_[-1] == 0
    assert model.voters_.reason.iloc[-1] == "it always gave the same vote"
