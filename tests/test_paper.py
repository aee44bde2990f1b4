"""What the paper says, where it holds and where it slips; listed in docs/paper_notes.md."""

import numpy as np
import pytest

import naive
from unelisa.aggregators import DawidSkene, UnElisa
from unelisa.analysis.scoring import score_experts, score_labels
from unelisa.paper.em import best_reliability
from unelisa.paper.experts import ExpertSelector
from unelisa.paper.ising import Ising
from unelisa.paper.neighborhood import select_neighborhoods, theory_penalty
from unelisa.simulation.designs import figure_2_1, simulate_votes
from unelisa.votes import Votes
from unelisa.votes.blocks import WholeTable


def objective(values, voter, theta, penalty, sign):
    """(3.6) with a chosen sign before its first sum; print has a minus."""
    others = np.delete(values, voter, axis=1).astype(float)
    z = others @ theta
    moments = others.T @ values[:, voter] / len(values)
    return sign * np.logaddexp(z, -z).mean() - theta @ moments + penalty * np.abs(theta).sum()


def test_3_6_as_printed_is_unbounded_below_and_with_plus_it_is_the_likelihood():
    values = simulate_votes(8, 4, n_items=300, random_state=0).votes.values
    far = np.full(7, 50.0)
    printed = [objective(values, 0, k * far, 0.1, sign=-1) for k in (1, 10, 100)]
    assert printed[0] > printed[1] > printed[2]
    assert printed[2] < -1000
    theta = np.random.default_rng(0).normal(size=7)
    z = np.delete(values, 0, axis=1) @ theta
    likelihood = np.log1p(np.exp(-2 * values[:, 0] * z)).mean()
    assert objective(values, 0, theta, 0.0, sign=1) == pytest.approx(likelihood)


def population_coefficients(model, voter):
    """The minimizer of (3.6) without penalty for infinitely many items, by Newton's method."""
    p = model.n_voters
    no, yes = np.moveaxis(model.marginal(), voter, 0).reshape(2, -1)
    others = 2.0 * np.indices((2,) * (p - 1)).reshape(p - 1, -1) - 1
    theta = np.zeros(p - 1)
    for _ in range(12):
        mean = np.tanh(theta @ others)
        gradient = others @ ((no + yes) * mean - (yes - no))
        hessian = (others * ((no + yes) * (1 - mean**2))) @ others.T
        theta -= np.linalg.solve(hessian, gradient)
    assert np.abs(gradient).max() < 1e-10
    return np.insert(theta, voter, 0.0)


def test_votes_come_from_p_tilde_so_experts_select_voters_that_are_not_their_neighbors():
    """Figure 2.1, weights 1: f_1's coefficient on f_8 exceeds that on its sibling f_4."""
    model = figure_2_1()
    expert, other = population_coefficients(model, 0), population_coefficients(model, 7)
    assert 7 not in model.effective_neighborhoods[0]
    assert expert[[7, 3]] == pytest.approx([0.183, 0.105], abs=5e-4)
    # a non-expert's conditional is logistic in its neighbors alone, so "both" drops the edge
    assert other[0] == pytest.approx(0, abs=1e-9)
    assert set(np.flatnonzero(np.abs(other) > 1e-9)) == {1, 2, 4}


def test_with_many_items_either_is_inconsistent_and_both_mostly_finds_the_experts():
    """Independent draws of 100,000 items from Figure 2.1 with weights .8 and edges .5."""
    chances = figure_2_1(0.8, 0.5).marginal().ravel()
    found = {"either": 0, "both": 0}
    for seed in range(8):
        cells = np.random.default_rng(seed).choice(len(chances), 100_000, p=chances)
        values = 2 * np.stack(np.unravel_index(cells, (2,) * 18), axis=1).astype(np.int8) - 1
        for rule in found:
            selector = ExpertSelector(edge_rule=rule, random_state=0).fit(values)
            found[rule] += selector.experts_.tolist() == [0, 1, 2, 3, 4]
    assert found["either"] == 0
    assert found["both"] >= 4


def chain_incoherence(strength):
    """(A2)'s alpha of the first of four voters on a chain: its neighbor is the second."""
    edges = np.diag([0.0, *[strength] * 3], 1)
    votes, chances = naive.all_votes(4), Ising(0.0, edges + edges.T).marginal().ravel()
    curvature = 1 - np.tanh(strength * votes[:, 1]) ** 2
    fisher = (votes[:, 1:].T * (chances * curvature)) @ votes[:, 1:]
    return 1 - np.abs(fisher[1:, 0] / fisher[0, 0]).max()


@pytest.mark.parametrize("strength", [0.3, 0.6, 1.0, 2.0])
def test_theorem_3_2_s_lambda_as_printed_does_not_control_the_noise(strength):
    """Ravikumar et al. (2010), Lemma 2: the score exceeds what (A2) tolerates with a probability of
    at most 2 exp(log p - alpha^2 lambda^2 n / (128 (2 - alpha)^2)); lambda is in sqrt(log p / n).
    """
    alpha, p = chain_incoherence(strength), 25

    def bound(factor):
        return 2 * p ** (1 - (alpha * factor / (2 - alpha)) ** 2 / 128)

    assert alpha == pytest.approx(1 - np.tanh(strength))
    assert bound(16 * (2 - alpha) / alpha) == pytest.approx(2 / p)
    printed = bound(16 * alpha / (1 - alpha))
    assert (printed > 1) == (strength > 0.5)  # vacuous once alpha is below about .6


@pytest.mark.slow
def test_the_faithful_reading_replicates_high_snr_25_voters_5_experts():
    """Table 5.1: hit rate .998, precision 1; here at least .95 over 20 trials."""
    scores = []
    for trial in range(20):
        simulated = simulate_votes(25, "sqrt", "high", random_state=trial)
        selector = ExpertSelector(random_state=trial).fit(simulated.votes)
        scores.append(score_experts(selector.experts_, simulated.experts))
    hit_rate, precision = np.mean(scores, axis=0)
    assert hit_rate >= 0.95
    assert precision >= 0.95


@pytest.mark.slow
def test_lambda_on_theta_itself_lets_false_edges_swamp_small_cliques():
    """sqrt(log p / n) must be the penalty on w = 2 theta: half of that loses the experts."""
    hits = {1.0: [], 0.5: []}
    for trial in range(8):
        simulated = simulate_votes(49, "log", "high", random_state=trial)
        for factor, found in hits.items():
            penalty = float(factor * theory_penalty(simulated.votes)[0])
            selector = ExpertSelector(penalty, random_state=trial).fit(simulated.votes)
            found.append(score_experts(selector.experts_, simulated.experts).hit_rate)
    assert np.mean(hits[1.0]) > 0.95
    assert np.mean(hits[0.5]) < 0.6


@pytest.mark.slow
def test_algorithm_2_loses_to_the_bayes_rule_even_with_the_true_experts():
    """(G3)'s independence fails once non-experts are left out: EM overrates coupled experts."""
    bayes, em, majority = [], [], []
    for trial in range(12):
        simulated = simulate_votes(49, "sqrt", "low", random_state=trial)
        values = np.asfortranarray(simulated.votes.values[:, simulated.experts])
        polarity = np.sign(simulated.model.edges[0, 1 + simulated.experts]).astype(np.int8)
        blocks = WholeTable(values)
        fit = best_reliability(blocks, polarity, 1)[0]
        side = 1 if fit.weights @ polarity > 0 else -1
        em.append(score_labels(simulated.truth, side * (fit.posterior(blocks) - 0.5)).accuracy)
        majority.append(score_labels(simulated.truth, values @ polarity * 1.0).accuracy)
        rule = simulated.model.posterior(simulated.votes.values) - 0.5
        bayes.append(score_labels(simulated.truth, rule).accuracy)
    assert np.mean(bayes) - np.mean(em) > 0.005
    assert abs(np.mean(bayes) - np.mean(majority)) < 0.003


def test_without_intercepts_biased_voters_look_dependent():
    """Independent voters who say yes 9 times in 10: without intercepts nearly all pairs join."""
    rng = np.random.default_rng(0)
    votes = Votes.of(np.where(rng.random((2000, 12)) < 0.9, 1, -1))
    without = select_neighborhoods(votes, "theory", fit_intercept=False).weights
    within = select_neighborhoods(votes, "theory", fit_intercept=True).weights
    assert np.mean(without != 0) > 0.5
    assert np.mean(within != 0) < 0.02


def test_4_6_forces_sensitivity_and_specificity_to_be_equal():
    """Voters who miss half of the cases but never invent one: one coin cannot say that."""
    rng = np.random.default_rng(1)
    truth = np.where(rng.random(4000) < 0.5, 1, -1)
    yes = rng.random((4000, 5)) < np.where(truth[:, None] > 0, 0.5, 0.02)
    votes = Votes.of(np.where(yes, 1, -1))
    model = UnElisa(fit_intercept=True, random_state=0).fit(votes)
    paper = score_labels(truth, model.decision_function(votes)).accuracy
    two_coins = DawidSkene(random_state=0).fit(votes)
    assert score_labels(truth, two_coins.decision_function(votes)).accuracy > paper + 0.1


def test_an_even_number_of_equal_experts_leaves_ties_and_sgn_0_is_plus_one():
    values = naive.all_votes(4)
    votes = Votes.of(np.vstack([values, np.ones((40, 4)), -np.ones((40, 4))]), coding="pm1")
    model = UnElisa(rule="majority", random_state=0).fit(votes)
    tied = model.decision_function(values) == 0
    assert tied.sum() == 6
    assert (model.predict(values)[tied] == 1).all()
