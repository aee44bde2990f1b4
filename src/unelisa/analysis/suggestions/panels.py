"""The panel: what a fitted model says of the votes that its voters have not cast yet.

A model is a set of hidden states, each with a chance of every class, and voters who answer
independently given the state.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    """Return the voters of a consensus; a state is a class and an ease.

    A vote is as informative as its voter counts: what one of several who repeat each other says is
    worth a part of what it would be worth alone.
    """
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
    """Return chances that add up to 1 over the answers, the second axis."""
    bounded = np.maximum(chances, LEAST)
    return np.asarray(bounded / bounded.sum(axis=1, keepdims=True))
