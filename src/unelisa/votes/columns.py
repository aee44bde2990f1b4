"""Columns of votes and of names, as any table or file holds them."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import VotesError


class Later:
    """A module that takes time to import, or an extra: it is imported when it is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


pa: Any = Later("pyarrow")
pc: Any = Later("pyarrow.compute")
Label = Any
NARROW = 128  # whole numbers in a range of so many are labels without sorting
FEW = 8  # labels that are looked for one by one
LONGEST_NUMBER = 10**18  # numbers of so many digits are sorted as texts
DENSE = 4  # numbers that name rows are counted, not sorted, in a range of so many times the rows
FEW_TEXTS = 20_000  # as a list they take no longer than to import pandas
NO_NAMES = ("", "NaN", "nan", "NaT", "<NA>")  # NA and null may be real names
_WHOLE = r"^(-?(?:0|[1-9][0-9]*))\.0$"  # a whole number that some program wrote with a fraction


def fill_mask(values: Any) -> Any:
    """Return a masked array as one with NaN or None where it is masked; others unchanged."""
    if not np.ma.isMaskedArray(values):
        return values
    number = values.dtype.kind in "iuf"
    filled = np.array(values.data, dtype=np.float64 if number else object)
    filled[np.ma.getmaskarray(values)] = np.nan if number else None
    return filled


class Column:
    """Labels as indices into the distinct ones, -1 if missing; `order`: of ordered categories."""

    def __init__(
        self, labels: Sequence[Label], indices: NDArray[Any], order: tuple[Label, ...] = ()
    ) -> None:
        self._labels, self.order = list(labels), order
        smallest = np.min_scalar_type(-1 - len(self._labels))
        self._indices = indices.astype(smallest, copy=False)

    @classmethod
    def of(cls, values: Iterable[Label], order: tuple[Label, ...] = ()) -> "Column":
        """Return the column of any values; of NumPy numbers, only NaN is missing."""
        if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
            return cls._of_numbers(values)
        known: dict[Label, int] = {}
        indices = np.array([_index(value, known) for value in values], dtype=np.int64)
        return cls(list(known), indices, order)

    @classmethod
    def _of_numbers(cls, values: NDArray[Any]) -> "Column":
        kind, numbers, gaps = values.dtype.kind, values, np.zeros(0, dtype=np.bool_)
        if kind == "f":
            gaps = np.isnan(values)
            with np.errstate(invalid="ignore"):
                numbers = np.where(gaps, 0, values).astype(np.int64)
        if kind == "b":
            numbers = values.view(np.int8)
        low = numbers.min() if len(numbers) else numbers.dtype.type(0)
        high = numbers.max() if len(numbers) else low
        if int(high) - int(low) >= NARROW or (kind == "f" and np.any((numbers != values) & ~gaps)):
            labels, indices = np.unique(values, return_inverse=True)
            return cls.of(labels.tolist()).spread(indices)
        indices = numbers - low
        indices[np.flatnonzero(gaps)] = -1
        between = range(int(low), int(high) + 1)  # not all of these need occur
        return cls([bool(label) for label in between] if kind == "b" else between, indices)

    def __len__(self) -> int:
        return len(self._indices)

    def distinct(self) -> set[Label]:
        """Return the labels present, without missing values."""
        if len(self._labels) < FEW:
            return {label for k, label in enumerate(self._labels) if (self._indices == k).any()}
        present = np.zeros(len(self._labels) + 1, dtype=np.bool_)
        present[self._indices] = True
        return {self._labels[index] for index in np.flatnonzero(present[:-1])}

    def first_row(self, label: Label) -> int:
        """Return the 0-based row where a label first occurs."""
        return int(np.argmax(self._indices == self._labels.index(label)))

    def count(self, label: Label) -> int:
        """Return how often a label occurs."""
        if label not in self._labels:
            return 0
        return int(np.count_nonzero(self._indices == self._labels.index(label)))

    def encode(self, votes: dict[Label, int]) -> NDArray[np.int8]:
        """Return the column as votes; labels that are not in the mapping abstain."""
        lookup = np.array([*(votes.get(label, 0) for label in self._labels), 0], dtype=np.int8)
        encoded: NDArray[np.int8] = lookup[self._indices]  # -1 picks the last entry: abstained
        return encoded

    @classmethod
    def join(cls, parts: "Sequence[Column]") -> "Column":
        """Return columns one below the other; beside text, numbers are read as text."""
        spelled = any(isinstance(label, str) for part in parts for label in part._labels)
        known: dict[Label, int] = {}
        indices = []
        for part in parts:
            labels = [str(label) if spelled else label for label in part._labels]
            places = [known.setdefault(label, len(known)) for label in labels]
            indices.append(np.array([*places, -1], dtype=np.int32)[part._indices])
        return cls(list(known), np.concatenate(indices))

    def present(self) -> NDArray[np.bool_]:
        """Return which rows hold a label."""
        return np.asarray(self._indices >= 0)

    def spread(self, rows: NDArray[np.integer[Any]]) -> "Column":
        """Return a column with these rows of this one; -1 is missing."""
        if np.array_equal(self._indices, np.arange(len(self._labels))):  # each label once
            return Column(self._labels, rows, self.order)
        return Column(self._labels, np.append(self._indices, -1)[rows], self.order)

    def respell(self, read: Callable[[str], Any]) -> "Column":
        """Return the column with other labels; None is missing."""
        return Column.of(map(read, self._labels)).spread(self._indices)


class Names(NamedTuple):
    """A column of names: the distinct ones, sorted, and the index of each row's name."""

    names: NDArray[Any]
    codes: NDArray[Any]

    @classmethod
    def of(cls, column: NDArray[Any]) -> "Names":
        """Return the names of a column."""
        if (counted := _count_numbers(column)) is not None:
            low, seen, above = counted
            places = np.cumsum(seen, dtype=np.int32) - np.int32(1)
            return cls((np.flatnonzero(seen) + low).astype(column.dtype), places[above])
        names, codes = np.unique(column, return_inverse=True)
        return cls(names, codes.astype(np.int32))

    @classmethod
    def join(cls, parts: "Sequence[Names]") -> "Names":
        """Return columns of names one below the other; as texts where some of them are."""
        if len({part.names.dtype.kind for part in parts}) > 1:
            parts = [part.as_text() for part in parts]
        distinct = cls.of(np.concatenate([part.names for part in parts]))
        starts = np.cumsum([0, *(len(part.names) for part in parts)])
        codes = [
            distinct.codes[start + part.codes] for start, part in zip(starts, parts, strict=False)
        ]
        return cls(distinct.names, np.concatenate(codes))

    def as_text(self) -> "Names":
        """Return the names as texts; each once, as repeated long ones would fill the memory."""
        if self.names.dtype.kind == "i":
            return _name_numbers("", self.names, self.codes)
        texts = Names.of(np.array([spell_name(name) for name in self.names.tolist()], dtype=object))
        return Names(texts.names, texts.codes[self.codes])

    def rows(self) -> NDArray[Any]:
        """Return the name of every row."""
        return np.asarray(self.names[self.codes])


class RowNumbers:
    """The names 0, 1, 2, ... of items that have none, made on demand."""

    def __init__(self, n_items: int) -> None:
        self._numbers = range(n_items)

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, chosen: Any) -> Any:
        if isinstance(chosen, slice):
            return np.arange(*chosen.indices(len(self)))
        return np.asarray(chosen)[()] if np.ndim(chosen) == 0 else np.arange(len(self))[chosen]

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers)

    def tolist(self) -> list[int]:
        """Return all the numbers."""
        return list(self._numbers)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.arange(len(self), dtype=dtype)


def as_text(value: Any) -> Any:
    """Return a value, with bytes decoded: some programs store text that way."""
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        raise VotesError("the table holds bytes that are not UTF-8 text") from None


def plain_label(value: Any) -> Any:
    """Return a plain Python label: 1 for 1.0, texts without spaces around, also of bytes."""
    value = as_text(value.item() if isinstance(value, np.generic) else value)
    if isinstance(value, str):
        return value.strip()
    return int(value) if isinstance(value, float) and value.is_integer() else value


def spell_name(name: Any) -> str:
    """Return the one spelling of a name, in which votes, gold labels and joins compare it."""
    if type(name) is int:  # as most names of a large table are
        return str(name)
    text = str(plain_label(name))
    return re.sub(_WHOLE, r"\1", text) if text.endswith(".0") else text


def _count_numbers(values: NDArray[Any]) -> tuple[int, NDArray[np.bool_], NDArray[Any]] | None:
    """Return the least of whole numbers, which from it on occur, and how far above each is."""
    if values.dtype.kind != "i" or not len(values):
        return None
    low, high = int(values.min()), int(values.max())
    if high - low > DENSE * len(values):
        return None
    seen = np.zeros(high - low + 1, dtype=np.bool_)
    above = values if low == 0 else np.subtract(values, low, dtype=np.int64)
    seen[above] = True
    return low, seen, above


def no_name(title: str, row: int) -> VotesError:
    """Return the error about a row without a name."""
    return VotesError(f"column {title} has no name in data row {row}; fill it or drop the row")


def _index(value: Label, known: dict[Label, int]) -> int:
    if is_missing(value) or (isinstance(value, str) and not value.strip()):
        return -1
    try:
        return known.setdefault(plain_label(value), len(known))
    except TypeError:
        raise VotesError(
            f"votes must be single labels, found a {type(value).__name__} in a cell"
        ) from None


def is_missing(value: Label) -> bool:
    """Return True for None, and for NaN, NaT and pandas' NA, which are not equal to themselves."""
    try:
        return value is None or not bool(value == value)  # noqa: PLR0124
    except (TypeError, ValueError):
        return True


def read_cells(cells: Any, title: str) -> Column:
    """Return an Arrow column of labels, in their order if they have one; errors call it `title`."""
    kind = cells.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        if not cells.null_count:
            return Column.of(_as_array(cells))
        if not pa.types.is_boolean(kind):
            return Column.of(_as_array(cells.cast(pa.float64())))
    if pa.types.is_nested(kind):
        raise VotesError(f"column {title} holds lists or records; a cell must hold a single label")
    encoded = _encode(cells)
    try:
        labels = encoded.dictionary.to_pylist()
    except (OverflowError, ValueError):
        found = f"column {title} holds dates or times out of range"
        raise VotesError(f"{found}; check that it holds votes") from None
    order = tuple(map(plain_label, labels)) if getattr(kind, "ordered", False) else ()
    return Column.of(labels, order).spread(_indices(encoded))


def encode_names(cells: Any, title: str, before: int = 0) -> Names:
    """Return an Arrow column of names in their one spelling; errors count rows after `before`."""
    if pa.types.is_nested(cells.type):
        raise VotesError(f"column {title} holds lists or records, which cannot be names")
    if pa.types.is_integer(cells.type) and not cells.null_count:
        return Names.of(_as_array(cells))
    if _is_text(cells) and (names := _read_digits(cells)) is not None:
        return names
    encoded = _encode(cells)
    found = _sort_texts(_spell(encoded.dictionary), _indices(encoded))
    if len(found.codes) and found.codes.min() < 0:
        raise no_name(title, before + int(np.argmin(found.codes)) + 1)
    within = Names.of(found.codes)  # categories without rows are no names
    return Names(found.names[within.names], within.codes)


def _sort_texts(texts: Any, codes: NDArray[Any]) -> Names:
    """Return names in Arrow, some of which may be equal, as sorted ones; -1 where one is null."""
    encoded = texts.dictionary_encode()
    order = pc.array_sort_indices(encoded.dictionary)
    ranks = np.full(len(order) + 1, -1, dtype=np.int32)
    ranks[_as_array(order)] = np.arange(len(order), dtype=np.int32)
    names = _as_array(encoded.dictionary.take(order))
    return Names(names, np.append(ranks[_indices(encoded)], np.int32(-1))[codes])


def _name_numbers(prefix: str, numbers: NDArray[Any], codes: NDArray[Any]) -> Names:
    """Return different numbers behind the same letters as names, sorted as texts: i1, i10, i2."""
    before, between = _as_texts([prefix, ""])
    digits = _as_cells(numbers).cast(pa.large_string())
    texts = pc.binary_join_element_wise(before, digits, between)
    if not len(numbers) or numbers.min() < 0 or numbers.max() >= LONGEST_NUMBER:
        return _sort_texts(texts, codes)
    sizes = _as_array(pc.binary_length(digits)).astype(np.int64)
    order = np.lexsort((sizes, numbers * 10 ** (sizes.max() - sizes)))
    ranks = np.empty(len(order), dtype=np.int32)
    ranks[order] = np.arange(len(order), dtype=np.int32)
    return Names(_as_array(texts.take(_as_cells(order))), ranks[codes])


def _as_array(cells: Any, absent: float = np.nan) -> NDArray[Any]:
    """Return cells without pandas where that is as fast: pyarrow's own way imports it."""
    if hasattr(cells, "chunks"):
        cells = cells.combine_chunks()
    if _is_number(cells):
        if cells.null_count:
            filled = _as_cells(np.array([absent])).cast(cells.type)[0]
            cells = pc.fill_null(cells, filled)
        return np.from_dlpack(cells)
    if _is_text(cells) and len(cells) <= FEW_TEXTS:
        return np.array(cells.to_pylist(), dtype=object)
    return np.asarray(cells.to_numpy(zero_copy_only=False))


def _as_cells(numbers: NDArray[Any]) -> Any:
    """Return numbers in Arrow; `pa.array` would import pandas."""
    held = pa.py_buffer(np.ascontiguousarray(numbers))
    return pa.Array.from_buffers(pa.from_numpy_dtype(numbers.dtype), len(numbers), [None, held])


def _as_texts(texts: Sequence[str]) -> Any:
    """Return texts in Arrow; `pa.array` would import pandas."""
    held = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, held)], dtype=np.int64)
    parts = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(held))]
    return pa.Array.from_buffers(pa.large_string(), len(held), parts)


def _encode(cells: Any) -> Any:
    if not pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_encode()
    if not hasattr(cells, "chunks"):
        return cells
    cells = cells.unify_dictionaries().combine_chunks()
    return cells.chunk(0) if hasattr(cells, "chunks") else cells


def _indices(encoded: Any) -> NDArray[Any]:
    return _as_array(encoded.indices.cast("int32"), -1)


def _spell(names: Any) -> Any:
    if _is_text(names):
        texts = pc.utf8_trim_whitespace(names.cast(pa.large_string()))
        texts = pc.replace_substring_regex(texts, _WHOLE, r"\1")
    else:
        texts = _as_texts([spell_name(name) for name in names.to_pylist()])
    nothing = pa.nulls(1, pa.large_string())[0]
    return pc.if_else(pc.is_in(texts, _as_texts(NO_NAMES)), nothing, texts)


def _is_number(cells: Any) -> bool:
    return bool(pa.types.is_integer(cells.type) or pa.types.is_floating(cells.type))


def _is_text(cells: Any) -> bool:
    return bool(pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type))


def _read_digits(texts: Any) -> Names | None:
    """Return names that are numbers behind the same letters as i17 is; None for other names."""
    if not len(texts) or texts.null_count:
        return None
    prefix = str(texts[0]).rstrip("0123456789")
    if prefix:
        if prefix != prefix.strip() or not pc.all(pc.starts_with(texts, prefix)).as_py():
            return None
        texts = pc.utf8_slice_codeunits(texts, len(prefix))
    try:
        numbers = texts.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    names = Names.of(_as_array(numbers))
    spelled = _as_cells(names.names).cast(pa.large_string())
    lengths = _as_array(pc.binary_length(spelled)).astype(np.int8)
    length = int(lengths[names.codes].sum(dtype=np.int64))
    if length != pc.sum(pc.binary_length(texts)).as_py():
        return None  # another spelling, such as 007 or +7, is longer
    return _name_numbers(prefix, names.names, names.codes)
