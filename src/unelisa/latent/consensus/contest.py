"""The contest: which structure the votes need, decided by the votes alone.

The criterion is how well a candidate predicts every vote, through the truth (and the tilt), from
the voters on its item who are not its neighbors. Voters who repeat each other predict each other
under any model; only what strangers can predict is due to the truth. The log score of a candidate
beyond plain's is its gain, judged by its standard error over the items.

The majority's truth is kept unless another one is clearly better, and so is the structure without
a tilt. Where a second truth exists at all, the votes allow two readings, and the result says so.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.blocks import ItemBlocks, mark_starts
from unelisa.kernels.ballots import score_by_strangers
from unelisa.latent.ballots import Ballots, Floats
from unelisa.latent.consensus.affinity import Affinity
from unelisa.latent.consensus.candidate import Candidate, Kind, propose_plain, share_agreement
from unelisa.latent.consensus.discount import propose_discount
from unelisa.latent.consensus.model import expect_votes, log_state_priors
from unelisa.latent.consensus.tilt import propose_tilt
from unelisa.latent.crowd import Sample
from unelisa.latent.pairs import Singles

Neighbors = tuple[NDArray[np.int64], NDArray[np.int32]]  # as in `Affinity`: rows, others

# in this order; each may start from those before it
STRUCTURES: dict[Kind, Callable[[Sample, list[Candidate]], list[Candidate]]] = {
    "plain": propose_plain,
    "tilt": propose_tilt,
    "discount": propose_discount,
}
CLEAR_ERRORS = 3.0  # standard errors by which another truth or a tilt must win
CLEAR_NATS = 3.0  # by which a discount must win
# standard errors and size of a correlation above which voters are neighbors
NEIGHBOR_ERRORS, NEIGHBOR_SIZE = 4.0, 0.1
MOST_NEIGHBORS = 0.75  # of the voters: some must be left to predict from


class Rival(NamedTuple):
    """A second truth beside the majority's."""

    # name, agreement: its best candidate, and the share of items on which that one agrees with
    # plain
    name: str
    agreement: float
    lead: float  # standard errors by which it outscores the majority's truth
    left: Candidate  # the best candidate of the truth that was not kept


class Choice(NamedTuple):
    """The candidate that was kept, a table of all, and the second truth, if there is one."""

    candidate: Candidate
    table: tuple[dict[str, Any], ...]
    rival: Rival | None = None


def choose_structure(ballots: ItemBlocks, sample: Sample, kinds: tuple[Kind, ...]) -> Choice:
    """Return the structure of these kinds that predicts best on a sample, fitted to all items.

    Plain is always tried, as the reference.
    """
    candidates: list[Candidate] = []
    for kind, propose in STRUCTURES.items():
        if kind == "plain" or kind in kinds:
            candidates += propose(sample, candidates)
    choice = _decide(_enter(sample, candidates), kinds)
    if ballots.n_items == sample.ballots.n_items:
        return choice
    rival = choice.rival
    if rival is not None:
        rival = rival._replace(left=rival.left.fit_all(ballots, sample))
    return choice._replace(candidate=choice.candidate.fit_all(ballots, sample), rival=rival)


@dataclass(frozen=True, eq=False)
class Entry:
    """A candidate in the contest."""

    candidate: Candidate  # who competes
    scores: Floats  # its log score per item
    # gain, standard_error: log score beyond plain's, less the cost of its parameters, and its
    # standard error
    gain: float
    standard_error: float
    # agreement, other_axis: share of the items on which it agrees with plain, and whether its truth
    # is another one
    agreement: float
    other_axis: bool
    admissible: bool  # whether it may be chosen: a truth must be left

    def lead_over(self, other: "Entry") -> float:
        """Return by how many standard errors its gain exceeds another's."""
        apart = self.scores - other.scores
        error = apart.std() * np.sqrt(len(apart)) + 1e-9
        return float((self.gain - other.gain) / error)

    def row(self, *, kept: bool) -> dict[str, Any]:
        """Return its row in the table of structures."""
        return {
            "structure": self.candidate.name,
            "gain": self.gain,
            "standard_error": self.standard_error,
            "agreement": self.agreement,
            "admissible": self.admissible,
            "kept": kept,
        }


def _enter(sample: Sample, candidates: list[Candidate]) -> list[Entry]:
    """Return the candidates as entries, judged on the same sample; plain comes first."""
    near = _find_neighbors(sample, candidates)
    logs = [_score_by_strangers(sample.ballots, candidate, near) for candidate in candidates]
    plain_odds = candidates[0].score(sample.ballots)
    entries = []
    for candidate, scores in zip(candidates, logs, strict=True):
        odds, beyond = candidate.score(sample.ballots), scores - logs[0]
        entry = Entry(
            candidate,
            scores,
            float(beyond.sum()) - candidate.cost,
            float(beyond.std() * np.sqrt(len(beyond))),
            share_agreement(odds, plain_odds),
            candidate.is_other_axis(odds, plain_odds),
            candidate.is_admissible(sample.ballots, odds, plain_odds),
        )
        entries.append(entry)
    return entries


def _decide(entries: list[Entry], kinds: tuple[Kind, ...]) -> Choice:
    """Return the candidate to keep."""
    plain, plain_allowed = entries[0], "plain" in kinds
    best = _find_best(entries, "plain", "discount", other_axis=False) or plain
    if plain_allowed and best.gain <= CLEAR_NATS:
        best = plain
    second, rival = _find_best(entries, "discount", other_axis=True), None
    if second is not None:
        lead = second.lead_over(best)
        best, left = (second, best) if lead > CLEAR_ERRORS else (best, second)
        rival = Rival(second.candidate.name, second.agreement, lead, left.candidate)
    tilted = _find_best(entries, "tilt", other_axis=best.other_axis)
    if tilted is not None and (not plain_allowed or tilted.lead_over(best) > CLEAR_ERRORS):
        best = tilted
    table = tuple(entry.row(kept=entry is best) for entry in entries)
    return Choice(best.candidate, table, rival)


def _find_best(entries: list[Entry], *kinds: Kind, other_axis: bool) -> Entry | None:
    """Return the admissible entry of some kinds and one truth with the largest gain."""
    fit = [
        entry
        for entry in entries
        if entry.candidate.kind in kinds
        and entry.other_axis == other_axis
        and (entry.admissible or entry is entries[0])
    ]
    return max(fit, key=lambda entry: entry.gain, default=None)


def _score_by_strangers(ballots: Ballots, candidate: Candidate, near: Neighbors) -> Floats:
    """Return the log score of every item's votes, each predicted from its voter's strangers."""
    starts, voters, votes, _, weights = candidate.weigh(ballots)
    factors = candidate.model.factors
    priors = log_state_priors(ballots, factors)
    return score_by_strangers(starts, voters, votes, weights, priors, factors.effects, *near)


def _find_neighbors(sample: Sample, candidates: list[Candidate]) -> Neighbors:
    """Return every voter's neighbors: those correlated with it under any candidate.

    At most the nearest three quarters of the others: some must be left to predict from.
    """
    pairs, n_voters = sample.pairs, sample.n_voters
    strength = np.zeros(len(pairs.first), dtype=np.float32)
    for candidate in candidates:
        expected = expect_votes(candidate.weigh(sample.ballots), candidate.model)
        size = np.abs(sample.correlate(expected))
        seen = (size * np.sqrt(pairs.common) > NEIGHBOR_ERRORS) & (size > NEIGHBOR_SIZE)
        strength = np.maximum(strength, np.where(seen, size, 0))
    near = strength > 0
    tied = Affinity.tie(pairs.first[near], pairs.second[near], strength[near], n_voters)
    return _keep_nearest(tied, int(MOST_NEIGHBORS * (n_voters - 1)))


def _keep_nearest(tied: Affinity, most: int) -> Neighbors:
    """Return the partners of every voter that are nearer than its (most + 1)-th nearest."""
    keep = np.ones(len(tied.others), dtype=np.bool_)
    for s in np.flatnonzero(np.diff(tied.rows) > most):
        own = slice(tied.rows[s], tied.rows[s + 1])
        strengths: Singles = tied.strengths[own]
        keep[own] = strengths > np.partition(strengths, -most - 1)[-most - 1]
    voters = np.repeat(np.arange(len(tied.rows) - 1), np.diff(tied.rows))
    counts = np.bincount(voters[keep], minlength=len(tied.rows) - 1)
    return mark_starts(counts), tied.others[keep]
