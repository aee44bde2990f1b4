"""promptfoo: results as JSON or JSONL; assertions that a model grades are judges."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from unelisa.jury.documents import Record, require, take_list, take_object, take_objects
from unelisa.jury.grades import Failed
from unelisa.jury.inspect_logs import digest
from unelisa.jury.pairs import prefer_one
from unelisa.jury.verdicts import Check, Entry, Verdict

HUMAN, BEST = "human", "select-best"
# assertions that a model grades, or code of the user, which may ask one
_GRADED = re.compile(
    r"(.+-rubric|(answer|context|conversation)-relevance|context-(faithfulness|recall)|factuality"
    r"|g-eval|classifier|model-graded-.+|moderation|pi|trajectory:goal-success|promptfoo:redteam:.+"
    r"|javascript|python|ruby|webhook)"
)


_ERROR = 2  # the `failureReason` of an answer that could not be given or graded


def fits(record: Record) -> bool:
    """Return whether a record is a file of results, or one result."""
    return _is_result(record) or _list_results(record) is not None


def _is_result(record: Record) -> bool:  # an error has no grading result
    return "gradingResult" in record or {"testIdx", "promptIdx"} <= record.keys()


def _list_results(record: Record) -> Any:
    found = record.get("results")
    found = found.get("results") if isinstance(found, dict) else found
    graded = isinstance(found, list) and any(
        isinstance(result, dict) and "gradingResult" in result for result in found
    )
    return found if graded else None


def read(records: Iterable[Record]) -> Iterator[Entry]:
    """Yield the verdicts of results; a test that was repeated is one item."""
    tests: dict[str, Any] = {}
    compared: dict[tuple[Any, ...], list[tuple[Any, bool]]] = defaultdict(list)  # by repeat
    for record in records:
        alone = _is_result(record)
        suite = None if alone else take_object(record, "config").get("description")
        results = [record] if alone else _list_results(record) or []
        for result in take_objects({"results": results}, "results"):
            run = result.get("evalId") or record.get("evalId") or record.get("id")
            for entry in _read_result(result, suite, run, tests):
                if isinstance(entry, Verdict) and entry.question == BEST:
                    place = entry.item, entry.judge, f"{entry.task} {entry.content}", entry.repeat
                    compared[place].append((entry.system, entry.mark is True))
                else:
                    yield entry
    for (item, judge, task, _), answers in compared.items():
        yield from prefer_one(item, judge, answers, task)


def _read_result(result: Record, suite: Any, run: Any, tests: dict[str, Any]) -> Iterator[Entry]:
    grading, index = take_object(result, "gradingResult"), require(result, ("testIdx", "id"))
    test = take_object(result, "testCase")
    given = [result.get("vars") or test.get("vars"), result.get("description")]
    asked = [one.get("value") for one in take_list(test, "assert") if isinstance(one, dict)]
    content = digest([suite, *given, asked]) if any(given) else digest([suite, str(index)])
    item = tests.setdefault(content, index)
    suite = suite if isinstance(suite, str) and suite.strip() else None
    seen: Counter[str] = Counter()
    failed = result.get("failureReason") == _ERROR
    for component in take_objects(grading, "componentResults") or failed * _list_asked(test):
        assertion = take_object(component, "assertion")
        if component.get("componentResults"):  # a set of assertions: its members follow it
            continue
        name = _name_judge(assertion)
        seen[name] += 1
        name = name if seen[name] == 1 else f"{name} {seen[name]}"
        mark, kind = _read_mark(component), str(assertion.get("type")).removeprefix("not-")
        if failed and kind != HUMAN:
            mark = Failed("the answer has an error")
        if kind not in (HUMAN, BEST) and not _GRADED.fullmatch(kind):
            yield from () if failed else (Check(name, mark),)
            continue
        judge, question = None if kind == HUMAN else name, BEST if kind == BEST else None
        yield Verdict(
            item, judge, mark, _name_system(result), question, suite, (run, index), content
        )


def _list_asked(test: Record) -> list[Record]:
    """Return the assertions of a test, and the members of sets, as components without a result."""
    asked = [one for one in take_list(test, "assert") if isinstance(one, dict)]
    flat = (part for one in asked for part in (take_objects(one, "assert") or [one]))
    return [{"assertion": part} for part in flat]


def _read_mark(component: Record) -> Any:
    """Return what promptfoo decided, by the threshold of the assertion; else the score."""
    if take_object(component, "metadata").get("graderError"):
        return Failed("the grader failed")
    decided = component.get("pass")
    return component.get("score") if decided is None else decided


def _name_judge(assertion: Record) -> str:
    if isinstance(assertion.get("metric"), str) and assertion["metric"].strip():
        return str(assertion["metric"])
    grader = assertion.get("provider")
    grader = grader.get("id") if isinstance(grader, dict) else grader
    kind = str(assertion.get("type") or "assertion")
    return f"{kind} by {grader}" if isinstance(grader, str) else kind


def _name_system(result: Record) -> Any:
    provider = result.get("provider")
    if isinstance(provider, dict):
        provider = provider.get("label") or provider.get("id")
    prompt = result.get("promptIdx")
    if not isinstance(prompt, int) or prompt < 1 or provider is None:
        return provider
    return f"{provider} prompt {prompt + 1}"
