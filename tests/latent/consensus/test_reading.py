from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from scipy.special import expit, logit

from latent.consensus.test_model import draw_model
from latent.consensus.test_pool import mix
from latent.worlds import (
    bad_clique,
    ballots_of,
    copying_crowd,
    echo,
    plain_crowd,
    repeating_crowd,
    rules,
    run_of,
    sides,
    tilted_crowd,
    two_camps,
    uneven_crowd,
)
from unelisa.latent.consensus import read_consensus
from unelisa.latent.consensus.contest import Kind
from unelisa.latent.consensus.pool import answer_each
from unelisa.latent.consensus.reading import ConsensusReading, expect_ease, find_experts
from unelisa.latent.crowd import Crowd

ALL = get_args(Kind)
SILENT = np.zeros(3, dtype=np.int8)
VALUES = np.array([[1, -1, 0], [0, 0, 0], [-1, 1, 1], [0, 0, -1]], dtype=np.int8)


def read(values, kinds=ALL):
    return read_consensus(Crowd.of(ballots_of(values)), kinds)


def reading_of(pool, silence=SILENT):
    """A reading of a pool that is known."""
    return ConsensusReading(
        structure="plain",
        model=pool.best,
        pool=pool,
        experts=np.zeros(len(silence), dtype=bool),
        silence=silence,
        family=pool.family,
        branches=len(silence),
    )


def known(*weights, rate=0.0):
    """A pool of one model, whose voters have no bias and these weights."""
    model = draw_model(0, np.full(len(weights), -1), tilt=False, ease=False)
    means = np.array([[0.0, weight] for weight in weights])
    model = replace(model, branches=replace(model.branches, means=means), rate=rate)
    return mix([model], [1.0], 0.0, expit(rate / 2))


def test_a_score_is_the_pooled_chance_and_the_prior_odds():
    prior = np.array([0.0, 1.0, -2.0, 0.5])
    model = draw_model(1, np.full(3, -1), tilt=True, ease=True)
    pool = mix([model], [0.7], 0.3, 0.4)
    pooled = answer_each(run_of(VALUES), pool, SILENT) @ [0.7, 0.3]
    reading = reading_of(pool)
    assert reading.score(ballots_of(VALUES, prior)) == pytest.approx(logit(pooled) + prior)
    assert reading.score(ballots_of(VALUES))[1] == pytest.approx(logit(0.4))
    assert reading.field == pytest.approx(logit(0.4) / 2)


def test_votes_of_known_voters_add_up():
    odds = reading_of(known(0.8, 0.5, -0.2)).score(ballots_of(VALUES))
    assert odds == pytest.approx(2 * VALUES @ [0.8, 0.5, -0.2])


@pytest.mark.parametrize(
    "world", [plain_crowd, tilted_crowd, copying_crowd, uneven_crowd, rules, two_camps]
)
def test_a_turned_reading_says_the_opposite_of_every_item(world):
    values = world(1)[0]
    reading, blocks = read(values), ballots_of(values)
    turned, odds = reading.turned(), reading.score(blocks)
    assert turned.score(blocks) == pytest.approx(-odds, abs=1e-9)
    assert turned.field == pytest.approx(-reading.field)
    assert turned.model.weights == pytest.approx(-reading.model.weights)
    assert turned.turned().score(blocks) == pytest.approx(odds, abs=1e-9)
    assert turned.answers.prevalence == pytest.approx(1 - reading.answers.prevalence)
    assert np.array_equal(turned.answers.coins, reading.answers.coins[::-1])
    for other, mirrored in zip(reading.others, turned.others, strict=True):
        assert mirrored.score(blocks) == pytest.approx(-other.score(blocks), abs=1e-9)


def test_scores_do_not_depend_on_the_other_items():
    values, _ = repeating_crowd(1)
    reading = read(values)
    whole = reading.score(ballots_of(values))
    assert reading.score(ballots_of(values[40:50])) == pytest.approx(whole[40:50])


def test_answers_are_those_of_the_scores():
    values, _ = plain_crowd(2)
    reading = read(values)
    chances = expit(reading.score(ballots_of(values)))
    assert reading.answers.prevalence == pytest.approx(chances.mean())
    expected = np.maximum(chances, 1 - chances).mean()
    assert reading.answers.expected_accuracy == pytest.approx(expected)
    low, high = reading.answers.expected_interval
    assert low <= expected <= high
    assert reading.answers.share_yes == np.mean(chances >= 0.5)


@pytest.mark.parametrize("repeat", [0.99, 1.0])
@pytest.mark.parametrize("n_copies", [2, 3, 6])
def test_a_voter_who_is_added_again_and_again_makes_no_more_effective_voters(n_copies, repeat):
    values, _ = copying_crowd(0, n_items=1500, n_copies=1)
    alone = read(values)
    rng = np.random.default_rng(0)
    copies = [echo(rng, values[:, 0], repeat) for _ in range(n_copies - 1)]
    reading = read(np.hstack([values, np.array(copies, dtype=np.int8).T]))
    assert reading.branches == alone.branches == 9
    assert reading.effective_voters == pytest.approx(alone.effective_voters, abs=0.2)


def test_equally_good_voters_are_all_effective_and_noise_is_not():
    rng = np.random.default_rng(1)
    truth = sides(rng, 3000)
    good, noise = ([echo(rng, truth, p) for _ in range(6)] for p in (0.8, 0.5))
    assert read(np.array(good, dtype=np.int8).T).effective_voters == pytest.approx(6, abs=0.1)
    both = read(np.array(good + noise, dtype=np.int8).T)
    assert both.effective_voters == pytest.approx(6, abs=1)


def test_where_copies_leave_too_few_voters_the_branches_are_counted():
    rng = np.random.default_rng(2)
    truth = sides(rng, 1000)
    said = echo(rng, truth, 0.8)
    reading = read(np.array([said, said, said, echo(rng, truth, 0.8)], dtype=np.int8).T)
    assert reading.family.tolist() == [0, 0, 0, -1]
    assert reading.effective_voters == reading.branches == 2
    assert not reading.told
    assert not reading.experts.any()
    assert list(zip(reading.links.first, reading.links.second, strict=True)) == [
        (0, 1),
        (0, 2),
        (1, 2),
    ]


def test_labels_are_then_the_share_of_yes_with_copies_counted_once():
    rng = np.random.default_rng(2)
    truth = sides(rng, 1000)
    said, other = echo(rng, truth, 0.8), echo(rng, truth, 0.8)
    values = np.array([said, said, said, other], dtype=np.int8).T
    yes = (said > 0).astype(float) + (other > 0)
    chances = expit(read(values).score(ballots_of(values)))
    assert chances == pytest.approx((yes + 1) / 4)


def test_links_are_the_pairs_of_relatives():
    values, _ = copying_crowd(1)
    reading = read(values)
    links, repeats = reading.links, reading.model.members.means[:, 1]
    assert links.first.tolist() == [0, 0, 1]
    assert links.second.tolist() == [1, 2, 2]
    assert links.weights == pytest.approx(repeats[[0, 0, 1]] * repeats[[1, 2, 2]])
    assert len(read(plain_crowd(0)[0]).links.first) == 0


def test_ease_orders_easy_and_hard_items():
    values, _, ease = uneven_crowd(0)
    found = read(values).measure_ease(ballots_of(values))
    easy, fair, hard = (found[ease == d] for d in (1.5, 0.5, 0.1))
    assert easy.mean() > fair.mean() + 0.1 > hard.mean() + 0.2
    assert np.all((found >= 0) & (found <= 1.6))


def test_ease_is_unknown_without_votes_and_without_a_member_that_has_it():
    values, _ = plain_crowd(0)
    values[:4] = 0
    found = read(values).measure_ease(ballots_of(values))
    assert np.isnan(found[:4]).all()
    assert not np.isnan(found[4:]).any()
    assert np.isnan(read(values, ("plain",)).measure_ease(ballots_of(values))).all()
    model = draw_model(3, np.full(20, -1), tilt=False, ease=True)
    silence = np.zeros(20, dtype=np.int8)
    assert np.isnan(expect_ease(run_of(values), model, silence)[:4]).all()


def test_experts_are_better_than_the_crowd():
    """Sensitivity + specificity - 1 by two standard errors above the mean."""
    votes = np.full(4, 1000.0)
    coins = np.array([[0.1, 0.3, 0.3, 0.5], [0.9, 0.7, 0.7, 0.5]])
    assert find_experts(coins, votes, 0.5).tolist() == [True, False, False, False]
    assert not find_experts(coins, np.full(4, 3.0), 0.5).any()  # three votes show nothing
    assert not find_experts(coins[:, [1, 1, 1]], votes[:3], 0.5).any()  # all alike
    idle = find_experts(coins, np.array([0.0, 1000, 1000, 1000]), 0.5)
    assert not idle[0]


def test_the_good_ones_of_a_crowd_are_its_experts():
    rng = np.random.default_rng(3)
    truth = sides(rng, 2000)
    columns = [echo(rng, truth, p) for p in [0.9] * 3 + [0.7] * 6]
    assert np.flatnonzero(read(np.array(columns, dtype=np.int8).T).experts).tolist() == [0, 1, 2]


def test_the_sides_are_swapped_where_the_informative_voters_are_against_the_fit():
    ballots, nothing = ballots_of(VALUES), np.zeros(4)
    reading = reading_of(known(-1.0, 0.1, 0.1))
    assert reading.is_upside_down(ballots, nothing)
    assert not reading.is_upside_down(ballots, nothing + 1)  # the prior's side
    assert not reading.turned().is_upside_down(ballots, nothing)


def test_the_second_reading_comes_with_its_own_voters():
    values, truth, cue = two_camps(0)
    reading = read(values)
    (other,) = reading.others
    assert reading.two_readings
    assert other.agreement < 0.9
    sees = [
        [abs(np.mean(np.sign(one.score(ballots_of(values))) * side)) for side in (truth, cue)]
        for one in (reading, other)
    ]
    assert np.argmax(sees[0]) != np.argmax(sees[1])
    assert {row["kept"] for row in other.table} == {True, False}


def test_the_table_lists_the_best_candidate_of_every_kind():
    reading = read(bad_clique(0)[0])
    rows = {row["structure"]: row for row in reading.table}
    assert {"plain", "ease", "families", "tilt"} <= set(rows)
    assert (
        [name for name, row in rows.items() if row["kept"]] == ["families"] == [reading.structure]
    )
    assert rows["plain"]["gain"] == 0
    assert rows["families"]["gain"] == pytest.approx(reading.evidence)
    assert rows["families"]["branches"] == reading.branches == 9
