"""The panel: what a fitted model says of the votes that its voters have not cast yet.

A model is a set of hidden states, each with a chance of every class, and branches that answer
independently given the state: a voter without relatives, or the opinion of a family on which its
voters hang. What relatives said on an item changes what is expected of the family's opinion there,
so that a copy of a voter who has voted adds nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from unelisa.aggregators import DawidSkene, LatentIsing, OneCoinDawidSkene
from unelisa.aggregators.confusions import spread_errors
from unelisa.errors import ModelError
from unelisa.latent.ballots import Ballots, Floats, fill_silence, keep_voters
from unelisa.latent.consensus import model as two
from unelisa.latent.consensus.model import OPINIONS
from unelisa.latent.consensus.pool import halve_rate, link_truth
from unelisa.latent.consensus.reading import ConsensusReading
from unelisa.latent.potts import model as many
from unelisa.latent.potts.crowd import code_silence
from unelisa.latent.potts.pool import halve_rates, link_classes
from unelisa.latent.potts.reading import ClassReading

SAME = 0.99  # P(repeats the opinion) of relatives whose family the model could not fit
LEAST = 1e-12  # chance of an answer


@dataclass(frozen=True, eq=False)
class Panel:
    """Voters, as far as votes that are still to come are concerned."""

    # answers: P(branch answers g | state), branches x answers x states; a branch per voter, for
    # those without relatives, and then one per family
    answers: Floats
    branch: NDArray[np.intp]  # of each voter
    repeats: Floats  # P(says v | its branch answers g), voters x v x g; equal ones without a family
    truth: Floats  # P(class | state), states x classes
    known: NDArray[np.bool_]  # of whom something can be expected: their votes are read
    # infer, read: the states' posterior per item, and ballots with the votes that the model reads
    infer: Callable[[Ballots], Floats]
    read: Callable[[Ballots], Ballots] = lambda ballots: ballots

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return len(self.branch)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.truth.shape[1])

    @property
    def families(self) -> list[NDArray[np.intp]]:
        """The voters of each family."""
        rows = range(self.n_voters, len(self.answers))
        return [np.flatnonzero(self.branch == row) for row in rows]

    @property
    def lone(self) -> NDArray[np.bool_]:
        """Which voters have no family."""
        return np.asarray(self.branch < self.n_voters)


def can_suggest(model: Any) -> bool:
    """Return whether a model says what to expect of votes that have not been cast."""
    return isinstance(model, LatentIsing | DawidSkene | OneCoinDawidSkene)


def seat_panel(model: Any) -> Panel:
    """Return the panel of a fitted model."""
    if isinstance(model, LatentIsing) and model._copies:
        # a copy would be asked for what the first of them is asked for
        copies = np.isin(np.arange(model.n_features_in_), [s for s, _ in model._copies])
        panel = _seat_reading(model)
        return replace(panel, known=panel.known & ~copies)
    return _seat_reading(model)


def _seat_reading(model: Any) -> Panel:
    if isinstance(model, LatentIsing):
        reading = model._reading
        if isinstance(reading, ConsensusReading):
            return _seat_consensus(reading)
        if isinstance(reading, ClassReading):
            return _seat_classes(reading)
    if can_suggest(model):
        return _seat_independent(model)
    name = type(model).__name__
    raise ModelError(
        f"votes can be suggested with LatentIsing, DawidSkene or OneCoinDawidSkene, found {name}"
    )


def _seat_independent(model: Any) -> Panel:
    """Return voters who err independently given the class, by their confusions."""
    n_classes = len(model.classes_)
    if isinstance(model, OneCoinDawidSkene):
        tables = spread_errors(model.accuracies_, n_classes)
    else:
        tables = model._answer_tables()
    known = np.asarray(np.isfinite(tables).all(axis=(1, 2)))
    answers = _normalize(np.nan_to_num(tables, nan=1.0).transpose(0, 2, 1))
    n_voters = len(answers)
    return Panel(
        answers,
        np.arange(n_voters),
        _repeat_all(n_voters, n_classes),
        np.eye(n_classes),
        known,
        # the state is the class: what is known of it are the model's own probabilities
        lambda ballots: np.ones((ballots.n_items, n_classes)),
    )


def _seat_consensus(reading: ConsensusReading) -> Panel:
    """Return the voters of a consensus, by the member of the pool with the largest weight."""
    model, silence, kept = reading.model, reading.silence, reading.pool.kept
    yes = expit(2 * model.branches.means @ model.states.T)
    said = expit(2 * OPINIONS @ model.members.means.T).T  # voters x opinions
    truth, factors = link_truth(model), halve_rate(model)

    def read(ballots: Ballots) -> Ballots:
        return fill_silence(keep_voters(ballots, kept), silence)

    def infer(ballots: Ballots) -> Floats:
        unknown = read(ballots)._replace(prior_odds=np.zeros(ballots.n_items))
        return two.infer(unknown, factors)[0]

    return Panel(
        *_seat_families(
            _normalize(np.stack([1 - yes, yes], axis=1)),
            np.stack([1 - said, said], axis=1),
            model.family,
            reading.family,
        ),
        np.stack([1 - truth, truth], axis=1),
        # a rule whose silence is an answer has answered everywhere
        kept & (silence == 0),
        infer,
        read,
    )


def _seat_classes(reading: ClassReading) -> Panel:
    """Return the voters of a consensus over K classes."""
    model, silence, kept = reading.model, reading.silence, reading.pool.kept
    n_classes = model.n_classes
    factors = halve_rates(model)

    def read(ballots: Ballots) -> Ballots:
        return fill_silence(keep_voters(ballots, kept), code_silence(silence, n_classes))

    def infer(ballots: Ballots) -> Floats:
        unknown = read(ballots)._replace(prior_odds=np.zeros(ballots.n_items))
        return many.infer(unknown, factors)

    # silence is the answer of rules only, who are not asked
    answers = _normalize(model.branch_chances[:, :n_classes])
    repeats = _normalize(model.repeat_chances.transpose(0, 2, 1)[:, :n_classes])
    return Panel(
        *_seat_families(answers, repeats, model.family, reading.family),
        link_classes(model),
        kept & (silence == 0),
        infer,
        read,
    )


def _seat_families(
    answers: Floats, repeats: Floats, fitted: NDArray[np.int32], found: NDArray[np.int32]
) -> tuple[Floats, NDArray[np.intp], Floats]:
    """Return answers, branches and repeats of a panel, with all families that were found.

    Where relatives are too few branches to be fitted as a family, their opinion answers as they do
    in the mean, and they repeat it almost always.
    """
    n_voters, n_answers = len(fitted), answers.shape[1]
    family = fitted.astype(np.intp)
    same = np.where(np.eye(n_answers) > 0, SAME, (1 - SAME) / (n_answers - 1))
    repeats = np.where((fitted < 0)[:, None, None], np.eye(n_answers), repeats)
    for c in np.unique(found[(found >= 0) & (fitted < 0)]):
        own = (found == c) & (fitted < 0)
        family[own] = len(answers) - n_voters
        repeats[own] = same
        answers = np.concatenate([answers, answers[:n_voters][own].mean(axis=0, keepdims=True)])
    branch = np.where(family < 0, np.arange(n_voters), n_voters + family)
    return answers, branch, repeats


def _repeat_all(n_voters: int, n_answers: int) -> Floats:
    return np.broadcast_to(np.eye(n_answers), (n_voters, n_answers, n_answers))


def _normalize(chances: Floats) -> Floats:
    """Return chances that add up to 1 over the answers, the second axis."""
    bounded = np.maximum(chances, LEAST)
    return np.asarray(bounded / bounded.sum(axis=1, keepdims=True))
