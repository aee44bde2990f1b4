"""The EM of Dawid and Skene: where it begins, what it reaches, and the methods that rest on it."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit, logit

from unelisa.aggregators import DawidSkene, OneCoinDawidSkene, confusions
from unelisa.errors import ExpertsWarning, VotesWarning
from unelisa.paper.em import estimate_reliability, list_starts
from unelisa.votes import Votes
from unelisa.votes.ballots import list_ballots
from unelisa.votes.blocks import SparseVotes, WholeTable

SMALL = np.asfortranarray([[1, 1, 1], [1, 1, -1], [-1, -1, 0], [-1, 1, -1]], dtype=np.int8)
TABLE = np.array([[1, 1, -1], [1, 0, 0], [0, 0, 0], [-1, -1, 1]], dtype=np.int8, order="F")
HALVES = np.array([1.0, 1.0, 0.0, 0.0])
small_votes = arrays(np.int8, (6, 4), elements=st.sampled_from([-1, 0, 1])).filter(np.any)


def fit_small(values, posterior, smoothing, **limits):
    table = WholeTable(np.asfortranarray(values))
    start, model = confusions.start_at(table, posterior), confusions.FullTables(smoothing)
    return confusions.estimate_confusions(list_ballots(table), model, start, **limits)


def fit_codes(codes, n_classes, model, gold=confusions.NO_GOLD, **limits):
    """Fit codes from 1, starting at the majority and, with gold labels, at these."""
    ballots, equal = list_ballots(WholeTable(codes)), np.ones(codes.shape[1])
    starts = [confusions.start_from(ballots, equal, n_classes, gold)]
    if gold.any():
        starts.append(confusions.start_from(ballots, equal, n_classes, gold, only_gold=True))
    return confusions.find_fits(ballots, model, starts, codes.shape[1], gold=gold, **limits)[0]


def crowd(n_classes=3, n_items=600, n_voters=6, seed=0, abstain=0.3):
    """Codes from 1 of voters with known tables, and the truth."""
    rng = np.random.default_rng(seed)
    tables = 0.4 * rng.dirichlet(np.ones(n_classes), (n_voters, n_classes))
    tables += 0.6 * np.eye(n_classes)
    truth = rng.integers(n_classes, size=n_items)
    codes = np.zeros((n_items, n_voters), dtype=np.int8, order="F")
    for s in range(n_voters):
        said = [rng.choice(n_classes, p=tables[s, k]) for k in truth]
        codes[:, s] = np.where(rng.random(n_items) < abstain, 0, np.array(said) + 1)
    return codes, truth, tables


def log_likelihood(values, coins, prevalence):
    """Sum over items with votes of log P(votes), vote by vote."""
    total = 0.0
    for row in values[values.any(axis=1)].tolist():
        sides = [1 - prevalence, prevalence]
        for truth in (0, 1):
            for s, f in enumerate(row):
                sides[truth] *= {1: coins[truth, s], -1: 1 - coins[truth, s], 0: 1.0}[f]
        total += np.log(sum(sides))
    return total


def test_one_round_and_its_smoothing_by_hand():
    """Start tau = (1, 1, 0, 0), no smoothing: counts of yes among the two halves."""
    fit = fit_small(SMALL, HALVES, 0.0, max_iter=1)
    # given yes: (2/2, 2/2, 1/2); given no: (0/2, 1/2, 0/1)
    assert fit.coins == pytest.approx(np.array([[0, 0.5, 0], [1, 1, 0.5]]), abs=1e-8)
    assert fit.shares.tolist() == [0.5, 0.5]
    # item 0: log(1/2 * 1 * 1 * 1/2 + 0) and so on
    assert fit.lower_bound == pytest.approx([np.log(0.25)], abs=1e-7)
    expected = np.array(
        [
            [(0 + 1) / 4, (1 + 1.5) / 4, (0 + 2 / 3) / 3],
            [(2 + 1) / 4, (2 + 1.5) / 4, (1 + 2 / 3) / 4],
        ]
    )
    assert fit_small(SMALL, HALVES, 2.0, max_iter=1).coins == pytest.approx(expected)


@given(small_votes, st.sampled_from([0.0, 0.5, 2.0]), st.integers(0, 99))
def test_the_penalized_likelihood_never_falls(values, smoothing, seed):
    values = values[values.any(axis=1)]
    start = np.random.default_rng(seed).uniform(size=len(values))
    fit = fit_small(values, start, smoothing, max_iter=30, tol=-1.0)
    assert np.all(np.diff(fit.lower_bound) >= -1e-10)
    likelihood = log_likelihood(values, fit.coins, fit.shares[1])
    share = 0.5 + values.sum(axis=0) / np.maximum(np.abs(values).sum(axis=0), 1) / 2
    density = share * np.log(fit.coins) + (1 - share) * np.log(1 - fit.coins)
    penalized = likelihood + smoothing * density.sum()
    assert fit.lower_bound[-1] == pytest.approx(penalized / len(values))


def test_one_reliability_is_the_papers_em():
    codes, _, _ = crowd(2, 300)
    table = WholeTable(np.asfortranarray(np.array([0, -1, 1], dtype=np.int8)[codes]))
    voted = (codes != 0).any(axis=1).astype(np.float64)
    margin = table.weigh(np.ones(6), np.zeros(6)) / np.maximum((codes != 0).sum(axis=1), 1)
    one = estimate_reliability(table, 0.5 + margin / 2, copies=voted)
    ballots = list_ballots(table)
    fit = confusions.estimate_confusions(
        ballots, confusions.OneReliability(0.0), confusions.list_expected(ballots, 6, 1)[0]
    )
    assert fit.tables[:, 0, 0] == pytest.approx(one.reliabilities, abs=1e-4)
    assert fit.weights == pytest.approx(one.weights, abs=1e-3)
    assert fit.shares[1] == pytest.approx(one.prevalence, abs=1e-4)


@given(
    seed=st.integers(0, 40),
    model=st.sampled_from([confusions.FullTables, confusions.OneReliability]),
)
def test_the_objective_of_more_classes_never_falls(seed, model):
    codes, _, _ = crowd(4, 40, 5, seed)
    fit = fit_codes(codes, 4, model(1.0), max_iter=60)
    assert np.diff(fit.lower_bound).min(initial=0.0) > -1e-9


def test_the_voters_tables_are_found_again_and_gold_labels_name_the_classes():
    codes, truth, tables = crowd(n_items=6000, n_voters=8)
    fit = fit_codes(codes, 3, confusions.FullTables(1.0))
    assert fit.tables == pytest.approx(tables, abs=0.05)
    assert fit.votes.sum() == pytest.approx((codes != 0).sum())
    ballots = list_ballots(WholeTable(codes))
    named = confusions.score_classes(ballots, fit.tables, fit.shares).argmax(axis=1)
    assert np.mean(named == truth) > 0.9
    # where voters exchange two classes, some known items show it
    codes, truth, _ = crowd(n_items=2000, n_voters=8)
    turned = np.asfortranarray(np.array([0, 2, 1, 3], dtype=np.int8)[codes])
    gold = np.where(np.arange(2000) < 300, truth + 1, 0).astype(np.uint8)
    for known, least, most in ((confusions.NO_GOLD, 0.0, 0.6), (gold, 0.85, 1.0)):
        fit = fit_codes(turned, 3, confusions.FullTables(1.0), known)
        ballots = list_ballots(WholeTable(turned))
        named = confusions.score_classes(ballots, fit.tables, fit.shares).argmax(axis=1)
        assert least <= np.mean(named == truth) <= most


def test_no_information_has_no_weight_and_no_class_dies_out():
    tables = np.repeat([[[0.2, 0.3, 0.5]]], 3, axis=1)
    tables = np.concatenate([tables, confusions.spread_errors(np.array([0.7]), 3)])
    known = confusions.Confusions(tables, np.ones(3) / 3, np.ones((2, 3)), np.zeros(1), True)
    assert known.weights[0] == 0
    assert known.weights[1] == pytest.approx(np.log(0.7 * 2 / 0.3) / 2)
    assert confusions.keep_classes(np.array([0.2, 9.8])).tolist() == [0.05, 0.95]
    assert confusions.keep_classes(np.array([3.0, 7.0])) == pytest.approx([0.3, 0.7])
    assert confusions.keep_classes(np.eye(1, 7)[0]).min() > 0


def test_starts_are_the_shares_of_weighted_crowds():
    """An item without votes has no part in them; sparse votes give the same."""
    weights = list_starts(WholeTable(TABLE), np.ones(3), 5)
    ballots = list_ballots(WholeTable(TABLE))
    sparse = list_ballots(WholeTable(SparseVotes.of(TABLE)))
    voted = TABLE.any(axis=1)
    for start, other, w in zip(
        confusions.list_expected(ballots, 3, 5),
        confusions.list_expected(sparse, 3, 5),
        weights,
        strict=True,
    ):
        signed, mass = TABLE @ w, np.abs(TABLE) @ np.abs(w)
        yes = (0.5 + signed / np.where(mass > 0, mass, 1) / 2)[voted]
        assert start.mass == pytest.approx([3 - yes.sum(), yes.sum()])
        said_yes = ((TABLE[voted] > 0) * yes[:, None]).sum(axis=0)
        assert start.counts[:, 1, 1] == pytest.approx(said_yes)
        assert other.counts == pytest.approx(start.counts, abs=1e-12)
    assert yes.sum() != pytest.approx(1.5)


def choose(monkeypatch, bounds, n_starts=None, varying=3):
    """Return the kept fits, and how many starts were followed, if EM reached these bounds."""
    made = []

    def estimate(ballots, model, start, max_iter, **_):
        bound = np.array([-9.0, bounds[len(made)]])
        made.append(
            confusions.Confusions(np.full((1, 2, 2), start), None, None, bound, max_iter > 1)
        )
        return made[-1]

    monkeypatch.setattr(confusions, "estimate_confusions", estimate)
    ballots, starts = list_ballots(WholeTable(TABLE)), list(range(n_starts or len(bounds)))
    return confusions.find_fits(ballots, confusions.FullTables(1.0), starts, varying), made


def test_the_kept_fits_are_the_likeliest_and_few_voters_get_one_step(monkeypatch):
    kept, made = choose(monkeypatch, [-3.0, -1.0, -2.0, -1.0])
    assert kept == [made[1]]
    kept, made = choose(monkeypatch, [-3.0, -1.0, -1.2])  # .8 nats behind on four items
    assert kept == [made[1], made[2]]
    with pytest.warns(ExpertsWarning, match="fewer than three voters vary"):
        kept, made = choose(monkeypatch, [0.0] * 4, varying=2)
    assert len(made) == 1
    assert not kept[0].converged
    assert len(choose(monkeypatch, [0.0] * 4, varying=0)[1]) == 1  # without a warning


def test_a_start_near_an_earlier_fit_is_not_followed_to_its_end():
    codes, _, _ = crowd(2, 2000)
    ballots = list_ballots(WholeTable(np.asfortranarray(np.array([0, -1, 1], np.int8)[codes])))
    model, starts = confusions.FullTables(1.0), confusions.list_expected(ballots, 6, 5)
    first = confusions.estimate_confusions(ballots, model, starts[0])
    assert confusions.estimate_confusions(ballots, model, starts[1], found=[first]) is None
    alone = confusions.estimate_confusions(ballots, model, starts[1])
    assert alone.tables == pytest.approx(first.tables, abs=1e-3)


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


def test_a_constant_voter_has_no_weight_and_the_table_has_the_coins(crowd):
    votes, _ = crowd
    stuck = Votes.of(np.column_stack([votes.values, np.ones(600, dtype=np.int8)]))
    with pytest.warns(VotesWarning, match="same vote"):
        model = DawidSkene(random_state=0).fit(stuck)
    assert model.weights_[-1] == 0.0
    assert model.voters_.verdict.iloc[-1] == "left out"
    table = DawidSkene(random_state=0).fit(crowd[0]).voters_
    assert table.verdict.tolist()[0] == "counted"
    assert table.verdict.tolist()[-1] == "contrarian"
    assert table.sensitivity[0] > 0.8
    assert table.reason[0].startswith("says yes on ")


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


@pytest.mark.filterwarnings("ignore:.*(inplace|copy) keyword")  # crowd-kit speaks pandas 2
@pytest.mark.parametrize("seed", range(2))
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


def test_one_coin_recovers_accuracies_and_scores_by_bayes(crowd):
    votes, truth = crowd
    model = OneCoinDawidSkene(random_state=0).fit(votes)
    measured = np.mean(votes.values == truth[:, None], axis=0)
    assert model.accuracies_ == pytest.approx(measured, abs=0.05)
    assert model.polarity_.tolist()[:5] == [1] * 5
    assert model.polarity_.tolist()[7:] == [-1, -1]
    assert "is right on" in model.voters_.reason[0]
    psi, pi = model.accuracies_, model.prevalence_
    right = np.where(votes.values > 0, psi, 1 - psi).prod(axis=1) * pi
    wrong = np.where(votes.values > 0, 1 - psi, psi).prod(axis=1) * (1 - pi)
    assert model.decision_function(votes) == pytest.approx(np.log(right / wrong))
    assert model.predict_proba(votes)[:, 1] == pytest.approx(right / (right + wrong))


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
