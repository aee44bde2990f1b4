"""Sets of real votes with known truth: a folder of folders, or sets that can be fetched."""

from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

import numpy as np

from unelisa.datasets import DATASETS, fetch_set
from unelisa.errors import ModelError
from unelisa.one_sided import ONE_SIDED
from unelisa.sources.labels import KnownLabels, read_labels
from unelisa.sources.tables import read_votes

_VOTES = ("votes.csv", "votes.csv.gz", "votes_wide.csv", "votes_wide.csv.gz")
_TRUTH = ("truth.csv", "truth.csv.gz")

Reader = Callable[[], KnownLabels]


class SetFacts(TypedDict):
    """What a set looks like, apart from who is right.

    missing is the share of absent votes, base_rate the share of +1 among the known labels, unvoted
    the share of labelled items that nobody voted on, one_sided the share of votes that come from
    voters who nearly always say the same.
    """

    set: str
    items: int
    labelled: int
    voters: int
    missing: float
    base_rate: float
    unvoted: float
    one_sided: float


def find_sets(folder: Path) -> dict[str, Reader]:
    """Return how to read each set under a folder, by name.

    A set is a folder with votes.csv (item, voter, vote) or votes_wide.csv (item, one column per
    voter) and truth.csv (item, label), also gzipped; votes and labels are -1 or +1. Other folders
    are none.
    """
    if not folder.is_dir():
        raise ModelError(f"there is no folder {folder.name} in {folder.parent}")
    sets: dict[str, Reader] = {}
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        votes = next((place / name for name in _VOTES if (place / name).is_file()), None)
        truth = next((place / name for name in _TRUTH if (place / name).is_file()), None)
        if votes is not None and truth is not None:
            sets[place.name] = _reader(votes, truth)
    if not sets:
        raise ModelError(f"no folder under {folder.name} holds votes.csv and truth.csv")
    return sets


def fetched_sets() -> dict[str, Reader]:
    """Return how to fetch each public set that `unelisa.datasets` knows, by name."""
    return {name: _fetcher(name) for name in DATASETS}


def _reader(votes: Path, truth: Path) -> Reader:
    return lambda: read_labels(truth, read_votes(votes, coding="pm1"))


def _fetcher(name: str) -> Reader:
    return lambda: fetch_set(name)


def describe_set(name: str, known: KnownLabels) -> SetFacts:
    """Return a set's facts."""
    values, signs = known.votes.values, known.scored_signs()
    labelled = signs[signs != 0]
    counts = known.votes.vote_counts()
    yes = np.count_nonzero(values > 0, axis=0)
    larger = np.maximum(yes, counts - yes) / np.maximum(counts, 1)
    return {
        "set": name,
        "items": known.votes.n_items,
        "labelled": len(labelled),
        "voters": known.votes.n_voters,
        "missing": float(1 - counts.sum() / values.size),
        "base_rate": float(np.mean(labelled > 0)),
        "unvoted": len(known.unvoted_signs) / max(len(labelled), 1),
        "one_sided": float(counts[larger >= ONE_SIDED].sum() / max(counts.sum(), 1)),
    }
