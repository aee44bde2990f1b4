"""Codings: which labels mean no, yes and abstained, as -1, +1 and 0.

-1 means "no" in the paper and in FlyingSquid, "abstain" in snorkel and WRENCH. So ambiguous codings
are rejected, and users declare theirs. Missing values (None, NaN, null, empty cells) are
abstentions in every coding.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import AmbiguousVotesError, Hint, VotesError

Label = Any
CodingChoice = Literal["auto", "pm1", "01", "snorkel"] | tuple[Label, Label]

LONGEST_LABEL = 200  # characters
LONGEST_TEXT = 64  # bytes: as long as 16 characters, a label is copied for every item
# label -> vote in each numeric coding, and the two labels given back (negative, positive)
_NUMERIC: dict[str, tuple[dict[int, int], tuple[int, int]]] = {
    "pm1": ({-1: -1, 0: 0, 1: 1}, (-1, 1)),
    "01": ({0: -1, 1: 1}, (0, 1)),
    "snorkel": ({-1: 0, 0: -1, 1: 1}, (0, 1)),
}


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
        return {_plain(value) for value in present.tolist()}

    def first_row(self, label: Label) -> int:
        """Return the 0-based row where a label first occurs."""
        return int(np.argmax(self._values == label))

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

    def encode(self, votes: dict[Label, int]) -> NDArray[np.int8]:
        """Return the column as votes; labels that are not in the mapping abstain."""
        lookup = np.array([*(votes.get(label, 0) for label in self._labels), 0], dtype=np.int8)
        encoded: NDArray[np.int8] = lookup[self._indices]  # -1 picks the last entry: abstained
        return encoded

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

    def as_text(self) -> "Names":
        """Return the names as texts; each once, as repeated long ones would fill the memory."""
        texts = Names.of(np.array([str(name) for name in self.names], dtype=object))
        return Names(texts.names, texts.codes[self.codes])


@dataclass(frozen=True)
class Coding:
    """What the labels mean."""

    votes: dict[Label, int]  # label -> -1 (no), 0 (abstained), +1 (yes)
    classes: tuple[Label, Label]  # the user's two labels: (negative, positive)
    # of a declared coding with a code for abstained; "" if two labels say everything
    name: Literal["", "pm1", "snorkel"] = ""


def settle_coding(found: dict[Label, str], coding: CodingChoice = "auto") -> Coding:
    """Return what the labels mean, or raise `VotesError`.

    `found` maps the distinct labels, without missing values and in the order they were found, to a
    phrase for where each first occurs ("in data row 3, column 'w7'"); `coding` is as in `Votes.of`.

    Examples
    --------
    >>> settle_coding({"no": "in data row 1", "yes": "in data row 2"}).classes
    ('no', 'yes')
    """
    for label, place in found.items():
        if isinstance(label, str) and len(label) > LONGEST_LABEL:
            raise VotesError(
                f"a label has more than {LONGEST_LABEL} characters {place}; a vote is one of two "
                "labels"
            )
    spelled = {label: _number(label) for label in found}
    numbers = None if None in spelled.values() else spelled
    if isinstance(coding, tuple | list):
        return _declared_labels(found, numbers, tuple(coding))
    name = _read_coding(numbers) if coding == "auto" else str(coding)
    if coding == "auto" and name == "labels":
        return _two_labels(found, numbers)
    if name not in _NUMERIC:
        known = ", ".join(repr(name) for name in _NUMERIC)
        raise VotesError(
            f"unknown coding {coding!r}; choose {known}, 'auto' or the labels (negative, positive)"
        )
    meaning, classes = _NUMERIC[name]
    for label, place in found.items():
        if (numbers or {}).get(label) not in meaning:
            allowed = ", ".join(str(code) for code in meaning)
            raise VotesError(f"coding '{name}' allows {allowed} only, found another value {place}")
    votes = {label: meaning[numbers[label]] for label in found} if numbers else {}
    named = coding if coding in ("pm1", "snorkel") else ""
    return Coding(votes, classes, named)


def _declared_labels(
    found: dict[Label, str], numbers: dict[Label, Any] | None, classes: tuple[Label, ...]
) -> Coding:
    if len(set(classes)) != 2:
        raise VotesError("a coding by labels must name two different ones: (negative, positive)")
    if numbers is not None and all(_number(label) is not None for label in classes):
        classes, kept = tuple(_number(label) for label in classes), numbers
    else:
        kept = {label: label for label in found}
    meaning = {classes[0]: -1, classes[1]: 1}
    for label, place in found.items():
        if kept[label] not in meaning:
            raise VotesError(f"found a label other than the two declared ones {place}", label=label)
    return Coding({label: meaning[kept[label]] for label in found}, (classes[0], classes[1]))


def _two_labels(found: dict[Label, str], numbers: dict[Label, Any] | None) -> Coding:
    kept = {label: label for label in found} if numbers is None else numbers
    if len({isinstance(label, str) for label in kept.values()}) > 1:
        odd = next(label for label in kept if not isinstance(label, str))
        raise VotesError(f"votes mix text with other values, one {found[odd]}; use two labels")
    classes = sorted(set(kept.values()))
    if len(classes) > 2:
        third = list(found.values())[2]
        raise VotesError(f"votes must hold two labels, found {len(classes)}, the third {third}")
    if len(classes) < 2:
        raise VotesError(
            "votes hold only one label, so the other one is unknown",
            Hint("coding", ("no", "yes"), "with your own two labels"),
        )
    return _declared_labels(found, numbers, (classes[0], classes[1]))


def _read_coding(numbers: dict[Label, Any] | None) -> str:
    """Return the only coding that fits, or raise an error where two do.

    In {-1, 1} and {0, 1} the smaller code could mean "abstained", but then nobody ever said no and
    there would be nothing to learn, so they must be no and yes.
    """
    codes = set() if numbers is None else set(numbers.values())
    if numbers is None or all(isinstance(code, bool) for code in codes):
        return "labels"
    if codes == {-1, 1}:
        return "pm1"
    if codes == {0, 1}:
        return "01"
    if codes == {1}:
        raise AmbiguousVotesError(
            "every vote is 1, so the code of a no is unknown",
            *(Hint("coding", name) for name in _NUMERIC),
        )
    if codes <= {-1, 0, 1}:
        listed = ", ".join(str(code) for code in sorted(codes))
        raise AmbiguousVotesError(
            f"the codes {listed} are ambiguous",
            Hint("coding", "pm1", "if -1 is no and 0 is abstained"),
            Hint("coding", "snorkel", "if -1 is abstained and 0 is no"),
        )
    if codes & {-1, 0}:
        raise VotesError(
            "votes mix the code 0 or -1, which may mean abstained, with other numbers",
            Hint("coding", (0, 2), "with the two numbers that are the labels"),
        )
    return "labels"


def _number(label: Label) -> Any:
    """Return the number (or boolean) that a label is or spells, or None."""
    if isinstance(label, bool | int):
        return label
    if isinstance(label, str) and "_" in label:
        return None  # Python reads 1_0 as 10
    try:
        number = float(label)
    except (TypeError, ValueError):
        return None
    if not math.isfinite(number):
        raise VotesError("votes hold an infinite number (inf); a vote is one of two labels")
    return _plain(number)


def as_labels(classes: Sequence[Label]) -> NDArray[Any]:
    """Return the labels as an array; long texts as objects, which an array of labels shares.

    Examples
    --------
    >>> as_labels(("no", "yes")).dtype, as_labels(("no", "yes, by all means")).dtype
    (dtype('<U3'), dtype('O'))
    """
    labels = np.asarray(classes)
    long = labels.dtype.kind == "U" and labels.dtype.itemsize > LONGEST_TEXT
    return np.array(classes, dtype=object) if long else labels


def as_text(value: Any) -> Any:
    """Return a value, with bytes decoded: some programs store text that way."""
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        raise VotesError("the table holds bytes that are not UTF-8 text") from None


def _plain(value: Any) -> Any:
    """Return a plain Python label: 1 for 1.0, str for NumPy's text and for bytes."""
    value = as_text(value.item() if isinstance(value, np.generic) else value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _index(value: Label, known: dict[Label, int]) -> int:
    if value is None or not _is_itself(value) or (isinstance(value, str) and not value.strip()):
        return -1
    try:
        return known.setdefault(_plain(value), len(known))
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
