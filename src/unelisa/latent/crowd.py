"""The crowd that is read: its votes, how many each voter cast, and a sample of the items."""

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.blocks import ItemBlocks, KeptBlocks
from unelisa.latent.ballots import (
    Ballots,
    Floats,
    count_votes,
    fill_silence,
    keep_voters,
    take_ballots,
)
from unelisa.latent.pairs import Pairs, Singles, correlate, find_pairs
from unelisa.one_sided import ONE_SIDED_VOTES, read_silence

LEAST_ITEMS = 500  # that are read, however many votes each has: relatives show on a hundred


class Crowd(NamedTuple):
    """The votes to be read, and what is known of them before."""

    ballots: ItemBlocks  # all items, with one-sided voters' silence filled in
    silence: NDArray[np.int8]  # the vote that each voter's silence stands for; 0 none
    # votes, yes: number of votes and of yes votes per voter
    votes: Floats
    yes: Floats
    common: float  # mean number of items that two voters share
    spoken: ItemBlocks  # all items, without what silence says
    kept: NDArray[np.bool_]  # whose votes are read: not of those who always say the same

    @classmethod
    def of(cls, ballots: ItemBlocks) -> "Crowd":
        """Return the crowd of some ballots."""
        votes, yes, pairs = ballots.sum(count_votes, ballots.n_voters)
        silence, kept = read_roles(np.stack([votes - yes, yes], axis=1), ballots.n_items)
        spoken = ballots = ballots if kept.all() else ballots.view(keep_voters, kept)
        if silence.any():
            ballots = ballots.view(fill_silence, silence)
        if silence.any() or not kept.all():
            votes, yes, pairs = ballots.sum(count_votes, ballots.n_voters)
        n_active = np.count_nonzero(votes)
        common = float(pairs) / max(int(n_active * (n_active - 1)), 1)
        return cls(ballots, silence, votes, yes, common, spoken, kept)

    @property
    def varied(self) -> NDArray[np.intp]:
        """The voters who gave both answers."""
        return np.flatnonzero((self.yes > 0) & (self.yes < self.votes))

    def draw(self, most: int) -> "Sample":
        """Return at most so many items."""
        items = draw_items(self.ballots.n_items, most)
        return Sample(take_ballots(self.ballots, items), self.ballots.n_voters)

    def draw_votes(self, most: int) -> tuple["Sample", "Sample"]:
        """Return items for `draw_for_votes`: as voted, and with silence filled in."""
        items = draw_for_votes(self.ballots.n_items, float(self.votes.sum()), most)
        spoken = Sample(take_ballots(self.spoken, items), self.ballots.n_voters)
        if not self.silence.any():
            return spoken, spoken
        return spoken, Sample(fill_silence(spoken.ballots, self.silence), self.ballots.n_voters)


def read_roles(answers: Floats, n_items: int) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """Return what each voter's silence stands for, and whose votes are read.

    `answers` holds the numbers of no and of yes votes per voter.
    """
    yes, votes = answers[:, 1], answers.sum(axis=1)
    constant = (yes == 0) | (yes == votes)
    # one who says the same of every item says nothing, and is not a rule whose silence counts
    kept = ~(constant & (votes == n_items))
    silence = read_silence(votes * kept, yes * kept, n_items)
    kept &= ~constant | (votes < ONE_SIDED_VOTES) | (silence != 0)
    if not (kept & (votes > 0)).any():
        kept[:] = True
    return silence, kept


def draw_items(n_items: int, most: int) -> NDArray[np.intp]:
    """Return at most so many of the items, in rising order; the same ones every time."""
    if n_items <= most:
        return np.arange(n_items)
    return np.sort(np.random.default_rng(0).choice(n_items, most, replace=False))


def draw_for_votes(n_items: int, n_votes: float, most: int) -> NDArray[np.intp]:
    """Return items with about so many of all votes at most, but not fewer than `LEAST_ITEMS`."""
    per_item = max(n_votes / max(n_items, 1), 1.0)
    return draw_items(n_items, max(int(most / per_item), LEAST_ITEMS))


class Sample:
    """Some items of a crowd in memory, as one run of ballots, and the pairs of voters who met."""

    def __init__(self, ballots: Ballots, n_voters: int) -> None:
        self.ballots, self.n_voters = ballots, n_voters
        self.blocks = KeptBlocks([ballots], n_voters)

    @cached_property
    def pairs(self) -> Pairs:
        """The pairs of voters who met on these items."""
        return find_pairs(self.ballots, self.n_voters)

    @cached_property
    def correlations(self) -> Singles:
        """The correlations of these pairs' votes."""
        counts = np.bincount(self.ballots.voters, minlength=self.n_voters)
        sums = np.bincount(self.ballots.voters, self.ballots.votes, self.n_voters)
        return self.correlate((sums / np.maximum(counts, 1))[self.ballots.voters])

    def correlate(self, expected: Floats) -> Singles:
        """Return the correlations of these pairs' residuals, given every vote's expectation."""
        return correlate(self.ballots, self.pairs, expected, self.n_voters)

    def tabulate(self) -> NDArray[np.int8]:
        """Return the votes as a table of items x voters."""
        values = np.zeros((self.ballots.n_items, self.n_voters), dtype=np.int8)
        values[self.ballots.items, self.ballots.voters] = self.ballots.votes
        return values
