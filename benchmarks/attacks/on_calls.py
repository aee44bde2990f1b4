"""Public functions with arguments that they must refuse, leaving the model as it was."""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from ground import ANCHORS

import unelisa as ue
from unelisa.ehr.datamart import simulate_ehr

Outcomes = Iterator[tuple[str, str]]
N = 60
WEIGHTS: dict[str, Any] = {
    "negative": np.full(N, -1.0),
    "NaN": np.full(N, np.nan),
    "infinite": np.full(N, np.inf),
    "zero": np.zeros(N),
    "too few": np.ones(N - 1),
    "too many": np.ones(N + 1),
    "a matrix": np.ones((N, N)),
    "text": np.full(N, "1"),
    "objects": np.array([{}] * N),
    "complex": np.ones(N, complex),
    "one number": 1.0,
    "nothing in a list": [],
    "masked": np.ma.masked_all(N),
    "huge": np.full(N, 1e308),
    "dates": np.full(N, "2020-01-01", dtype="datetime64[D]"),
}


def attack_calls(ground: Path, place: Path, rng: np.random.Generator) -> Outcomes:  # noqa: ARG001
    """Call the functions: an error of ours, a TypeError or a ValueError, or a sound answer."""
    for name, call in _list_calls(rng):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield name, _try(call)


def _try(call: Callable[[], Any]) -> str:
    try:
        found = call()
    except (TypeError, ValueError) as error:  # ours are ValueErrors
        return "more than one line" if "\n" in str(error) else ""
    except Exception as error:
        return repr(error)[:200]
    numbers = np.asarray(found, dtype=np.float64)
    return "" if np.isfinite(numbers).all() else "an answer that is not finite"


def _list_calls(rng: np.random.Generator) -> Iterator[tuple[str, Callable[[], Any]]]:
    votes = ue.simulate_votes(8, 4, "high", N, random_state=0).votes
    for kind, weights in WEIGHTS.items():
        for name, method in ue.AGGREGATORS.items():
            model = method().fit(votes)
            yield f"{name}: {kind} weights", _refit(model, votes, weights)
    yield from _list_updates(votes)
    yield from _list_phenotypes(rng)


def _refit(model: Any, votes: Any, weights: Any) -> Callable[[], Any]:
    """Fit again; where that fails, the model answers as before."""
    before = model.decision_function(votes)

    def call() -> Any:
        try:
            model.fit(votes, sample_weight=weights)
        except (TypeError, ValueError):
            if not np.array_equal(model.decision_function(votes), before):
                raise AssertionError("a refit that failed changed the model") from None
            raise
        return model.decision_function(votes)

    return call


def _list_updates(votes: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield updates with votes that are none, of a model with and without weights."""
    more = {
        "nothing": [],
        "text": "yes",
        "None": None,
        "a number": 3,
        "other codes": np.full((3, 8), 7),
        "NaN": np.full((3, 8), np.nan),
        "one voter too many": np.ones((3, 9)),
        "objects": np.full((3, 8), object()),
        "strange voters": pd.DataFrame(np.ones((3, 2)), columns=["\x1b[2J", "=1+1"]),
        "no items": np.ones((0, 8)),
    }
    for weighted in (False, True):
        weights = np.arange(1, N + 1) if weighted else None
        for kind, given in more.items():
            model = ue.LatentIsing().fit(votes, sample_weight=weights)
            name = f"update of a model {'with' if weighted else 'without'} weights: {kind}"
            yield (
                name,
                lambda model=model, given=given: model.update(given).decision_function(votes),
            )


def _list_phenotypes(rng: np.random.Generator) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield fits to counts that are none, and rules that are none."""
    counts = simulate_ehr(300, random_state=3).counts
    for kind, value in {
        "a negative count": -1.0,
        "NaN": np.nan,
        "infinity": np.inf,
        "1e308": 1e308,
        "text": "x",
        "a list": [1],
        "None": None,
        "True": True,
        "a half": 0.5,
    }.items():
        bad = counts.astype(object).copy()
        for column in (ANCHORS[0], "note_count", counts.columns[-1]):
            changed = bad.copy()
            changed.at[changed.index[3], column] = value
            yield f"Phenotyper: {kind} in {column}", lambda x=changed: _fit(x).predict_proba(x)
    for kind, frame in {
        "no rows": counts[:0],
        "one row": counts[:1],
        "no columns": counts[[]],
        "equal columns": pd.concat([counts, counts], axis=1),
        "equal persons": pd.concat([counts, counts]),
        "an array": counts.to_numpy(),
        "zeros": counts * 0,
        "columns of numbers": counts.set_axis(range(counts.shape[1]), axis=1),
    }.items():
        yield f"Phenotyper: {kind}", lambda x=frame: _fit(x).predict_proba(x)
    model = _fit(counts)
    flags = pd.DataFrame(rng.random((len(counts), 3)) < 0.3, counts.index, list("abc"))
    for kind, rules in {
        "no rules": flags[[]],
        "no patients": flags[:0],
        "other patients": flags.set_axis(range(10**6, 10**6 + len(flags))),
        "counts": flags.astype(int) * 7,
        "NaN": flags.astype(float).mask(flags),
        "text": flags.astype(str),
        "objects": flags.astype(object).mask(flags, {}),
        "equal names": pd.concat([flags, flags], axis=1),
        "equal patients": pd.concat([flags, flags]),
        "an array": flags.to_numpy(),
        "None": None,
        "a dict": {"a": "ICD:714.0 >= 2"},
        "an endless rule": {"a": "(" * 5000},
        "a rule of SQL": {"a": "ICD:714.0'; DROP TABLE person; --"},
    }.items():
        yield f"evaluate_rules: {kind}", lambda x=rules: ue.evaluate_rules(x, model) is None
    for kind, charts in {
        "strangers": {10**9: 1},
        "other labels": dict.fromkeys(counts.index[:20], 7),
        "NaN": dict.fromkeys(counts.index[:20], np.nan),
        "text": dict.fromkeys(counts.index[:20], "yes"),
        "one class": dict.fromkeys(counts.index[:20], 1),
        "nothing": {},
        "a list": [1, 0],
        "shares of 0": pd.DataFrame({"label": 1, "drawn": 0.0}, counts.index[:20]),
        "shares of 2": pd.DataFrame({"label": 1, "drawn": 2.0}, counts.index[:20]),
    }.items():
        yield (
            f"evaluate_rules: charts: {kind}",
            lambda x=charts: ue.evaluate_rules(flags, model, x) is None,
        )


def _fit(counts: Any) -> Any:
    return ue.Phenotyper(ANCHORS, utilization="note_count", random_state=0).fit(counts)
