"""The model against its equations, and what may not change a fit."""

from dataclasses import fields, replace

import numpy as np
import pytest
from scipy.special import expit, log_softmax, logsumexp

import naive
from latent.worlds import (
    ballots_of,
    class_crowd,
    crowd_of,
    drawn_crowd,
    model_of,
    plain_crowd,
    run_of,
)
from unelisa.latent import consensus as module
from unelisa.latent import prior
from unelisa.latent.consensus import (
    average,
    believe,
    count_shares,
    expect_ease,
    fit_consensus,
    infer,
)
from unelisa.latent.crowd import Crowd

EASE = (0.3, 0.9, 1.6)


def fit(values, n_classes=2, *, counts=1.0, ease=True):
    return fit_crowd(crowd_of(values, n_classes), counts, ease=ease)


def fit_crowd(crowd, counts=1.0, *, ease=True):
    return fit_consensus(crowd, np.zeros(crowd.ballots.n_voters) + counts, ease=ease)


def same(one, other, within=0.0):
    """Whether two models are equal."""
    parts = [(getattr(one, part.name), getattr(other, part.name)) for part in fields(one)]
    return all(np.allclose(a, b, rtol=0, atol=within, equal_nan=True) for a, b in parts)


def draw_model(n_classes, n_voters=6, ease=EASE):
    """Some model, which the votes have nothing to do with."""
    rng = np.random.default_rng(n_classes)
    weights, counts = rng.normal(1.2, 0.6, n_voters), rng.uniform(0.2, 1, n_voters)
    biases, classes = (
        rng.normal(0, 0.5, (n_voters, n_classes)),
        rng.dirichlet(np.full(n_classes, 5)),
    )
    return model_of(weights, biases, counts, ease, classes)


def draw_votes(n_classes, n_items=40):
    if n_classes == 2:
        values = plain_crowd(0, n_items, n_voters=6, votes_per_item=3)[0]
    else:
        values = class_crowd(0, n_items, n_classes, n_voters=6, votes_per_item=3)[0]
    values[[0, 9]] = 0
    return values


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("ease", [(1.0,), EASE])
def test_em_recovers_the_weights_that_votes_were_drawn_with(n_classes, ease):
    weights = np.linspace(0.4, 3.0, 12)
    values, truth, biases = drawn_crowd(1, weights, n_classes, 4000, ease)
    found = fit(values, n_classes, ease=len(ease) > 1)
    scale = ease[0] if len(ease) == 1 else np.mean(found.weights) / np.mean(weights)
    assert scale == pytest.approx(1, abs=0.15)
    assert found.weights == pytest.approx(scale * weights, abs=0.25)
    spread = np.abs(found.weights / scale - weights) / found.standard_errors
    assert np.median(spread) < 2
    own, drawn = (part - part.mean(axis=1, keepdims=True) for part in (found.biases, biases))
    assert own == pytest.approx(drawn, abs=0.25)
    chances = ballots_of(values).concatenate(believe, found)
    assert np.mean(chances.argmax(axis=1) == truth) > 0.85


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_pass_infers_and_averages_as_the_equations_say(n_classes):
    values, model = draw_votes(n_classes), draw_model(n_classes)
    own = model.counts, model.weights, model.biases, model.ease, model.parameters[-1]
    found = infer(run_of(values), model)
    for i, row in enumerate(values):
        answers = np.where(row == 0, -1, row > 0) if n_classes == 2 else row - 1
        joint = naive.weigh_states(answers, None, *own)
        assert found[i] == pytest.approx(np.exp(joint - logsumexp(joint)))
    informed = run_of(values)._replace(prior_odds=np.ones(len(values)))
    assert np.array_equal(infer(informed, model), found)  # what is known is added later
    run = run_of(values)
    answers = np.where(values > 0, 2, 1) if n_classes == 2 else values
    said = [((answers == k + 1) & (values != 0)) @ model.counts for k in range(n_classes)]
    votes = np.stack(said, axis=1)
    assert count_shares(run, model) == pytest.approx(votes)
    shares = (votes + 1) / ((values != 0) @ model.counts + n_classes)[:, None]
    chances = np.maximum(believe(run, model), prior.LEAST_CHANCE)
    expected = chances**prior.MODEL_POWER * shares**prior.SHARE_POWER
    assert np.exp(average(run, model)) == pytest.approx(expected)
    assert average(run, model)[0] == pytest.approx(average(run, model)[9])  # without votes


def test_two_classes_are_the_ising_model_in_halves():
    """logit P(f = +1 | f0, d) = 2 (b + a d f0)."""
    model = draw_model(2)
    a, b = model.weights / 2, (model.biases[:, 1] - model.biases[:, 0]) / 2
    for side, f0 in enumerate((-1, 1)):
        yes = expit(2 * (b[:, None] + a[:, None] * f0 * model.ease))
        assert model.confusions[:, side, :, 1] == pytest.approx(yes)
        assert model.confusions[:, side, :, 0] == pytest.approx(1 - yes)


def test_hard_items_are_believed_less_and_unnamed_classes_unlikelier():
    """P(k) = sum_d P(d) (r_d P(k | d) + (1 - r_d) / K)."""
    run, model = run_of(draw_votes(2)), draw_model(2)
    posterior = infer(run, model)
    right = np.tanh(model.ease)
    expected = sum(
        right[g] * posterior[:, :, g]
        + (1 - right[g]) / 2 * posterior[:, :, g].sum(axis=1, keepdims=True)
        for g in range(3)
    )
    expected[run.counts == 0] = np.exp(model.log_unheard)  # known from all votes
    assert believe(run, model) == pytest.approx(expected)
    values = np.array([[1, 1, 1], [0, 0, 0], [1, 2, 3]], dtype=np.int8)
    model = model_of([0.5] * 3, classes=[0.2, 0.3, 0.5])
    plain, found = infer(run_of(values), model)[:, :, 0], believe(run_of(values), model)
    odds = (found / found[:, :1]) / (plain / plain[:, :1])
    assert odds[0] == pytest.approx([1, prior.UNHEARD, prior.UNHEARD])
    assert odds[1:] == pytest.approx(1)
    two = run_of(np.ones((1, 3), dtype=np.int8))
    binary = model_of([0.5] * 3)
    assert believe(two, binary) == pytest.approx(infer(two, binary)[:, :, 0])


def test_classes_and_ease_weigh_as_the_prior_says():
    values = draw_votes(3, 300)
    counts = np.array([1, 1, 0.5, 0.5, 1, 1])
    found = fit(values, 3, counts=counts).log_classes
    votes = np.array([((values == k).sum(axis=0) * counts).sum() for k in (1, 2, 3)])
    assert np.diff(found) == pytest.approx(
        prior.CLASS_WEIGHT * np.diff(np.log(votes + module.FEW)), abs=1e-12
    )
    run = run_of(np.ones((1, 40), dtype=np.int8))
    logs = average(run, model_of([5.0] * 40))[0]
    share = prior.SHARE_POWER * np.log(41)
    expected = share - prior.MODEL_POWER * np.log(prior.LEAST_CHANCE)
    assert logs[1] - logs[0] == pytest.approx(expected)
    values = draw_votes(2)
    assert fit(values, ease=False).ease.tolist() == [1.0]
    found = fit(values)
    assert found.ease.tolist() == prior.EASE.tolist()
    assert found.ease_shares.sum() == pytest.approx(1)
    values, model = draw_votes(2), draw_model(2)
    found = expect_ease(run_of(values), model)
    assert np.isnan(found[[0, 9]]).all()
    expected = infer(run_of(values), model).sum(axis=1) @ model.ease
    rest = np.delete(np.arange(40), [0, 9])
    assert found[rest] == pytest.approx(expected[rest])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_items_without_votes_and_copies_that_count_as_one_change_nothing(n_classes):
    values = draw_votes(n_classes, 200)
    beside = np.vstack([values, np.zeros((100, 6), dtype=np.int8)])
    one, other = fit(values, n_classes), fit(beside, n_classes)
    assert same(one, other)
    found = ballots_of(beside).concatenate(average, other)
    assert np.isfinite(found).all()
    assert found[-100:] == pytest.approx(np.tile(found[-1], (100, 1)))
    values = draw_votes(n_classes, 300)
    many = values[:, [0, 1, 2, 2, 2, 3, 4, 5]]
    counts = np.array([1, 1, 1 / 3, 1 / 3, 1 / 3, 1, 1, 1])
    one, other = fit(values, n_classes), fit(many, n_classes, counts=counts)
    assert other.weights == pytest.approx(one.weights[[0, 1, 2, 2, 2, 3, 4, 5]], abs=1e-8)
    assert other.center == pytest.approx(one.center, abs=1e-8)
    found = ballots_of(many).concatenate(average, other)
    assert found == pytest.approx(ballots_of(values).concatenate(average, one), abs=1e-8)


def test_a_voter_without_votes_has_the_mean_weight_and_no_error():
    values = draw_votes(2, 200)
    values[:, 2] = 0
    found = fit(values)
    assert found.weights[2] == pytest.approx(found.center, abs=0.1)
    assert np.flatnonzero(np.isnan(found.standard_errors)).tolist() == [2]
    # three voters, of whom one is right: prior odds tell who
    rng = np.random.default_rng(0)
    values = rng.choice(np.array([-1, 1], dtype=np.int8), (500, 3))
    crowd = Crowd.of(ballots_of(values, 6.0 * values[:, 1]), 2)
    found = fit_crowd(crowd, ease=False)
    assert found.weights.argmax() == 1
    assert found.weights[1] > found.weights[[0, 2]].max() + 2


def test_many_votes_are_fitted_on_a_part_first(monkeypatch):
    values, _, _ = drawn_crowd(0, [1.0, 2.0, 1.5, 0.7, 1.2], 2, 4000)
    whole = fit(values)
    rounds = []
    run_rounds = module.run_rounds

    def record(ballots, *rest):
        rounds.append((ballots.n_items, rest[-1]))
        return run_rounds(ballots, *rest)

    monkeypatch.setattr(module, "run_rounds", record)
    monkeypatch.setattr(module, "FIT_VOTES", 5000)
    found = fit(values)
    (few, _), (many, last) = rounds
    assert few == pytest.approx(5000 / 4.5, rel=0.05)
    assert (many, last) == (4000, module.WHOLE_ROUNDS)
    assert found.weights == pytest.approx(whole.weights, abs=0.1)


def test_em_does_not_lower_the_penalized_likelihood():
    """Of votes and parameters, by the definition; the shares of ease have `FEW` items each."""
    values = draw_votes(3, 300)
    crowd = crowd_of(values, 3)
    model = module.start(crowd, np.ones(6), ease=True)
    (run,) = crowd.ballots
    reached = []
    for _ in range(30):
        reached.append(penalize(run, model))
        passed = module.sum_expected(run, model.parameters)[:3]
        # the mean weight is held, as the likelihood of the weights depends on it
        model = replace(module._maximize(model, crowd.cast, *passed), center=model.center)
    assert np.min(np.diff(reached)) > -1e-6
    assert reached[-1] - reached[0] > 5


def penalize(run, model):
    votes = np.zeros((run.n_items, *model.parameters[-1].shape)) + model.parameters[-1]
    logs = log_softmax(
        model.biases[:, None, None, :]
        + model.weights[:, None, None, None] * np.eye(3)[:, None, :] * model.ease[:, None],
        axis=3,
    )
    np.add.at(votes, run.items, logs[run.voters, :, :, run.answer(3)])
    heard = run.counts > 0
    total = (
        logsumexp(votes[heard], axis=(1, 2)).sum() + module.FEW * np.log(model.ease_shares).sum()
    )
    away = ((model.weights - model.center) / prior.WEIGHT_SPREAD) ** 2
    return total - (away.sum() + ((model.biases / prior.BIAS_SPREAD) ** 2).sum()) / 2


def test_voters_who_only_ever_name_one_class_do_not_say_how_common_it_is():
    rng = np.random.default_rng(3)
    both = rng.choice([-1, 1], size=(200, 2))
    rule = np.where(rng.random((200, 3)) < 0.5, 1, 0)  # silent or yes
    found = fit(np.column_stack([both, rule]).astype(np.int8))
    alone = fit(np.column_stack([both, np.zeros_like(rule)]).astype(np.int8))
    assert found.log_classes == pytest.approx(alone.log_classes)
    assert found.log_unheard[1] > alone.log_unheard[1] + 0.1


def test_no_more_than_25_numbers_decide_and_they_are_what_they_stand_for():
    numbers = {name: value for name, value in vars(prior).items() if name.isupper()}
    assert sum(np.size(value) for value in numbers.values()) <= 25
    assert np.all(np.diff(prior.EASE) > 0)
    assert prior.EASE[0] > 0
    for spread in (prior.WEIGHT_SPREAD, prior.BIAS_SPREAD, prior.RAMP, prior.GOLD_SPREAD):
        assert spread > 0
    for share in (
        prior.COHERENT,
        prior.SURELY_COHERENT,
        prior.LEAST_CHANCE,
        prior.UNHEARD,
        prior.REPEATS + prior.RAMP,
    ):
        assert 0 < share < 1
    assert min(prior.MODEL_POWER, prior.SHARE_POWER) > 0
