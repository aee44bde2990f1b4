"""Where sets of real votes with known truth come from: a folder, or public downloads."""

import csv
import os
from functools import partial
from pathlib import Path

import numpy as np

from studies.records import Json
from studies.sets import TRUTH, VOTES, Reader, find_listed, is_listed
from unelisa.errors import ModelError
from unelisa.sources.datasets import DATASETS, fetch_set
from unelisa.sources.labels import KnownLabels, read_labels
from unelisa.sources.tables import read_votes
from unelisa.votes.coding import CodingChoice

VARIABLE = "UNELISA_SETS"
ONE_SIDED = 0.98  # share of equal votes, of voters such as rules
BESIDE = (Path("../shared"), Path("../shared/data"))  # next to a clone; the first with a list


def find_shared_data() -> Path | None:
    """Return the folder named by UNELISA_SETS, or the one next to a clone; None if neither is."""
    named = os.environ.get(VARIABLE)
    if named and not Path(named).is_dir():
        raise ModelError(f"{VARIABLE} names {named[:200]!r}, which is not a folder; correct it")
    if named:
        return Path(named)
    return next((x for x in BESIDE if is_listed(x) or (x.name == "data" and x.is_dir())), None)


def choose_sets(folder: Path | None) -> dict[str, Reader]:
    """Return the sets in a folder; by default the shared ones, otherwise the public downloads."""
    place = find_shared_data() if folder is None else folder
    return fetched_sets() if place is None else find_sets(place)


def find_sets(folder: Path) -> dict[str, Reader]:
    """Return how to read each set of two classes under a folder, by name.

    Where sources.csv lists the sets, those; otherwise a set is a folder with votes.csv (item,
    voter, vote) or votes_wide.csv (item, one column per voter) and truth.csv (item, label),
    possibly gzipped; votes and labels are -1 or +1. Other folders are ignored.
    """
    if not folder.is_dir():
        raise ModelError(f"{folder} is not a folder: name the folder that holds the sets")
    if is_listed(folder):
        return find_listed(folder, two=True)
    sets: dict[str, Reader] = {}
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        votes = next((place / name for name in VOTES if (place / name).is_file()), None)
        truth = next((place / name for name in TRUTH if (place / name).is_file()), None)
        if votes is not None and truth is not None:
            sets[place.name] = partial(_read_set, votes, truth)
    if not sets:
        raise ModelError(f"no folder in {folder.name} holds votes.csv and truth.csv")
    return sets


def find_panels(folder: Path | None) -> dict[str, Reader]:
    """Return how to read each panel of judges with two labels, by name; any two labels will do.

    By default those in data_k, next to the shared data; none if there is no such folder, or if the
    shared data are listed: then they are among the sets.
    """
    shared = find_shared_data() if folder is None else None
    place = shared.parent / "data_k" if shared is not None else folder
    listed = shared is not None and is_listed(shared)
    if listed or place is None or not place.is_dir():
        return {}
    panels: dict[str, Reader] = {}
    for truth in sorted(place.glob("*/truth.csv")):
        labels = _read_two_labels(truth)
        if labels is not None and (truth.parent / VOTES[1]).is_file():
            panels[truth.parent.name] = partial(_read_set, truth.parent / VOTES[1], truth, labels)
    return panels


def _read_two_labels(truth: Path) -> tuple[str, str] | None:
    """Return the labels of a file of items and labels, in sort order; None if they are not two."""
    with truth.open(encoding="utf-8", newline="") as file:
        labels = sorted({row["label"] for row in csv.DictReader(file)})
    return (labels[0], labels[1]) if len(labels) == 2 else None


def fetched_sets() -> dict[str, Reader]:
    """Return how to fetch each public set that `unelisa.sources.datasets` knows, by name."""
    return {name: partial(fetch_set, name) for name in DATASETS}


def _read_set(votes: Path, truth: Path, coding: CodingChoice = "pm1") -> KnownLabels:
    return read_labels(truth, read_votes(votes, coding=coding))


def describe_set(name: str, known: KnownLabels) -> Json:
    """Return what a set looks like, apart from who is right.

    missing is the share of absent votes, base_rate the share of +1 among the known labels, unvoted
    the share of labeled items without votes, one_sided the share of votes cast by nearly constant
    voters.
    """
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
