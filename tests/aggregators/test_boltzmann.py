"""Models of a hidden truth and dependent voters: log-linear, and stacked Boltzmann machines."""

import itertools

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit

from unelisa.aggregators import DawidSkene, LogLinear, StackedRBM, stacked_rbm
from unelisa.aggregators.confusions import FullTables, estimate_confusions, list_expected
from unelisa.aggregators.log_linear import Terms, measure_fit
from unelisa.errors import ConvergenceWarning, ExpertsWarning, ModelError, ReliabilityWarning
from unelisa.votes import Votes
from unelisa.votes.ballots import list_ballots


def draw_pairs(n=4000, seed=0):
    """Six voters of accuracy .8; the last three copy one fallible source half of the time."""
    rng = np.random.default_rng(seed)
    truth = rng.choice([-1, 1], n)
    values = np.where(rng.random((n, 6)) < 0.8, truth[:, None], -truth[:, None])
    source = np.where(rng.random(n) < 0.65, truth, -truth)
    copied = rng.random((n, 6)) < np.array([0, 0, 0, 0.6, 0.6, 0.6])
    return np.where(copied, source[:, None], values).astype(np.int8), truth


def joint_table(terms, p):
    """log P(y, f) for every state, by the definition: rows y = -1, +1."""
    states = np.array(list(itertools.product([-1, 1], repeat=p)))
    pairs = np.einsum("is,st,it->i", states, terms.pairs, states) / 2
    logs = [
        y * terms.field + states @ terms.main + y * (states @ terms.truth) + pairs for y in (-1, 1)
    ]
    return states, np.array(logs) - np.logaddexp.reduce(np.array(logs), axis=None)


@pytest.fixture(scope="module")
def terms():
    rng = np.random.default_rng(1)
    pairs = np.triu(rng.normal(0, 0.3, (4, 4)), 1)
    return Terms(0.3, rng.normal(0, 0.4, 4), rng.normal(0.3, 0.4, 4), pairs + pairs.T)


def test_the_pseudo_likelihood_is_that_of_the_joint_table_with_its_gradient(terms):
    """Naive: conditionals of the votes from the table with the truth summed out."""
    states, table = joint_table(terms, 4)
    marginal = np.exp(np.logaddexp(table[0], table[1]))
    total = 0.0
    for i, state in enumerate(states):
        for s in range(4):
            twin = state.copy()
            twin[s] *= -1
            j = int(np.flatnonzero((states == twin).all(axis=1))[0])
            total += np.log(marginal[i] / (marginal[i] + marginal[j]))
    rows = states.astype(np.int8), np.ones(len(states))
    vector = terms.pack()
    price = vector @ vector / 2
    assert -measure_fit(vector, *rows, 1.0)[0] * len(states) == pytest.approx(total - price)
    values = np.random.default_rng(0).integers(-1, 2, (40, 4)).astype(np.int8)
    rows = values, np.ones(40)
    numeric = approx_fprime(terms.pack(), lambda x: measure_fit(x, *rows, 3.0)[0], 1e-7)
    assert measure_fit(terms.pack(), *rows, 3.0)[1] == pytest.approx(numeric, abs=1e-5)


def test_without_pairs_it_scores_as_dawid_and_skene(crowd):
    """Also where votes are missing."""
    values = crowd[0].values.copy()
    values[np.random.default_rng(0).random(values.shape) < 0.5] = 0
    votes = Votes.of(values, coding="pm1")
    ballots = list_ballots(votes.blocks)
    starts = list_expected(ballots, votes.n_voters, 1)
    coins = estimate_confusions(ballots, FullTables(1.0), starts[0])
    model, twin = LogLinear(), DawidSkene()
    for fitted in (model, twin):
        fitted.fit(votes)
    terms = Terms.of_coins(coins)
    model.field_, model.main_, model.weights_ = terms.field, terms.main, terms.truth
    twin.coins_, twin.prevalence_ = coins.coins, float(coins.shares[1])
    assert model.decision_function(values) == pytest.approx(twin.decision_function(values))


def test_it_is_near_the_maximum_of_the_likelihood():
    """Naive: the exact likelihood by enumeration of all 2^7 states, same prior, same start."""
    values, truth = draw_pairs()
    model = LogLinear(random_state=0).fit(values)
    states = np.array(list(itertools.product([-1, 1], repeat=6)))
    place = {tuple(state): i for i, state in enumerate(states)}
    counts = np.bincount([place[tuple(row)] for row in values], minlength=64)
    start = Terms(model.field_, model.main_, model.weights_, model.pairs_).pack()
    price = np.where(np.arange(len(start)) > 12, 100.0, 1.0)

    def cost(vector):
        marginal = np.logaddexp(*joint_table(Terms.unpack(vector, 6), 6)[1])
        return -(counts @ marginal - price @ vector**2 / 2) / len(values)

    exact = Terms.unpack(minimize(cost, start, method="L-BFGS-B").x, 6)
    scores = 2 * (exact.field + values @ exact.truth)
    assert np.mean((scores >= 0) == (model.decision_function(values) >= 0)) > 0.98
    assert np.mean((scores >= 0) == (truth > 0)) == pytest.approx(
        model.score(values, truth), abs=0.01
    )


def test_it_finds_who_depends_on_whom():
    values, truth = draw_pairs(20_000)
    model = LogLinear(random_state=0).fit(values)
    inside, outside = model.pairs_[3:, 3:][np.triu_indices(3, 1)], model.pairs_[:3, :3]
    assert inside.min() > 0.25
    assert np.abs(outside).max() < 0.15
    blind = DawidSkene(random_state=0).fit(values)
    assert model.score(values, truth) > blind.score(values, truth) + 0.05
    assert "strongest tie" in model.voters_.reason[4]


def test_few_voters_many_voters_and_limits():
    for cls in (LogLinear, StackedRBM):
        with pytest.warns(ExpertsWarning, match="fewer than three"):
            cls().fit([[1, 1], [-1, 1], [-1, -1]])
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        LogLinear(max_iter=2, random_state=0).fit(draw_pairs(200)[0])
    with pytest.raises(ModelError, match="ridge"):
        LogLinear(-1.0).fit(draw_pairs(20)[0])
    values = np.random.default_rng(0).choice([-1, 1], (40, 30))
    with pytest.raises(ModelError, match="at most 25 voters who vary, found 30"):
        LogLinear().fit(values)
    values[:, 20:] = 1  # voters who never vary have no terms
    with pytest.warns(UserWarning, match="same vote"):
        model = LogLinear(random_state=0).fit(values)
    assert not model.weights_[20:].any()


def test_one_unit_is_dawid_skene_and_a_weak_start_leaves_the_middle(crowd):
    """The lemma: P(h = 1 | v) of that machine is Dawid and Skene's posterior."""
    votes, _ = crowd
    model = DawidSkene(random_state=0).fit(votes)
    layer = stacked_rbm.as_layer(model.coins_, model.prevalence_)
    chances = stacked_rbm.climb((votes.values > 0).astype(float), [layer])[:, 0]
    assert chances == pytest.approx(model.predict_proba(votes)[:, 1])
    votes, truth = crowd
    rbm = StackedRBM(hidden=(1,)).fit(votes)
    model = DawidSkene(random_state=0).fit(votes)
    assert rbm.hidden_sizes_ == [1]
    assert abs(rbm.score(votes, truth) - model.score(votes, truth)) <= 0.01
    assert rbm.decision_function(votes) == pytest.approx(model.decision_function(votes), abs=0.05)
    rng = np.random.default_rng(0)
    states = stacked_rbm.draw_states(
        np.where(rng.random((3000, 1)) < 0.5, 0.8, 0.2) * np.ones(6), rng
    )
    layer = stacked_rbm.finish_top(states, stacked_rbm.Layer(np.full((1, 6), 1e-6), np.zeros(1)))
    assert np.abs(layer.weights - 2 * np.log(4)).max() < 0.5
    assert expit(layer.bias[0] + layer.weights.sum()) > 0.95


def test_the_rules_for_the_number_of_units_and_the_sign():
    assert stacked_rbm.count_units(np.diag([1.0, 0, 0])) == 1
    assert stacked_rbm.count_units(np.diag([1.0, 1, 1, 1])) == 4
    assert stacked_rbm.count_units(np.diag([90.0, 5, 4, 1])) == 3  # 95 % is not more than 95 %
    assert stacked_rbm.count_units(np.zeros((3, 3))) == 1
    uneven, skewed = np.array([[1, 1, -1]]), np.array([[1, 1], [-1, 0], [0, -1]])
    even = np.array([[1, 1], [-1, -1]])
    assert (stacked_rbm.find_sign(uneven), stacked_rbm.find_sign(-uneven)) == (1, -1)
    assert (stacked_rbm.find_sign(skewed), stacked_rbm.find_sign(-skewed)) == (1, -1)
    assert (stacked_rbm.find_sign(even), stacked_rbm.find_sign(-even)) == (1, 1)


def test_units_are_counted_given_and_told_where_chance_decides(grouped):
    """Four groups of five voters that share a latent variable: four units, then one."""
    values, truth, _ = grouped
    model = StackedRBM(random_state=0).fit(values)
    assert model.hidden_sizes_[-1] == 1
    assert 3 <= model.hidden_sizes_[0] <= 5
    assert model.score(values, truth) > 0.8
    with pytest.warns(ReliabilityWarning, match="depends on chance: .* label .*% of the items"):
        model = StackedRBM(random_state=0).fit(grouped[0])
    assert not model.reliable_
    assert "depends on chance" in model.reliability_reason_
    model = StackedRBM(hidden=(4, 1), random_state=0).fit(values)
    assert model.hidden_sizes_ == [4, 1]
    assert [weights.shape for weights in model.layer_weights_] == [(4, 20), (1, 4)]
    assert model.score(values, truth) > 0.78
    for wrong in ("many", (3,), (), (1, 1), (0, 1)):
        with pytest.raises(ModelError, match="hidden"):
            StackedRBM(hidden=wrong).fit(values)
    with pytest.raises(ModelError, match="max_iter"):
        StackedRBM(max_iter=0).fit(values)


def test_a_missing_vote_is_filled_with_its_expectation_by_hand():
    coins = np.array([[0.2, 0.4], [0.8, 0.6]]), 0.5
    votes = np.array([[1, 0], [0, 0], [-1, 1]], dtype=np.int8)
    # one yes of a voter with both coins at .8 says .8; then .8 * .6 + .2 * .4
    expected = np.array([[1, 0.56], [0.5, 0.5], [0, 1]])
    assert stacked_rbm.expect_votes(votes, *coins) == pytest.approx(expected)
    drawn = stacked_rbm.draw_states(np.tile(expected[:1], (4000, 1)), np.random.default_rng(0))
    assert drawn.dtype == np.int8
    assert np.array_equal(drawn[:, 0], np.ones(4000))
    assert np.mean(drawn[:, 1] > 0) == pytest.approx(0.56, abs=0.03)
