import warnings

import numpy as np
import pytest
from scipy.special import expit, logit

from unelisa.aggregators import OneCoinDawidSkene
from unelisa.errors import ConvergenceWarning, ExpertsWarning, ModelError
from unelisa.paper.em import OneCoin, estimate_reliability
from unelisa.votes import Votes
from unelisa.votes.blocks import WholeTable

HAND = np.array([[1, 1, 1], [1, 1, -1], [-1, -1, 0], [-1, 1, 1]], dtype=np.int8)


def test_one_round_by_hand():
    """From the majority (+ + - +), a vote of smoothing: right 4 of 4, 4 of 4 but one, 2 of 3."""
    start = np.array([1.0, 1.0, 0.0, 1.0])
    fit = estimate_reliability(WholeTable(HAND), start, OneCoin(smoothing=1.0), max_iter=1)
    assert fit.reliabilities == pytest.approx([3.5 / 5, 4.5 / 5, 2.5 / 4])
    assert fit.prevalence == pytest.approx(3 / 4)
    assert not fit.converged


def test_the_score_is_the_log_odds_by_bayes(crowd):
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


def test_it_recovers_accuracies(crowd):
    votes, truth = crowd
    model = OneCoinDawidSkene(random_state=0).fit(votes)
    measured = np.mean(votes.values == truth[:, None], axis=0)
    assert model.accuracies_ == pytest.approx(measured, abs=0.05)
    assert model.polarity_.tolist()[:5] == [1] * 5
    assert model.polarity_.tolist()[7:] == [-1, -1]
    assert "is right on" in model.voters_.reason[0]


def test_two_voters_are_the_majoritys_word():
    with pytest.warns(ExpertsWarning, match="fewer than three"):
        model = OneCoinDawidSkene().fit([[1, 1], [-1, 1], [-1, -1]])
    assert model.n_iter_ == 1


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


def test_limits():
    with pytest.raises(ModelError, match="smoothing"):
        OneCoinDawidSkene(-1).fit(HAND)
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        OneCoinDawidSkene(max_iter=1, random_state=0).fit(
            np.random.default_rng(0).choice([-1, 1], (50, 5))
        )
