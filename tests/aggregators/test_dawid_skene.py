import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit

from unelisa.aggregators import DawidSkene, OneCoinDawidSkene
from unelisa.errors import ExpertsWarning, VotesWarning
from unelisa.votes import Votes

SMALL = np.asfortranarray([[1, 1, 1], [1, 1, -1], [-1, -1, 0], [-1, 1, -1]], dtype=np.int8)
HAND = np.array([[1, 1, 1], [1, 1, -1], [-1, -1, 0], [-1, 1, 1]], dtype=np.int8)


def log_likelihood(values, coins, prevalence):
    """Sum over items of log P(votes), vote by vote."""
    total = 0.0
    for row in values.tolist():
        sides = [1 - prevalence, prevalence]
        for truth in (0, 1):
            for s, f in enumerate(row):
                sides[truth] *= {1: coins[truth, s], -1: 1 - coins[truth, s], 0: 1.0}[f]
        total += np.log(sum(sides))
    return total


def test_the_truth_behind_the_votes_is_found():
    rng = np.random.default_rng(0)
    truth = np.where(rng.random(4000) < 0.3, 1, -1)
    sensitivity = np.array([0.9, 0.7, 0.6, 0.8, 0.3])
    specificity = np.array([0.8, 0.95, 0.7, 0.6, 0.2])
    yes = np.where(truth[:, None] > 0, sensitivity, 1 - specificity)
    values = np.where(rng.random((4000, 5)) < yes, 1, -1) * (rng.random((4000, 5)) < 0.9)
    model = DawidSkene(random_state=0).fit(Votes.of(values, coding="pm1"))
    assert model.sensitivity_ == pytest.approx(sensitivity, abs=0.05)
    assert model.specificity_ == pytest.approx(specificity, abs=0.05)
    assert model.prevalence_ == pytest.approx(0.3, abs=0.04)
    assert model.polarity_.tolist() == [1, 1, 1, 1, -1]
    confident = model.predict_proba(values)[:, 1]
    for low, high in ((0, 0.2), (0.2, 0.8), (0.8, 1)):  # as often right as it says
        chosen = (confident >= low) & (confident <= high)
        assert (truth[chosen] > 0).mean() == pytest.approx(confident[chosen].mean(), abs=0.06)


def test_the_score_is_the_log_odds_of_bayes():
    model = DawidSkene(random_state=0).fit(Votes.of(SMALL, coding="pm1"))
    for row, score in zip(SMALL, model.decision_function(SMALL), strict=True):
        odds = model.prevalence_ / (1 - model.prevalence_)
        for s, f in enumerate(row):
            sens, spec = model.sensitivity_[s], model.specificity_[s]
            odds *= {1: sens / (1 - spec), -1: (1 - sens) / spec, 0: 1.0}[int(f)]
        assert score == pytest.approx(np.log(odds))


def test_the_weight_of_symmetric_coins_is_theta():
    """Items in mirrored pairs make both coins alike; theta = 1/2 log psi / (1 - psi)."""
    rng = np.random.default_rng(1)
    half = np.where(rng.random((300, 5)) < [0.9, 0.8, 0.8, 0.7, 0.3], 1, -1)
    model = DawidSkene(n_starts=1, smoothing=0.0).fit(np.vstack([half, -half]))
    psi = model.sensitivity_
    assert model.specificity_ == pytest.approx(psi, abs=1e-3)
    assert model.weights_ == pytest.approx(np.log(psi / (1 - psi)) / 2, abs=1e-2)


def test_a_constant_voter_has_exactly_no_weight(crowd):
    votes, _ = crowd
    stuck = Votes.of(np.column_stack([votes.values, np.ones(600, dtype=np.int8)]))
    with pytest.warns(VotesWarning, match="same vote"):
        model = DawidSkene(random_state=0).fit(stuck)
    assert model.weights_[-1] == 0.0
    assert model.voters_.verdict.iloc[-1] == "left out"


def test_nothing_to_learn_is_said():
    with (
        pytest.warns(VotesWarning, match="same vote"),
        pytest.warns(ExpertsWarning, match="every item gets the same probability"),
    ):
        model = DawidSkene().fit(np.array([[1, -1, 1], [1, -1, 1]]))
    assert model.experts_.size == 0
    assert np.ptp(model.predict_proba([[1, -1, 1], [None, None, None]])[:, 1]) == 0


def test_two_voters_are_worth_what_the_majority_says():
    values = np.array([[1, 1]] * 4 + [[-1, -1]] * 3 + [[1, -1]])
    with pytest.warns(ExpertsWarning, match="fewer than three voters vary"):
        model = DawidSkene(smoothing=0.0).fit(values)
    # tau = 4 times 1, 3 times 0, once 1/2: of 4.5 positive items voter 0 says yes on all
    assert model.sensitivity_ == pytest.approx([1, 4 / 4.5], abs=1e-8)
    assert model.specificity_ == pytest.approx([3 / 3.5, 1], abs=1e-8)
    assert model.prevalence_ == pytest.approx(4.5 / 8)


def test_items_without_votes_leave_no_trace(crowd):
    votes, _ = crowd
    padded = Votes.of(np.vstack([votes.values, np.zeros((50, 9), dtype=np.int8)]), coding="pm1")
    plain, more = (DawidSkene(random_state=0).fit(x) for x in (votes, padded))
    assert more.prevalence_ == pytest.approx(plain.prevalence_, abs=1e-12)
    assert more.coins_ == pytest.approx(plain.coins_, abs=1e-12)
    assert more.lower_bound_ == pytest.approx(plain.lower_bound_)
    prior = np.log(plain.prevalence_ / (1 - plain.prevalence_))
    assert more.decision_function(padded)[-1] == pytest.approx(prior)


def test_the_best_start_is_kept(crowd):
    votes, _ = crowd
    one, many = (DawidSkene(n_starts=k, random_state=0).fit(votes) for k in (1, 8))
    assert many.lower_bound_[-1] >= one.lower_bound_[-1]
    assert len(many.lower_bound_) == many.n_iter_


def test_both_sides_are_turned_together(crowd):
    votes, truth = crowd
    up, down = DawidSkene(random_state=0), DawidSkene(random_state=0)
    up.fit(votes, truth)
    down.fit(votes, -truth)
    assert down.decision_function(votes) == pytest.approx(-up.decision_function(votes))
    assert down.sensitivity_ == pytest.approx(1 - up.specificity_)
    assert down.weights_ == pytest.approx(-up.weights_)
    assert down.prevalence_ == pytest.approx(1 - up.prevalence_)


def test_the_table_of_voters_has_the_coins(crowd):
    table = DawidSkene(random_state=0).fit(crowd[0]).voters_
    assert table.verdict.tolist()[0] == "counted"
    assert table.verdict.tolist()[-1] == "contrarian"
    assert table.sensitivity[0] > 0.8
    assert table.reason[0].startswith("says yes on ")


@pytest.mark.filterwarnings("ignore:.*(inplace|copy) keyword")  # crowd-kit speaks pandas 2
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.filterwarnings("ignore:the answer depends on a tie")  # 100 items
def test_crowd_kit_reaches_no_higher_likelihood(seed):
    rival = pytest.importorskip("crowdkit.aggregation")
    rng = np.random.default_rng(seed)
    truth = np.where(rng.random(100) < 0.4, 1, -1)
    right = rng.random((100, 7)) < rng.uniform(0.4, 0.95, 7)
    values = np.where(right, truth[:, None], -truth[:, None]) * (rng.random((100, 7)) < 0.8)
    values = np.asfortranarray(values.astype(np.int8))
    i, s = np.nonzero(values)
    table = pd.DataFrame({"task": i, "worker": s, "label": values[i, s]})
    theirs = rival.DawidSkene(n_iter=2000, tol=1e-9).fit(table)
    errors = theirs.errors_
    coins = np.array([[errors.loc[(s, 1), y] for s in range(7)] for y in (-1, 1)])
    ours = DawidSkene(smoothing=0.0, random_state=0).fit(Votes.of(values, coding="pm1"))
    reached = log_likelihood(values, ours.coins_, ours.prevalence_)
    assert reached >= log_likelihood(values, coins, theirs.priors_[1]) - 1e-4
    # from the same start, the same optimum; crowd-kit stops a little before it
    same = DawidSkene(smoothing=0.0, n_starts=1).fit(Votes.of(values, coding="pm1"), truth)
    reached = log_likelihood(values, same.coins_, same.prevalence_)
    assert reached == pytest.approx(log_likelihood(values, coins, theirs.priors_[1]), abs=0.05)


@pytest.mark.shared
def test_bluebirds(bluebirds):
    votes, truth = bluebirds
    model = DawidSkene(random_state=0).fit(votes)
    assert model.score(votes, truth) == pytest.approx(0.898, abs=0.02)


def test_three_classes_are_the_posterior_of_the_enumeration():
    """P(class | votes) by Bayes' rule from the table of confusions, written out."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, 30)
    said = np.where(rng.random((30, 4)) < 0.7, truth[:, None], rng.integers(0, 3, (30, 4)))
    words = np.array(["a", "b", "c"])
    votes = np.where(rng.random((30, 4)) < 0.2, None, words[said])
    model = DawidSkene().fit(votes)
    table = model.confusions_.set_index(["voter", "meant", "said"]).probability
    for row, found in zip(votes, model.predict_proba(votes), strict=True):
        joint = model.prevalence_.copy()
        for k, meant in enumerate(words):
            for voter, answer in zip(model.voter_names_, row, strict=True):
                joint[k] *= 1.0 if answer is None else table[voter, meant, answer]
        assert found == pytest.approx(joint / joint.sum(), abs=1e-9)


def test_one_coin_scores_the_log_odds_by_bayes(crowd):
    votes, _ = crowd
    model = OneCoinDawidSkene(random_state=0).fit(votes)
    psi, pi = model.accuracies_, model.prevalence_
    right = np.where(votes.values > 0, psi, 1 - psi).prod(axis=1) * pi
    wrong = np.where(votes.values > 0, 1 - psi, psi).prod(axis=1) * (1 - pi)
    assert model.decision_function(votes) == pytest.approx(np.log(right / wrong))
    assert model.predict_proba(votes)[:, 1] == pytest.approx(right / (right + wrong))


def test_the_penalized_likelihood_never_falls_and_is_what_it_says(crowd):
    values = crowd[0].values.copy()
    values[np.random.default_rng(0).random(values.shape) < 0.5] = 0
    fit = OneCoinDawidSkene(random_state=0).fit(Votes.of(values, coding="pm1"))
    assert np.all(np.diff(fit.lower_bound_) > -1e-12)
    psi, pi = fit.accuracies_, fit.prevalence_
    agree = np.where(values > 0, np.log(psi), np.where(values < 0, np.log(1 - psi), 0)).sum(axis=1)
    differ = np.where(values < 0, np.log(psi), np.where(values > 0, np.log(1 - psi), 0)).sum(axis=1)
    voted = values.any(axis=1)
    total = np.logaddexp(np.log(pi) + agree, np.log(1 - pi) + differ)[voted].sum()
    total += np.log(psi * (1 - psi)).sum() / 2
    assert fit.lower_bound_[-1] == pytest.approx(total / voted.sum())


def test_one_coin_recovers_accuracies(crowd):
    votes, truth = crowd
    model = OneCoinDawidSkene(random_state=0).fit(votes)
    measured = np.mean(votes.values == truth[:, None], axis=0)
    assert model.accuracies_ == pytest.approx(measured, abs=0.05)
    assert model.polarity_.tolist()[:5] == [1] * 5
    assert model.polarity_.tolist()[7:] == [-1, -1]
    assert "is right on" in model.voters_.reason[0]


def test_a_voter_with_few_votes_is_not_infallible():
    few = [[1, 1, 1, 1], [-1, -1, -1, 0], [1, 1, 1, 0], [-1, -1, -1, 0], [1, 1, -1, 0]]
    votes = Votes.of(few, coding="pm1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        smooth, raw = (OneCoinDawidSkene(a, random_state=0).fit(votes) for a in (1.0, 0.0))
    assert smooth.accuracies_[3] == pytest.approx(0.75, abs=0.01)
    assert raw.accuracies_[3] > 0.999
    assert np.isfinite(expit(raw.decision_function(votes))).all()
    assert logit(raw.accuracies_[3]) > 10
