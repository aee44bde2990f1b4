"""Confusions: EM of Dawid and Skene's model for more than two classes, from the majority vote."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from unelisa.kernels.classes import expect_classes, join_classes, tally_majority
from unelisa.votes.ballots import Ballots
from unelisa.votes.blocks import ItemBlocks

Floats = NDArray[np.float64]
Codes = NDArray[np.uint8]

CLIP = 1e-9  # without smoothing a probability may reach 0, whose logarithm is infinite


@dataclass(frozen=True)
class Confusions:
    """The model's parameters as estimated by EM."""

    tables: Floats  # [voters, meant, said]: P(says c | truth is k)
    shares: Floats  # P(truth is k)
    votes: Floats  # [voters, meant]: expected number of votes on items of that class
    lower_bound: Floats  # penalized log-likelihood per item after each iteration; it never falls
    converged: bool  # whether the last iteration raised it by less than the tolerance

    @property
    def weights(self) -> Floats:
        """Half the mean over k and l of log P(says k | k) / P(says k | l): as for two classes."""
        logs, n_classes = np.log(self.tables), self.tables.shape[1]
        own = np.einsum("skk->sk", logs)[:, None]
        # exactly 0 for a voter whose rows are equal
        return np.asarray((own - logs).sum(axis=(1, 2)) / (2 * n_classes * (n_classes - 1)))

    @property
    def accuracies(self) -> Floats:
        """P(says the truth) per voter."""
        return np.asarray(np.einsum("skk,k->s", self.tables, self.shares))


class VoterModel(Protocol):
    """How a voter errs: the M-step, and the logarithm of its prior."""

    def maximize(self, counts: Floats) -> Floats:
        """Return tables [voters, meant, said] from expected votes [voters, said, meant]."""
        ...

    def log_prior(self, tables: Floats, counts: Floats) -> float:
        """Return the penalty that the M-step adds to the log-likelihood."""
        ...


@dataclass(frozen=True)
class FullTables:
    """Every voter has a probability for every answer to every class.

    `smoothing` votes are added to each row, split like the voter's own votes.
    """

    smoothing: float

    def maximize(self, counts: Floats) -> Floats:
        """Return the tables."""
        added = self._split(counts)[:, :, None] + counts
        mass = added.sum(axis=1, keepdims=True)
        # without smoothing, a class that a voter never met has no estimate
        tables = np.where(mass > 0, added, 1.0) / np.where(mass > 0, mass, counts.shape[1])
        return np.asarray(np.clip(tables.transpose(0, 2, 1), CLIP, 1.0))

    def log_prior(self, tables: Floats, counts: Floats) -> float:
        """Return the sum of a q_sc log P(s says c | k)."""
        return float((self._split(counts)[:, None] * np.log(tables)).sum())

    def _split(self, counts: Floats) -> Floats:
        said = counts.sum(axis=2)
        total = said.sum(axis=1, keepdims=True)
        even = np.full_like(said, 1 / counts.shape[1])  # of a voter who never voted
        split = np.divide(said, total, out=even, where=total > 0)
        return np.asarray(self.smoothing * split)


@dataclass(frozen=True)
class OneReliability:
    """Every voter is right with one probability psi_s, and errs evenly.

    `smoothing` votes are added, as many of them right as by chance: one in K.
    """

    smoothing: float

    def maximize(self, counts: Floats) -> Floats:
        """Return the tables, psi_s on the diagonal and (1 - psi_s) / (K - 1) elsewhere."""
        n_classes = counts.shape[1]
        right = np.einsum("skk->s", counts) + self.smoothing / n_classes
        mass = counts.sum(axis=(1, 2)) + self.smoothing
        psi = np.clip(
            np.where(mass > 0, right, 1 / n_classes) / np.where(mass > 0, mass, 1.0), CLIP, 1 - CLIP
        )
        return spread_errors(psi, n_classes)

    def log_prior(self, tables: Floats, counts: Floats) -> float:
        """Return the sum of a / K log psi_s + a (1 - 1 / K) log(1 - psi_s)."""
        n_classes, psi = counts.shape[1], tables[:, 0, 0]
        each = self.smoothing / n_classes
        return float((each * np.log(psi) + (self.smoothing - each) * np.log1p(-psi)).sum())


def spread_errors(psi: Floats, n_classes: int) -> Floats:
    """Return tables [voters, meant, said] of voters who are right with probability psi.

    Examples
    --------
    >>> spread_errors(np.array([0.5]), 3)[0, 0]
    array([0.5 , 0.25, 0.25])
    """
    right = np.eye(n_classes)
    errors = (1 - psi) / (n_classes - 1)
    return np.asarray(np.where(right, psi[:, None, None], errors[:, None, None]))


def estimate_confusions(
    ballots: ItemBlocks,
    sizes: tuple[int, int],
    model: VoterModel,
    gold: Codes,
    **limits: Any,
) -> Confusions:
    """Return the more likely of the fixed points of EM from the votes and from gold labels.

    `sizes` are (voters, classes). `gold` holds the known classes of items, 0 where unknown, or is
    empty. The majority of the voters may exchange two classes, which gold labels alone can show.
    """
    starts = (False, True) if gold.any() else (False,)
    fits = [_estimate(ballots, (*sizes, start), model, gold, **limits) for start in starts]
    return max(fits, key=lambda fit: float(fit.lower_bound[-1]))


def _estimate(
    ballots: ItemBlocks,
    start: tuple[int, int, bool],
    model: VoterModel,
    gold: Codes,
    max_iter: int = 500,
    tol: float = 1e-9,
) -> Confusions:
    """Return the fixed point of EM from one start: (voters, classes, whether from gold only).

    The first expected truth of an item is the share of its votes for each class, or its gold label.
    Then EM alternates the voters' tables and the shares of
    the classes (M) with the posterior of every item (E), `max_iter` times or until an iteration
    raises the penalized log-likelihood per item by less than `tol`. Shares stay half an item off 0.
    """
    counts, mass = ballots.sum(_start, *start, per_item=(gold,))
    history = [-np.inf]
    tables, shares, votes = np.empty(0), mass, counts
    for _ in range(max_iter):
        tables, shares, votes = model.maximize(counts), keep_classes(mass), counts.sum(axis=1)
        penalty = model.log_prior(tables, counts)
        counts, mass, likelihood = ballots.sum(_expect, *as_logs(tables, shares), per_item=(gold,))
        history.append(float(likelihood + penalty) / float(mass.sum()))
        if history[-1] - history[-2] < tol:
            break
    converged = history[-1] - history[-2] < tol
    return Confusions(tables, shares, votes, np.array(history[1:]), converged)


def keep_classes(mass: Floats) -> Floats:
    """Return shares of classes, none below half an item: one not seen so far may still exist.

    Examples
    --------
    >>> keep_classes(np.array([0.0, 4.0, 6.0]))
    array([0.05, 0.4 , 0.55])
    """
    kept = np.maximum(mass, 0.5)
    kept[np.argmax(kept)] -= kept.sum() - mass.sum()
    kept = np.maximum(kept, 0.5)  # more classes than items
    return np.asarray(kept / kept.sum())


def as_logs(tables: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Return log P(says c | truth is k) as [voters, said, meant], and log P(truth is k)."""
    return np.ascontiguousarray(np.log(tables).transpose(0, 2, 1)), np.log(shares)


def score_classes(ballots: ItemBlocks, tables: Floats, shares: Floats) -> Floats:
    """Return log P(truth is k | votes) per item and class."""
    return ballots.concatenate(_join, *as_logs(tables, shares))


def _start(run: Ballots, gold: Codes, *start: Any) -> tuple[Any, ...]:
    return tally_majority(run.starts, run.voters, run.votes.view(np.uint8), gold, *start)


def _expect(run: Ballots, gold: Codes, tables: Floats, log_shares: Floats) -> tuple[Any, ...]:
    found = expect_classes(
        run.starts, run.voters, run.votes.view(np.uint8), gold, tables, log_shares
    )
    return found[0], found[1], np.asarray(found[2])


def _join(run: Ballots, tables: Floats, log_shares: Floats) -> Floats:
    return join_classes(run.starts, run.voters, run.votes.view(np.uint8), tables, log_shares)
