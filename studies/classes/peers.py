"""Other programs on votes of more than two classes: crowd-kit if installed, and stored scores."""

import csv
import time
import warnings
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studies.records import Json
from unelisa.sources.labels import KnownLabels

Floats = NDArray[np.float64]

CROWD_KIT = (
    "MajorityVote",
    "Wawa",
    "ZeroBasedSkill",
    "DawidSkene",
    "OneCoinDawidSkene",
    "GLAD",
    "MACE",
)
# their labels are a majority weighted by skills; with recent releases of scikit-learn, their own
# prediction fails
WEIGHTED = ("Wawa", "ZeroBasedSkill")
SLOW, MOST_VOTES = ("MACE",), 20_000  # minutes for more votes than this
# column of a file of stored scores -> figure
COLUMNS = {
    "accuracy": "accuracy",
    "balanced": "balanced_accuracy",
    "macro_f1": "macro_f1",
    "log_loss": "log_loss",
    "ece": "calibration_error",
    "mae": "mean_absolute_error",
}


def list_crowd_kit() -> tuple[str, ...]:
    """Return the names of crowd-kit's methods; none if it is not installed."""
    return CROWD_KIT if find_spec("crowdkit") is not None else ()


def ask_crowd_kit(name: str, known: KnownLabels) -> tuple[Floats | None, float | None, str]:
    """Return the probabilities of a method of crowd-kit, items x classes, its seconds and a note.

    Items are those of `known.scored_votes()`; those without votes are as probable in every class.
    """
    votes, told = known.scored_votes(), f"version {version('crowd-kit')}"
    if name in SLOW and votes.vote_counts().sum() > MOST_VOTES:
        return None, None, "not run: it would take minutes"
    import pandas as pd  # noqa: PLC0415 - only here

    items, voters = np.nonzero(votes.values)
    said = votes.values[items, voters].view(np.uint8).astype(int) - 1
    table = pd.DataFrame({"task": items, "worker": voters, "label": said})
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries it uses
        found = _fit(import_module("crowdkit.aggregation"), name, table)
    seconds = time.process_time() - start
    shape, even = (votes.n_items, votes.n_classes), 1 / votes.n_classes
    full = found.reindex(index=range(shape[0]), columns=range(shape[1]))
    unvoted = full.isna().all(axis=1).to_numpy()
    chances = full.fillna(0.0).to_numpy(dtype=np.float64)
    return np.where(unvoted[:, None], even, chances), seconds, told


def _fit(programs: Any, name: str, table: Any) -> Any:
    model = getattr(programs, name)()
    if name not in WEIGHTED:
        return model.fit_predict_proba(table)
    return programs.MajorityVote().fit_predict_proba(table, model.fit(table).skills_)


def read_stored(file: Path) -> list[Json]:
    """Return the rows of a file of scores that were measured elsewhere; none if it is not there.

    It has the columns dataset, method, seconds and note besides the figures in `COLUMNS`; an empty
    cell means unknown.
    """
    if not file.is_file():
        return []
    with file.open(encoding="utf-8", newline="") as lines:
        return [
            {
                "set": row["dataset"],
                "method": row["method"],
                "figures": {COLUMNS[key]: float(row[key]) for key in COLUMNS if row[key]},
                "seconds": float(row["seconds"]) if row["seconds"] else None,
                "note": row["note"],
            }
            for row in csv.DictReader(lines)
        ]
