import itertools

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

from unelisa.aggregators import DawidSkene, LogLinear
from unelisa.aggregators.confusions import FullTables, estimate_confusions, list_expected
from unelisa.aggregators.log_linear import Terms, measure_fit
from unelisa.errors import ConvergenceWarning, ExpertsWarning, ModelError
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


def test_the_pseudo_likelihood_is_that_of_the_joint_table(terms):
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


def test_the_gradient_is_that_of_the_value(terms):
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


@pytest.mark.filterwarnings("ignore:the answer depends on a tie")
def test_many_voters_are_refused_with_the_reason():
    values = np.random.default_rng(0).choice([-1, 1], (40, 30))
    with pytest.raises(ModelError, match="at most 25 voters who vary, found 30"):
        LogLinear().fit(values)
    values[:, 20:] = 1  # voters who never vary have no terms
    with pytest.warns(UserWarning, match="same vote"):
        model = LogLinear(random_state=0).fit(values)
    assert not model.weights_[20:].any()


def test_few_voters_and_limits():
    with pytest.warns(ExpertsWarning, match="fewer than three"):
        LogLinear().fit([[1, 1], [-1, 1], [-1, -1]])
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        LogLinear(max_iter=2, random_state=0).fit(draw_pairs(200)[0])
    with pytest.raises(ModelError, match="ridge"):
        LogLinear(-1.0).fit(draw_pairs(20)[0])
