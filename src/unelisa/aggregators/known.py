"""Gold labels, prior log-odds, stated shares of the classes, and what `update` needs of a fit."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from unelisa.errors import ModelError, VotesError, VotesWarning, warn_user
from unelisa.memory import refuse_beyond
from unelisa.schema import stored
from unelisa.votes import Votes, as_matrix, name_unvoted
from unelisa.votes.blocks import hold_sparse
from unelisa.votes.coding import settle_coding
from unelisa.votes.columns import Column, Label, fill_mask, spell_name
from unelisa.votes.partitioned import is_partitioned

Floats = NDArray[np.float64]

HELD = ("in memory", "sparse")  # where votes can be referred to
NO_VOTES = (
    "the model does not hold the votes it was fitted to, which an update needs: pass them as "
    "earlier (--earlier), or save it with keep_votes=True (--keep-votes)"
)


def read_gold(y: Any, votes: Votes, name: str = "y") -> NDArray[np.int8]:
    """Return gold labels in the codes of the votes, 0 where missing; by item name if named."""
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
    wanted = f"{name} must hold one label or a missing value for each of the {n} {whose}, found"
    if not isinstance(y, Iterable) or isinstance(y, str | bytes):
        raise VotesError(f"{wanted} {type(y).__name__}; to label some of them, pass a dict by name")
    labels = fill_mask(y) if isinstance(y, np.ndarray) else np.array(list(y), dtype=object)
    if labels.shape != (n,):
        raise VotesError(f"{wanted} shape {labels.shape}")
    column = Column.of(labels)
    rows = {label: column.first_row(label) for label in column.distinct()}
    ordered = sorted(rows, key=rows.__getitem__)
    return column, {label: f"in row {rows[label] + 1} of {name}" for label in ordered}


def read_prior(prior: Any, votes: Votes) -> Floats:
    """Return prior log-odds per item (and class if more than two), 0 where none are given."""
    nothing = no_odds(1, votes.n_classes)[0]
    if nothing.ndim:
        names = list(map(spell_name, votes.classes))
        columns = list(map(spell_name, getattr(prior, "columns", names)))
        if sorted(columns) != sorted(names):
            raise VotesError("prior must have one column per class of the votes, named like it")
        if hasattr(prior, "columns"):
            prior = prior.iloc[:, [columns.index(name) for name in names]]
            if not np.array_equal(prior.index, np.arange(len(prior))):
                prior = dict(zip(prior.index, prior.to_numpy(), strict=True))
    odds = put_in_order(prior, "prior", votes.items, absent=nothing)
    return check_odds(odds, votes.n_items, votes.n_classes)


def no_odds(n_items: int, n_classes: int) -> Floats:
    """Return log-odds of 0: of two classes one per item, otherwise one per class too."""
    return np.zeros((n_items,) if n_classes == 2 else (n_items, n_classes))


def read_prevalence(prevalence: Any, classes: tuple[Label, ...]) -> Floats:
    """Return bounds for the share of each class: rows low and high, by default 0 and 1."""
    bounds = np.stack([np.zeros(len(classes)), np.ones(len(classes))])
    if not isinstance(prevalence, Mapping):
        if len(classes) > 2:
            raise ModelError(
                "prevalence must map classes to their shares: the votes have more than two classes"
            )
        prevalence = {classes[1]: prevalence}
    names = {spell_name(label): k for k, label in enumerate(classes)}
    for label, share in prevalence.items():
        if spell_name(label) not in names:
            raise ModelError("prevalence names a class that the votes do not have")
        bounds[:, names[spell_name(label)]] = _read_bounds(share)
    if len(classes) == 2:
        for own, other in ((0, 1), (1, 0)):
            low, high = bounds[:, own]
            bounds[:, other] = max(bounds[0, other], 1 - high), min(bounds[1, other], 1 - low)
    low_sum, high_sum = bounds.sum(axis=1)
    if low_sum > 1 + 1e-9 or high_sum < 1 - 1e-9 or (bounds[0] > bounds[1] + 1e-9).any():
        raise ModelError("prevalence must hold shares that can add up to 1 over the classes")
    return np.round(bounds, 12)


def _read_bounds(share: Any) -> tuple[float, float]:
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
    """Return the classes of codes, from 0; -1 is unknown."""
    if n_classes == 2:
        return np.where(codes == 0, -1, codes > 0).astype(np.intp)
    return codes.view(np.uint8).astype(np.intp) - 1


def repeat_rows(sample_weight: Any, votes: Votes) -> NDArray[np.intp]:
    """Return every item's row as often as its weight says; matched as gold labels are."""
    wanted = f"sample_weight must hold a whole number for each of the {votes.n_items} items, found"
    ordered = put_in_order(sample_weight, "sample_weight", votes.items, absent=1)
    weights = _as_numbers(ordered, wanted, "", (votes.n_items,))
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


def check_odds(prior: Any, n_items: int, n_classes: int = 2) -> Floats:
    """Return log-odds as finite numbers, one per item (and class), or raise `VotesError`."""
    shape = no_odds(n_items, n_classes).shape
    more = f" and each of the {n_classes} classes" if len(shape) > 1 else ""
    wanted = f"prior must hold one finite log-odds for each of the {n_items} items{more}, found"
    odds = _as_numbers(prior, wanted, "; use 0 for no prior", shape)
    if not np.all(np.isfinite(odds)):
        missing = np.count_nonzero(~np.isfinite(odds))
        raise VotesError(
            f"{wanted} {missing} missing or infinite ones; use 0 for no prior, and gold labels for "
            "what is certain"
        )
    return odds


def _as_numbers(given: Any, wanted: str, hint: str, shape: tuple[int, ...]) -> Floats:
    try:
        numbers = np.asarray(fill_mask(given), dtype=np.float64)
    except (TypeError, ValueError):
        raise VotesError(f"{wanted} values that are not numbers{hint}") from None
    if numbers.shape != shape:
        raise VotesError(f"{wanted} shape {numbers.shape}{hint}")
    return numbers


def add_prior(scores: Any, prior: Any) -> Floats:
    """Return lazy scores (a Dask array) with the items' prior log-odds added, in their order."""
    import dask  # noqa: PLC0415 - an extra, loaded already
    import dask.array as da  # noqa: PLC0415

    measured, n_classes = not np.isnan(scores.shape[0]), (*scores.shape[1:], 2)[0]
    if is_partitioned(prior):
        odds = da.asarray(prior)
    elif measured and not is_named(prior):
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
    add = dask.delayed(_add_part, pure=False)
    summed: Floats = da.concatenate(
        [
            da.from_delayed(add(own, part), (length, *scores.shape[1:]), np.float64)
            for own, part, length in zip(*parts, scores.chunks[0], strict=True)
        ]
    )
    return summed


def _add_part(odds: Floats, prior: Any) -> Floats:
    return odds + check_odds(prior, len(odds), (*odds.shape[1:], 2)[0])


def is_named(given: Any) -> bool:
    """Return whether values are given by name: in a mapping, or a Series with an index."""
    if isinstance(given, Mapping):
        return True
    index = getattr(given, "index", None)
    if index is None or callable(index) or getattr(given, "ndim", 1) != 1:
        return False
    return not np.array_equal(index, np.arange(len(given)))


def spell_keys(given: Any, whose: str, kind: str = "items") -> dict[str, Any]:
    """Return name -> value of a mapping or Series, in the one spelling of names."""
    if not hasattr(given, "items") or getattr(given, "ndim", 1) != 1:
        raise VotesError(
            f"{whose} must be a dict or pandas Series by {kind[:-1]}, found {type(given).__name__}"
        )
    named: dict[str, Any] = {}
    for item, value in given.items():
        name = spell_name(item)
        if name in named and _spell(named[name]) != _spell(value):
            raise VotesError(
                f"{whose} has two values for one of the {kind} (1, 1.0 and '1' are one name); keep "
                "one value for each"
            )
        named[name] = value
    return named


def _spell(value: Any) -> list[str]:
    return list(map(spell_name, np.ravel(value).tolist()))


def put_in_order(
    given: Any, whose: str, names: NDArray[Any], kind: str = "items", absent: Any = None
) -> Any:
    """Return one value per item, by name if named (unknown names are ignored with a warning)."""
    if not is_named(given):
        return given
    named = spell_keys(given, whose, kind)
    wanted = list(map(spell_name, names))
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


def _names_differ(kept: Any) -> bool:
    try:
        return len(set(kept.items.tolist())) == len(kept.items)
    except TypeError:  # lists, which a forged file can hold
        return False


@stored(
    _names_differ,
    items="label[items]",
    voters="index32(voters)[cast]",
    starts="starts(cast)[items+1]",
    codes="code[cast]",
    gold="code[items] | None",
)
class KeptVotes(NamedTuple):
    """The votes of a fit in a model file: those of item i are starts[i] to starts[i + 1]."""

    items: NDArray[Any]
    voters: NDArray[np.int32]
    starts: NDArray[np.int64]
    codes: NDArray[np.int8]
    gold: NDArray[np.int8] | None


class Memory(NamedTuple):
    """The votes of a fit while the model is in use; nothing is copied."""

    votes: Votes
    gold: NDArray[np.int8] | None = None  # codes of known labels, 0 unknown

    def recall_gold(self, votes: Votes) -> NDArray[np.int8] | None:
        """Return the known labels: by item name, or by position if the votes are the fit's."""
        if self.gold is None:
            return None
        items: Any = self.votes.items
        if not np.array_equal(items, np.arange(len(items))):
            known = np.flatnonzero(self.gold)
            codes = dict(zip(map(spell_name, items[known]), self.gold[known], strict=True))
            return np.array([codes.get(spell_name(name), 0) for name in votes.items], dtype=np.int8)
        return self.gold if votes is self.votes or self._holds(votes) else None

    def _holds(self, votes: Votes) -> bool:
        own = self.votes
        if votes.shape != own.shape or not votes.blocks.place == own.blocks.place in HELD:
            return False
        return bool((as_matrix(votes) != as_matrix(own)).nnz == 0)

    def pack(self) -> KeptVotes:
        """Return the votes for a model file."""
        matrix = as_matrix(self.votes)
        matrix.sort_indices()
        return KeptVotes(
            np.asarray(self.votes.items),
            matrix.indices.astype(np.int32),
            matrix.indptr.astype(np.int64),
            matrix.data.astype(np.int8),
            self.gold,
        )


class Remembering:
    """The votes of a model's fit and their gold labels; not copied or pickled: they name items."""

    remembers_votes: ClassVar[bool] = False  # whether also without gold labels, for `update`
    _memory: Memory
    _kept_votes: KeptVotes  # in a model that was loaded from a file with its votes
    _n_gold: int  # gold labels of the fit

    def _remember(self, votes: Votes, gold: NDArray[np.int8] | None) -> None:
        for name in ("_kept_votes", "_memory"):
            self.__dict__.pop(name, None)
        known = gold if gold is not None and gold.any() else None
        self._n_gold = 0 if known is None else int(np.count_nonzero(known))
        if votes.blocks.place in HELD and (self.remembers_votes or known is not None):
            self._memory = Memory(votes, known)

    def _recall(self) -> Memory:
        if "_memory" in self.__dict__:
            return self._memory
        if "_kept_votes" not in self.__dict__:
            raise ModelError(NO_VOTES)
        return unpack_votes(self._kept_votes, self)

    def _recall_gold(self, votes: Votes) -> NDArray[np.int8] | None:
        """Return the gold labels that the fit was given of these items; None: of none."""
        if "_memory" in self.__dict__ or "_kept_votes" in self.__dict__:
            return self._recall().recall_gold(votes)
        return None

    def __getstate__(self) -> dict[str, Any]:
        parent: Any = super()
        state: dict[str, Any] = parent.__getstate__()
        return {name: part for name, part in state.items() if name != "_memory"}


def unpack_votes(kept: KeptVotes, model: Any) -> Memory:
    """Return the votes that the file of a model kept."""
    shape = len(kept.items), model.n_features_in_
    matrix = sp.csr_array((kept.codes, kept.voters, kept.starts), shape=shape)
    votes = Votes(
        hold_sparse(matrix),
        kept.items,
        model.voter_names_,
        tuple(model.classes_.tolist()),
        model.named_voters_,
        model.__dict__.get("_named_coding", ""),
        model.columns_,
        bool(model.__dict__.get("ordered_", False)),
    )
    return Memory(votes, kept.gold)


def join_gold(gold: NDArray[np.int8] | None, y: Any, votes: Votes) -> NDArray[Any] | None:
    """Return the known labels of the first items and those of `y`, which prevail; None: none."""
    if gold is None and y is None:
        return None
    codes = np.zeros(votes.n_items, dtype=np.int8)
    if gold is not None:
        codes[: len(gold)] = gold
    if y is not None:
        more = read_gold(y, votes)
        codes = np.where(more != 0, more, codes).astype(np.int8)
    return votes.name_codes(codes)


def read_more(model: Any, X: Any) -> Votes:
    """Return votes in the labels of a fitted model, which may have other voters."""
    votes: Votes = model._in_own_labels(X if isinstance(X, Votes) else model._read(X))
    if votes.named != model.named_voters_:
        raise VotesError(
            "voters with names and voters without cannot be joined; name the voters in both"
        )
    if not votes.named and votes.n_voters != model.n_features_in_:
        raise VotesError(
            f"X has {votes.n_voters} voters without names, but the model has "
            f"{model.n_features_in_}; name the voters"
        )
    return votes
