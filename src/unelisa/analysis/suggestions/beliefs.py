"""Beliefs about items, and what one more vote does to them.

A case is an item with its votes so far, and with votes that were asked for but have not come. Its
mass is P(state, class), the class's chance being the model's own probability::

    m(state, k) = P(k) P(state | k, votes)

and the joint distribution of the class and the vote of voter s is exact::

    P(k, v) = sum_state m(state, k) P(s says v | state)
"""

import numpy as np

from unelisa.analysis.suggestions.panels import Panel
from unelisa.votes.ballots import Ballots, Floats

TINY = 1e-300


def form_belief(panel: Panel, ballots: Ballots, chances: Floats) -> Floats:
    """Return the mass of one case per item, cases x states x classes; a case's sum is its chance.

    `chances` are the model's probabilities of the classes.
    """
    joint = panel.infer(ballots)[:, :, None] * panel.truth
    total = joint.sum(axis=1, keepdims=True)
    # a class that the votes rule out has the states that it may have
    joint = np.where(total > TINY, joint, panel.truth)
    return np.asarray(joint * (chances[:, None, :] / joint.sum(axis=1, keepdims=True)))


def expect_votes(panel: Panel, mass: Floats) -> Floats:
    """Return P(case, vote, class) of every voter: cases x voters x answers x classes."""
    n_cases, n_states, n_classes = mass.shape
    flat = mass.transpose(0, 2, 1).reshape(-1, n_states)
    joint = flat @ panel.answers.reshape(-1, n_states).T
    shape = n_cases, n_classes, panel.n_voters, n_classes
    return joint.reshape(shape).transpose(0, 2, 3, 1).copy()


def await_vote(panel: Panel, mass: Floats, voter: int) -> Floats:
    """Return the cases that follow when a voter is asked: one for each answer."""
    return _split(mass[:, None] * panel.answers[voter][None, :, :, None])


def await_label(mass: Floats, labels: Floats) -> Floats:
    """Return the cases that follow when a human is asked, who says v with P(v | class k)."""
    return _split(mass[:, None] * labels.T[None, :, None, :])


def _split(array: Floats) -> Floats:
    return np.asarray(array.reshape(-1, *array.shape[2:]))
