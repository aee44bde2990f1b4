"""The gain of one more vote, by a fitted model's predictions of votes that were not cast yet.

A panel is a set of hidden states and of voters who are independent given the state; a case is an
item with its votes. With the mass m(state, k) = P(k) P(state | k, votes), P(k, v) = sum_state
m(state, k) P(s says v | state), and the gain of a vote of s is::

    gain = sum_v value(P(., v)) - value(P)

with the value max_k P(k), the negative entropy, or -sum_k P(k) (1 - P(k)): all convex in P.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from unelisa.aggregators import DawidSkene, LatentIsing, OneCoinDawidSkene
from unelisa.aggregators.confusions import spread_errors
from unelisa.errors import ModelError
from unelisa.latent.consensus import ConsensusReading, infer
from unelisa.latent.reading import Reading
from unelisa.votes.ballots import Ballots, Floats

LEAST = 1e-12  # chance of an answer


@dataclass(frozen=True, eq=False)
class Panel:
    """Voters, as far as votes that are still to come are concerned."""

    answers: Floats  # P(voter says v | state), voters x answers x states
    truth: Floats  # P(class | state), states x classes
    known: NDArray[np.bool_]  # of whom something can be expected that no copy says as well
    infer: Callable[[Ballots], Floats]  # the states' posterior per item

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return len(self.answers)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.truth.shape[1])


def can_suggest(model: Any) -> bool:
    """Return whether a model says what to expect of votes that have not been cast."""
    return isinstance(model, LatentIsing | DawidSkene | OneCoinDawidSkene)


def build_panel(model: Any) -> Panel:
    """Return the panel of a fitted model."""
    if isinstance(model, LatentIsing) and isinstance(model._reading, ConsensusReading):
        return _build_consensus(model._reading)
    if can_suggest(model):
        return _build_independent(model)
    name = type(model).__name__
    raise ModelError(
        f"votes can be suggested with LatentIsing, DawidSkene or OneCoinDawidSkene, found {name}"
    )


def _build_independent(model: Any) -> Panel:
    """Return voters who err independently given the class, by their confusions."""
    n_classes = len(model.classes_)
    if isinstance(model, OneCoinDawidSkene):
        tables = spread_errors(model.accuracies_, n_classes)
    else:
        tables = model._answer_tables()
    known = np.asarray(np.isfinite(tables).all(axis=(1, 2)))
    if isinstance(model, LatentIsing):
        known &= _are_first(model._reading)
    # the state is the class: what is known of it are the model's own probabilities
    return Panel(
        _normalize(np.nan_to_num(tables, nan=1.0).transpose(0, 2, 1)),
        np.eye(n_classes),
        known,
        lambda ballots: np.ones((ballots.n_items, n_classes)),
    )


def _build_consensus(reading: ConsensusReading) -> Panel:
    """Return the voters of a consensus (states: class and ease); repeated votes count in part."""
    model, n_classes = reading.model, reading.n_classes
    answers = replace(model, weights=model.counts * model.weights).confusions
    right = np.tanh(model.ease) if len(model.ease) > 1 else np.ones(1)
    truth = np.eye(n_classes)[:, None] * right[:, None] + (1 - right[:, None]) / n_classes
    truth = truth.reshape(-1, n_classes)
    return Panel(
        _normalize(answers.transpose(0, 3, 1, 2).reshape(len(answers), n_classes, -1)),
        truth[:, ::-1] if reading.swapped else truth,
        _are_first(reading),
        lambda ballots: infer(ballots, model).reshape(ballots.n_items, -1),
    )


def _are_first(reading: Reading) -> NDArray[np.bool_]:
    """Return whether each voter is the first of its copies: of the others there is no need."""
    return np.asarray(reading.heads == np.arange(len(reading.heads)))


def _normalize(chances: Floats) -> Floats:
    bounded = np.maximum(chances, LEAST)
    return np.asarray(bounded / bounded.sum(axis=1, keepdims=True))


TINY = 1e-300

Criterion = Literal["errors", "log_loss", "rate"]


def form_belief(panel: Panel, ballots: Ballots, chances: Floats) -> Floats:
    """Return the mass of one case per item, cases x states x classes: P(state, class)."""
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
    """Return an upper bound of the gain per cost of any voter's vote, per case."""
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
    """Return the largest part of what is unknown about the class that a vote can pass on."""
    return float(1 - answers.min(axis=2).sum(axis=1).min())
