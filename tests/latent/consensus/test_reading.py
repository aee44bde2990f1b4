import numpy as np
import pytest
from scipy.special import expit, logit

from latent.worlds import ballots_of, plain_crowd, repeating_crowd, rules, tilted_crowd
from unelisa.latent import interpret
from unelisa.latent.consensus.affinity import Affinity
from unelisa.latent.consensus.model import Consensus, weigh_truth
from unelisa.latent.consensus.reading import ConsensusReading
from unelisa.latent.consensus.rules import odds_before_silence
from unelisa.latent.reading import sum_posteriors

VALUES = np.array([[1, -1, 0], [0, 0, 0], [-1, 1, 1], [0, 0, -1]], dtype=np.int8)
PAIR = np.array([0], dtype=np.int32), np.array([1], dtype=np.int32)
AFFINITY = Affinity.tie(*PAIR, np.array([0.5], dtype=np.float32), 3)


def read(values, structure="auto"):
    return interpret(ballots_of(values), structure, np.random.default_rng(0))


def consensus(means, rate, silence=(0, 0, 0), affinity=None):
    """A consensus of voters known for sure."""
    means, silence = np.array(means, dtype=float), np.array(silence, dtype=np.int8)
    unsure = np.zeros((len(means), 2, 2))
    model = Consensus(means, unsure, np.zeros(2), np.ones(2), rate, np.empty(0), converged=True)
    nobody = np.zeros(len(means), dtype=bool)
    return ConsensusReading(
        structure="plain", model=model, experts=nobody, silence=silence, affinity=affinity
    )


def odds_by_hand(values, means):
    """The votes' part of the log-odds: sum_s log P(f_s | yes) / P(f_s | no)."""
    b, a = np.array(means).T
    ratio = np.log(expit(2 * values * (b + a)) / expit(2 * values * (b - a)))
    return np.where(values != 0, ratio, 0).sum(axis=1)


def test_a_consensus_scores_by_both_coins_and_half_the_class_rate():
    means, prior = [[0.1, 0.9], [-0.4, 0.5], [0.3, -0.2]], np.array([0.0, 1.0, -2.0, 0.5])
    odds = consensus(means, rate=0.8).score(ballots_of(VALUES, prior))
    assert odds == pytest.approx(odds_by_hand(VALUES, means) + prior + 0.5 * 0.8)
    nobody = AFFINITY._replace(strengths=np.zeros(2, dtype=np.float32))
    full = consensus(means, rate=0.8, affinity=nobody).score(ballots_of(VALUES, prior))
    assert full == pytest.approx(odds + 0.5 * 0.8)  # under a discount all of it


def test_silence_is_an_answer_on_items_with_votes_and_tells_of_the_others_by_bayes():
    means, silence = [[0.1, 0.9], [-0.4, 0.5], [0.3, 0.2]], np.array([-1, 1, 0], dtype=np.int8)
    reading = consensus(means, 0.8, silence)
    odds = reading.score(ballots_of(VALUES))
    filled = np.where((VALUES == 0) & VALUES.any(axis=1)[:, None], silence, VALUES)
    by_hand = odds_by_hand(filled, means) + 0.4
    by_hand[1] = 0.5 * odds_before_silence(reading.model.coins, silence, 0.8)
    assert odds == pytest.approx(by_hand)
    assert by_hand[1] != pytest.approx(0.4)


def test_repeats_are_discounted_before_they_are_scored():
    means = [[0.1, 0.9], [-0.4, 0.5], [0.3, 0.2]]
    reading = consensus(means, 0.0, affinity=AFFINITY)
    odds = reading.score(ballots_of(VALUES))
    parts = [odds_by_hand(np.where(np.arange(3) == s, VALUES, 0), means) for s in range(3)]
    both = VALUES[:, :2].all(axis=1)
    share = np.where(both, 1 / 1.5, 1.0)
    assert odds == pytest.approx(share * (parts[0] + parts[1]) + parts[2])


@pytest.mark.parametrize(
    ("world", "structure"),
    [(plain_crowd, "plain"), (tilted_crowd, "tilt"), (repeating_crowd, "auto"), (rules, "auto")],
)
def test_a_turned_reading_says_the_opposite_of_every_item(world, structure):
    values, _ = world(1)
    reading, blocks = read(values, structure), ballots_of(values)
    odds = reading.score(blocks)
    assert reading.turned().score(blocks) == pytest.approx(-odds)
    assert reading.turned().field == -reading.field
    assert np.array_equal(reading.turned().model.weights, -reading.model.weights)
    assert np.array_equal(reading.turned().turned().score(blocks), odds)
    for left in reading.others:
        other = left.score(blocks)
        assert reading.turned().others[0].score(blocks) == pytest.approx(-other)


def test_the_mean_posterior_is_the_class_rate_that_was_fitted():
    values, _ = plain_crowd(2, n_items=2000, share=0.3)
    reading = read(values, "plain")
    (n_items, total, _), *_ = ballots_of(values).sum(sum_posteriors, reading, 20)
    assert logit(total / n_items) == pytest.approx(reading.model.rate, abs=0.01)
    assert reading.field == pytest.approx(reading.model.rate / 4)


def test_scores_do_not_depend_on_the_other_items():
    values, _ = repeating_crowd(1)
    reading = read(values)
    whole = reading.score(ballots_of(values))
    assert reading.score(ballots_of(values[40:50])) == pytest.approx(whole[40:50])
    blocks = reading.view(ballots_of(values))
    assert whole == pytest.approx(blocks.concatenate(weigh_truth, reading.model.factors))


def test_links_are_the_discounted_pairs():
    means = [[0.1, 0.9], [-0.4, 0.5], [0.3, 0.2]]
    links = consensus(means, 0.0, affinity=AFFINITY).links
    assert (links.first.tolist(), links.second.tolist(), links.weights.tolist()) == (
        [0],
        [1],
        [0.5],
    )
    assert len(consensus(means, 0.0).links.first) == 0


def test_the_sides_are_swapped_where_the_informative_voters_are_against_the_fit():
    means, nothing = [[0.0, -1.0], [0.0, 0.1], [0.0, 0.1]], np.zeros(4)
    ballots = ballots_of(VALUES)
    assert consensus(means, 0.0).is_upside_down(ballots, nothing)
    assert not consensus(means, 0.0).is_upside_down(ballots, nothing + 1)  # the prior's side
    assert not consensus(means, 0.0).turned().is_upside_down(ballots, nothing)
