"""What a vote is worth: how far it is expected to raise the worth of what is known.

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

from unelisa.analysis.suggestions.beliefs import TINY, expect_votes
from unelisa.analysis.suggestions.panels import Panel
from unelisa.votes.ballots import Floats

Criterion = Literal["errors", "log_loss", "rate"]


def measure_certainty(masses: Floats) -> Floats:
    """Return max_k of P(case, k): the chance that the label is right.

    Examples
    --------
    >>> measure_certainty(np.array([0.25, 0.75]))
    np.float64(0.75)
    """
    return np.asarray(masses.max(axis=-1))[()]


def measure_knowledge(masses: Floats) -> Floats:
    """Return sum_k P(case, k) log P(k | case): the expected log-probability of the truth."""
    total = masses.sum(axis=-1)
    return np.asarray(xlogy(masses, masses).sum(axis=-1) - xlogy(total, total))[()]


def measure_precision(masses: Floats) -> Floats:
    """Return minus sum_k P(k | case) (1 - P(k | case)), times P(case).

    Examples
    --------
    >>> measure_precision(np.array([0.25, 0.75]))
    np.float64(-0.375)
    """
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
