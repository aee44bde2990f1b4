"""promptfoo: results as JSON or JSONL; the assertions of a test are judges."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from unelisa.jury.fields import Record, require, take_object, take_objects
from unelisa.jury.verdicts import Verdict


def fits(record: Record) -> bool:
    """Return whether a record is a file of results, or one result."""
    return "gradingResult" in record or _list_results(record) is not None


def _list_results(record: Record) -> Any:
    """Return the results of a file, of version 3 or of a summary alone; None if it is another."""
    found = record.get("results")
    found = found.get("results") if isinstance(found, dict) else found
    graded = isinstance(found, list) and any(
        isinstance(result, dict) and "gradingResult" in result for result in found
    )
    return found if graded else None


def read(records: Iterable[Record]) -> Iterator[Verdict]:
    """Yield the verdicts of results."""
    for record in records:
        results = [record] if "gradingResult" in record else _list_results(record) or []
        for result in take_objects({"results": results}, "results"):
            yield from _read_result(result)


def _read_result(result: Record) -> Iterator[Verdict]:
    grading = take_object(result, "gradingResult")
    item, system = require(result, ("testIdx", "id")), _name_system(result)
    seen: Counter[str] = Counter()
    for component in take_objects(grading, "componentResults"):
        judge = _name_judge(take_object(component, "assertion"))
        seen[judge] += 1
        judge = judge if seen[judge] == 1 else f"{judge} {seen[judge]}"
        yield Verdict(item, judge, _read_mark(component), system)


def _read_mark(component: Record) -> Any:
    """Return what promptfoo decided, by the threshold of the assertion; else the score."""
    decided = component.get("pass")
    return component.get("score") if decided is None else decided


def _name_judge(assertion: Record) -> str:
    """Return the metric's name, or the kind of assertion with the model that grades."""
    if isinstance(assertion.get("metric"), str) and assertion["metric"].strip():
        return str(assertion["metric"])
    grader = assertion.get("provider")
    grader = grader.get("id") if isinstance(grader, dict) else grader
    kind = str(assertion.get("type") or "assertion")
    return f"{kind} by {grader}" if isinstance(grader, str) else kind


def _name_system(result: Record) -> Any:
    """Return the model under test, with the prompt's number beyond the first."""
    provider = result.get("provider")
    if isinstance(provider, dict):
        provider = provider.get("label") or provider.get("id")
    prompt = result.get("promptIdx")
    if not isinstance(prompt, int) or prompt < 1 or provider is None:
        return provider
    return f"{provider} prompt {prompt + 1}"
