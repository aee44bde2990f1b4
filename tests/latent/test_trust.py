"""What is expected of labels: sums beside slow loops, and what gold labels may change."""

from itertools import combinations

import numpy as np
import pytest
from scipy.special import expit, logit, softmax

from latent.worlds import class_crowd, echo, plain_crowd, run_of, sides
from unelisa.latent.trust import (
    FLATTEST,
    LOSS,
    STEEPEST,
    Checked,
    Experience,
    Tally,
    bound_shares,
    count_independent,
    gain_experience,
    judge_labels,
    match_factor,
    measure_dissent,
    settle,
    spread_shift,
)


def draw(n_classes, n_items=120, sharpness=2.0):
    """A run of votes with log-probabilities that follow them a little; some items without votes."""
    world = plain_crowd if n_classes == 2 else class_crowd
    more = {} if n_classes == 2 else {"n_classes": n_classes}
    values, _ = world(0, n_items=n_items, n_voters=5, votes_per_item=3, **more)
    values[[0, 7]] = 0
    answers = np.where(values > 0, 2, 1) * (values != 0) if n_classes == 2 else values
    votes = np.stack([(answers == k + 1).sum(axis=1) for k in range(n_classes)], axis=1)
    logs = votes + np.random.default_rng(0).normal(0, sharpness, (n_items, n_classes))
    return values, answers, votes, logs


def experienced(accuracy=0.85, depth=5.0, dissent=0.02):
    return Experience(float(logit(accuracy)), depth, dissent, 1.0, 0.6, 1.5)


def tally(n_items=1000, n_gold=0, share=0.3, unsure=0.1):
    totals = np.array([[1 - share, share], [unsure, unsure]]) * n_items
    return Tally(n_items, n_items, n_gold, totals, np.round(totals[0]))


@pytest.mark.parametrize("wanted", [0.6, 0.8, 0.95])
def test_probabilities_are_made_as_sure_as_wanted(wanted):
    _, _, _, logs = draw(3)
    factor = match_factor(logs, wanted)
    assert softmax(factor * logs, axis=1).max(axis=1).mean() == pytest.approx(wanted, abs=1e-3)


def test_probabilities_are_taken_as_they_are_without_temper_and_a_factor_stays_within_bounds():
    _, _, _, logs = draw(2)
    assert (match_factor(logs, 0.5), match_factor(logs, 1.0)) == (FLATTEST, STEEPEST)
    values, _, _, logs = draw(2)
    found = gain_experience(run_of(values), logs, temper=False)
    assert found.factor == 1
    assert found.expected == pytest.approx(softmax(logs, axis=1).max(axis=1).mean())


@pytest.mark.parametrize("n_classes", [2, 3])
def test_dissent_is_what_a_majority_says_otherwise(n_classes):
    values, _, votes, logs = draw(n_classes)
    differ = []
    for own, label in zip(
        votes[values.any(axis=1)], logs[values.any(axis=1)].argmax(axis=1), strict=True
    ):
        best = np.flatnonzero(own == own.max())  # of a tie each class in part
        differ.append(1 - (label in best) / len(best))
    assert measure_dissent(run_of(values), logs) == pytest.approx(np.mean(differ))
    assert measure_dissent(run_of(values * 0), logs) == 0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_independent_voters_are_kishs_number(n_classes):
    values, answers, _, logs = draw(n_classes)
    chances = softmax(logs, axis=1)
    total, pairs, n_votes = 0.0, 0, np.count_nonzero(values)
    errors = [
        1 - np.mean([chances[i, row[s] - 1] for i, row in enumerate(answers) if row[s]])
        for s in range(5)
    ]
    for i, row in enumerate(answers):
        for s, t in combinations(np.flatnonzero(row), 2):
            pairs += 1
            for k in range(n_classes):
                u = [
                    ((row[v] != k + 1) - errors[v]) / np.sqrt(errors[v] * (1 - errors[v]))
                    for v in (s, t)
                ]
                total += chances[i, k] * u[0] * u[1]
    rho = np.clip(total / pairs, 0, 1)
    depth = n_votes / 118
    expected = depth / (1 + (depth - 1) * rho)
    assert count_independent(run_of(values), chances, 5) == pytest.approx(expected)


def test_voters_who_err_together_are_one_and_others_are_many():
    rng = np.random.default_rng(0)
    truth = sides(rng, 2000)
    said = echo(rng, truth, 0.7)
    chances = np.stack([truth < 0, truth > 0], axis=1).astype(float)
    same, apart = np.tile(said, (6, 1)), [echo(rng, truth, 0.7) for _ in range(6)]
    for votes, expected in ((same, 1), (apart, 6)):
        run = run_of(np.array(votes, dtype=np.int8).T)
        assert count_independent(run, chances, 6) == pytest.approx(expected, rel=0.1)
    assert count_independent(run_of(said[:, None].astype(np.int8)), chances, 1) == 1


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_as_sure_as_experience_expects(n_classes):
    values, _, _, logs = draw(n_classes)
    found = gain_experience(run_of(values), logs, temper=True)
    sure = [
        softmax(by * found.factor * logs, axis=1).max(axis=1).mean()
        for by in (1, found.flatter, found.steeper)
    ]
    assert sure[0] == pytest.approx(found.expected, abs=1e-3)
    assert sure[1] < sure[0] < sure[2]
    assert found.depth == pytest.approx(np.count_nonzero(values) / 118)
    assert found.dissent == measure_dissent(run_of(values), logs)


@pytest.mark.parametrize("n_items", [12, 1000])
def test_where_all_labels_are_gold_they_are_right(n_items):
    for right in (0, n_items):
        found = judge_labels(tally(n_items, n_items), experienced(0.6), Checked(n_items, right))
        assert (found.low, found.accuracy, found.high) == (1, 1, 1)
        assert found.risk == 0
        assert found.unknown() is found


def test_gold_labels_count_as_right_and_many_tell_whatever_experience_says():
    experience = experienced(0.8)
    none, half = (judge_labels(tally(n_gold=n), experience, Checked()) for n in (0, 500))
    assert half.accuracy == pytest.approx(0.5 + none.accuracy / 2)
    assert half.high - half.low == pytest.approx((none.high - none.low) / 2)
    assert half.risk < none.risk
    for dissent in (0.02, 0.5):
        found = judge_labels(tally(), experienced(0.75, dissent=dissent), Checked(300, 285, 30.0))
        assert found.reliable
        assert found.accuracy == pytest.approx(0.95, abs=0.03)
    none, few = (judge_labels(tally(), experienced(), Checked(n, 0)) for n in (0, 9))
    assert (few.accuracy, few.low, few.high) == (none.accuracy, none.low, none.high)
    assert few.reliable == none.reliable
    usual, unusual = (
        judge_labels(tally(), experienced(0.97, dissent=d), Checked()) for d in (0.0, 0.5)
    )
    assert usual.reliable
    assert not unusual.reliable


@pytest.mark.parametrize("n", [10, 30, 100, 300])
def test_labels_that_agree_never_take_trust_away(n):
    for accuracy in (0.6, 0.75, 0.85, 0.95, 0.99):
        for share in (accuracy, 1.0):
            checked = Checked(n, int(np.ceil(share * n)), 0.1 * n)
            before = judge_labels(tally(), experienced(accuracy), Checked())
            after = judge_labels(tally(n_gold=n), experienced(accuracy), checked)
            assert after.reliable >= before.reliable
            assert after.high - after.low < before.high - before.low
            assert not after.contradicted


@pytest.mark.parametrize("n", [10, 50, 500])
def test_labels_that_contradict_take_trust_away_and_say_by_how_much(n):
    checked = Checked(n, n // 2, 0.1 * n)
    found = judge_labels(tally(n_gold=n), experienced(0.95), checked)
    assert found.contradicted
    assert not found.reliable
    assert found.accuracy < judge_labels(tally(n_gold=n), experienced(0.95), Checked()).accuracy
    told = f"{n // 2} of {n} are right, where about {found.expected * n:.0f} were expected"
    assert found.reason.endswith(told)


def test_reasons_say_what_is_expected_or_that_nothing_is_told():
    sure, unsure = (judge_labels(tally(), experienced(a), Checked()) for a in (0.98, 0.7))
    assert sure.reliable
    assert sure.reason.endswith("of the labels are right")
    assert f"{sure.accuracy:.2f} ({sure.low:.2f} - {sure.high:.2f})" in sure.reason
    assert not unsure.reliable
    assert f"less than {unsure.accuracy - LOSS:.2f} with a chance of" in unsure.reason
    found = judge_labels(tally(), experienced(), Checked()).unknown()
    assert np.isnan([found.accuracy, found.low, found.high]).all()
    assert not found.reliable
    assert found.reason == "nothing shows how right the labels are"
    found = judge_labels(tally(), experienced(0.85), Checked())
    assert found.low < found.accuracy < found.high
    assert found.accuracy == pytest.approx(0.85)
    assert found.labels.tolist() == [0.7, 0.3]
    assert not found.contradicted


def test_shares_have_intervals_and_a_common_shift_moves_them():
    nothing, known = Checked(), Checked(100, 90, 10.0)
    widths = []
    for depth, checked in ((1.5, nothing), (5.0, nothing), (5.0, known)):
        share, (low, high) = bound_shares(tally(), experienced(depth=depth), checked)
        assert share == pytest.approx([0.7, 0.3])
        assert np.all((low < share) & (share < high))
        assert low[0] == pytest.approx(1 - high[1])
        widths.append(high[0] - low[0])
    assert widths[0] > widths[1] > widths[2]
    assert spread_shift(experienced(), Checked(5, 5, 50.0)) == spread_shift(experienced(), nothing)
    found = judge_labels(tally(), experienced(), Checked())
    stated = np.array([[0.0, 0.25], [1.0, 0.32]])
    settled = settle(found, stated, 3.5)
    assert settled.share_bounds[:, 1].tolist() == [0.25, 0.32]
    assert settled.voters == 3.5
    assert np.array_equal(settle(found, None, 1.0).share_bounds, found.share_bounds)
    # log-odds all one spread higher, of many items
    odds = np.random.default_rng(0).normal(-1, 2, 100_000)
    chances, experience = expit(odds), experienced(depth=1e6)
    totals = np.stack([[1 - c, c] for c in (chances,)])[0]
    own = np.stack([totals.sum(axis=1), (totals * (1 - totals)).sum(axis=1)])
    found = Tally(100_000, 100_000, 0, own, own[0])
    share, bounds = bound_shares(found, experience, Checked(), level=0.6827)
    step = 0.1
    moved = logit(expit(odds + step).mean()) - logit(chances.mean())
    reach = logit(bounds[1, 1]) - logit(share[1])
    assert reach / spread_shift(experience, Checked()) == pytest.approx(moved / step, rel=0.05)
