"""What a judge's mark says: pass, fail, partial, a label of its own, a score, or nothing."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from unelisa.errors import Hint, VotesError
from unelisa.sources.tables import MISSING
from unelisa.votes.coding import MAX_CLASSES, CodingChoice, Declared

FAIL, PARTIAL, PASS = "fail", "partial", "pass"
_WORDS = {
    **dict.fromkeys((PASS, "passed", "correct", "true"), PASS),
    **dict.fromkeys((FAIL, "failed", "incorrect", "false"), FAIL),
    PARTIAL: PARTIAL,
}
# beside pass and fail no verdicts, the first ones beside any labels
_UNREADABLE = frozenset(
    ("n/a", "__invalid__", "$error$", "parse_error", "parse error", "parsing error", "unparseable")
)
_NOTHING = _UNREADABLE | {"error", "invalid", "unknown", "none", "timeout", "skipped", "abstain"}
_LETTERS = {"C": PASS, "I": FAIL, "P": PARTIAL, "N": None}  # N: no answer
HALF = 0.5  # the score of a partial pass, as Inspect counts it
MOST_GRADES = 11  # distinct scores that are read as ordered classes, such as 0 to 10
HIGHEST = 10  # of scores that are read as classes
_SCHOOL = frozenset("ABCDEF")
_TOPS = (1.0, 5.0, 10.0, 100.0)  # of the usual scales
_ENOUGH = 10  # scores of a judge that show that its scale has no higher ones


class Letter(str):
    """A letter of Inspect's: C for correct, I for incorrect, P for partial, N for no answer."""

    __slots__ = ()


class Failed(str):
    """Why there is no mark although the judge was asked: an abstention that is counted aloud."""

    __slots__ = ()


class Choices(tuple[str, ...]):
    """Several options that an annotator chose at once."""

    __slots__ = ()

    @classmethod
    def of(cls, chosen: Sequence[Any]) -> Any:
        """Return the only option, several, or None."""
        return cls(map(str, chosen)) if len(chosen) > 1 else chosen[0] if chosen else None


Grade = bool | float | str | None


def read_grade(mark: Any) -> Grade:
    """Return a mark as true or false, a number or a label; None if the judge abstained."""
    if mark is None or isinstance(mark, bool | Letter):
        return mark
    if isinstance(mark, str):
        text = mark.strip()
        if text in MISSING:
            return None
        if is_torn(text):
            raise VotesError("a mark holds half characters, so it is not Unicode text")
        number = _read_number(text)
        return text if number is None else _check_finite(number)
    if isinstance(mark, int | float):
        return None if mark != mark else _check_finite(mark)  # noqa: PLR0124 - NaN
    if isinstance(mark, Choices):
        raise VotesError(
            "an annotator chose several options at once; declare which one to read, as "
            "QUESTION: OPTION",
            Hint("question", "QUESTION: OPTION"),
        )
    kind = "an object" if isinstance(mark, dict) else f"a {type(mark).__name__}"
    raise VotesError(f"a mark must be a single value, found {kind}")


def is_torn(text: str) -> bool:
    r"""Return whether a text holds half of a character, as "\ud83d" in JSON, which no file can."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _read_number(text: str) -> float | None:
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _check_finite(number: float) -> float:
    try:
        found = float(number)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise VotesError("a score is infinite or not a number; remove it, or leave it empty")
    return found


class Named(NamedTuple):
    """Grades as labels."""

    labels: list[str | None]  # in the order of the grades; None is an abstention
    coding: CodingChoice
    note: str = ""  # how scores or letters were read


class Range(NamedTuple):
    """The scores of one judge."""

    low: float
    high: float
    n: int


def name_grades(
    grades: Sequence[bool | float | str],
    coding: CodingChoice = "auto",
    cut: float | None = None,
    ranges: Mapping[str, Range] | None = None,
) -> Named:
    """Return the label of every grade, and their coding.

    Marks, 0 and 1, and with a `cut` all scores become pass and fail; a few scores ordered classes.
    """
    found: list[Any] = [*grades]
    if not _keep_letters(grades, coding):
        found = [_LETTERS[str(x)] if isinstance(x, Letter) else x for x in grades]
    if cut is not None and ranges and (mixed := find_mixed(ranges)) is not None:
        low, high = (f"{x[:60]!r} from {ranges[x].low:g} to {ranges[x].high:g}" for x in mixed)
        raise VotesError(
            f"judges score on different scales, {low} and {high}, so that no single cut fits; read "
            "the scores without a cut, or the judges separately"
        )
    if cut is not None:
        found = [_cut(grade, cut) for grade in found]
    numbers = sorted({grade for grade in found if isinstance(grade, float)})
    if numbers and set(numbers) <= {0.0, HALF, 1.0} and coding == "auto":
        words = {0.0: False, HALF: PARTIAL, 1.0: True}
        found = [words[grade] if isinstance(grade, float) else grade for grade in found]
    elif numbers:
        return _name_scores(found, numbers, coding, ranges or {})
    return _name_labels(found, coding)


def _keep_letters(grades: Sequence[Any], coding: CodingChoice) -> bool:
    """Return whether letters are labels of their own, as declared; refuse what may be either."""
    letters = {str(grade) for grade in grades if isinstance(grade, Letter)}
    declared = coding.labels if isinstance(coding, Declared) else coding
    if not isinstance(declared, str) and letters and letters <= set(map(str, declared)):
        return True
    if letters and letters <= {"P", "N"}:
        raise VotesError(
            "all marks are P or N, which Inspect means as partial and no answer and others as "
            "positive and negative; if they are labels, declare them",
            Hint("labels", ("N", "P")),
        )
    others = {x for x in grades if type(x) is str and len(x) == 1 and x.isupper()}
    if letters and others:
        every = tuple(sorted(letters | others))
        raise VotesError(
            "some marks are C, I, P or N, which Inspect means as correct, incorrect, partial and "
            "no answer, and some are other letters; if all are labels, declare them",
            Hint("labels" if len(every) == 2 else "order", every),
        )
    return False


def _cut(grade: Any, cut: float) -> Any:
    if isinstance(grade, str) and _WORDS.get(grade.casefold()) == PARTIAL:
        return cut <= HALF
    return grade >= cut if isinstance(grade, float) else grade


def _name_scores(
    found: list[Any], numbers: list[float], coding: CodingChoice, ranges: Mapping[str, Range]
) -> Named:
    if any(grade is not None and not isinstance(grade, float) for grade in found):
        raise VotesError(
            "some marks are scores and others are pass, fail or labels; read them separately, or "
            "declare which judges to read"
        )
    shown = {number: f"{number:g}" for number in numbers}
    labels = [None if grade is None else shown[grade] for grade in found]
    if coding != "auto":
        return Named(labels, coding)
    whole = all((2 * number).is_integer() for number in numbers) and 1 < numbers[-1] <= HIGHEST
    if not whole or not 1 < len(numbers) <= MOST_GRADES or find_mixed(ranges):
        raise VotesError(
            f"the marks are scores on a scale, seen from {numbers[0]:g} to {numbers[-1]:g}, and "
            "not votes; read them with read_scores, or declare the lowest score that passes",
            Hint("cut", suggest_cut(numbers)),
            scores=True,
        )
    listed = ", ".join(shown.values())
    note = (
        f"scores {listed} are read as {len(numbers)} ordered classes, of which {numbers[-1]:g} "
        f"passes; a cut is the lowest score that passes, such as {suggest_cut(numbers):g}"
    )
    return Named(labels, Declared(tuple(shown.values()), ordered=True), note)


def suggest_cut(numbers: Sequence[float]) -> float:
    """Return the middle of the usual scale that holds the scores, or of the scores."""
    low, high = min(numbers), max(numbers)
    top = next((top for top in _TOPS if high <= top), None)
    if top is None or low < 0:
        return (low + high) / 2
    return 3.0 if top == _TOPS[1] and low >= 1 else top / 2


def find_mixed(ranges: Mapping[str, Range]) -> tuple[str, str] | None:
    """Return two judges on different scales, the narrowest and the widest; None if there are none.

    Usual scales end at 1, 5, 10 or 100; the best score of the narrower is at most half. Few scores
    do not show that a scale is narrow, but a single one that it is wide.
    """
    by_best = sorted(ranges, key=lambda name: (ranges[name].high, name))
    narrow = next((name for name in by_best if ranges[name].n >= _ENOUGH), None)
    if narrow is None:
        return None
    wide = by_best[-1]
    tops = [next((t for t in _TOPS if ranges[one].high <= t), math.inf) for one in (narrow, wide)]
    apart = tops[0] < tops[1] and 2 * ranges[narrow].high <= ranges[wide].high
    return (narrow, wide) if apart else None


def _set_aside(found: list[Any]) -> tuple[list[Any], str]:
    """Return grades without the words for no verdict, and a sentence on these."""
    words = {grade for grade in found if isinstance(grade, str)}
    aside = {word for word in words if word.casefold() in _NOTHING}
    if not all(_name_word(word) for word in words - aside) or words == aside:
        aside = {word for word in aside if word.casefold() in _UNREADABLE}
    listed = ", ".join(sorted(aside))
    note = f"marks {listed} are read as no verdict" if aside else ""
    return [None if grade in aside else grade for grade in found], note


def _name_labels(found: list[Any], coding: CodingChoice) -> Named:
    found, note = _set_aside(found) if coding == "auto" else (found, "")
    given = [grade for grade in found if grade is not None]
    if len(set(map(str, given))) > MAX_CLASSES:
        raise VotesError(
            f"the marks hold more than {MAX_CLASSES} labels, so they are free text; a verdict is "
            "one of a few labels"
        )
    if coding == "auto" and set(given) == {"C", "I"}:
        raise VotesError(
            "all marks are C or I, in Inspect correct and incorrect; declare the labels",
            Hint("labels", ("I", "C")),
        )
    words = [_name_word(grade) for grade in found]
    if coding == "auto" and all(
        word for word, one in zip(words, found, strict=True) if one is not None
    ):
        if PARTIAL in words:
            return Named(words, Declared((FAIL, PARTIAL, PASS), ordered=True), note)
        return Named(words, (FAIL, PASS), note)
    if any(isinstance(grade, bool) for grade in given):
        if all(isinstance(grade, bool) for grade in given):
            raise VotesError("every mark is pass or fail, so the labels need no declaration")
        raise VotesError(
            "some marks are pass or fail and others are labels of their own; read them separately"
        )
    if coding == "auto" and len(set(given)) > 2 and set(given) <= _SCHOOL:
        note = "A, B, C, ... are read as classes without order; if A is the best, declare the order"
    return Named([None if grade is None else str(grade) for grade in found], coding, note)


def _name_word(grade: Any) -> str | None:
    if isinstance(grade, bool):
        return PASS if grade else FAIL
    return None if grade is None else _WORDS.get(grade.casefold())
