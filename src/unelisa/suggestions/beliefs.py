"""Beliefs about items, and what one more vote does to them.

A case is an item with its votes so far, and with votes that were asked for but have not come. Its
mass is P(state, class), the class's chance being the model's own probability::

    m(state, k) = P(k) P(state | k, votes)

and the joint distribution of the class and the vote of voter s is exact, given what the voter's
relatives said::

    P(k, v) = sum_state m(state, k) sum_g P(g | state, relatives' votes) P(v | g)
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.latent.ballots import Ballots, Floats
from unelisa.suggestions.panels import Panel

TINY = 1e-300


class Belief(NamedTuple):
    """What is believed in each of some cases."""

    mass: Floats  # cases x states x classes; a case's sum is its probability
    heard: Floats  # log P(relatives' votes | opinion g): cases x families x answers

    @property
    def chances(self) -> Floats:
        """P(case, class): cases x classes."""
        return np.asarray(self.mass.sum(axis=1))

    def take(self, cases: NDArray[np.integer] | slice) -> "Belief":
        """Return some of the cases."""
        return Belief(self.mass[cases], self.heard[cases])


def form_belief(panel: Panel, ballots: Ballots, chances: Floats) -> Belief:
    """Return one case per item, given the model's probabilities of the classes."""
    joint = panel.infer(ballots)[:, :, None] * panel.truth
    total = joint.sum(axis=1, keepdims=True)
    # a class that the votes rule out has the states that it may have
    joint = np.where(total > TINY, joint, panel.truth)
    mass = joint * (chances[:, None, :] / joint.sum(axis=1, keepdims=True))
    return Belief(mass, _hear_relatives(panel, panel.read(ballots)))


def _hear_relatives(panel: Panel, ballots: Ballots) -> Floats:
    """Return the log-likelihood of every family's opinions per item."""
    n_families, n_classes = len(panel.answers) - panel.n_voters, panel.n_classes
    heard = np.zeros((ballots.n_items * n_families, n_classes))
    if n_families:
        answers = code_answers(ballots.votes, n_classes)
        own = ~panel.lone[ballots.voters] & (answers < n_classes)
        voters = ballots.voters[own]
        cells = ballots.items[own] * n_families + panel.branch[voters] - panel.n_voters
        said = np.log(panel.repeats[voters, answers[own]])
        for g in range(n_classes):
            heard[:, g] = np.bincount(cells, said[:, g], len(heard))
    return heard.reshape(ballots.n_items, n_families, n_classes)


def code_answers(votes: NDArray[np.int8], n_classes: int) -> NDArray[np.intp]:
    """Return the class that each vote names, from 0.

    Examples
    --------
    >>> code_answers(np.array([-1, 1], dtype=np.int8), 2).tolist()
    [0, 1]
    >>> code_answers(np.array([1, 3], dtype=np.int8), 3).tolist()
    [0, 2]
    """
    if n_classes == 2:
        return (votes > 0).astype(np.intp)
    return votes.view(np.uint8).astype(np.intp) - 1


def expect_votes(panel: Panel, belief: Belief) -> Floats:
    """Return P(case, vote, class) of every voter: cases x voters x answers x classes."""
    n_cases, n_states, n_classes = belief.mass.shape
    n_voters = panel.n_voters
    flat = belief.mass.transpose(0, 2, 1).reshape(-1, n_states)
    alone = panel.answers[:n_voters].reshape(-1, n_states)
    shape = n_cases, n_classes, n_voters, n_classes
    joint = (flat @ alone.T).reshape(shape).transpose(0, 2, 3, 1).copy()
    for c, relatives in enumerate(panel.families):
        opinion = expect_opinion(panel, belief, c)
        joint[:, relatives] = np.einsum("tvg,igk->itvk", panel.repeats[relatives], opinion)
    return joint


def expect_opinion(panel: Panel, belief: Belief, c: int) -> Floats:
    """Return P(case, opinion, class) of a family: cases x answers x classes."""
    return np.asarray(_lean(panel, belief, c) @ belief.mass)


def _lean(panel: Panel, belief: Belief, c: int) -> Floats:
    """Return P(opinion | state, relatives' votes): cases x answers x states."""
    heard = belief.heard[:, c]
    scaled = np.exp(heard - heard.max(axis=1, keepdims=True))
    lean = scaled[:, :, None] * panel.answers[panel.n_voters + c]
    return np.asarray(lean / lean.sum(axis=1, keepdims=True))


def await_vote(panel: Panel, belief: Belief, voter: int) -> Belief:
    """Return the cases that follow when a voter is asked: one for each answer."""
    branch = panel.branch[voter]
    if branch < panel.n_voters:
        said = panel.answers[branch][None, :, :, None]
        heard = np.repeat(belief.heard, panel.n_classes, axis=0)
        return Belief(_split(belief.mass[:, None] * said), heard)
    c, repeats = branch - panel.n_voters, panel.repeats[voter]
    lean = np.einsum("vg,igs->ivs", repeats, _lean(panel, belief, c))
    heard = np.repeat(belief.heard[:, None], panel.n_classes, axis=1)
    heard[:, :, c] += np.log(repeats)
    return Belief(_split(belief.mass[:, None] * lean[..., None]), _split(heard))


def await_label(belief: Belief, labels: Floats) -> Belief:
    """Return the cases that follow when a human is asked, who says v with P(v | class k)."""
    mass = belief.mass[:, None] * labels.T[None, :, None, :]
    return Belief(_split(mass), np.repeat(belief.heard, len(labels), axis=0))


def _split(array: Floats) -> Floats:
    return np.asarray(array.reshape(-1, *array.shape[2:]))
