from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.special import softmax

from latent.consensus.test_model import fit as fit_binary
from latent.worlds import ballots_of, class_crowd, copied_classes, plain_crowd, run_of, sample_of
from unelisa.latent.consensus.model import Consensus, infer_truth
from unelisa.latent.potts.contest import Attempt, weigh_majority
from unelisa.latent.potts.model import (
    ClassConsensus,
    fit_classes,
    infer,
    order_form,
    start_classes,
    sum_ease,
)


def infer_class(ballots, factors):
    """P(class) per item."""
    return sum_ease(infer(ballots, factors), len(factors.log_rates))


def fit(values, n_classes, *, ease=False, family=None, form=None, **limits):
    """The model from the majority on, and P(class) per item."""
    sample = sample_of(values)
    family = np.full(values.shape[1], -1) if family is None else family
    first = ClassConsensus.first(family, np.eye(n_classes) if form is None else form, ease=ease)
    start = weigh_majority(sample, np.ones(values.shape[1]), n_classes)
    model = fit_classes(sample.blocks, start_classes(sample.blocks, first, start), **limits)
    return model, infer_class(sample.ballots, model.factors)


@pytest.mark.parametrize("ease", [False, True])
def test_the_objective_rises_and_the_classes_are_found(ease):
    values, truth = class_crowd(0)
    model, found = fit(values, 4, ease=ease)
    assert np.all(np.diff(model.objective) > -0.5)
    assert model.converged
    shares = weigh_majority(sample_of(values), np.ones(12), 4)
    assert np.mean(found.argmax(axis=1) == truth) >= np.mean(shares.argmax(axis=1) == truth)
    assert found.sum(axis=1) == pytest.approx(1)


def test_probabilities_are_those_of_enumeration():
    values, _ = class_crowd(1, n_items=20, n_voters=4, votes_per_item=3)
    family = np.array([0, 0, -1, -1], dtype=np.int32)
    model, found = fit(values, 4, ease=True, family=family)
    factors = model.factors
    for i in range(20):
        joint = np.zeros(4)
        for k, d, g in product(range(4), range(5), range(4)):
            state = 5 * k + d
            chance = model.rates[k] * model.ease[d] * factors.opinions[0, g, state]
            for s in np.flatnonzero(values[i]):
                v = values[i, s] - 1
                log = factors.tables[s, v, state] if family[s] < 0 else factors.members[s, v, g]
                chance *= np.exp(log)
            joint[k] += chance
        assert found[i] == pytest.approx(joint / joint.sum(), abs=1e-10)


def test_two_classes_are_the_binary_model():
    """a = 2 a', b = (-b', b'): the same probabilities from the same voters."""
    values, _ = plain_crowd(0)
    rng = np.random.default_rng(0)
    biases, weights = rng.normal(0, 0.4, 20), rng.normal(0.8, 0.4, 20)
    binary = Consensus.first(np.full(20, -1))
    known = replace(
        binary.branches,
        means=np.stack([biases, weights], axis=1),
        covariances=np.zeros((20, 2, 2)),
    )
    binary = replace(binary, branches=known, rate=0.7)
    potts = ClassConsensus.first(np.full(20, -1), np.eye(2))
    sharp = replace(
        potts.branches,
        fields=np.stack([-biases, biases], axis=1),
        weights=2 * weights,
        field_variances=np.zeros((20, 2)),
        weight_variances=np.zeros(20),
        own_variances=np.zeros((20, 2, 2)),
    )
    potts = replace(potts, branches=sharp, rates=softmax([0.0, 0.7]))
    classes = np.where(values == 0, 0, np.where(values > 0, 2, 1)).astype(np.int8)
    wanted = infer_truth(run_of(values), binary.factors)
    assert infer_class(run_of(classes), potts.factors)[:, 1] == pytest.approx(wanted, abs=1e-12)


def test_a_fit_of_two_classes_says_what_the_binary_fit_says():
    values, _ = plain_crowd(1, n_items=500)
    classes = np.where(values == 0, 0, np.where(values > 0, 2, 1)).astype(np.int8)
    _, found = fit(classes, 2)
    wanted = infer_truth(run_of(values), fit_binary(values).factors)
    assert np.mean((found[:, 1] > 0.5) == (wanted > 0.5)) > 0.97
    assert np.abs(found[:, 1] - wanted).mean() < 0.03


def test_relabeled_classes_permute_the_answer():
    values, _ = class_crowd(2)
    swap = np.array([0, 3, 1, 4, 2], dtype=np.int8)
    _, found = fit(values, 4)
    _, other = fit(swap[values], 4)
    assert other[:, swap[1:] - 1] == pytest.approx(found, abs=1e-6)


def test_prior_odds_decide_an_item_without_votes():
    values, _ = class_crowd(3)
    values[0] = 0
    model, _ = fit(values, 4)
    odds = np.zeros((len(values), 4))
    odds[0, 2] = 3.0
    found = ballots_of(values, odds).concatenate(infer_class, model.factors)
    assert found[0].argmax() == 2
    assert found[0, 2] == pytest.approx(softmax(np.log(model.rates) + odds[0])[2])


def test_a_family_counts_as_one_voter():
    values, truth = copied_classes(0)
    family = np.array([-1] * 6 + [0] * 6)
    alone, answers = fit(values, 4)
    tree, together = fit(values, 4, family=family)
    assert tree.evidence > alone.evidence + 100
    assert (
        np.mean(together.argmax(axis=1) == truth) > 0.9 > np.mean(answers.argmax(axis=1) == truth)
    )
    assert tree.repeats[6:].min() > 0.85
    assert tree.confusions.sum(axis=2) == pytest.approx(1)


def test_distance_is_the_form_of_ordered_classes():
    assert order_form(3).tolist() == [[1, 0, -1], [0, 1, 0], [-1, 0, 1]]
    assert order_form(5)[0].tolist() == [1, 0.5, 0, -0.5, -1]


def test_rows_of_silent_voters_are_zero():
    values, _ = class_crowd(4)
    attempt = Attempt(sample_of(values), np.eye(4), -np.inf)
    model = attempt.fit(np.full(12, -1), np.full((600, 4), 0.25)).model
    idle = np.arange(12) == 5
    assert model.without(idle).weights[5] == 0
