"""The parts that simulated worlds are made of: a truth, voters, votes that go missing."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from unelisa.votes import Votes
from unelisa.votes.coding import encode_classes

Rng = np.random.Generator
Floats = NDArray[np.float64]
Signs = NDArray[np.int8]


class World(NamedTuple):
    """Votes, items x voters in -1 / +1 and 0 where missing, and the truth of every item.

    Of K > 2 classes the codes are 1 to K, of the votes and of the truth.
    """

    votes: Signs
    truth: Signs
    n_classes: int = 2
    ordered: bool = False

    @property
    def codes(self) -> Signs:
        """The code of every class."""
        return np.array(encode_classes(self.n_classes), dtype=np.int8)

    def enter(self) -> Votes:
        """Return the votes as methods take them."""
        items, voters = map(np.arange, self.votes.shape)
        values, labels = np.asfortranarray(self.votes), tuple(self.codes.tolist())
        return replace(Votes.of_values(values, items, voters, labels), ordered=self.ordered)


def join_voters(voters: list[Signs], truth: Signs) -> World:
    """Return the world of these voters, in this order."""
    return World(np.stack(voters, axis=1), truth)


def toss(rng: Rng, chances: Floats) -> Signs:
    """Return +1 with the given chances, otherwise -1."""
    return np.where(rng.random(chances.shape) < chances, 1, -1).astype(np.int8)


def draw_truth(rng: Rng, n_items: int, rate: float) -> Signs:
    """Return the truth of the items: +1 with probability `rate`."""
    return toss(rng, np.full(n_items, rate))


def answer(rng: Rng, truth: Signs, sensitivity: float, specificity: float) -> Signs:
    """Return a voter's votes: right with probability `sensitivity` on +1, `specificity` on -1."""
    return toss(rng, np.where(truth > 0, sensitivity, 1 - specificity))


def repeat(rng: Rng, votes: Signs, same: float) -> Signs:
    """Return a copy of votes that says the opposite on a share 1 - `same` of the items."""
    return np.where(rng.random(votes.shape) < same, votes, -votes).astype(np.int8)


def respond(rng: Rng, tendency: Floats) -> Signs:
    """Return votes with logit P(+1) = 2 * tendency."""
    return toss(rng, expit(2 * tendency))


def lose(rng: Rng, votes: Signs, share: float) -> Signs:
    """Return votes of which each is missing with probability `share`."""
    return np.where(rng.random(votes.shape) < share, 0, votes).astype(np.int8)


def seat_crowd(rng: Rng, n_items: int, n_voters: int, per_item: int) -> NDArray[np.bool_]:
    """Return who votes on what: `per_item` voters each, a few of them busy and many of them not.

    A voter's activity is Pareto with exponent 1.2, as in crowds for hire.
    """
    activity = rng.pareto(1.2, n_voters) + 0.1
    # the largest of log(activity) + Gumbel noise: a draw without replacement for every item
    keys = np.log(activity) + rng.gumbel(size=(n_items, n_voters))
    chosen = np.argpartition(-keys, per_item - 1, axis=1)[:, :per_item]
    seated = np.zeros((n_items, n_voters), dtype=np.bool_)
    np.put_along_axis(seated, chosen, values=True, axis=1)
    return seated
