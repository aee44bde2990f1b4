"""The crowd: the votes to be read, how many each voter cast, and samples of the items."""

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.latent.copies import Heads, find_copies
from unelisa.latent.pairs import Pairs, Singles, correlate, find_pairs
from unelisa.votes.ballots import Ballots, Floats, count_votes, take_ballots
from unelisa.votes.blocks import ItemBlocks, KeptBlocks

LEAST_ITEMS = 500  # that are read, however many votes each has: relatives show on a hundred


class Crowd(NamedTuple):
    """The votes to be read, and what is known of them before."""

    ballots: ItemBlocks
    n_classes: int
    cast: Floats  # number of votes per voter and class
    common: float  # mean number of items that two voters share
    heads: Heads  # of each voter the first of its exact copies: itself, if it has none

    @classmethod
    def of(cls, ballots: ItemBlocks, n_classes: int) -> "Crowd":
        """Return the crowd of some ballots."""
        cast, pairs = ballots.sum(count_votes, ballots.n_voters, n_classes)
        n_active = int(np.count_nonzero(cast.sum(axis=1)))
        common = float(pairs) / max(n_active * (n_active - 1), 1)
        return cls(ballots, n_classes, cast, common, find_copies(ballots, n_classes))

    @property
    def distinct(self) -> NDArray[np.bool_]:
        """Which voters are no copies of an earlier one."""
        return np.asarray(self.heads == np.arange(len(self.heads)))

    @property
    def votes(self) -> Floats:
        """Number of votes per voter."""
        return np.asarray(self.cast.sum(axis=1))

    @property
    def varied(self) -> NDArray[np.intp]:
        """The distinct voters who gave more than one answer."""
        return np.flatnonzero(((self.cast > 0).sum(axis=1) > 1) & self.distinct)

    def draw(self, most: int) -> "Sample":
        """Return at most so many items."""
        items = draw_items(self.ballots.n_items, most)
        return Sample(take_ballots(self.ballots, items), self.ballots.n_voters)

    def draw_votes(self, most: int) -> "Sample":
        """Return items with about so many of all votes at most, but at least `LEAST_ITEMS`."""
        per_item = max(float(self.votes.sum()) / max(self.ballots.n_items, 1), 1.0)
        return self.draw(max(int(most / per_item), LEAST_ITEMS))


def draw_items(n_items: int, most: int) -> NDArray[np.intp]:
    """Return at most so many of the items, in rising order; the same ones every time."""
    if n_items <= most:
        return np.arange(n_items)
    return np.sort(np.random.default_rng(0).choice(n_items, most, replace=False))


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
        """The correlations of these pairs' votes, of two classes."""
        counts = np.bincount(self.ballots.voters, minlength=self.n_voters)
        sums = np.bincount(self.ballots.voters, self.ballots.votes, self.n_voters)
        expected = (sums / np.maximum(counts, 1))[self.ballots.voters]
        return correlate(self.ballots, self.pairs, expected, self.n_voters)

    def tabulate(self) -> NDArray[np.int8]:
        """Return the votes as a table of items x voters."""
        values = np.zeros((self.ballots.n_items, self.n_voters), dtype=np.int8)
        values[self.ballots.items, self.ballots.voters] = self.ballots.votes
        return values
