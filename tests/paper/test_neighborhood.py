from dataclasses import replace

import numpy as np
import pytest

from unelisa.errors import ConvergenceWarning, ModelError
from unelisa.paper.neighborhood import select_neighborhoods, theory_penalty
from unelisa.paper.solvers import L1Problem, optimality
from unelisa.simulation.designs import simulate_votes
from unelisa.votes import Votes


@pytest.fixture(scope="module")
def simulated():
    return simulate_votes(n_voters=12, n_experts=4, n_items=800, random_state=3)


def test_the_theory_penalty_is_the_paper_s_rate_on_twice_theta():
    votes = Votes.of(np.where(np.arange(200).reshape(50, 4) % 3, 1, -1))
    assert theory_penalty(votes) == pytest.approx(2 * np.sqrt(np.log(4) / 50))
    values = votes.values.copy(order="F")
    values[:30, 1] = 0
    fewer = theory_penalty(Votes.of(values, coding="pm1"))
    assert fewer[1] == pytest.approx(2 * np.sqrt(np.log(4) / 20))


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_answer_is_optimal_in_float64(simulated, fit_intercept):
    result = select_neighborhoods(simulated.votes, 0.05, fit_intercept)
    problem = L1Problem(simulated.votes.values, result.penalties, fit_intercept=fit_intercept)
    kkt = optimality(problem, result.weights, result.intercepts)
    assert kkt.max() <= 1e-3
    assert result.kkt.max() <= 1e-3
    assert not result.weights.diagonal().any()
    assert fit_intercept or not result.intercepts.any()


def test_ebic_or_own_penalties_are_chosen_for_every_voter(simulated):
    result = select_neighborhoods(simulated.votes, "ebic")
    assert result.penalties.shape == (12,)
    assert np.all(result.penalties > 0)
    true = simulated.model.effective_neighborhoods
    found = [set(np.flatnonzero(row).tolist()) for row in result.weights]
    right = np.mean([len(found[s] & set(true[s])) / max(len(true[s]), 1) for s in range(12)])
    assert right > 0.8
    penalties = np.full(12, 0.05)
    penalties[4] = 10.0
    result = select_neighborhoods(simulated.votes, penalties)
    assert not result.weights[4].any()
    assert result.weights[:, 4].any()
    votes = Votes.of(simulated.votes.values)
    votes = replace(votes, voters=np.array([f"ann{s}" for s in range(12)], dtype=object))
    with pytest.warns(ConvergenceWarning, match="the regressions of voters ann0, ann1, "):
        select_neighborhoods(votes, tol=1e-18)


@pytest.mark.parametrize("penalty", ["bic", 0.0, -1.0, float("nan"), [0.1, 0.1], True, None])
def test_a_penalty_must_make_sense(simulated, penalty):
    with pytest.raises(ModelError, match="penalty"):
        select_neighborhoods(simulated.votes, penalty)


def test_a_solver_must_be_known_and_used(simulated):
    with pytest.raises(ModelError, match="unknown solver 'magic'; choose one of working_set"):
        select_neighborhoods(simulated.votes, solver="magic")
    with pytest.raises(ModelError, match="'ebic' has its own solver"):
        select_neighborhoods(simulated.votes, "ebic", solver="torch")
    with pytest.raises(ModelError, match="two classes, found 3; use votes.one_against_rest"):
        select_neighborhoods([["a", "b"], ["c", "a"]])
