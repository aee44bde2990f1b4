"""Codings: which labels mean which class, or abstained, as one byte.

-1 means "no" in the paper and in FlyingSquid, "abstain" in snorkel and WRENCH: ambiguous codings
are rejected, and users declare theirs.
"""

import math
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import AmbiguousVotesError, Hint, VotesError, VotesWarning, warn_user
from unelisa.votes.columns import Label, is_missing, plain_label

MAX_CLASSES = 200  # more distinct labels are names, dates or free text
LONGEST_SCALE = 11  # points of a rating scale, as a rule
# words for no, which sorts last in few languages
NEGATIVE = frozenset(("-", "n", "no", "nein", "nej", "nie", "net", "neg", "negative", "false"))
NEGATIVE |= {
    "incorrect",
    "wrong",
    "normal",
    "none",
    "control",
    "unaffected",
    "\u2212",
    "\u2717",
    "\u2718",
}
LONGEST_LABEL = 200  # characters
LONGEST_TEXT = 64  # bytes: as long as 16 characters, a label is copied for every item
# label -> vote in each numeric coding, and the two labels given back (negative, positive)
_NUMERIC: dict[str, tuple[dict[int, int], tuple[int, ...]]] = {
    "pm1": ({-1: -1, 0: 0, 1: 1}, (-1, 1)),
    "01": ({0: -1, 1: 1}, (0, 1)),
    "snorkel": ({-1: 0, 0: -1, 1: 1}, (0, 1)),
}


@dataclass(frozen=True)
class Declared:
    """All classes as they were declared, by a user or by the fit of a model."""

    labels: tuple[Label, ...]
    ordered: bool = False  # whether their order has a meaning
    name: Literal["", "snorkel"] = ""  # "snorkel": -1 besides them is abstained


CodingChoice = Literal["auto", "pm1", "01", "snorkel"] | tuple[Label, ...] | Declared


def declare_order(coding: CodingChoice, order: Sequence[Label] | None) -> CodingChoice:
    """Return the coding, or the declared order of all classes."""
    if order is None:
        return coding
    if coding != "auto":
        raise VotesError("order lists all classes, so it replaces coding; pass one of them")
    if isinstance(order, str | Set) or not isinstance(order, Iterable):
        kind = "a text" if isinstance(order, str) else f"a {type(order).__name__}"
        raise VotesError(f"order must be a list of all labels from first to last, found {kind}")
    return Declared(plain_labels(order), ordered=True)


def plain_labels(declared: Iterable[Label]) -> tuple[Label, ...]:
    """Return declared labels as plain ones, or raise `VotesError` for what cannot be a label."""
    labels = tuple(map(plain_label, declared))
    if any(
        is_missing(x) or (isinstance(x, Sequence | Set) and not isinstance(x, str)) for x in labels
    ):
        raise VotesError("declared labels must be texts, numbers or booleans; none may be missing")
    return labels


def encode_classes(n_classes: int) -> list[int]:
    """Return the codes: -1 and +1 for two classes, else k + 1 as int8, which wraps beyond 127."""
    if n_classes == 2:
        return [-1, 1]
    return [code if code < 128 else code - 256 for code in range(1, n_classes + 1)]


@dataclass(frozen=True)
class Coding:
    """What the labels mean."""

    votes: dict[Label, int]  # label -> its code, 0 for abstained
    classes: tuple[Label, ...]  # the user's labels: (negative, positive), or all classes in order
    # of a declared coding with a code for abstained; "" if the labels say everything
    name: Literal["", "pm1", "snorkel"] = ""
    ordered: bool = False
    inferred: bool = False  # from the labels alone: nobody declared them


def settle_coding(found: dict[Label, str], coding: CodingChoice = "auto") -> Coding:
    """Return what the labels mean, or raise `VotesError`; `found` says where each first occurs."""
    if not found and coding == "auto":
        raise VotesError("there are no votes: every cell is missing")
    for label, place in found.items():
        if isinstance(label, str) and len(label) > LONGEST_LABEL:
            raise VotesError(
                f"a label has more than {LONGEST_LABEL} characters {place}; a vote is one of a few "
                "labels"
            )
    spelled = {label: _number(label) for label in found}
    numbers = None if None in spelled.values() else spelled
    if isinstance(coding, tuple | list):
        coding = Declared(plain_labels(coding))
    if isinstance(coding, Declared):
        return _settle_declared(found, numbers, coding)
    name = _read_coding(numbers) if coding == "auto" else str(coding)
    if coding == "auto" and name == "labels":
        return _settle_labels(found, numbers)
    if name not in _NUMERIC:
        known = ", ".join(repr(name) for name in _NUMERIC)
        raise VotesError(
            f"unknown coding {coding!r}; choose {known}, 'auto' or all labels in order"
        )
    settled = _settle_numeric(found, numbers or {}, name)
    return replace(settled, name=coding) if coding in ("pm1", "snorkel") else settled


def _settle_numeric(found: dict[Label, str], numbers: dict[Label, Any], name: str) -> Coding:
    """Return what numbers mean in a numeric coding; snorkel's classes are as many as found."""
    meaning, classes = _NUMERIC[name]
    largest = max(numbers.values(), default=0)
    if name == "snorkel" and 1 < largest < MAX_CLASSES and largest == int(largest):
        classes = tuple(range(int(largest) + 1))
        meaning = {-1: 0, **dict(zip(classes, encode_classes(len(classes)), strict=True))}
    for label, place in found.items():
        if numbers.get(label) not in meaning:
            allowed = ", ".join(str(code) for code in meaning)
            raise VotesError(f"coding '{name}' allows {allowed} only, found another value {place}")
    return Coding({label: meaning[number] for label, number in numbers.items()}, classes)


def _settle_declared(
    found: dict[Label, str], numbers: dict[Label, Any] | None, declared: Declared
) -> Coding:
    classes = declared.labels
    if numbers is not None and all(_number(label) is not None for label in classes):
        classes, kept = tuple(_number(label) for label in classes), numbers
    else:
        kept = {label: label for label in found}
    n = len(classes)
    if n < 2 or len(set(classes)) < n:
        raise VotesError(
            "a coding by labels must name two different ones, (negative, positive), or more, each "
            "once"
        )
    if n > MAX_CLASSES:
        raise VotesError(f"at most {MAX_CLASSES} classes are possible, found {n} declared labels")
    meaning = dict(zip(classes, encode_classes(n), strict=True))
    if declared.name == "snorkel":
        meaning[-1] = 0
    for label, place in found.items():
        if kept[label] not in meaning:
            many = "two" if n == 2 else n
            raise VotesError(
                f"found a label other than the {many} declared ones {place}",
                label=label,
                place=place,
            )
    votes = {label: meaning[kept[label]] for label in found}
    return Coding(votes, classes, declared.name, declared.ordered and n > 2)


def _settle_labels(found: dict[Label, str], numbers: dict[Label, Any] | None) -> Coding:
    kept = {label: label for label in found} if numbers is None else numbers
    if numbers is None:
        _refuse_mixtures(found)
    classes = sorted(set(kept.values()))
    if len(classes) > MAX_CLASSES:
        place = list(found.values())[MAX_CLASSES]
        raise VotesError(
            f"votes hold {len(classes)} labels, {MAX_CLASSES} at most are possible, and label "
            f"{MAX_CLASSES + 1} is {place}: a column of free text was taken for votes"
        )
    if len(classes) < 2:
        raise VotesError(
            "votes hold only one label, so the other one is unknown",
            Hint("coding", ("no", "yes"), "with your own two labels"),
        )
    return replace(_settle_declared(found, numbers, Declared(tuple(classes))), inferred=True)


def warn_of_classes(classes: tuple[Label, ...]) -> None:
    """Warn of classes that may be meant otherwise: ratings have an order, "no" may sort last."""
    if 2 < len(classes) <= LONGEST_SCALE and classes == tuple(range(1, len(classes) + 1)):
        text = f"the votes are the whole numbers 1 to {len(classes)}, read as classes without order"
        warn_user(text, VotesWarning, Hint("order", list(classes), "if they are ratings"))
    if len(classes) == 2 and str(classes[1]).casefold() in NEGATIVE:
        warn_user(
            "the label that counts as positive, because it sorts last, seems to be the negative "
            "one; declare both, the negative one first",
            VotesWarning,
        )


def _refuse_mixtures(found: dict[Label, str]) -> None:
    """Raise `VotesError` for labels of several kinds, and for several spellings of one."""
    many = len(found) > 2
    text = {x: isinstance(x, str) and not (many and _number(x) is not None) for x in found}
    if len(set(text.values())) > 1:
        odd = next(label for label in found if not text[label])
        raise VotesError(
            f"votes mix text with other values, one {found[odd]}; use two labels, or more of one "
            "kind"
        )
    if not all(text.values()):
        if not many:
            return
        raise VotesError(
            "votes are neither text nor numbers; use two labels, or texts for more classes"
        )
    folded: dict[str, Label] = {}
    for label, place in found.items():
        if folded.setdefault(" ".join(label.split()).casefold(), label) != label:
            raise VotesError(
                "a label differs from another one in upper and lower case or spaces only, "
                f"{place}; use two labels, or one spelling of each class"
            )


def _read_coding(numbers: dict[Label, Any] | None) -> str:
    """Return the only coding that fits, or raise an error where two do.

    In {-1, 1} and {0, 1} the smaller code cannot mean "abstained": nobody would ever say no.
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
    whole = all(code == int(code) for code in codes)
    if len(codes) > 2 and not whole:
        raise VotesError(
            "votes hold fractions, which may be scores or probabilities; cut them into classes, or "
            "declare all labels",
            Hint("order", [0.5, 1, 1.5], "with your own numbers"),
        )
    if len(codes) > 2 and min(codes) >= 0:
        return "labels"
    _refuse_ambiguous(codes, whole)
    return "labels"


def _refuse_ambiguous(codes: set[Any], whole: bool) -> None:
    """Raise an error for numbers of which 0 or -1 may mean abstained."""
    if codes <= {-1, 0, 1}:
        listed = ", ".join(str(code) for code in sorted(codes))
        hints = [Hint("order", [-1, 0, 1], "if they are three classes")] if len(codes) > 2 else []
        raise AmbiguousVotesError(
            f"the codes {listed} are ambiguous",
            Hint("coding", "pm1", "if -1 is no and 0 is abstained"),
            Hint("coding", "snorkel", "if -1 is abstained and 0 is no"),
            *hints,
        )
    if -1 in codes and whole and min(codes) == -1 and len(codes) > 2:
        raise AmbiguousVotesError(
            "votes mix the code -1, which may mean abstained, with other numbers",
            Hint("coding", "snorkel", "if -1 is abstained and the classes count from 0"),
            Hint("order", [-1, 1, 2], "with all numbers, if they are classes"),
        )
    if codes & {-1, 0}:
        raise VotesError(
            "votes mix the code 0 or -1, which may mean abstained, with other numbers",
            Hint("coding", (0, 2), "with the two numbers that are the labels"),
        )


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
        raise VotesError("votes hold an infinite number (inf); a vote is one of a few labels")
    return plain_label(number)


def as_labels(classes: Sequence[Label]) -> NDArray[Any]:
    """Return the labels as an array; long texts as objects, which an array of labels shares."""
    labels = np.asarray(classes)
    long = labels.dtype.kind == "U" and labels.dtype.itemsize > LONGEST_TEXT
    return np.array(classes, dtype=object) if long else labels
