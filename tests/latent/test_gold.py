from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit, log_expit
from sklearn.linear_model import LogisticRegression

import unelisa as ue
from latent.worlds import ballots_of, echo, plain_crowd, rules, sides
from unelisa.errors import ReliabilityWarning
from unelisa.latent import interpret
from unelisa.latent.ballots import set_prior_odds
from unelisa.latent.gold import (
    CHOSEN,
    LIKELIER,
    MOST_ODDS,
    MOVED,
    OVERRULED,
    SLOPE_WIDTH,
    TURNED,
    Candidate,
    GoldReading,
    Labeled,
    follow_gold,
    list_candidates,
    solve_ridge,
    weigh_axis,
    weigh_candidates,
)
from unelisa.latent.reading import TWO_READINGS, Caution, Links, Reading


def weigh(run, weights):
    """2 sum_s a_s f_is and the prior odds."""
    said = np.bincount(run.items, weights[run.voters] * run.votes, run.n_items)
    return 2 * said + run.prior_odds


@dataclass(frozen=True, eq=False, kw_only=True)
class Count(Reading):
    """A reading whose log-odds are a weighted count of the votes."""

    weights: np.ndarray

    field, links, effective_voters = 0.0, Links.none(), 1.0

    def score(self, ballots):
        return ballots.concatenate(weigh, self.weights)

    def is_upside_down(self, ballots, prior_odds):
        return False

    def turned(self):
        others = tuple(other.turned() for other in self.others)
        return replace(self, weights=-self.weights, others=others)


class OpenCount(Count):
    """One whose sign is open, as in a graph."""

    sign_is_open = True


def count(weights, kind=Count, **more):
    n_voters = len(weights)
    return kind(
        name="consensus",
        structure="plain",
        model=SimpleNamespace(weights=np.asarray(weights, dtype=float)),
        experts=np.zeros(n_voters, dtype=bool),
        silence=np.zeros(n_voters, dtype=np.int8),
        family=np.full(n_voters, -1, dtype=np.int32),
        branches=n_voters,
        weights=np.asarray(weights, dtype=float),
        **more,
    )


def crowd(seed, accuracies, n_items=600):
    """Independent voters and the truth."""
    rng = np.random.default_rng(seed)
    truth = sides(rng, n_items)
    votes = [echo(rng, truth, accuracy) for accuracy in accuracies]
    return np.array(votes, dtype=np.int8).T, truth


def labels(truth, chosen):
    gold = np.zeros(len(truth), dtype=np.int8)
    gold[chosen] = truth[chosen]
    return gold


def follow(values, gold, reading, prior_odds=None):
    prior = np.zeros(len(values)) if prior_odds is None else prior_odds
    return follow_gold(ballots_of(values), prior, gold, reading)


def told(reading):
    return [note.text for note in reading.notes]


def accuracy(reading, values, truth):
    return np.mean((reading.score(ballots_of(values)) > 0) == (truth > 0))


def log_loss(reading, values, truth):
    return -log_expit(truth * reading.score(ballots_of(values))).mean()


def labeled(seed=0, n_labels=40, n_columns=5):
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(n_labels, n_columns))
    signs = np.where(rng.random(n_labels) < expit(columns[:, 1]), 1.0, -1.0)
    return Labeled(sp.csr_array(columns), signs, rng.normal(size=n_labels))


def test_the_ridge_is_that_of_scikit_learn():
    given = labeled()._replace(prior_odds=np.zeros(40))
    found = solve_ridge(given, np.zeros(5), np.full(5, 0.7))
    peer = LogisticRegression(C=0.7**2, fit_intercept=False, tol=1e-8)
    peer.fit(given.columns.toarray(), given.signs)
    assert found == pytest.approx(peer.coef_[0], abs=1e-3)


def test_the_ridge_solves_its_equations_around_any_center():
    """sum_i (y_i - P_i) x_ij = distance_j / width_j^2; a width of 0 keeps the center."""
    given, center = labeled(), np.array([0.3, 1.0, 0.0, -0.5, 0.0])
    widths = np.array([0.5, 0.5, 0.0, 1.0, 0.2])
    distance = solve_ridge(given, center, widths)
    columns = given.columns.toarray()
    chances = expit(given.prior_odds + columns @ (center + distance))
    pull = columns.T @ ((given.signs > 0) - chances)
    used = widths > 0
    assert distance[2] == 0
    assert pull[used] == pytest.approx(distance[used] / widths[used] ** 2, abs=1e-3)


def test_the_first_candidate_is_the_most_probable_slope():
    given = labeled(n_columns=2)
    slope = list_candidates(1, 0, pivot=0.4)[0].fit(given)
    odds = given.columns.toarray()[:, 1]

    def posterior(x):
        fit = log_expit(given.signs * (given.prior_odds + x * odds)).sum()
        return fit - (x - 1) ** 2 / (2 * SLOPE_WIDTH**2)

    assert slope[0] == 0
    assert all(posterior(slope[1]) >= posterior(slope[1] + step) for step in (-0.1, 0.1))


def test_a_slope_turns_about_the_share_of_yes():
    """An item without information gets the share of yes, whatever the slope."""
    given, pivot = labeled(n_columns=2), -1.5
    shift, slope = Candidate("", np.zeros(2), pivot).fit(given)
    assert shift + slope * pivot == pytest.approx(pivot)


def test_the_evidence_of_an_axis_is_an_average_over_slopes_and_shifts():
    rng = np.random.default_rng(0)
    slopes, shifts = rng.normal(1, 1, 400_000), rng.normal(0, 1, 400_000)
    right = slopes > 0
    odds, signs = np.array([1.2, -0.4, -0.8]), np.array([1.0, -1.0, 1.0])
    chances = expit(signs * (shifts[right, None] + np.outer(slopes[right], odds)))
    assert weigh_axis(odds, signs) == pytest.approx(np.log(chances.prod(axis=1).mean()), abs=0.02)


def test_who_is_wrong_more_often_on_labels_left_out_has_no_weight():
    rng = np.random.default_rng(1)
    signs = np.tile([1.0, -1.0], 10)
    noise = rng.choice([-1.0, 1.0], (20, 30))
    columns = sp.csr_array(np.column_stack([np.ones(20), 0.1 * signs, noise]))
    given = Labeled(columns, signs, np.zeros(20))
    candidates = list_candidates(1, 30, 0.0)
    weights, scores = weigh_candidates(given, candidates)
    assert weights[-1] == 0
    assert weights.sum() == pytest.approx(1)
    held_out = candidates[0].predict(given)
    assert scores[0] == pytest.approx(log_expit(signs * held_out).sum())


def test_five_labels_against_the_voters_swap_the_sides_and_one_does_not():
    values, truth = crowd(0, [0.8] * 7)
    reading = count([0.7] * 7)
    mixed = np.r_[np.flatnonzero(truth > 0)[:3], np.flatnonzero(truth < 0)[:3]]
    agreeing = follow(values, labels(truth, mixed), reading)
    against = follow(values, labels(-truth, mixed), reading)
    weak = follow(values, labels(-truth, mixed[:1]), reading)
    assert (told(agreeing), told(against), told(weak)) == ([], [TURNED], [OVERRULED])
    assert accuracy(against, values, -truth) == accuracy(agreeing, values, truth) > 0.9
    assert not any(isinstance(one, GoldReading) for one in (agreeing, against, weak))


def test_one_label_decides_a_sign_that_is_open():
    values, truth = crowd(0, [0.8] * 7)
    reading = count([0.7] * 7, OpenCount)
    sure = np.flatnonzero(values.sum(axis=1) == 7 * truth)[:1]
    for side in (1, -1):
        found = follow(values, labels(side * truth, sure), reading)
        assert told(found) == []
        assert accuracy(found, values, side * truth) > 0.9


def test_labels_against_the_voters_swap_a_regression_too():
    values, truth = crowd(1, [0.8] * 7)
    found = follow(values, labels(-truth, np.arange(30)), count([0.7] * 7))
    assert TURNED in told(found)
    assert found.name == "consensus"
    assert accuracy(found, values, -truth) > 0.9


def test_a_score_is_what_the_equation_says():
    values, truth = crowd(2, [0.9, 0.8, 0.7, 0.6, 0.55])
    values[::5, 1] = 0
    prior = np.random.default_rng(0).normal(size=len(values))
    reading = count([3.0, 2.0, 0.5, 0.5, 0.0])
    found = follow(values, labels(truth, np.arange(40)), reading)
    odds = MOST_ODDS * np.tanh(2 * values @ reading.weights / MOST_ODDS)
    by_hand = found.intercept + found.slopes[0] * odds + values @ found.vote_weights
    assert found.score(ballots_of(values)) == pytest.approx(by_hand)
    informed = set_prior_odds(ballots_of(values), prior)
    assert found.score(informed) == pytest.approx(by_hand + prior)
    assert found.turned().score(ballots_of(values)) == pytest.approx(-by_hand)


def test_labels_choose_between_readings_and_settle_them():
    rng = np.random.default_rng(3)
    truth, cue = sides(rng, 800), sides(rng, 800)
    values = np.array([echo(rng, side, 0.8) for side in [cue] * 5 + [truth] * 4], dtype=np.int8).T
    rival = count([0.0] * 5 + [0.7] * 4)
    reading = count([0.7] * 5 + [0.0] * 4, others=(rival,), coherence=0.4)
    few = follow(values, labels(truth, np.arange(5)), reading)
    chosen = follow(values, labels(truth, np.arange(30)), reading)
    kept = follow(values, labels(cue, np.arange(30)), reading)
    assert few.others == (rival,)
    assert CHOSEN in told(chosen)
    assert CHOSEN not in told(kept)
    assert (chosen.coherence, chosen.others, kept.others) == (0.4, (), ())
    assert accuracy(chosen, values, truth) > 0.9
    assert accuracy(kept, values, cue) > 0.9


def test_labels_settle_a_doubt_without_a_rival_unless_they_are_chance():
    values, truth = crowd(12, [0.8] * 7)
    doubt = Caution(f"{TWO_READINGS}: of which one is not known")
    reading = count([0.7] * 7, OpenCount, reasons=(doubt,))
    noise = sides(np.random.default_rng(0), 600)
    assert follow(values, labels(truth, np.arange(30)), reading).reasons == ()
    assert follow(values, labels(noise, np.arange(30)), reading).reasons == (doubt,)
    assert follow(values, labels(truth, np.arange(5)), reading).reasons == (doubt,)


def test_two_readings_that_both_know_something_are_combined():
    rng = np.random.default_rng(4)
    truth = sides(rng, 800)
    values = np.array([echo(rng, truth, 0.8) for _ in range(8)], dtype=np.int8).T
    rival = count([0.0] * 4 + [0.7] * 4)
    reading = count([0.7] * 4 + [0.0] * 4, others=(rival,))
    found = follow(values, labels(truth, np.arange(60)), reading)
    assert found.slopes.min() > 0.1
    assert accuracy(found, values, truth) > accuracy(reading, values, truth) + 0.02


def test_labels_that_the_voters_do_not_follow_judge_the_voters_anew():
    rng = np.random.default_rng(5)
    truth, cue = sides(rng, 600), sides(rng, 600)
    said = [echo(rng, cue, 0.9) for _ in range(6)] + [echo(rng, truth, 0.9) for _ in range(2)]
    values = np.array([*said, np.zeros(600)], dtype=np.int8).T
    reading = count([0.8] * 6 + [0.1] * 2 + [0.0])
    found = follow(values, labels(truth, np.arange(60)), reading)
    assert found.name == "gold"
    assert told(found)[0].startswith(MOVED)
    assert accuracy(found, values, truth) > accuracy(reading, values, truth) + 0.2
    assert set(np.flatnonzero(found.experts)) == {6, 7}
    right = np.mean(values[:, 6] == truth)
    assert expit(2 * found.model.weights[6]) == pytest.approx(right, abs=0.1)
    assert found.model.weights[-1] == found.vote_weights[-1] == 0
    assert found.turned().model.weights == pytest.approx(-found.model.weights)
    rows = found.table[-5:]
    assert sum(row["weight"] for row in rows) == pytest.approx(1)


@pytest.mark.parametrize("factor", [0.3, 3.0])
def test_chances_are_recalibrated(factor):
    """Log-odds that are off by a factor."""
    values, truth = crowd(6, [0.75] * 9)
    reading = count([factor * np.log(3) / 2] * 9)
    losses = []
    for seed in range(10):
        chosen = np.random.default_rng(seed).choice(600, 50, replace=False)
        losses.append(log_loss(follow(values, labels(truth, chosen), reading), values, truth))
    assert np.mean(losses) < log_loss(reading, values, truth) - 0.02
    assert np.mean(losses) < log_loss(count([np.log(3) / 2] * 9), values, truth) + 0.05


@pytest.mark.parametrize("world", [plain_crowd, rules])
@pytest.mark.parametrize("n_labels", [10, 50])
def test_labels_do_no_harm(world, n_labels):
    values, truth = world(1, n_items=600)
    reading = interpret(ballots_of(values), "auto")
    gains = []
    for seed in range(8):
        chosen = np.random.default_rng(seed).choice(600, n_labels, replace=False)
        found = follow(values, labels(truth, chosen), reading)
        gains.append(accuracy(found, values, truth) - accuracy(reading, values, truth))
    assert np.mean(gains) > -0.015


def test_labels_of_which_a_third_are_wrong_do_little_harm():
    values, truth = crowd(7, [0.8] * 9)
    reading, rng = count([0.7] * 9), np.random.default_rng(0)
    before = accuracy(reading, values, truth)
    after = [
        accuracy(
            follow(values, labels(echo(rng, truth, 2 / 3), np.arange(30)), reading), values, truth
        )
        for _ in range(8)
    ]
    assert np.mean(after) > before - 0.02


def test_labels_of_one_class_leave_most_answers():
    values, truth = crowd(8, [0.8] * 9)
    reading = count([0.7] * 9)
    yes = np.flatnonzero(truth > 0)[:15]
    found = follow(values, labels(truth, yes), reading)
    assert np.isfinite(found.score(ballots_of(values))).all()
    assert accuracy(found, values, truth) > accuracy(reading, values, truth) - 0.05


def test_every_item_may_have_a_label():
    values, truth = crowd(9, [0.85, 0.75, 0.6, 0.4, 0.5], n_items=6000)
    found = follow(values, truth.astype(np.int8), count([0.5] * 5))
    peer = LogisticRegression().fit(values, truth)
    assert accuracy(found, values, truth) == pytest.approx(peer.score(values, truth), abs=0.01)


def test_items_without_votes_keep_their_odds_and_their_labels_are_not_used():
    values, truth = crowd(10, [0.8] * 5)
    values[:30] = 0
    reading, prior = count([0.7] * 5), np.linspace(-2, 2, 600)
    silent = np.arange(600) < 30
    assert follow(values, labels(-truth, silent), reading) is reading
    voted = labels(truth, np.arange(30, 90))
    both = voted + labels(-truth, silent)
    found, same = follow(values, voted, reading), follow(values, both, reading)
    informed = set_prior_odds(ballots_of(values), prior)
    assert np.array_equal(found.score(informed), same.score(informed))
    assert found.score(informed)[silent] == pytest.approx(prior[silent])
    assert found.field == reading.field


def test_prior_odds_are_not_learned_again():
    """What a prior explains needs no vote."""
    values, truth = crowd(11, [0.5] * 5)
    found = follow(values, labels(truth, np.arange(100)), count([0.01] * 5), 3.0 * truth)
    assert np.abs(found.vote_weights).max() < 0.3
    assert abs(found.intercept) < 0.5


def test_the_toll_of_another_axis_is_paid_once():
    """Labels twenty times likelier on the other side swap, with a little less they do not."""
    odds = np.array([1.0, -1.0] * 2)
    signs = -np.sign(odds)
    gap = weigh_axis(-odds, signs) - weigh_axis(odds, signs)
    assert gap > LIKELIER
    assert weigh_axis(-odds[:2], signs[:2]) - weigh_axis(odds[:2], signs[:2]) < LIKELIER


@pytest.mark.parametrize("n_labels", [60, 400])
def test_a_model_that_followed_labels_is_stored(tmp_path, n_labels):
    values, _ = plain_crowd(7, n_items=400, votes_per_item=20)
    rng = np.random.default_rng(0)
    truth = sides(rng, 400)
    known = np.array([echo(rng, truth, 0.75) for _ in range(5)]).T
    votes = ue.Votes.of(np.hstack([values, known]).astype(np.int8), coding="pm1")
    with pytest.warns(ReliabilityWarning, match=MOVED):
        model = ue.LatentIsing().fit(votes, dict(enumerate(truth[:n_labels])))
    ue.save(model, tmp_path / "model.npz")
    again = ue.load(tmp_path / "model.npz")
    assert (again.reading_, model.reading_) == ("gold", "gold")
    assert np.array_equal(again.decision_function(votes), model.decision_function(votes))
    assert again.voters_.equals(model.voters_)
