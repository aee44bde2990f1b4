"""Panels, beliefs and what a vote gains."""

from itertools import product

import numpy as np
import pytest

from analysis.suggestions.crowds import NAMES, draw_crowd, fit
from unelisa import DawidSkene, LatentIsing, MajorityVote, OneCoinDawidSkene, Votes, simulate_votes
from unelisa.analysis.suggestions.gains import (
    WORTH,
    await_label,
    await_vote,
    bound_gains,
    build_panel,
    expect_votes,
    form_belief,
    measure_gains,
    measure_knowledge,
    measure_label_gains,
)
from unelisa.errors import ModelError
from unelisa.latent import consensus
from unelisa.votes.ballots import list_ballots, take_ballots


def test_answers_are_distributions_of_the_models_own_coins(copied):
    model, _ = copied
    panel = build_panel(model)
    np.testing.assert_allclose(panel.answers.sum(axis=1), 1)
    np.testing.assert_allclose(panel.truth.sum(axis=1), 1)
    assert panel.known.all()
    counts, weights = model._reading.model.counts, model._reading.model.weights
    assert counts[[0, 7, 8]].max() < 0.7
    assert (counts[1:7] == 1).all()
    telling = (panel.answers.max(axis=2) - panel.answers.min(axis=2)).mean(axis=1)
    assert telling[[0, 7, 8]].max() < telling[np.arange(1, 7)].min()
    assert (np.argsort(telling[1:7]) == np.argsort(weights[1:7])).all()
    votes = simulate_votes(random_state=0).votes
    for model in (fit(DawidSkene(), draw_crowd()), fit(LatentIsing("edges"), votes)):
        np.testing.assert_allclose(build_panel(model).answers[:, 1].T, model.coins_)
    with pytest.raises(ModelError, match="found MajorityVote"):
        build_panel(MajorityVote().fit([[1, -1, 1], [1, 1, -1], [-1, 1, 1]]))
    votes = draw_crowd(missing=0.2)
    again = Votes(votes.blocks.rearrange(np.array([*range(9), 2, 2])), votes.items,
                  np.array([*NAMES, "c1", "c2"]), votes.classes)  # fmt: skip
    assert build_panel(fit(LatentIsing(), again)).known.tolist() == [True] * 9 + [False] * 2


@pytest.mark.parametrize("turn", [False, True])
def test_classes_of_states_are_those_that_the_model_believes(copied, turn):
    model, votes = copied
    reading = model._reading
    if turn and votes.n_classes > 2:
        return
    model._reading = reading.turned() if turn else reading
    panel = build_panel(model)
    model._reading = reading
    run = take_ballots(list_ballots(votes.blocks), np.arange(50))
    found, expected = panel.infer(run) @ panel.truth, consensus.believe(run, reading.model)
    if votes.n_classes == 2:
        np.testing.assert_allclose(found, expected[:, ::-1] if turn else expected)
    else:  # of which one that nobody named has a tenth of its odds
        same = np.array([len(set(votes.values[i]) - {0}) == 3 for i in range(50)])
        assert same.any()
        np.testing.assert_allclose(found[same], expected[same])


ITEMS = np.arange(12)


def believe(model, votes, items=ITEMS):
    panel = build_panel(model)
    taken = take_ballots(list_ballots(votes.blocks), items)
    return panel, taken, form_belief(panel, taken, model.predict_proba(votes)[items])


def enumerate_joint(panel, ballots, chances, item, voter):
    """P(vote, class), by adding up every state."""
    n_states, n_classes = panel.truth.shape
    states = panel.infer(ballots)[item]
    joint = np.zeros((n_classes, n_classes))
    for state, k, v in product(range(n_states), range(n_classes), range(n_classes)):
        of_class = sum(states[s] * panel.truth[s, k] for s in range(n_states))
        mass = chances[item, k] * states[state] * panel.truth[state, k] / of_class
        joint[v, k] += mass * panel.answers[voter, v, state]
    return joint


def test_expected_votes_and_chances_are_those_of_an_enumeration(copied):
    model, votes = copied
    panel, ballots, mass = believe(model, votes)
    found, chances = expect_votes(panel, mass), model.predict_proba(votes)
    for item, voter in zip(*np.nonzero(votes.values[:6] == 0), strict=True):
        expected = enumerate_joint(panel, ballots, chances, item, voter)
        np.testing.assert_allclose(found[item, voter], expected, atol=1e-12)
    panel, _, mass = believe(model, votes)
    expected = model.predict_proba(votes)[ITEMS]
    np.testing.assert_allclose(mass.sum(axis=1), expected, atol=1e-12)
    summed = expect_votes(panel, mass).sum(axis=2)
    np.testing.assert_allclose(summed, np.repeat(expected[:, None], len(NAMES), 1), atol=1e-12)
    _, _, mass = believe(model, votes)
    n_classes = mass.shape[2]
    after = await_label(mass, np.eye(n_classes)).sum(axis=1)
    after = after.reshape(len(ITEMS), n_classes, n_classes)
    np.testing.assert_allclose(after, mass.sum(axis=1)[:, :, None] * np.eye(n_classes))


@pytest.mark.parametrize("voter", ["b", "a1"], ids=["alone", "relative"])
def test_a_vote_that_is_awaited_leads_to_the_cases_that_were_expected(copied, voter):
    model, votes = copied
    panel, _, mass = believe(model, votes)
    place = NAMES.index(voter)
    after = await_vote(panel, mass, place)
    expected = expect_votes(panel, mass)[:, place]
    chances = after.sum(axis=1)
    np.testing.assert_allclose(chances, expected.reshape(chances.shape), atol=1e-12)
    assert await_vote(panel, after, NAMES.index("a2")).sum() == pytest.approx(len(ITEMS))


@pytest.mark.parametrize("voter", [1, 7], ids=["alone", "relative"])
def test_a_vote_changes_beliefs_as_inference_with_that_vote_does(copied, voter):
    """The posterior of the states, with the vote among the ballots, as far as the voter counts."""
    model, votes = copied
    panel, _, _ = believe(model, votes)
    n_classes = panel.n_classes
    for item in [i for i in range(30) if not votes.values[i, voter]][:4]:
        alone = take_ballots(list_ballots(votes.blocks), np.array([item]))
        before = form_belief(panel, alone, panel.infer(alone) @ panel.truth)
        after = await_vote(panel, before, voter).sum(axis=1)
        for v in range(n_classes):
            table = votes.values[[item]].copy()
            table[0, voter] = (-1, 1)[v] if n_classes == 2 else v + 1
            with_vote = take_ballots(list_ballots(type(votes.blocks)(table)), np.array([0]))
            expected = panel.infer(with_vote)[0] @ panel.truth
            np.testing.assert_allclose(after[v] / after[v].sum(), expected, atol=0.02)


MANY = np.arange(300)


def with_vote(votes, item, voter, code):
    values = votes.values[[item]].copy()
    values[0, voter] = code
    names = votes.items[[item]], votes.voters, votes.classes
    return type(votes).of_values(np.asfortranarray(values), *names)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("method", [DawidSkene, OneCoinDawidSkene])
def test_gains_of_dawid_skene_are_those_of_predicting_again(method, n_classes):
    """P(v | votes) = sum_k P(k | votes) P(v | k), and P(k | votes, v) is what `predict_proba` says
    with the vote added."""
    votes = draw_crowd(n_classes, n_items=200)
    model = fit(method(), votes)
    panel, _, belief = believe(model, votes)
    errors, knowledge, precision = (measure_gains(panel, belief, name) for name in WORTH)
    tables = model.confusions_.set_index(["voter", "meant", "said"])["probability"]
    codes = (-1, 1) if n_classes == 2 else range(1, n_classes + 1)
    checked = 0
    for item, voter in zip(*np.nonzero(votes.values[:12] == 0), strict=True):
        now = model.predict_proba(votes.take_items([item]))[0]
        best, expected, squares = -now.max(), -float(now @ np.log(now)), -float(now @ now)
        for said, code in zip(model.classes_, codes, strict=True):
            likely = [tables[votes.voters[voter], meant, said] for meant in model.classes_]
            chance = float(now @ likely)
            after = model.predict_proba(with_vote(votes, item, voter, code))[0]
            best += chance * after.max()
            expected += chance * float(after @ np.log(after))
            squares += chance * float(after @ after)
        assert errors[item, voter] == pytest.approx(best, abs=1e-9)
        assert knowledge[item, voter] == pytest.approx(expected, abs=1e-9)
        assert precision[item, voter] == pytest.approx(squares, abs=1e-9)
        checked += 1
    assert checked > 20


@pytest.mark.parametrize("criterion", list(WORTH))
def test_no_gain_is_negative_and_none_exceeds_its_bound(copied, criterion):
    model, votes = copied
    panel, _, belief = believe(model, votes, MANY)
    gains = measure_gains(panel, belief, criterion)
    assert gains.min() > -1e-12
    prices = np.linspace(1, 2, panel.n_voters)
    bound = bound_gains(panel, belief, criterion, prices)
    assert (gains / prices <= bound[:, None] + 1e-12).all()
    assert bound.max() < 1


def test_labels_and_relatives_gain_what_they_add(copied):
    chances = np.array([[0.7, 0.2, 0.1], [1.0, 0.0, 0.0]])
    np.testing.assert_allclose(measure_label_gains(chances, np.eye(3), "errors"), [0.3, 0.0])
    found = measure_label_gains(chances, np.eye(3), "log_loss")
    np.testing.assert_allclose(found, -measure_knowledge(chances), atol=1e-12)
    guess = np.full((3, 3), 1 / 3)
    np.testing.assert_allclose(measure_label_gains(chances, guess, "log_loss"), 0, atol=1e-12)
    model, votes = copied
    panel, _, belief = believe(model, votes, MANY)
    gains = measure_gains(panel, belief, "log_loss").mean(axis=0)
    assert gains[[0, 7, 8]].max() < 0.5 * gains[1:7].min()
    assert gains[[0, 7, 8]].min() > 0
