"""Pairs of answers: which one a judge prefers, as in MT-bench, Chatbot Arena and AlpacaEval."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from unelisa.errors import VotesError
from unelisa.jury.documents import Record, require, take_first
from unelisa.jury.grades import Failed
from unelisa.jury.inspect_logs import digest
from unelisa.jury.verdicts import Preference

_FIRST = ("model_a", "model_1", "generator_1", "system_a", "system_1", "first")
_SECOND = ("model_b", "model_2", "generator_2", "system_b", "system_2", "second")
_ITEMS = ("question_id", "item", "item_id", "prompt_id", "instruction", "question", "id")
_JUDGES = ("judge", "annotator", "judge_id", "rater", "worker", "voter")
_TEXTS = (("output_1", "output_2"), ("response_a", "response_b"), ("answer_a", "answer_b"))
_ANSWERS = (*_TEXTS, ("conversation_a", "conversation_b"))  # in tables texts only
_SIDES = {
    **dict.fromkeys(("a", "first", "left", "1", "[[a]]", "model_a", "model_1"), "first"),
    **dict.fromkeys(("b", "second", "right", "2", "[[b]]", "model_b", "model_2"), "second"),
    **dict.fromkeys(("tie", "c", "[[c]]", "both", "tie (bothbad)", "tie (both bad)"), "tie"),
}
_PEOPLE = re.compile(
    r"(expert|author|human)(_|\b)", re.IGNORECASE
)  # judges of MT-bench who are people
_GAMES = (("g1_winner", False), ("g2_winner", True))  # of MT-bench, the second in the other order
COLUMNS = frozenset(
    (
        *(*_FIRST, *_SECOND, *_ITEMS, *_JUDGES, "winner", "preference", "g1_winner", "g2_winner"),
        *(name for pair in _TEXTS for name in pair),
    )
)


def fits(record: Record) -> bool:
    """Return whether a record says which of two answers is better."""
    said = "preference" in record or "winner" in record
    judged = "winner" in record and any(key in record for key in _JUDGES)
    named = any(key in record for key in _FIRST) and any(key in record for key in _SECOND)
    return judged or (said and named) or any(key in record for key, _ in _GAMES)


def read(records: Iterable[Record]) -> Iterator[Preference]:
    """Yield the preferences; a pair that was judged in both orders is two of them."""
    for record in records:
        first, second = (take_first(record, names) for names in (_FIRST, _SECOND))
        if (first is None) != (second is None):
            raise VotesError("a preference names one system only; both are needed")
        names = ("A", "B") if first is None else (first, second)
        item, judge = _name_item(record), _name_judge(record)
        games = [(record[key], turned) for key, turned in _GAMES if key in record]
        if not games:
            rated = "winner" not in record and "preference" in record
            given = record["preference"] if rated else require(record, ("winner",))
            games = [(_read_preference(given) if rated else given, False)]
        for said, turned in games:
            winner = _read_winner(said, names)
            if turned:
                winner = {"first": "second", "second": "first"}.get(winner or "", winner)
            shown = (names[1], names[0]) if turned else names
            lengths, human = _measure(record, turned), bool(_PEOPLE.match(str(judge)))
            yield Preference(item, judge, *shown, winner, lengths, human)


def prefer_one(
    item: Any, judge: Any, answers: Sequence[tuple[Any, bool]], task: Any = None
) -> Iterator[Preference]:
    """Yield that the answer that was selected is preferred to the others, in their order."""
    best = [k for k, (_, selected) in enumerate(answers) if selected]
    for k, (system, _) in enumerate(answers):
        if len(best) == 1 and k != best[0]:
            sides = (system, answers[best[0]][0], "second")
            first, second, winner = sides if k < best[0] else (sides[1], sides[0], "first")
            yield Preference(item, judge, first, second, winner, task=task)


def _read_preference(given: Any) -> Any:
    """Return the side of AlpacaEval's number, from 1 (the first) to 2 (the second); 0 is a tie."""
    if not isinstance(given, int | float):
        return given
    if given != given:  # noqa: PLR0124 - NaN
        return None
    if given != 0 and not 1 <= given <= 2:
        raise VotesError("'preference' must be from 1, the first, to 2, the second, or 0 for a tie")
    return "tie" if given in (0, 1.5) else "first" if given < 1.5 else "second"


def _name_item(record: Record) -> Any:
    """Return the question, whose turns are one cluster; a text is replaced by a digest."""
    item = require(record, _ITEMS)
    return digest(item) if isinstance(item, str) and len(item) > 40 else item


def _name_judge(record: Record) -> Any:
    if not any(key in record for key in _JUDGES):
        return "all"  # as in logs of an arena, whose voters have no names
    judge = require(record, _JUDGES)
    return " ".join(map(str, judge)) if isinstance(judge, list) else judge


def _read_winner(said: Any, names: tuple[Any, Any]) -> str | None:
    if said is None:
        return None
    for side, name in zip(("first", "second"), names, strict=True):
        if said == name and names[0] != names[1]:
            return side
    text = str(said).strip().casefold()
    if text in ("error", "$error$"):
        return Failed("the judge failed")
    if text not in _SIDES:
        raise VotesError(
            "the winner must be A, B, tie, or the name of one of the systems; found another word"
        )
    return _SIDES[text]


def _measure(record: Record, turned: bool) -> tuple[int, int] | None:
    for pair in _ANSWERS:
        found = tuple(_count_characters(record.get(key)) for key in pair)
        if None not in found:
            return found[::-1] if turned else found  # type: ignore[return-value]
    return None


def _count_characters(answer: Any) -> int | None:
    """Return the length of a text, or of what the assistant wrote in a conversation."""
    if isinstance(answer, str):
        return len(answer)
    if not isinstance(answer, list):
        return None
    own = [turn for turn in answer if isinstance(turn, dict) and turn.get("role") == "assistant"]
    return sum(len(str(turn.get("content", ""))) for turn in own)
