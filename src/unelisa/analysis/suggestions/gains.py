"""What is believed of items, and what one more vote is worth.

A case is an item with its votes so far, and with votes that were asked for but have not come. Its
mass is P(state, class), the class's chance being the model's own probability::

    m(state, k) = P(k) P(state | k, votes)

and the joint distribution of the class and the vote of voter s is exact::

    P(k, v) = sum_state m(state, k) P(s says v | state)

The worth of a belief is the chance that its label is right, max_k P(k), or its negative entropy,
which is the expected log-probability of the truth, or minus the variance that the item adds to the
numbers of items of all classes, sum_k P(k) (1 - P(k)). All are convex in P, so that no vote is
expected to lower them::

    gain = sum_v worth(P(., v)) - worth(P)
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy.special import xlogy

from unelisa.analysis.suggestions.panels import Panel
from unelisa.votes.ballots import Ballots, Floats

TINY = 1e-300

Criterion = Literal["errors", "log_loss", "rate"]


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


def measure_certainty(masses: Floats) -> Floats:
    """Return max_k of P(case, k): the chance that the label is right."""
    return np.asarray(masses.max(axis=-1))[()]


def measure_knowledge(masses: Floats) -> Floats:
    """Return sum_k P(case, k) log P(k | case): the expected log-probability of the truth."""
    total = masses.sum(axis=-1)
    return np.asarray(xlogy(masses, masses).sum(axis=-1) - xlogy(total, total))[()]


def measure_precision(masses: Floats) -> Floats:
    """Return minus sum_k P(k | case) (1 - P(k | case)), times P(case)."""
    total = np.maximum(masses.sum(axis=-1), TINY)
    return np.asarray((masses**2).sum(axis=-1) / total - total)[()]


WORTH: dict[Criterion, Callable[[Floats], Floats]] = {
    "errors": measure_certainty,
    "log_loss": measure_knowledge,
    "rate": measure_precision,
}


def measure_gains(panel: Panel, mass: Floats, criterion: Criterion) -> Floats:
    """Return the gain of every voter's vote in every case: cases x voters."""
    worth = WORTH[criterion]
    after = worth(expect_votes(panel, mass)).sum(axis=2)
    return np.asarray(after - worth(mass.sum(axis=1))[:, None])


def measure_label_gains(chances: Floats, labels: Floats, criterion: Criterion) -> Floats:
    """Return the gain of a human's label per case; `labels` is P(says v | class k)."""
    worth = WORTH[criterion]
    after = worth(chances[:, None, :] * labels.T).sum(axis=1)
    return np.asarray(after - worth(chances))


def bound_gains(panel: Panel, mass: Floats, criterion: Criterion, prices: Floats) -> Floats:
    """Return an upper bound of the gain per cost of any voter's vote, per case.

    Every answer is taken to be as informative as that of any voter.
    """
    asked = np.isfinite(prices)
    if not asked.any():
        return np.zeros(len(mass))
    answers = panel.answers[asked]
    if criterion == "errors":
        bound = _bound_errors(mass, answers)
    else:
        bound = -WORTH[criterion](mass.sum(axis=1)) * _bound_passed(answers)
    return np.asarray(bound / prices[asked].min())


def _bound_errors(mass: Floats, answers: Floats) -> Floats:
    """Return sum_v max_k of P(k, v) - P(label, v), answers being as informative as any voter's."""
    most, least = answers.max(axis=0).T, answers.min(axis=0).T
    label = mass.sum(axis=1).argmax(axis=1)
    of_label = np.take_along_axis(mass, label[:, None, None], axis=2)[:, :, 0]
    best = np.zeros((len(label), answers.shape[1]))
    for k in range(mass.shape[2]):
        ahead = mass[:, :, k] - of_label
        found = np.maximum(ahead, 0) @ most + np.minimum(ahead, 0) @ least
        np.maximum(best, found, out=best)
    return np.asarray(best.sum(axis=1))


def _bound_passed(answers: Floats) -> float:
    """Return the part of what is not known that a vote can pass on at most.

    A vote that equals a fixed draw with probability e, whatever the state, adds at most 1 - e of
    what knowing the class would add; where the class is known, both worths are 0.
    """
    return float(1 - answers.min(axis=2).sum(axis=1).min())
