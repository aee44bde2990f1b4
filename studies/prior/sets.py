"""Sets of real votes with their truth, as the prior is fitted to them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from studies.sets import RealSet, read_set
from unelisa.aggregators.identifiability import check_identifiability
from unelisa.latent import interpret, prior
from unelisa.latent.consensus import ConsensusReading, believe, count_shares
from unelisa.latent.reading import Reading
from unelisa.votes import Votes
from unelisa.votes.ballots import Ballots, list_ballots, take_ballots

Floats = NDArray[np.float64]


class Truth(NamedTuple):
    """A set as it was read."""

    one: RealSet
    votes: Votes
    run: Ballots  # all items
    classes: NDArray[np.intp]  # the true class of each item, -1 unknown


class Fitted(NamedTuple):
    """What the default fits to a set, as far as the powers of the average and trust do not matter.

    `chances` and `shares`: P of the model alone and the share of the votes, items x classes.
    """

    truth: Truth
    reading: Reading
    chances: Floats
    shares: Floats
    told: bool  # whether the votes identify a truth at all

    @property
    def name(self) -> str:
        """The name of the set."""
        return self.truth.one.name

    @property
    def source(self) -> str:
        """Where it comes from: sources, not sets, are independent."""
        return self.truth.one.source


def read_truth(data: Path, one: RealSet) -> Truth:
    """Return a set with the true classes of its items."""
    votes, labels = read_set(data, one)
    place = {str(label): k for k, label in enumerate(votes.classes)}
    classes = np.array([-1 if label is None else place[str(label)] for label in labels.tolist()])
    run = take_ballots(list_ballots(votes.blocks), np.arange(votes.n_items))
    return Truth(one, votes, run, classes.astype(np.intp))


def fit_set(truth: Truth) -> Fitted:
    """Return the default's fit of a set."""
    votes = truth.votes
    reading = interpret(list_ballots(votes.blocks), "auto", votes.n_classes)
    if not isinstance(reading, ConsensusReading):  # the hub of a graph has no average
        chances = np.exp(reading.weigh_run(truth.run))
        return Fitted(truth, reading, chances, chances, told=True)
    found = count_shares(truth.run, reading.model)
    shares = (found + 1) / (found.sum(axis=1, keepdims=True) + votes.n_classes)
    told = check_identifiability(votes)
    carries = told.pairs > 0 and told.reliable
    return Fitted(truth, reading, believe(truth.run, reading.model), shares, told=carries)


@contextmanager
def setting(values: Mapping[str, Any]) -> Iterator[None]:
    """Give numbers of the prior other values."""
    before = {name: getattr(prior, name) for name in values}
    for name, value in values.items():
        setattr(prior, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(prior, name, value)
