"""Recorded votes with known truth, from which policies buy."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.sources.labels import KnownLabels
from unelisa.votes import Votes

MOST_ITEMS = 500
WORLDS = ("copies", "near_copies", "lenient_families", "bad_clique")  # kinds with families
FIRST_WORLD = 40  # of the choosing part; policies were chosen on the ones before


class Recording(NamedTuple):
    """All votes that can be bought, and the truth of every item, in the codes of the votes."""

    votes: Votes
    truth: NDArray[np.int8]

    @property
    def offered(self) -> NDArray[np.bool_]:
        """Which votes were recorded: items x voters."""
        return np.asarray(self.votes.values != 0)

    def bought(self, chosen: NDArray[np.bool_]) -> Votes:
        """Return the votes of some pairs only."""
        values = np.asfortranarray(np.where(chosen, self.votes.values, 0))
        return Votes.of_values(values, self.votes.items, self.votes.voters, self.votes.classes)


def draw_recording(known: KnownLabels, seed: int, most: int = MOST_ITEMS) -> Recording:
    """Return at most so many items with a known truth and two votes or more."""
    counts = np.count_nonzero(known.votes.values, axis=1)
    items = np.flatnonzero((known.signs != 0) & (counts > 1))
    if len(items) > most:
        items = np.sort(np.random.default_rng(seed).choice(items, most, replace=False))
    votes = known.votes.take_items(items)
    voted = np.flatnonzero(votes.values.any(axis=0))
    return Recording(votes.take_voters(voted), known.signs[items])
