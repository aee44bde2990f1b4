"""Draws of gold labels from sets with known truth: a line of JSON per set, then one archive.

The items are those with known truth, so that their true shares are known; the model is fitted to
all votes of the set, once, and sees no label. Each draw labels some items at random.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studies.classes.sets import find_class_sets
from studies.fingerprints import DATA, KEY, drop_stale, hash_data, stamp_with
from studies.rate.simulated import LEVEL, measure_draws, simulate_models
from studies.real.sets import find_panels, find_sets
from studies.records import Json, make_archive, merge_sets, open_results, read_lines
from studies.sets import Reader, is_listed
from unelisa.aggregators import LatentIsing
from unelisa.analysis.rate import estimate_rate
from unelisa.errors import ModelError, UnelisaWarning
from unelisa.kernels.threads import one_blas_thread
from unelisa.sources.labels import KnownLabels
from unelisa.votes.coding import encode_classes

Floats = NDArray[np.float64]
DRAWS, LABELS = 200, 50
SIMULATED = "simulated"  # the name of the line with simulated models
STAMP = stamp_with(f"{__name__}:run_set")
SIMULATED_STAMP = stamp_with("studies.rate.simulated:simulate_models")
_DIGITS = 5


def find_rate_sets(signs: Path, classes: Path | None) -> dict[str, Reader]:
    """Return how to read each set: those coded -1 / +1 in a folder, and those of other labels.

    Where sources.csv lists the sets of the first folder, all of these. Otherwise the second folder
    holds panels of judges and sets of three or more classes; by default it is data_k next to the
    first one, if there is one.
    """
    place = signs.parent / "data_k" if classes is None else classes
    if classes is not None and not place.is_dir():
        raise ModelError(f"{place} is not a folder: name the folder that holds the sets")
    sets = find_sets(signs)
    if is_listed(signs):
        return {**sets, **find_class_sets(signs)}
    if place.is_dir():
        sets |= {**find_panels(place), **find_class_sets(place)}
    return sets


def run_set(known: KnownLabels, name: str, draws: int = DRAWS) -> Json:
    """Return one set's coverage and widths over draws of gold labels, and its rates without any."""
    codes = known.scored_signs()
    asked = np.flatnonzero(codes)
    votes = known.scored_votes().take_items(asked)
    model = LatentIsing().fit(known.votes)
    truth = codes[asked, None] == np.array(encode_classes(votes.n_classes), dtype=np.int8)
    chances = model.predict_proba(votes)
    n_labels = min(LABELS, len(asked) // 2)
    alone = estimate_rate(model, votes, level=LEVEL)
    return {
        "set": name,
        "classes": votes.n_classes,
        "items": len(asked),
        "labels": n_labels,
        "reliable": bool(model.reliable_),
        "accuracy": round(float(truth[np.arange(len(asked)), chances.argmax(axis=1)].mean()), 4),
        "truth": _round(truth.mean(axis=0)),
        "without": [_round(row) for row in alone.to_numpy()],
        "draws": draws,
        **measure_draws(truth, chances, n_labels, draws),
    }


def _round(values: Iterable[Any]) -> list[float | None]:
    return [round(float(x), _DIGITS) if np.isfinite(x) else None for x in values]


def run_rate(
    sets: Mapping[str, Reader],
    folder: Path,
    draws: int = DRAWS,
    done: Callable[[str, int], Any] = lambda _name, _count: None,
) -> None:
    """Run what the results in a folder lack, set by set, and append each line as it finishes."""
    with (
        open_results(folder / "sets.jsonl", STAMP) as rows,
        open_results(folder / "simulated.jsonl", SIMULATED_STAMP) as models,
        one_blas_thread(),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", UnelisaWarning)  # the page shows it
        fresh = drop_stale(read_lines(folder / "sets.jsonl"), STAMP)
        there = {row["set"] for row in fresh}
        for name, read in sets.items():
            if name not in there:
                known = read()
                rows.append({**run_set(known, name, draws), DATA: hash_data(known)})
            done(name, 1)
        if not drop_stale(read_lines(folder / "simulated.jsonl"), SIMULATED_STAMP):
            models.append({"rows": simulate_models(draws)})
        done(SIMULATED, 1)


def collect_rate(folder: Path, archived: Json | None = None) -> Json:
    """Return the archive of a results folder, added to an old one, in a fixed order."""
    old = archived or {}
    sets = merge_sets(old.get("sets", ()), read_lines(folder / "sets.jsonl"))
    models = old.get("models", [])
    for line in read_lines(folder / "simulated.jsonl"):
        models = [{**row, KEY: line.get(KEY)} for row in line["rows"]]
    return make_archive(sets=sets, models=models)
