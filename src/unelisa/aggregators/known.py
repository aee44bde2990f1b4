"""What is known of items besides their votes: gold labels of some, prior log-odds of all."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import ModelError, VotesError, VotesWarning, warn_user
from unelisa.memory import refuse_beyond
from unelisa.votes import Votes, name_unvoted
from unelisa.votes.coding import settle_coding
from unelisa.votes.columns import Column, Label, NumberColumn, TextColumn, fill_mask
from unelisa.votes.partitioned import is_partitioned

Floats = NDArray[np.float64]


def read_gold(y: Any, votes: Votes, name: str = "y") -> NDArray[np.int8]:
    """Return gold labels in the codes of the votes (-1 / +1 for two classes), 0 where missing.

    Labels with item names (a dict, or a pandas Series whose index names the items) are matched by
    name; others are in the order of the items. Errors call them by `name`.
    """
    ordered = put_in_order(y, name, votes.items)
    column, found = list_labels(ordered, votes.n_items, "items", name)
    try:
        return column.encode(settle_coding(found, votes.classes).votes)
    except VotesError as error:
        if votes.n_classes == 2 or "place" not in error.about:
            raise
        raise VotesError(f"{name} cannot be used: {name_unvoted(error)}") from None


def list_labels(y: Any, n: int, whose: str, name: str = "y") -> tuple[Column, dict[Label, str]]:
    """Return labels, one for each of n items or patients, and where each label first occurs."""
    labels = fill_mask(y) if isinstance(y, np.ndarray) else np.array(list(y), dtype=object)
    if labels.shape != (n,):
        raise VotesError(
            f"{name} must hold one label or a missing value for each of the {n} {whose}, "
            f"found shape {labels.shape}"
        )
    column = NumberColumn(labels) if labels.dtype.kind in "biuf" else TextColumn.of(labels)
    rows = {label: column.first_row(label) for label in column.distinct()}
    ordered = sorted(rows, key=rows.__getitem__)
    return column, {label: f"in row {rows[label] + 1} of {name}" for label in ordered}


def read_prior(prior: Any, votes: Votes) -> Floats:
    """Return log-odds per item, 0 where none is given; matched as gold labels are.

    With more than two classes, a table of items x classes, whose columns may be named by them.
    """
    if votes.n_classes == 2:
        return check_odds(put_in_order(prior, "prior", votes.items, absent=0.0), votes.n_items)
    names = [str(label) for label in votes.classes]
    columns = [str(name) for name in getattr(prior, "columns", names)]
    if sorted(columns) != sorted(names):
        raise VotesError("prior must have one column per class of the votes, named like it")
    if hasattr(prior, "columns"):
        prior = prior.iloc[:, [columns.index(name) for name in names]]
        if not np.array_equal(prior.index, np.arange(len(prior))):
            prior = dict(zip(prior.index, prior.to_numpy(), strict=True))
    absent = np.zeros(votes.n_classes)
    odds = put_in_order(prior, "prior", votes.items, absent=absent)
    return check_odds(odds, votes.n_items, votes.n_classes)


def no_odds(votes: Votes) -> Floats:
    """Return prior log-odds that say nothing."""
    return np.zeros(votes.n_items if votes.n_classes == 2 else (votes.n_items, votes.n_classes))


def read_prevalence(prevalence: Any, classes: tuple[Label, ...]) -> Floats:
    """Return bounds for the share of each class: rows low and high, 0 and 1 where nothing is said.

    Examples
    --------
    >>> read_prevalence((0.1, 0.2), ("no", "yes")).tolist()
    [[0.8, 0.1], [0.9, 0.2]]
    >>> read_prevalence({"b": 0.3}, ("a", "b", "c")).tolist()
    [[0.0, 0.3, 0.0], [1.0, 0.3, 1.0]]
    """
    bounds = np.stack([np.zeros(len(classes)), np.ones(len(classes))])
    if not isinstance(prevalence, Mapping):
        if len(classes) > 2:
            raise ModelError(
                "prevalence must map classes to their shares: the votes have more than two classes"
            )
        prevalence = {classes[1]: prevalence}
    names = {str(label): k for k, label in enumerate(classes)}
    for label, share in prevalence.items():
        if str(label) not in names:
            raise ModelError("prevalence names a class that the votes do not have")
        bounds[:, names[str(label)]] = _read_bounds(share)
    if len(classes) == 2:
        for own, other in ((0, 1), (1, 0)):
            low, high = bounds[:, own]
            bounds[:, other] = max(bounds[0, other], 1 - high), min(bounds[1, other], 1 - low)
    low_sum, high_sum = bounds.sum(axis=1)
    if low_sum > 1 + 1e-9 or high_sum < 1 - 1e-9 or (bounds[0] > bounds[1] + 1e-9).any():
        raise ModelError("prevalence must hold shares that can add up to 1 over the classes")
    return np.round(bounds, 12)


def _read_bounds(share: Any) -> tuple[float, float]:
    """Return low and high of a share or of a pair."""
    pair = share if isinstance(share, tuple | list) else (share, share)
    try:
        low, high = (float(part) for part in pair)
    except (TypeError, ValueError):
        low, high = np.nan, np.nan
    if not 0 <= low <= high <= 1 or high == 0 or low == 1:
        raise ModelError(
            "prevalence must be a share between 0 and 1, a pair (low, high) of them, or a mapping "
            f"from class to either, found {str(share)[:60]}"
        )
    return low, high


def number_codes(codes: NDArray[np.int8], n_classes: int) -> NDArray[np.intp]:
    """Return the classes of codes, from 0; -1 is unknown.

    Examples
    --------
    >>> number_codes(np.array([-1, 0, 1], dtype=np.int8), 2)
    array([ 0, -1,  1])
    """
    if n_classes == 2:
        return np.where(codes == 0, -1, codes > 0).astype(np.intp)
    return codes.view(np.uint8).astype(np.intp) - 1


def repeat_rows(sample_weight: Any, votes: Votes) -> NDArray[np.intp]:
    """Return every item's row as often as its weight says; matched as gold labels are.

    Examples
    --------
    >>> repeat_rows([2, 0, 1], Votes.of([[1, -1], [1, 1], [-1, -1]], coding="pm1"))
    array([0, 0, 2])
    """
    wanted = f"sample_weight must hold a whole number for each of the {votes.n_items} items, found"
    ordered = put_in_order(sample_weight, "sample_weight", votes.items, absent=1)
    try:
        weights = np.asarray(fill_mask(ordered), dtype=np.float64)
    except (TypeError, ValueError):
        raise VotesError(f"{wanted} values that are not numbers") from None
    if weights.shape != (votes.n_items,):
        raise VotesError(f"{wanted} shape {weights.shape}")
    odd = np.flatnonzero(~((weights >= 0) & (weights == np.floor(weights)) & (weights < np.inf)))
    if len(odd):
        raise VotesError(
            f"{wanted} another value in row {odd[0] + 1}: a weight is the number of items that one "
            "stands for"
        )
    if not weights.any():
        raise VotesError(f"{wanted} only zeros")
    times = int(np.minimum(weights, 1e15).sum())  # the sum of huge ones would be infinite
    row = votes.n_voters + weights.itemsize  # its votes, and its place
    refuse_beyond(times * row, "the repetition of items by sample_weight")
    return np.repeat(np.arange(votes.n_items), weights.astype(np.intp))


def add_prior(scores: Any, prior: Any) -> Floats:
    """Return lazy scores (a Dask array) with the items' prior log-odds added, as lazy.

    Partitions have no item names and may have unknown lengths: log-odds are in the order of the
    items, in memory if the lengths are known, or in a Dask collection with the same partitions.
    """
    import dask  # noqa: PLC0415 - an extra, loaded already
    import dask.array as da  # noqa: PLC0415

    measured, n_classes = not np.isnan(scores.shape[0]), (*scores.shape[1:], 2)[0]
    if is_partitioned(prior):
        odds = da.asarray(prior)
    elif measured and by_name(prior) is None:
        table = check_odds(prior, scores.shape[0], n_classes)
        odds = da.from_array(table, chunks=scores.chunks)
    else:
        raise VotesError(
            "prior must be a Dask array with the votes' partitions, or one log-odds per item in "
            "their order where the partitions' lengths are known: items in partitions have no names"
        )
    if measured and odds.shape == scores.shape:
        odds = odds.rechunk(scores.chunks)
    if odds.numblocks != scores.numblocks:
        raise VotesError(
            f"prior must have the votes' {scores.npartitions} partitions and one log-odds per "
            f"item, found shape {odds.shape} in {odds.npartitions} partitions"
        )
    parts = scores.to_delayed().ravel(), odds.to_delayed().ravel()
    pairs = zip(*parts, scores.chunks[0], strict=True)
    add = dask.delayed(_add_part, pure=False)
    summed: Floats = da.concatenate(
        [
            da.from_delayed(add(own, part), (length, *scores.shape[1:]), np.float64)
            for own, part, length in pairs
        ]
    )
    return summed


def check_odds(prior: Any, n_items: int, n_classes: int = 2) -> Floats:
    """Return log-odds as finite numbers, one per item (and class), or raise `VotesError`."""
    more = "" if n_classes == 2 else f" and each of the {n_classes} classes"
    wanted = f"prior must hold one finite log-odds for each of the {n_items} items{more}, found"
    try:
        odds = np.asarray(fill_mask(prior), dtype=np.float64)
    except (TypeError, ValueError):
        raise VotesError(f"{wanted} values that are not numbers; use 0 for no prior") from None
    if odds.shape != ((n_items,) if n_classes == 2 else (n_items, n_classes)):
        raise VotesError(f"{wanted} shape {odds.shape}; use 0 for no prior")
    if not np.all(np.isfinite(odds)):
        missing = np.count_nonzero(~np.isfinite(odds))
        raise VotesError(
            f"{wanted} {missing} missing or infinite ones; use 0 for no prior, and gold labels for "
            "what is certain"
        )
    return odds


def _add_part(odds: Floats, prior: Any) -> Floats:
    return odds + check_odds(prior, len(odds), (*odds.shape[1:], 2)[0])


def by_name(given: Any) -> dict[str, Any] | None:
    """Return name -> value if the items (or patients) are named, else None."""
    if isinstance(given, Mapping):
        return {str(item): value for item, value in given.items()}
    index = getattr(given, "index", None)
    if index is None or callable(index) or getattr(given, "ndim", 1) != 1:
        return None
    if np.array_equal(index, np.arange(len(given))):
        return None
    return {str(item): value for item, value in zip(index, given, strict=True)}


def put_in_order(
    given: Any, whose: str, names: NDArray[Any], kind: str = "items", absent: Any = None
) -> Any:
    """Return one value per item (or patient), by name if they are named, else as given.

    Names that belong to none are ignored with a warning.
    """
    named = by_name(given)
    if named is None:
        return given
    wanted = [str(name) for name in names]
    unknown = len(named.keys() - set(wanted))
    if unknown and unknown == len(named):
        raise VotesError(
            f"none of the {unknown} {kind} named in {whose} is among the {len(wanted)} {kind}; "
            "they are matched by name: pass their names, or one value each in order"
        )
    if unknown:
        many = f"{unknown} of the {len(named)} {kind} named in {whose}"
        warn_user(f"{many} are unknown and ignored", VotesWarning)
    return [named.get(name, absent) for name in wanted]
