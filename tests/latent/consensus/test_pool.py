from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit

from latent.consensus.test_model import draw_model, list_nodes
from latent.worlds import (
    bad_clique,
    copying_crowd,
    plain_crowd,
    repeating_crowd,
    rules,
    run_of,
    sample_of,
    tilted_crowd,
    two_camps,
    uneven_crowd,
)
from unelisa.latent.consensus.contest import hold_contest, weigh_majority
from unelisa.latent.consensus.doubt import (
    SHARE,
    measure_doubt,
)
from unelisa.latent.consensus.model import GRID, infer
from unelisa.latent.consensus.pool import (
    LINK,
    RATE,
    Pool,
    Terms,
    answer,
    answer_each,
    fit_pool,
    share_branches,
)

KINDS = ("plain", "ease", "tilt", "families")
NOBODY = np.full(3, -1, dtype=np.int32)


def choose(values):
    sample = sample_of(values)
    return sample, hold_contest(sample, sample, KINDS, -np.inf)


def pool_of(values, weight=SHARE, **settings):
    sample, choice = choose(values)
    majority = weigh_majority(sample, choice.once)
    return fit_pool((sample, sample), choice.best, majority, weight, Terms(**settings))


def mix(members, weights, share, unheard):
    """A pool of these members, who read everybody's votes."""
    family = members[0].family
    everybody = np.ones(len(family), dtype=bool)
    return Pool(tuple(members), np.array(weights), share, family, everybody, unheard)


def draw_votes(model, n_items, seed=0):
    """Votes drawn from a model: a state of all hidden nodes per item, then the voters."""
    rng = np.random.default_rng(seed)
    nodes = list(list_nodes(model))
    chances = np.exp([chance for _, chance, _ in nodes])
    chances *= expit([f0 * model.rate for f0, _, _ in nodes])
    rows = rng.choice(len(nodes), n_items, p=chances / chances.sum())
    odds = np.array([odds for _, _, odds in nodes])[rows]
    return np.where(rng.random(odds.shape) < expit(odds), 1, -1).astype(np.int8)


def test_the_share_of_yes_counts_a_family_once():
    values = np.array([[1, 1, -1, -1], [1, -1, 0, 1], [0, 0, 0, 0], [0, 1, 1, 1]], dtype=np.int8)
    alone = share_branches(run_of(values), np.full(4, -1))
    assert alone == pytest.approx([3 / 6, 3 / 5, 1 / 2, 4 / 5])
    family = np.array([0, 0, -1, -1])
    assert share_branches(run_of(values), family) == pytest.approx([2 / 5, 2.5 / 4, 1 / 2, 4 / 5])
    two = np.array([0, 0, 1, 1])
    assert share_branches(run_of(values), two) == pytest.approx([2 / 4, 2.5 / 4, 1 / 2, 3 / 4])


def test_a_copy_changes_no_share_of_yes():
    values, _ = plain_crowd(0, n_voters=6, votes_per_item=4)
    family = np.array([0, -1, -1, -1, -1, -1, 0, 0])
    more = np.hstack([values, values[:, :1], values[:, :1]])
    alone = share_branches(run_of(values), np.full(6, -1))
    assert share_branches(run_of(more), family) == pytest.approx(alone)


def test_answers_take_half_the_class_rate_and_no_prior_odds():
    model = replace(draw_model(7, NOBODY, tilt=False, ease=False), rate=2.0)
    values = np.array([[1, 1, -1], [0, 0, 0], [-1, 0, 0]], dtype=np.int8)
    found = answer(run_of(values, np.array([5.0, -5.0, 0.0])), model)
    b, a = model.branches.means.T
    ratio = np.log(expit(2 * values * (b + a)) / expit(2 * values * (b - a)))
    assert logit(found) == pytest.approx(RATE * 2.0 + np.where(values, ratio, 0).sum(axis=1))


def test_under_ease_the_truth_is_not_sure_to_follow_the_lean():
    model = draw_model(8, NOBODY, tilt=False, ease=True)
    ballots = run_of(np.array([[1, 1, -1], [0, 1, 0]], dtype=np.int8))
    posterior = infer(ballots, model.factors._replace(rate=RATE * model.rate))[0]
    follow = expit(LINK * np.concatenate([GRID, -GRID]))
    assert answer(ballots, model) == pytest.approx(posterior @ follow)
    assert follow[: len(GRID)] == pytest.approx([0.5, 0.68, 0.82, 0.95, 0.99], abs=0.005)


@pytest.mark.parametrize("world", [plain_crowd, tilted_crowd, repeating_crowd, uneven_crowd])
def test_weights_add_up_and_follow_the_evidence(world):
    pool = pool_of(world(1)[0])
    assert pool.parts.sum() == pytest.approx(1)
    assert pool.share == SHARE
    evidence = np.array([one.evidence for one in pool.members])
    assert np.array_equal(np.argsort(-pool.weights, kind="stable")[:1], [np.argmax(evidence)])
    ratio = np.log(pool.weights.max() / np.maximum(pool.weights, 1e-300))
    scale = (evidence.max() - evidence) / np.log(len(world(1)[0]))
    assert np.allclose(np.minimum(ratio, 50), np.minimum(scale, 50), atol=1e-6)
    assert pool.best is pool.members[int(np.argmax(evidence))]


def test_members_have_the_structure_with_and_without_ease():
    values, _ = copying_crowd(1)
    pool = pool_of(values)
    assert {one.has_ease for one in pool.members} == {True, False}
    assert 2 <= len(pool.members) <= 6
    assert all(np.array_equal(one.family, pool.family) for one in pool.members)
    assert len(pool_of(values, centered=(0.0,)).members) == 2


def test_a_member_that_leaves_the_majority_further_than_the_choice_is_not_kept():
    for world in (copying_crowd, bad_clique, tilted_crowd):
        values, _ = world(2)
        sample, choice = choose(values)
        majority = weigh_majority(sample, choice.once)
        pool = fit_pool((sample, sample), choice.best, majority, SHARE)
        decided = majority != 0.5
        says = majority[decided] > 0.5
        least = np.mean((answer(sample.ballots, choice.best.model) > 0.5)[decided] == says) - 0.1
        for one in pool.members:
            assert np.mean((answer(sample.ballots, one) > 0.5)[decided] == says) >= least


def test_an_item_without_votes_gets_the_same_chance_everywhere():
    values, _ = plain_crowd(3, share=0.2)
    values[:5] = 0
    pool = pool_of(values)
    each = answer_each(run_of(values), pool, np.zeros(20, dtype=np.int8))
    assert np.all(each[:5] == pool.unheard)
    assert 0.2 < pool.unheard < 0.5  # half the log-odds of a class that is rare
    assert each[5:, -1] == pytest.approx(share_branches(run_of(values[5:]), pool.family))


def test_silence_is_filled_in_for_the_models_and_not_for_the_share():
    values, _ = rules(0)
    silence = -np.sign(values.sum(axis=0)).astype(np.int8)
    model = draw_model(9, np.full(10, -1), tilt=False, ease=False)
    pool = mix([model], [0.75], 0.25, 0.5)
    heard = values.any(axis=1)
    filled = np.where((values == 0) & heard[:, None], silence, values)
    each = answer_each(run_of(values), pool, silence)
    assert each[heard, 0] == pytest.approx(answer(run_of(filled), model)[heard])
    assert each[heard, 1] == pytest.approx(share_branches(run_of(values), model.family)[heard])


def test_a_turned_pool_says_the_opposite():
    values, _ = copying_crowd(2)
    pool, silence = pool_of(values), np.zeros(11, dtype=np.int8)
    each, turned = (answer_each(run_of(values), one, silence) for one in (pool, pool.turned()))
    assert turned == pytest.approx(1 - each)
    again = answer_each(run_of(values), pool.turned().turned(), silence)
    assert np.array_equal(again, each)
    assert pool.turned().coins == pytest.approx(pool.coins[::-1])
    assert pool.turned().unheard == pytest.approx(1 - pool.unheard)


def test_coins_are_averaged_over_the_members():
    pool = pool_of(copying_crowd(3)[0])
    weights = pool.weights / pool.weights.sum()
    expected = sum(w * one.coins for w, one in zip(weights, pool.members, strict=True))
    assert pool.coins == pytest.approx(expected)
    none = replace(pool, weights=np.zeros(len(pool.members)), share=1.0)
    assert none.coins == pytest.approx(np.mean([one.coins for one in pool.members], axis=0))


def test_the_share_alone_can_be_turned_too():
    values = np.array([[1, 1, -1], [0, 0, 0], [-1, 0, 0]], dtype=np.int8)
    model = draw_model(1, NOBODY, tilt=False, ease=False)
    pool = mix([model], [0.0], 1.0, 0.3)
    silence = np.zeros(3, dtype=np.int8)
    assert answer_each(run_of(values), pool, silence) @ pool.parts == pytest.approx(
        [0.6, 0.3, 1 / 3]
    )
    turned = answer_each(run_of(values), pool.turned(), silence) @ pool.parts
    assert turned == pytest.approx([0.4, 0.7, 2 / 3])


def test_votes_that_are_not_read_have_no_influence():
    values, _ = plain_crowd(4, n_voters=6, votes_per_item=3)
    values[0, 1:] = 0  # an item that only the first voter saw
    values[0, 0] = 1
    model = draw_model(2, np.full(6, -1), tilt=False, ease=True)
    whole, silence = mix([model], [0.6], 0.4, 0.3), np.zeros(6, dtype=np.int8)
    kept = np.arange(6) > 0
    found = answer_each(run_of(values), replace(whole, kept=kept), silence)
    expected = answer_each(run_of(np.where(kept, values, 0).astype(np.int8)), whole, silence)
    assert np.array_equal(found, expected)
    assert found[0].tolist() == [0.3, 0.3]


def test_the_pool_stays_near_the_votes_where_two_axes_compete():
    """A model that does not hold cannot overrule the votes."""
    values, _, _ = two_camps(1)
    sample, choice = choose(values)
    plain, majority = choice.tried[0], weigh_majority(sample, choice.once)
    assert measure_doubt(sample, plain.model, plain.truth, majority).share > 0.5
