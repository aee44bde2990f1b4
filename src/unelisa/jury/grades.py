"""What a judge's mark says: pass, fail, partial, a label of its own, or nothing."""

import math
from collections.abc import Iterable
from typing import Any

from unelisa.errors import Hint, VotesError
from unelisa.sources.tables import MISSING
from unelisa.votes.coding import CodingChoice, Declared

FAIL, PARTIAL, PASS = "fail", "partial", "pass"
_WORDS = {
    **dict.fromkeys((PASS, "passed", "correct", "true"), PASS),
    **dict.fromkeys((FAIL, "failed", "incorrect", "false"), FAIL),
    PARTIAL: PARTIAL,
}
HALF = 0.5  # the score of a partial pass, as Inspect counts it

Grade = bool | str | None


def read_grade(mark: Any, cut: float | None = None) -> Grade:
    """Return a mark as True (pass), False (fail) or a label; None if the judge abstained.

    The numbers 0 and 1 are fail and pass. Other numbers need a `cut`, the lowest score that passes.

    Examples
    --------
    >>> [read_grade(mark) for mark in (True, 0, "1", "yes", None)]
    [True, False, True, 'yes', None]
    >>> read_grade(0.7, cut=0.5), read_grade("partial", cut=0.6)
    (True, False)
    """
    if isinstance(mark, str):
        text = mark.strip()
        if text in MISSING:
            return None
        if is_torn(text):
            raise VotesError("a mark holds half characters, so it is not Unicode text")
        if cut is not None and text.casefold() == PARTIAL:
            return cut <= HALF
        number = _read_number(text)
        return text if number is None else _grade_number(number, cut)
    if mark is None or isinstance(mark, bool):
        return mark
    if isinstance(mark, int | float):
        return None if mark != mark else _grade_number(mark, cut)  # noqa: PLR0124 - NaN
    kind = "an object" if isinstance(mark, dict) else f"a {type(mark).__name__}"
    raise VotesError(f"a mark must be a single value, found {kind}")


def is_torn(text: str) -> bool:
    r"""Return whether a text holds half of a character, as "\ud83d" in JSON, which no file can.

    Examples
    --------
    >>> is_torn("\ud83d"), is_torn("é")
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _read_number(text: str) -> float | None:
    try:
        number = None if "_" in text else float(text)
    except ValueError:
        return None
    return number if number is not None and math.isfinite(number) else None


def _grade_number(number: float, cut: float | None) -> bool:
    if cut is not None:
        return number >= cut
    if number not in (0, 1):
        raise VotesError(
            "it holds scores other than 0 and 1; declare the lowest score that passes",
            Hint("cut", 0.5),
        )
    return bool(number)


def name_grades(
    grades: Iterable[bool | str], coding: CodingChoice = "auto"
) -> tuple[dict[bool | str, str], CodingChoice]:
    """Return the label of every grade, and their coding.

    Marks that mean pass or fail become these two words (three with partial, which is between them).
    Other labels stay as they are, and their coding may be declared.

    Examples
    --------
    >>> name_grades([True, "FAIL"])
    ({True: 'pass', 'FAIL': 'fail'}, ('fail', 'pass'))
    >>> name_grades(["clean", "faulty"])
    ({'clean': 'clean', 'faulty': 'faulty'}, 'auto')
    """
    found = list(grades)
    named = {grade: _name_word(grade) for grade in found}
    if coding == "auto" and all(named.values()):
        words = {grade: str(word) for grade, word in named.items()}
        if PARTIAL in words.values():
            return words, Declared((FAIL, PARTIAL, PASS), ordered=True)
        return words, (FAIL, PASS)
    if any(isinstance(grade, bool) for grade in found):
        if all(isinstance(grade, bool) for grade in found):
            raise VotesError("every mark is pass or fail, so the labels need no declaration")
        raise VotesError(
            "some marks are pass or fail and others are labels of their own; read them separately"
        )
    return {grade: str(grade) for grade in found}, coding


def _name_word(grade: bool | str) -> str | None:
    if isinstance(grade, bool):
        return PASS if grade else FAIL
    return _WORDS.get(grade.casefold())
