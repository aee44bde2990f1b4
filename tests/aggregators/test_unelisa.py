import numpy as np
import pytest

from unelisa.aggregators import UnElisa
from unelisa.errors import ExpertsWarning, VotesWarning
from unelisa.simulation.designs import simulate_votes


@pytest.fixture(scope="module")
def simulated():
    return simulate_votes(n_voters=25, n_experts=5, snr="high", random_state=1)


@pytest.fixture(scope="module")
def model(simulated):
    return UnElisa(random_state=0).fit(simulated.votes)


def test_experts_and_labels_are_found_and_every_voter_gets_a_reason(simulated, model):
    assert model.experts_.tolist() == simulated.experts.tolist()
    assert model.score(simulated.votes, simulated.truth) > 0.9
    assert np.count_nonzero(model.weights_) == 5
    table = model.voters_
    assert set(table.verdict) <= {"expert", "contrarian", "pruned"}
    assert (table.verdict != "pruned").sum() == 5
    for s in simulated.experts:
        assert table.reason[s].startswith("knot of rank")
        assert table.reason[s].endswith("the truth")
    pruned = table.reason[table.verdict == "pruned"]
    assert pruned.str.contains("not a knot|no other voter|with only").all()


def test_the_score_is_the_bayes_rule_or_the_augmented_majority(simulated, model):
    """2 (theta_0 + sum theta_0s f_s), (2.3)."""
    votes = simulated.votes
    expected = 2 * (model.field_ + votes.values @ model.weights_)
    assert model.decision_function(votes) == pytest.approx(expected)
    assert model.field_ == pytest.approx(np.log(model.prevalence_ / (1 - model.prevalence_)) / 2)
    psi = model.reliabilities_
    assert model.weights_ == pytest.approx(np.log(psi / (1 - psi)) / 2, abs=1e-9)
    assert np.all(psi[model.weights_ == 0] == 0.5)
    model = UnElisa(rule="majority", random_state=0).fit(simulated.votes)
    polarity = np.sign(simulated.model.edges[0, 1:])
    assert model.weights_.tolist() == polarity.tolist()
    assert model.decision_function(simulated.votes) == pytest.approx(
        simulated.votes.values @ polarity
    )
    assert not hasattr(model, "predict_proba")


def test_a_star_of_experts_by_hand():
    """Three voters, any two alike on 8 of 10 items: a clique, so all are experts."""
    pattern = [[1, 1, 1]] * 28 + [[-1, 1, 1], [1, -1, 1], [1, 1, -1]] * 4
    values = np.array(pattern + (-np.array(pattern)).tolist())
    model = UnElisa(random_state=0, penalty=0.05).fit(values)
    assert model.experts_.tolist() == [0, 1, 2]
    assert model.prevalence_ == pytest.approx(0.5, abs=1e-6)
    # two of them agree on 32 of 40 items, and E f_s f_t = (2 psi - 1)^2 = .6
    assert model.reliabilities_ == pytest.approx([(1 + np.sqrt(0.6)) / 2] * 3, abs=1e-4)
    assert np.array_equal(model.predict(values), np.sign(values.sum(axis=1)))


def test_few_or_no_experts_are_a_warning():
    rng = np.random.default_rng(0)
    first = rng.choice([-1, 1], 400)
    second = np.where(rng.random(400) < 0.9, first, -first)
    values = np.column_stack([first, second, rng.choice([-1, 1], (400, 3))])
    with pytest.warns(ExpertsWarning, match="only 2 expert"):
        model = UnElisa(random_state=0).fit(values)
    assert model.experts_.tolist() == [0, 1]
    noise = np.random.default_rng(0).choice(np.array([-1, 1], dtype=np.int8), (200, 6))
    with pytest.warns(ExpertsWarning, match="no expert was found"):
        model = UnElisa("majority", 5.0, random_state=0).fit(noise)
    assert model.experts_.size == 0
    assert model.weights_.tolist() == [1] * 6
    assert np.array_equal(np.sign(model.decision_function(noise)), np.sign(noise.sum(axis=1)))
    assert set(model.voters_.reason) == {"no expert was found, so every voter counts"}
    assert set(model.voters_.verdict) == {"counted"}
    assert np.isnan(model.prevalence_)
    assert np.isnan(model.reliabilities_).all()
    with pytest.warns(ExpertsWarning, match="no expert was found"):
        model = UnElisa(penalty=5.0, random_state=0).fit(noise)
    assert np.array_equal(np.sign(model.decision_function(noise)), np.sign(noise.sum(axis=1)))
    assert len(set(model.reliabilities_.round(12))) == 1
    # noise says next to nothing, whatever the margin
    assert model.predict_proba(noise).max() < 0.8


def test_voters_who_favor_one_label_are_pointed_out_without_intercepts(crowd):
    votes, _ = crowd
    rng = np.random.default_rng(0)
    biased = np.where(rng.random((600, 6)) < 0.9, 1, -1)
    values = np.hstack([votes.values, biased])
    with pytest.warns(VotesWarning, match="pass fit_intercept=True"):
        UnElisa(random_state=0).fit(values)
    UnElisa(fit_intercept=True, random_state=0).fit(values)
