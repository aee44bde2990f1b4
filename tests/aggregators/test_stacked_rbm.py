import numpy as np
import pytest
from scipy.special import expit

from unelisa.aggregators import DawidSkene, StackedRBM
from unelisa.aggregators.stacked_rbm import (
    Filling,
    Layer,
    as_layer,
    climb,
    count_units,
    draw_states,
    find_sign,
    finish_top,
)
from unelisa.errors import ExpertsWarning, ModelError


def test_one_hidden_unit_is_dawid_skene(crowd):
    """The lemma: P(h = 1 | v) of that machine is Dawid and Skene's posterior."""
    votes, _ = crowd
    model = DawidSkene(random_state=0).fit(votes)
    layer = as_layer(model.coins_, model.prevalence_)
    chances = climb((votes.values > 0).astype(float), [layer])[:, 0]
    assert chances == pytest.approx(model.predict_proba(votes)[:, 1])


@pytest.mark.parametrize("seed", range(3))
def test_training_one_unit_ends_at_dawid_skenes_optimum(seed, crowd):
    votes, truth = crowd
    rbm = StackedRBM(hidden=(1,), random_state=seed).fit(votes)
    model = DawidSkene(random_state=0).fit(votes)
    assert rbm.hidden_sizes_ == [1]
    assert abs(rbm.score(votes, truth) - model.score(votes, truth)) <= 0.01
    assert rbm.decision_function(votes) == pytest.approx(model.decision_function(votes), abs=0.05)


def test_the_rule_for_the_number_of_units():
    assert count_units(np.diag([1.0, 0, 0])) == 1
    assert count_units(np.diag([1.0, 1, 1, 1])) == 4
    assert count_units(np.diag([90.0, 5, 4, 1])) == 3  # 95 % is not more than 95 %
    assert count_units(np.zeros((3, 3))) == 1


@pytest.mark.filterwarnings("ignore:the answer depends on chance")
def test_units_follow_the_groups_of_voters(grouped):
    """Four groups of five voters that share a latent variable: four units, then one."""
    values, truth, _ = grouped
    model = StackedRBM(random_state=0).fit(values)
    assert model.hidden_sizes_[-1] == 1
    assert 3 <= model.hidden_sizes_[0] <= 5
    assert model.score(values, truth) > 0.8


@pytest.mark.filterwarnings("ignore:the answer depends on chance")
def test_sizes_may_be_given(grouped):
    values, truth, _ = grouped
    model = StackedRBM(hidden=(4, 1), random_state=0).fit(values)
    assert model.hidden_sizes_ == [4, 1]
    assert [weights.shape for weights in model.layer_weights_] == [(4, 20), (1, 4)]
    assert model.score(values, truth) > 0.78
    for wrong in ("many", (3,), (), (1, 1), (0, 1)):
        with pytest.raises(ModelError, match="hidden"):
            StackedRBM(hidden=wrong).fit(values)
    with pytest.raises(ModelError, match="max_iter"):
        StackedRBM(max_iter=0).fit(values)


def test_a_missing_vote_is_filled_with_its_expectation_by_hand():
    filling = Filling(np.array([[0.2, 0.4], [0.8, 0.6]]), 0.5)
    votes = np.array([[1, 0], [0, 0], [-1, 1]], dtype=np.int8)
    # one yes of a voter with both coins at .8 says .8; then .8 * .6 + .2 * .4
    assert filling.expect(votes) == pytest.approx(np.array([[1, 0.56], [0.5, 0.5], [0, 1]]))
    many = np.tile(votes[:1], (4000, 1))
    drawn = filling.complete(many, np.random.default_rng(0))
    assert drawn.dtype == np.int8
    assert np.array_equal(drawn[:, 0], many[:, 0])
    assert np.mean(drawn[:, 1] > 0) == pytest.approx(0.56, abs=0.03)
    assert filling.complete(drawn, np.random.default_rng(0)) is drawn


def test_the_sign_turns_with_the_votes():
    uneven, skewed = np.array([[1, 1, -1]]), np.array([[1, 1], [-1, 0], [0, -1]])
    even = np.array([[1, 1], [-1, -1]])
    assert (find_sign(uneven), find_sign(-uneven)) == (1, -1)
    assert (find_sign(skewed), find_sign(-skewed)) == (1, -1)
    assert (find_sign(even), find_sign(-even)) == (1, 1)


def test_an_answer_that_depends_on_chance_is_told(grouped):
    with pytest.warns(ExpertsWarning, match="depends on chance: .* label .*% of the items"):
        model = StackedRBM(random_state=0).fit(grouped[0])
    assert not model.reliable_
    assert "depends on chance" in model.reliability_reason_


def test_a_weak_start_still_leaves_the_middle():
    rng = np.random.default_rng(0)
    states = draw_states(np.where(rng.random((3000, 1)) < 0.5, 0.8, 0.2) * np.ones(6), rng)
    layer = finish_top(states, Layer(np.full((1, 6), 1e-6), np.zeros(1)))
    assert np.abs(layer.weights - 2 * np.log(4)).max() < 0.5
    assert expit(layer.bias[0] + layer.weights.sum()) > 0.95


def test_two_voters_are_the_majoritys_word():
    with pytest.warns(ExpertsWarning, match="fewer than three"):
        model = StackedRBM().fit([[1, 1], [-1, 1], [-1, -1]])
    assert model.hidden_sizes_ == [1]


@pytest.mark.filterwarnings("ignore:the answer depends on chance")
@pytest.mark.shared
def test_bluebirds(bluebirds):
    votes, truth = bluebirds
    assert StackedRBM(random_state=0).fit(votes).score(votes, truth) > 0.82
