import numpy as np
import pytest

from latent.worlds import ballots_of, plain_crowd, run_of
from unelisa.latent.consensus.model import weigh_truth
from unelisa.latent.gold.comparison import compare_with_gold, labels_help, weigh_by_gold


@pytest.fixture
def crowd():
    return plain_crowd(0, n_items=400, n_voters=15, votes_per_item=10)


def ask(values, truth, odds, n_labels):
    """What the first labels follow, with `odds` as the votes' own axis."""
    blocks = ballots_of(values)
    items = np.arange(n_labels)
    ballots, signs = run_of(values[items]), truth[items].astype(float)
    model = weigh_by_gold(ballots, signs, blocks.n_voters)
    scale = blocks.concatenate(weigh_truth, model.factors).std()
    return compare_with_gold(ballots, signs, odds[items] / odds.std(), scale, blocks.n_voters)


def noisy(truth, seed=1):
    return 2.0 * truth + np.random.default_rng(seed).normal(0, 1, len(truth))


@pytest.mark.parametrize("n_labels", [5, 20, 100])
def test_labels_follow_an_axis_that_is_right_and_turn_one_that_is_wrong(crowd, n_labels):
    values, truth = crowd
    assert ask(values, truth, noisy(truth), n_labels).follows == "axis"
    assert ask(values, truth, -noisy(truth), n_labels).follows == "opposite"


def test_labels_leave_an_axis_that_has_nothing_to_do_with_them(crowd):
    values, truth = crowd
    other = noisy(np.random.default_rng(2).permutation(truth))
    test = ask(values, truth, other, 40)
    assert test.follows == "gold"
    assert test.alone > test.axis
    assert ask(values, truth, other, 5).follows != "gold"  # too few to weigh voters by


def test_voters_weighed_by_gold_alone_label_the_rest(crowd):
    values, truth = crowd
    blocks = ballots_of(values)
    ballots = run_of(values[:60])
    model = weigh_by_gold(ballots, truth[:60].astype(float), blocks.n_voters)
    odds = blocks.concatenate(weigh_truth, model.factors)
    assert np.mean((odds[60:] > 0) == (truth[60:] > 0)) > 0.9


def test_labels_in_the_fit_must_help_by_two_standard_errors():
    truth = np.tile([1.0, -1.0], 20)
    before = noisy(truth, 3)
    assert labels_help(truth, before, before + 2 * truth)
    assert not labels_help(truth, before, before)
    assert not labels_help(truth, before, before + 0.01 * np.random.default_rng(0).normal(size=40))
