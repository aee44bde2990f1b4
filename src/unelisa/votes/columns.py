"""Columns of votes and of names, as any table or file holds them."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import VotesError

Label = Any


def are_signs(values: NDArray[Any]) -> bool:
    """Return whether an array holds int8 of -1, 0, +1: the common case, which is much faster."""
    if values.dtype != np.int8 or not values.size or np.ma.isMaskedArray(values):
        return False
    return bool(values.min() >= -1 and values.max() <= 1)


def fill_mask(values: Any) -> Any:
    """Return a masked array as one with NaN or None where it is masked; others unchanged.

    Examples
    --------
    >>> fill_mask(np.ma.masked_equal([1, 9, 0], 9))
    array([ 1., nan,  0.])
    """
    if not np.ma.isMaskedArray(values):
        return values
    number = values.dtype.kind in "iuf"
    filled = np.array(values.data, dtype=np.float64 if number else object)
    filled[np.ma.getmaskarray(values)] = np.nan if number else None
    return filled


class NumberColumn:
    """A column of NumPy numbers or booleans; NaN is missing."""

    def __init__(self, values: NDArray[Any]) -> None:
        self._values = values

    def distinct(self) -> set[Label]:
        """Return the labels present, without missing values."""
        values = self._values
        if are_signs(values):
            return {sign for sign in (-1, 0, 1) if (values == sign).any()}
        present = np.unique(values[~np.isnan(values)] if values.dtype.kind == "f" else values)
        return {plain_label(value) for value in present.tolist()}

    def first_row(self, label: Label) -> int:
        """Return the 0-based row where a label first occurs."""
        return int(np.argmax(self._values == label))

    def count(self, label: Label) -> int:
        """Return how often a label occurs."""
        return int(np.count_nonzero(self._values == label))

    def as_text(self) -> "TextColumn":
        """Return the same column as indices into its distinct labels."""
        missing = np.isnan(self._values) if self._values.dtype.kind == "f" else False
        labels, indices = np.unique(self._values, return_inverse=True)
        indices = np.where(missing, -1, indices).astype(
            np.int16 if len(labels) < 2**15 else np.int64
        )
        return TextColumn([plain_label(label) for label in labels.tolist()], indices)

    def encode(self, votes: dict[Label, int]) -> NDArray[np.int8]:
        """Return the column as votes; labels that are not in the mapping abstain."""
        if are_signs(self._values) and all(label == vote for label, vote in votes.items()):
            return self._values.copy()
        out = np.zeros(len(self._values), dtype=np.int8)
        for label, vote in votes.items():
            if vote:
                out[self._values == label] = vote
        return out


class TextColumn:
    """A column stored as indices into its distinct labels; index -1 is missing."""

    def __init__(self, labels: Sequence[Label], indices: NDArray[np.integer[Any]]) -> None:
        self._labels = list(labels)
        self._indices = indices

    @classmethod
    def of(cls, values: Iterable[Label]) -> "TextColumn":
        """Return the column of any Python values, with missing ones recognized."""
        known: dict[Label, int] = {}
        indices = [_index(value, known) for value in values]
        return cls(list(known), np.asarray(indices, dtype=np.int32))

    def distinct(self) -> set[Label]:
        """Return the labels present, without missing values."""
        present = np.unique(self._indices)
        return {self._labels[index] for index in present if index >= 0}

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

    def as_text(self) -> "TextColumn":
        """Return the column itself: see `NumberColumn.as_text`."""
        return self

    @classmethod
    def join(cls, parts: "Sequence[TextColumn]") -> "TextColumn":
        """Return columns one below the other; beside text, numbers are read as text.

        Examples
        --------
        >>> numbers = NumberColumn(np.array([1.0]))
        >>> both = TextColumn.join([TextColumn.of(["1", "0"]), numbers.as_text()])
        >>> sorted(both.distinct()), both.count("1")
        (['0', '1'], 2)
        """
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

    def spread(self, rows: NDArray[np.int32]) -> "TextColumn":
        """Return a longer column with these rows of this one; -1 is missing."""
        return TextColumn(self._labels, np.append(self._indices, -1)[rows])


Column = NumberColumn | TextColumn


class Names(NamedTuple):
    """A column of names: the distinct ones, sorted, and the index of each row's name."""

    names: NDArray[Any]
    codes: NDArray[np.intp]

    @classmethod
    def of(cls, column: NDArray[Any]) -> "Names":
        """Return the names of a column."""
        names, codes = np.unique(column, return_inverse=True)
        return cls(names, codes)

    @classmethod
    def join(cls, parts: "Sequence[Names]") -> "Names":
        """Return columns of names one below the other; as texts where some of them are.

        Examples
        --------
        >>> numbers, texts = np.array([7, 3]), np.array(["3"], dtype=object)
        >>> names = Names.join([Names.of(numbers), Names.of(texts)])
        >>> names.names.tolist(), names.codes.tolist()
        (['3', '7'], [1, 0, 0])
        """
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
        texts = Names.of(np.array([str(name) for name in self.names], dtype=object))
        return Names(texts.names, texts.codes[self.codes])


def as_text(value: Any) -> Any:
    """Return a value, with bytes decoded: some programs store text that way."""
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        raise VotesError("the table holds bytes that are not UTF-8 text") from None


def plain_label(value: Any) -> Any:
    """Return a plain Python label: 1 for 1.0, str for NumPy's text and for bytes."""
    value = as_text(value.item() if isinstance(value, np.generic) else value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _index(value: Label, known: dict[Label, int]) -> int:
    if value is None or not _is_itself(value) or (isinstance(value, str) and not value.strip()):
        return -1
    try:
        return known.setdefault(plain_label(value), len(known))
    except TypeError:
        raise VotesError(
            f"votes must be single labels, found a {type(value).__name__} in a cell"
        ) from None


def _is_itself(value: Label) -> bool:
    """Return False for NaN, NaT and pandas' NA, which are not equal to themselves."""
    try:
        return bool(value == value)  # noqa: PLR0124
    except (TypeError, ValueError):
        return False
