"""Sets of votes with more than two classes and known truth, in a folder."""

import csv
from functools import partial
from pathlib import Path

import numpy as np

from studies.records import Json
from studies.sets import Reader, find_listed, is_listed
from unelisa.errors import ModelError
from unelisa.sources.labels import KnownLabels, read_labels
from unelisa.sources.tables import read_votes

# the sets whose classes have an order, with the number of classes: 0, 1, 2, ...
ORDERED = {"adult2": 4, "care_asset": 5}


def find_class_sets(folder: Path) -> dict[str, Reader]:
    """Return how to read each set with three or more true classes under a folder, by name.

    Where sources.csv lists the sets, those; otherwise a set is a folder with votes.csv.gz (item,
    voter, vote) and truth.csv (item, label).
    """
    if not folder.is_dir():
        raise ModelError(f"{folder} is not a folder: name the folder that holds the sets")
    if is_listed(folder):
        return find_listed(folder, two=False)
    sets: dict[str, Reader] = {}
    for truth in sorted(folder.glob("*/truth.csv")):
        votes = truth.parent / "votes.csv.gz"
        if votes.is_file() and _count_labels(truth) > 2:
            sets[truth.parent.name] = partial(_read_set, votes, truth)
    if not sets:
        raise ModelError(f"no folder in {folder.name} holds votes and truth of three classes")
    return sets


def _count_labels(truth: Path) -> int:
    with truth.open(encoding="utf-8", newline="") as file:
        return len({row["label"] for row in csv.DictReader(file)})


def _read_set(votes: Path, truth: Path) -> KnownLabels:
    n_classes = ORDERED.get(votes.parent.name)
    order = None if n_classes is None else list(range(n_classes))
    return read_labels(truth, read_votes(votes, order=order))


def describe_set(name: str, known: KnownLabels) -> Json:
    """Return what a set looks like, apart from who is right."""
    votes = known.votes
    return {
        "set": name,
        "classes": votes.n_classes,
        "ordered": votes.ordered,
        "items": votes.n_items,
        "labeled": int(np.count_nonzero(known.scored_signs())),
        "voters": votes.n_voters,
        "votes": int(votes.vote_counts().sum()),
    }
