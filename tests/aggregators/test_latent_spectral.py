import numpy as np
import pytest

from unelisa.aggregators.latent_spectral import (
    MAX_WITNESSES,
    LatentSpectralMetaLearner,
    find_blocks,
    fit_blocks,
    propose_groups,
    read_latents,
    score_pairs,
)
from unelisa.aggregators.spectral import PairMoments, SpectralMetaLearner, measure_pairs
from unelisa.errors import ModelError
from unelisa.votes import Votes
from unelisa.votes.blocks import WholeTable


def rng():
    return np.random.default_rng(0)


def same_partition(a, b):
    return np.array_equal(np.equal.outer(a, a), np.equal.outer(b, b))


def block_moments(groups, on, off):
    """Covariances exactly as the block model says."""
    same = np.equal.outer(groups, groups)
    r = np.where(same, np.outer(on, on), np.outer(off, off))
    precision = 1.0 - np.eye(len(groups))
    return PairMoments(r, precision, np.ones(len(groups)))


def test_exact_blocks_leave_no_residual():
    groups = np.repeat(np.arange(3), 4)
    on, off = np.linspace(0.6, 0.9, 12), np.linspace(0.2, 0.5, 12)
    moments = block_moments(groups, on, off)
    model = fit_blocks(moments, groups)
    assert model.residual < 1e-12
    assert np.abs(model.within) == pytest.approx(on, abs=1e-5)
    assert model.n_parameters == 24
    assert fit_blocks(moments, np.zeros(12, dtype=int)).residual > 1e-3
    assert same_partition(find_blocks(moments, 4)[0].groups, groups)


def test_groups_of_one_and_two_have_fewer_parameters():
    groups = np.array([0, 1, 1, 2, 2, 2])
    moments = block_moments(groups, np.full(6, 0.7), np.full(6, 0.3))
    assert fit_blocks(moments, groups).n_parameters == 6 + 0 + 1 + 3


def test_clear_scores_are_cut_where_they_are_clear():
    groups = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2])
    scores = np.where(np.equal.outer(groups, groups), 1.0, 0.05) * (1 - np.eye(9))
    (found,) = propose_groups(scores, [3])
    assert same_partition(found, groups)


def test_the_order_of_voters_does_not_matter_for_the_groups(grouped):
    values = grouped[0]
    order = np.random.default_rng(5).permutation(20)
    plain = find_blocks(measure_pairs(values), 6)[0].groups
    mixed = find_blocks(measure_pairs(values[:, order]), 6)[0].groups
    assert same_partition(plain[order], mixed)


def test_the_groups_are_found_from_the_votes(grouped):
    values, truth, groups = grouped
    model = LatentSpectralMetaLearner(random_state=0).fit(values)
    assert same_partition(model.groups_, groups)
    assert len(model.group_weights_) == 4
    assert model.score(values, truth) > 0.84
    assert model.voters_.group.tolist() == model.groups_.tolist()
    assert model.voters_.reason[0] == "it is counted, within a group of 5"


# another grouping of the twenty fits as well
@pytest.mark.filterwarnings("ignore:the answer depends on a tie")
def test_a_clique_of_parrots_does_not_outvote_the_others():
    """15 voters repeat one mediocre opinion; 20 others err independently."""
    draw = np.random.default_rng(0)
    truth = draw.choice([-1, 1], 2000)
    leader = np.where(draw.random(2000) < 0.7, truth, -truth)
    parrots = np.where(draw.random((2000, 15)) < 0.85, leader[:, None], -leader[:, None])
    others = np.where(draw.random((2000, 20)) < 0.7, truth[:, None], -truth[:, None])
    values = np.hstack([parrots, others]).astype(np.int8)
    fooled = SpectralMetaLearner().fit(values).score(values, truth)
    model = LatentSpectralMetaLearner(random_state=0).fit(values)
    assert len(set(model.groups_[:15])) == 1
    assert not set(model.groups_[:15]) & set(model.groups_[15:])
    assert model.score(values, truth) > fooled + 0.1


def test_independent_voters_are_one_group_and_the_method_is_sml(crowd):
    votes, _ = crowd
    model = LatentSpectralMetaLearner(random_state=0).fit(votes)
    plain = SpectralMetaLearner().fit(votes)
    assert model.groups_.tolist() == [0] * 9
    assert np.array_equal(model.weights_, plain.weights_)
    assert np.array_equal(model.decision_function(votes), plain.decision_function(votes))


def test_latent_variables_by_hand():
    values = np.asfortranarray([[1, 1, -1, 1], [-1, 1, -1, 0], [0, 0, 1, 1]], dtype=np.int8)
    weights = np.array([0.3, 0.1, 0.5, -0.5])
    latents = read_latents(WholeTable(values), weights, np.array([0, 0, 1, 1]))
    # item 0: .3 + .1 > 0 and -.5 - .5 < 0; item 1: -.3 + .1 < 0; item 2: silence and a tie
    assert latents.tolist() == [[1, -1], [-1, -1], [0, 0]]


def test_the_score_adds_up_the_groups_sides(grouped):
    values = grouped[0]
    model = LatentSpectralMetaLearner(random_state=0).fit(values)
    assert np.linalg.norm(model.group_weights_) == pytest.approx(1.0)
    sides = np.sign([values[:, model.groups_ == k] @ model.weights_[model.groups_ == k]
                     for k in range(4)])  # fmt: skip
    assert model.decision_function(values) == pytest.approx(model.group_weights_ @ sides)


def test_many_voters_are_witnessed_by_the_busiest():
    draw = np.random.default_rng(1)
    truth = draw.choice([-1, 1], (300, 1))
    latent = np.where(draw.random((300, 3)) < 0.8, truth, -truth)
    values = np.where(draw.random((300, 180)) < 0.8, 1, -1) * np.repeat(latent, 60, axis=1)
    assert values.shape[1] > MAX_WITNESSES
    moments = measure_pairs(values.astype(np.int8))
    missing = moments._replace(precision=moments.precision * np.linspace(1, 0.5, 180))
    few = score_pairs(missing._replace(precision=missing.precision + missing.precision.T))
    assert few.shape == (180, 180)
    assert np.all(few[:60, :60].sum(axis=1) > few[:60, 60:120].sum(axis=1))
    model = LatentSpectralMetaLearner(max_groups=4, random_state=0).fit(values)
    assert same_partition(model.groups_, np.repeat(np.arange(3), 60))


def test_voters_who_never_vary_belong_to_no_group(grouped):
    values = np.column_stack([grouped[0], np.ones(1500, dtype=np.int8)])
    with pytest.warns(UserWarning, match="same vote"):
        model = LatentSpectralMetaLearner().fit(Votes.of(values))
    assert model.groups_[-1] == -1
    assert model.weights_[-1] == 0
    assert model.voters_.reason.iloc[-1] == "it always gave the same vote"


def test_abstentions_are_left_out(grouped):
    values, truth, groups = grouped
    seen = np.random.default_rng(2).random(values.shape) < 0.7
    votes = Votes.of(values * seen, coding="pm1")
    model = LatentSpectralMetaLearner(random_state=0).fit(votes)
    assert same_partition(model.groups_, groups)
    assert model.score(votes, truth) > 0.8


def test_one_group_can_be_demanded(grouped):
    model = LatentSpectralMetaLearner(max_groups=1).fit(grouped[0])
    assert len(model.group_weights_) == 1
    with pytest.raises(ModelError, match="max_groups"):
        LatentSpectralMetaLearner(max_groups=0).fit(grouped[0])
