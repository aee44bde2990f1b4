"""The sets of real votes with known truth, all classes in one list, with the source of each."""

import csv
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import ModelError, VotesWarning
from unelisa.sources.labels import KnownLabels, read_labels
from unelisa.sources.tables import read_votes
from unelisa.votes import Votes, join_votes
from unelisa.votes.blocks import WholeTable
from unelisa.votes.coding import CodingChoice

LIST = "sources.csv"
VOTES = ("votes.csv", "votes.csv.gz", "votes_wide.csv", "votes_wide.csv.gz")
TRUTH = ("truth.csv", "truth.csv.gz")


Reader = Callable[[], KnownLabels]


class RealSet(NamedTuple):
    """A set as the list of sources describes it; sources, not sets, are independent."""

    name: str
    folder: str  # beside the list
    source: str
    kind: str  # crowd, rules, llm judges, classifiers, methods
    classes: int
    ordered: tuple[str, ...] = ()  # the classes in their order, where they have one


def list_sets(data: Path) -> list[RealSet]:
    """Return the sets that sources.csv names in a folder, in its order, whatever their classes."""
    if not is_listed(data):
        raise ModelError(f"{data} holds no {LIST}: name the folder that holds it and the sets")
    with (data / LIST).open(encoding="utf-8", newline="") as rows:
        return [_describe(row) for row in csv.DictReader(rows)]


def is_listed(data: Path) -> bool:
    """Return whether a folder holds the list of sources."""
    return (data / LIST).is_file()


def find_listed(data: Path, *, two: bool) -> dict[str, Reader]:
    """Return how to read the listed sets of two classes, or those of more, by name."""
    chosen = [one for one in list_sets(data) if (one.classes == 2) == two]
    return {one.name: partial(read_known, data, one) for one in chosen}


def _describe(row: dict[str, str]) -> RealSet:
    order = row["ordered"].split("<")
    return RealSet(
        row["set"],
        row["folder"],
        row["source"],
        row["kind"],
        int(row["classes"]),
        tuple(order) if len(order) > 1 else (),
    )


def read_set(data: Path, one: RealSet) -> tuple[Votes, NDArray[Any]]:
    """Return the votes of a set and the true label of each item, None where it is unknown.

    Items with a true label and no vote follow the others.
    """
    known = read_known(data, one)
    return join_unvoted(known), known.votes.name_codes(known.scored_signs())


def read_known(data: Path, one: RealSet) -> KnownLabels:
    """Return the votes of a set with its true labels, the items without votes apart."""
    place = data / one.folder / one.name
    truth = find_file(place, TRUTH)
    coding: CodingChoice = "auto"
    if one.classes == 2:  # of which the larger label is the positive one, whatever the votes hold
        coding = read_votes(truth).classes
    with warnings.catch_warnings():  # the list says which sets are ordered
        warnings.filterwarnings("ignore", ".*read as classes without order", VotesWarning)
        votes = read_votes(find_file(place, VOTES), coding=coding, order=one.ordered or None)
    return read_labels(truth, votes)


def find_file(place: Path, names: tuple[str, ...]) -> Path:
    """Return the file of one of these names in a folder."""
    found = next((place / name for name in names if (place / name).is_file()), None)
    if found is None:
        raise ModelError(f"{place} holds none of {', '.join(names)}; name the folder of its sets")
    return found


def join_unvoted(known: KnownLabels) -> Votes:
    """Return the votes with an empty row for each labeled item without votes, sparse ones sparse.

    Items without votes are answered too: omitting them would overstate every accuracy.
    """
    votes, silent = known.votes, known.unvoted_items
    if not len(silent):
        return votes
    rows = np.zeros((len(silent), votes.n_voters), dtype=np.int8, order="F")
    return join_votes(votes, replace(votes, blocks=WholeTable(rows), items=silent))
