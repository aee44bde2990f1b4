"""Every set with the prior of the other sources, and every number of the prior tried otherwise."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studies.fingerprints import KEY, stamp_with
from studies.prior.fits import Values, fit_powers, fit_trust, share_right
from studies.prior.sets import Fitted, Truth, fit_set, read_truth, setting
from studies.records import Json, make_archive
from studies.sets import list_sets
from unelisa import DawidSkene, LatentIsing
from unelisa.errors import ModelError
from unelisa.latent import prior

Floats = NDArray[np.float64]
Advance = Callable[[str, int], None]

Folds = dict[str, Values]  # the numbers that all other sources give, by source

TWO = 2  # classes
FITTED = ("MODEL_POWER", "SHARE_POWER", "ACCURACY", "BELOW", "ABOVE", "TAIL")
# other values of each number that is not fitted, half and double where nothing is more natural
TRIED: dict[str, tuple[Any, ...]] = {
    "MEAN_WEIGHT": (1.0, 2.0),
    "WEIGHT_SPREAD": (0.3, 1.2),
    "BIAS_SPREAD": (0.5, 2.0),
    "EASE": (np.ones(1), np.array([0.35, 1.0])),
    "CLASS_WEIGHT": (0.0, 1.0),
    "REPEATS": (0.5, 2.0),
    "RAMP": (0.05, 0.3),
    "LEAST_CHANCE": (1e-6, 1e-2),
    "UNHEARD": (0.01, 1.0),
    "COHERENT": (0.0, 0.4),
    "SURELY_COHERENT": (0.2, 0.6),
}
# and of those that decide no label, only what is said of them
TRIED_TRUST: dict[str, tuple[float, ...]] = {
    "SHIFT": (0.4, 1.5),
    "FEW": (0.0, 6.0),
    "GATE": (0.05, 1.0),
    "GOLD_SPREAD": (0.25, 1.0),
}
LEAST_LOSS = 1e-3  # P in the log loss
FEWEST_SOURCES = 3  # one is left out, and one of the others for the margins
TOO_SURE = 0.1  # by which the expected accuracy exceeds the true one
STAMP = stamp_with(f"{__name__}:run_prior")
GOLD = 50  # labels with which the spread of the correction is tried
FEWEST = 20  # votes on labeled items of a voter whose interval is judged


def read_sets(data: Path, names: Sequence[str] | None) -> list[Truth]:
    """Return the sets, all or some of them."""
    listed = list_sets(data)
    known = [one.name for one in listed]
    for name in names or ():
        if name not in known:
            raise ModelError(f"--sets must be one of {', '.join(known)}, found {name[:60]!r}")
    chosen = [one for one in listed if names is None or one.name in names]
    if len({one.source for one in chosen}) < FEWEST_SOURCES:
        raise ModelError(
            f"the sets come from fewer than {FEWEST_SOURCES} sources, so none can be left out; "
            "name sets of more sources"
        )
    return [read_truth(data, one) for one in chosen]


def run_prior(sets: Sequence[Truth], advance: Advance, *, alternatives: bool) -> Json:
    """Return the numbers fitted to all sources, every set with those of the others, and trials."""
    fitted = _fit_all(sets, advance)
    folds = fit_folds(fitted)
    rows = [_score(one, folds[one.source], advance) for one in fitted]
    found = fit_all(fitted)
    tried = TRIED.items() if alternatives else ()
    judged = TRIED_TRUST.items() if alternatives else ()
    return make_archive(
        values={name: _plain(getattr(prior, name)) for name in (*TRIED, *FITTED, *TRIED_TRUST)},
        fitted={name: _plain(value) for name, value in found.items()},
        spread=_spread_folds(list(folds.values())),
        sets=rows,
        trials=[_try(sets, name, value, advance) for name, values in tried for value in values],
        judged=[
            _judge(fitted, folds, name, value, advance)
            for name, values in judged
            for value in (_plain(getattr(prior, name)), *values)
        ],
    )


def fit_all(fitted: Sequence[Fitted]) -> Values:
    """Return all fitted numbers."""
    powers = fit_powers(fitted)
    return powers | fit_trust(fitted, powers)


def _fit_all(sets: Sequence[Truth], advance: Advance) -> list[Fitted]:
    fitted = []
    for one in sets:
        fitted.append(fit_set(one))
        advance(one.one.name, 1)
    return fitted


def fit_folds(fitted: Sequence[Fitted]) -> Folds:
    """Return the numbers fitted to all other sources, by source."""
    sources = dict.fromkeys(one.source for one in fitted)
    return {source: fit_all([one for one in fitted if one.source != source]) for source in sources}


def _spread_folds(folds: Sequence[Values]) -> dict[str, Any]:
    tables = {name: np.array([fold[name] for fold in folds]) for name in folds[0]}
    return {name: _plain(np.std(table, axis=0)) for name, table in tables.items()}


def _try(sets: Sequence[Truth], name: str, value: Any, advance: Advance) -> Json:
    """Return accuracy and log loss with another value of one number, all sources left out."""
    with setting({name: value}):
        fitted = _fit_all(sets, lambda doing, _: advance(f"{name}: {doing}", 1))
        folds = fit_folds(fitted)
        rows = [_score_labels(one, folds[one.source]) for one in fitted]
    accuracy, loss = np.mean([[row["accuracy"], row["log_loss"]] for row in rows], axis=0)
    return {"name": name, "value": _plain(value), "accuracy": accuracy, "log_loss": loss}


def _score_labels(one: Fitted, values: Values) -> Json:
    """Return accuracy and log loss of a set with some prior."""
    with setting(values):
        chances = LatentIsing().fit(one.truth.votes).predict_proba(one.truth.votes)
    return score_chances(chances, one.truth.classes)


def _score_rest(one: Fitted, values: Values) -> Json:
    """Return accuracy and log loss of the items without gold, after a fit with random gold."""
    votes, classes = one.truth.votes, one.truth.classes
    known = np.flatnonzero(classes >= 0)
    drawn = np.random.default_rng(len(known)).choice(known, GOLD, replace=False)
    gold = np.full(votes.n_items, None, dtype=object)
    gold[drawn] = np.asarray(votes.classes, dtype=object)[classes[drawn]]
    with setting(values):
        chances = LatentIsing().fit(votes, y=gold).predict_proba(votes)
    rest = classes.copy()
    rest[drawn] = -1
    return score_chances(chances, rest)


def _judge(
    fitted: Sequence[Fitted], folds: Folds, name: str, value: float, advance: Advance
) -> Json:
    """Return what is said of labels with another value of a number, all sources left out."""
    found: list[Json] = []
    for one in fitted:
        values = folds[one.source] | {name: value}
        if name == "GOLD_SPREAD":
            if np.count_nonzero(one.truth.classes >= 0) >= 2 * GOLD:
                found.append(_score_rest(one, values))
        else:
            with setting(values):
                found.append(_describe(LatentIsing().fit(one.truth.votes), one))
        advance(f"{name}: {one.name}", 1)
    means = {score: _mean_told([row[score] for row in found]) for score in (found or [{}])[0]}
    return {"name": name, "value": value, **means}


def _describe(model: LatentIsing, one: Fitted) -> Json:
    """Return what a model says of its labels that other numbers would change."""
    right = score_chances(model.predict_proba(one.truth.votes), one.truth.classes)["accuracy"]
    expected, reliable = model.expected_accuracy_, bool(model.reliable_)
    too_sure = expected is not None and expected - right > TOO_SURE
    return {
        "shares_held": _hold_shares(model, one),
        "reliable": float(reliable),
        "too_sure": float(too_sure) if reliable else None,
    }


def _mean_told(values: Sequence[float | None]) -> float | None:
    told = [value for value in values if value is not None]
    return float(np.mean(told)) if told else None


def score_chances(chances: Floats, classes: NDArray[np.intp]) -> Json:
    """Return accuracy and log loss, P at least .001, over the items with a true class."""
    known = classes >= 0
    true = chances[known][np.arange(int(known.sum())), classes[known]]
    return {
        "accuracy": share_right(chances[known], classes[known]),
        "log_loss": float(-np.log(np.maximum(true, LEAST_LOSS)).mean()),
    }


def _score(one: Fitted, values: Values, advance: Advance) -> Json:
    """Return what the default says of a set and of itself with the prior of the other sources."""
    votes, classes = one.truth.votes, one.truth.classes
    with setting(values):
        model = LatentIsing().fit(votes)
        chances = model.predict_proba(votes)
    counts = one.truth.run
    cells = counts.items * votes.n_classes + counts.answer(votes.n_classes)
    plain = np.bincount(cells, minlength=votes.n_items * votes.n_classes) + 1.0
    shares = plain.reshape(votes.n_items, -1)
    rival = DawidSkene().fit(votes)
    interval = model.expected_accuracy_interval_
    row: Json = {
        "set": one.name,
        "source": one.source,
        "classes": votes.n_classes,
        **score_chances(chances, classes),
        "share": score_chances(shares / shares.sum(axis=1, keepdims=True), classes),
        "dawid_skene": score_chances(rival.predict_proba(votes), classes),
        "expected": model.expected_accuracy_,
        "low": None if interval is None else interval[0],
        "high": None if interval is None else interval[1],
        "reliable": bool(model.reliable_),
        "shares_held": _hold_shares(model, one),
        **_hold_voters(model, one),
    }
    row[KEY] = STAMP(row)
    advance(one.name, 1)
    return row


def count_true(one: Fitted) -> Floats:
    """Return the true share of each class among the labeled items with votes."""
    run, classes = one.truth.run, one.truth.classes
    heard = (run.counts > 0) & (classes >= 0)
    counts = np.bincount(classes[heard], minlength=one.truth.votes.n_classes)
    return np.asarray(counts / max(heard.sum(), 1))


def _hold_shares(model: LatentIsing, one: Fitted) -> float | None:
    """Return how often the interval of a class's share holds the true one; None: none is told."""
    true, bounds = count_true(one), np.array(model.prevalence_interval_)
    low, high = bounds if len(true) > TWO else np.stack([1 - bounds[::-1], bounds], axis=1)
    told = np.isfinite(low)
    return float(((low <= true) & (true <= high))[told].mean()) if told.any() else None


def _hold_voters(model: LatentIsing, one: Fitted) -> Json:
    """Return how often voters' intervals hold the accuracy on the labeled items, and how many."""
    run, table = one.truth.run, model.voters_full_
    true = one.truth.classes[run.items]
    labeled = true >= 0
    right = (run.answer(len(model.classes_)) == true) & labeled
    n_voters = len(table)
    counts = np.bincount(run.voters[labeled], minlength=n_voters)
    share = np.bincount(run.voters, right, n_voters) / np.maximum(counts, 1)
    low, high = table["accuracy_low"].to_numpy(), table["accuracy_high"].to_numpy()
    judged = (counts >= FEWEST) & np.isfinite(low)
    held = (low <= share) & (share <= high)
    return {
        "voters": int(judged.sum()),
        "voters_held": float(held[judged].mean()) if judged.any() else None,
    }


def _plain(value: Any) -> Any:
    """Return numbers with five digits."""
    digits = np.vectorize("{:.5g}".format)(value)
    return digits.astype(np.float64).tolist()
