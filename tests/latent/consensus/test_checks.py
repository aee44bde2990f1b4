from typing import get_args

import numpy as np
import pytest

from latent.consensus.test_model import draw_model
from latent.consensus.test_pool import mix
from latent.worlds import (
    ballots_of,
    copying_crowd,
    echo,
    plain_crowd,
    repeating_crowd,
    run_of,
    sample_of,
    sides,
    tilted_crowd,
    two_axes,
    two_camps,
    uneven_crowd,
)
from unelisa.em import bound_share
from unelisa.latent.consensus import read_consensus
from unelisa.latent.consensus.checks import (
    Tally,
    describe_answers,
    find_implied,
    find_reasons,
    sum_answers,
)
from unelisa.latent.consensus.contest import Kind, hold_contest, weigh_majority
from unelisa.latent.consensus.doubt import Doubt
from unelisa.latent.consensus.model import infer
from unelisa.latent.consensus.pool import answer_each, fit_pool
from unelisa.latent.crowd import Crowd
from unelisa.latent.reading import NOTHING_FOUND, TWO_READINGS

ALL = get_args(Kind)


def told(values, kinds=ALL):
    """What speaks against a reading of these votes, with the voters' numbers as names."""
    reading = read_consensus(Crowd.of(ballots_of(values)), kinds)
    return [reason.tell(np.arange(values.shape[1])) for reason in reading.reasons]


def table(*columns):
    return np.array(columns, dtype=np.int8).T


def codes(rng, truth):
    """How often a code was counted: often where there is a disease, rarely elsewhere."""
    return rng.poisson(np.where(truth > 0, 4.0, 0.3))


@pytest.mark.parametrize(
    "world", [plain_crowd, tilted_crowd, repeating_crowd, copying_crowd, uneven_crowd]
)
def test_nothing_speaks_against_a_healthy_crowd(world):
    for seed in range(2):
        assert told(world(seed)[0]) == []


def test_labels_of_one_voter_are_told():
    rng = np.random.default_rng(0)
    truth = sides(rng, 1000)
    weak = [echo(rng, truth, 0.58) for _ in range(6)]
    reasons = told(table(echo(rng, truth, 0.99), *weak))
    assert "the labels are those of one voter, 0: nothing shows whether it is right" in reasons


def test_labels_of_each_of_several_voters_are_told_once():
    rng = np.random.default_rng(1)
    truth = sides(rng, 60)
    weak = [echo(rng, truth, 0.58) for _ in range(6)]
    reasons = told(table(truth, *weak, truth))
    assert "the labels are those of each of 0, 7: errors that they share do not show" in reasons
    assert not any("those of one voter" in reason for reason in reasons)


def test_one_voter_alone_is_told_that_nothing_checks_it():
    truth = sides(np.random.default_rng(0), 300)
    reasons = told(table(truth))
    assert "the labels are those of one voter, 0: nothing shows whether it is right" in reasons
    assert any(
        text.startswith("the votes tie only 1 independent voter clearly") for text in reasons
    )


def test_two_voters_cannot_check_each_other():
    rng = np.random.default_rng(0)
    truth = sides(rng, 1000)
    reasons = told(table(echo(rng, truth, 0.8), echo(rng, truth, 0.8)))
    assert any(text.startswith("the votes tie only 2 independent voters") for text in reasons)


@pytest.mark.parametrize("n_copies", [2, 3])
def test_copies_that_leave_too_few_branches_are_told(n_copies):
    rng = np.random.default_rng(n_copies)
    truth = sides(rng, 1000)
    copies = [echo(rng, truth, 0.8)] * n_copies
    (reason, *_) = told(table(*copies, echo(rng, truth, 0.8)))
    named = ", ".join(map(str, range(n_copies)))
    assert reason.startswith(f"{named} repeat each other, which leaves 2 independent voters; 3 are")


def test_thresholds_of_one_count_are_told():
    rng = np.random.default_rng(1)
    truth = sides(rng, 1000)
    icd, nlp = codes(rng, truth), codes(rng, truth)
    thresholds = [np.where(icd >= k, 1, -1) for k in (1, 3)]
    (reason, *_) = told(table(*thresholds, np.where(nlp >= 1, 1, -1)))
    assert reason.startswith("0, 1 repeat each other, which leaves 2 independent voters")


def test_a_class_that_all_but_vanishes_is_told():
    rng = np.random.default_rng(2)
    truth = sides(rng, 1500, 0.01)
    votes = table(*[echo(rng, truth, 0.75) for _ in range(30)])
    order = rng.random(votes.shape).argsort(axis=1).argsort(axis=1)
    reasons = told(np.where(order < 5, votes, 0).astype(np.int8))
    assert any(text.startswith("one class all but vanishes") for text in reasons)


def test_a_share_of_yes_far_from_the_majoritys_is_told_and_so_are_models_that_differ():
    """Voters who say yes on every second item whatever they see: bias or class rate?"""
    rng = np.random.default_rng(0)
    truth = sides(rng, 1000)
    lenient = [np.where(rng.random(1000) < 0.5, 1, echo(rng, truth, 0.8)) for _ in range(8)]
    reasons = told(table(*lenient))
    assert any(text.startswith("the share of yes is") for text in reasons)
    assert any(text.startswith("models that the votes cannot tell apart") for text in reasons)


def test_dependence_that_is_left_unexplained_is_told():
    reasons = told(two_axes(0)[0], ("plain", "ease", "families"))
    assert any("of the dependence between voters unexplained" in text for text in reasons)


@pytest.mark.parametrize("seed", range(3))
def test_a_tilt_that_only_some_voters_follow_may_be_the_truth(seed):
    assert any(text.startswith(TWO_READINGS) for text in told(two_axes(seed)[0]))


@pytest.mark.parametrize("seed", range(3))
def test_noise_shows_no_truth(seed):
    values = np.random.default_rng(seed).choice(np.array([-1, 1], dtype=np.int8), (400, 12))
    assert NOTHING_FOUND in told(values)


@pytest.mark.parametrize("n_pairs", [4, 6, 9])
@pytest.mark.parametrize("same", [0.75, 0.95])
def test_pairs_of_copies_without_a_truth_are_nothing(n_pairs, same):
    """One pair may take the truth's place; nobody else confirms it."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        first = [sides(rng, 1500) for _ in range(n_pairs)]
        assert told(table(*first, *(echo(rng, said, same) for said in first)))


def test_a_second_reading_is_told():
    assert any(text.startswith(TWO_READINGS) for text in told(two_camps(0)[0]))


def test_labels_of_one_family_are_told():
    values, _ = copying_crowd(0)
    crowd, sample = Crowd.of(ballots_of(values)), sample_of(values)
    choice = hold_contest(sample, sample, ALL, -np.inf)
    majority = weigh_majority(sample, choice.once)
    pool = fit_pool((sample, sample), choice.best, majority, 0.1)
    tally = Tally(*crowd.spoken.sum(sum_answers, pool, crowd.silence))
    rest = pool, majority, Doubt(0.0, 0.0, 0.0)
    assert list(find_reasons(sample, choice, tally, *rest)) == []
    same = tally._replace(by_family=np.array([[595.0], [600.0]]))
    (reason,) = find_reasons(sample, choice, same, *rest)
    assert reason.text.startswith("the labels are those of one family")
    assert reason.voters == (0, 1, 2)


def test_items_without_votes_count_neither_as_yes_nor_as_no():
    values, _ = plain_crowd(0, n_items=600, share=0.6)
    sparse = np.vstack([values, np.zeros((600, 20), dtype=np.int8)])
    assert told(values) == told(sparse) == []


def test_sums_are_those_of_the_answers():
    values, _ = copying_crowd(1, n_items=80)
    values[:3] = 0
    model = draw_model(0, np.array([0] * 3 + [-1] * 8), tilt=False, ease=True)
    other = draw_model(1, model.family, tilt=False, ease=False)
    pool = mix([model, other], [0.5, 0.3], 0.2, 0.4)
    silence, run = np.zeros(11, dtype=np.int8), run_of(values)
    tally = Tally(*ballots_of(values).sum(sum_answers, pool, silence))
    each = answer_each(run, pool, silence)
    pooled = each @ [0.5, 0.3, 0.2]
    heard, yes = values.any(axis=1), pooled >= 0.5
    sure = np.maximum(pooled, 1 - pooled).sum()
    moments = [pooled[heard].sum(), (pooled[heard] ** 2).sum()]
    assert tally.totals == pytest.approx([80, 77, *moments, sure, yes.sum(), yes[heard].sum()])
    assert tally.chances == pytest.approx(np.where(yes[:, None], each, 1 - each).sum(axis=0))
    assert tally.means == pytest.approx(each[heard].sum(axis=0))
    assert tally.differ == pytest.approx(((each > 0.5) != yes[:, None])[heard].sum(axis=0))
    labels = np.where(yes, 1, -1)[:, None]
    assert tally.by_voter[0] == pytest.approx((values == labels).sum(axis=0))
    assert tally.by_voter[1] == pytest.approx(np.count_nonzero(values, axis=0))
    leans = infer(run, model.factors)[1][heard, 0]
    assert tally.by_family[:, 0] == pytest.approx([((leans > 0.5) == yes[heard]).sum(), 77])


def test_answers_span_the_members_of_the_pool():
    values, _ = copying_crowd(1, n_items=80)
    model = draw_model(0, np.full(11, -1), tilt=False, ease=True)
    other = draw_model(1, model.family, tilt=False, ease=False)
    pool = mix([model, other], [0.75, 0.01], 0.24, 0.4)
    tally = Tally(*ballots_of(values).sum(sum_answers, pool, np.zeros(11, dtype=np.int8)))
    answers = describe_answers(tally, pool)
    each = answer_each(run_of(values), pool, np.zeros(11, dtype=np.int8))
    pooled = each @ pool.parts
    yes = pooled >= 0.5
    assert answers.prevalence == pytest.approx(pooled.mean())
    low, high = bound_share(pooled.mean(), ((pooled - pooled.mean()) ** 2).sum())
    counted = each[:, [0, 2]].mean(axis=0)  # a member of weight .01 bounds nothing
    expected = min(low, counted.min()), max(high, counted.max())
    assert answers.prevalence_interval == pytest.approx(expected)
    assert answers.expected_accuracy == pytest.approx(np.maximum(pooled, 1 - pooled).mean())
    right = np.where(yes[:, None], each, 1 - each)[:, [0, 2]].mean(axis=0)
    assert answers.expected_interval == pytest.approx((right.min(), right.max()))
    assert answers.share_yes == pytest.approx(yes.mean())


def test_thresholds_imply_each_other_and_copies_do_so_both_ways():
    rng = np.random.default_rng(0)
    truth = sides(rng, 500)
    count = codes(rng, truth)
    said = echo(rng, truth, 0.8)
    columns = [np.where(count >= 3, 1, -1), np.where(count >= 1, 1, -1), said, said]
    columns += [echo(rng, truth, 0.9) for _ in range(2)]
    assert find_implied(sample_of(table(*columns))) == [(0, 1), (2, 3), (3, 2)]


def test_who_always_or_nearly_always_says_yes_is_not_implied():
    rng = np.random.default_rng(1)
    truth = sides(rng, 500)
    always = np.ones(500)
    often = np.where(rng.random(500) < 0.99, 1, -1)
    votes = table(always, often, echo(rng, truth, 0.8), echo(rng, truth, 0.8))
    assert find_implied(sample_of(votes)) == []


def test_few_cases_imply_nothing():
    rng = np.random.default_rng(2)
    truth = sides(rng, 500)
    rare = np.where((truth > 0) & (np.cumsum(truth > 0) <= 15), 1, -1)
    assert find_implied(sample_of(table(rare, truth))) == []
    more = np.where((truth > 0) & (np.cumsum(truth > 0) <= 25), 1, -1)
    assert find_implied(sample_of(table(more, truth))) == [(0, 1)]
