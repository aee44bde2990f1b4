from itertools import product

import numpy as np
import pytest

from suggestions.crowds import NAMES
from unelisa.latent.ballots import list_ballots, take_ballots
from unelisa.suggestions.beliefs import (
    await_label,
    await_vote,
    code_answers,
    expect_votes,
    form_belief,
)
from unelisa.suggestions.panels import seat_panel

ITEMS = np.arange(12)


def believe(model, votes, items=ITEMS):
    panel = seat_panel(model)
    taken = take_ballots(list_ballots(votes.blocks), items)
    return panel, taken, form_belief(panel, taken, model.predict_proba(votes)[items])


def enumerate_joint(panel, ballots, chances, item, voter):
    """P(vote, class), by adding up every state and every opinion of the voter's family."""
    n_states, n_classes = panel.truth.shape
    states = panel.infer(ballots)[item]
    here = ballots.items == item
    answers = code_answers(ballots.votes[here], n_classes)
    said = dict(zip(ballots.voters[here], answers, strict=True))
    branch = panel.branch[voter]
    kin = [t for t in said if panel.branch[t] == branch]
    joint = np.zeros((n_classes, n_classes))
    for state, k in product(range(n_states), range(n_classes)):
        of_class = sum(states[s] * panel.truth[s, k] for s in range(n_states))
        mass = chances[item, k] * states[state] * panel.truth[state, k] / of_class
        opinions = [
            panel.answers[branch, g, state] * np.prod([panel.repeats[t, said[t], g] for t in kin])
            for g in range(n_classes)
        ]
        for g, v in product(range(n_classes), range(n_classes)):
            joint[v, k] += mass * opinions[g] / sum(opinions) * panel.repeats[voter, v, g]
    return joint


def test_expected_votes_are_those_of_an_enumeration(copied):
    model, votes = copied
    panel, ballots, belief = believe(model, votes)
    assert len(panel.families) == 1
    found, chances = expect_votes(panel, belief), model.predict_proba(votes)
    for item, voter in zip(*np.nonzero(votes.values[:6] == 0), strict=True):
        expected = enumerate_joint(panel, ballots, chances, item, voter)
        np.testing.assert_allclose(found[item, voter], expected, atol=1e-12)


def test_chances_are_those_of_the_model(copied):
    model, votes = copied
    panel, _, belief = believe(model, votes)
    expected = model.predict_proba(votes)[ITEMS]
    np.testing.assert_allclose(belief.chances, expected, atol=1e-12)
    summed = expect_votes(panel, belief).sum(axis=2)
    np.testing.assert_allclose(summed, np.repeat(expected[:, None], len(NAMES), 1), atol=1e-12)


@pytest.mark.parametrize("voter", ["b", "a1"], ids=["alone", "relative"])
def test_a_vote_that_is_awaited_leads_to_the_cases_that_were_expected(copied, voter):
    model, votes = copied
    panel, _, belief = believe(model, votes)
    place = NAMES.index(voter)
    after = await_vote(panel, belief, place)
    expected = expect_votes(panel, belief)[:, place]
    np.testing.assert_allclose(after.chances, expected.reshape(after.chances.shape), atol=1e-12)
    again = await_vote(panel, after, NAMES.index("a2"))
    assert again.chances.sum() == pytest.approx(len(ITEMS))


def test_a_label_that_is_awaited_leads_to_certainty(copied):
    model, votes = copied
    _, _, belief = believe(model, votes)
    n_classes = belief.mass.shape[2]
    after = await_label(belief, np.eye(n_classes)).chances.reshape(len(ITEMS), n_classes, n_classes)
    np.testing.assert_allclose(after, belief.chances[:, :, None] * np.eye(n_classes))


def test_a_vote_changes_beliefs_as_inference_with_that_vote_does(copied):
    """The posterior of the states, with the vote among the ballots: the same up to shrinkage."""
    model, votes = copied
    panel, _, _ = believe(model, votes)
    free = [i for i in ITEMS if not votes.values[i, 1]][:4]
    n_classes = panel.n_classes
    for item in free:
        alone = take_ballots(list_ballots(votes.blocks), np.array([item]))
        before = form_belief(panel, alone, panel.infer(alone) @ panel.truth)
        after = await_vote(panel, before, 1).chances
        for v in range(n_classes):
            table = votes.values[[item]].copy()
            table[0, 1] = (-1, 1)[v] if n_classes == 2 else v + 1
            with_vote = take_ballots(list_ballots(type(votes.blocks)(table)), np.array([0]))
            expected = panel.infer(with_vote)[0] @ panel.truth
            np.testing.assert_allclose(after[v] / after[v].sum(), expected, atol=0.01)
