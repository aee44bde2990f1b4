import json

import pytest

from unelisa.errors import VotesWarning
from unelisa.jury import read_jury, read_preferences

VOTES = {
    ("0", "strict"): "pass",
    ("0", "llm-rubric by openai:gpt-5"): "pass",
    ("1", "strict"): "fail",
    ("1", "llm-rubric by openai:gpt-5"): "pass",
}


@pytest.fixture
def results(logs):
    whole = json.loads((logs / "promptfoo-results-v3.json").read_text())
    return whole["results"]["results"]


def write_lines(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_assertions_are_judges(logs, said):
    assert said(logs / "promptfoo-results-v3.json") == VOTES
    assert set(read_jury(logs / "promptfoo-results-v3.json").systems.values()) == {"mini"}


def test_lines_and_a_summary_say_the_same(results, said, tmp_path):
    assert said(write_lines(tmp_path / "results.jsonl", results)) == VOTES
    (tmp_path / "summary.json").write_text(json.dumps({"version": 3, "results": results}))
    assert said(tmp_path / "summary.json") == VOTES


def test_assertions_of_one_name_are_told_apart_and_prompts_are_systems(results, tmp_path):
    for result in results[:2]:
        for component in result["gradingResult"]["componentResults"]:
            component["assertion"] = {"type": "llm-rubric"}
    results[1]["promptIdx"] = 1
    jury = read_jury(write_lines(tmp_path / "results.jsonl", results))
    assert jury.voters.tolist() == ["llm-rubric", "llm-rubric 2"]
    assert set(jury.systems.values()) == {"mini", "mini prompt 2"}


def test_a_real_file_with_repeats_sets_checks_and_failures(logs):
    with pytest.warns(VotesWarning, match=r"abstentions \(4\):.*the grader failed"):
        jury = read_jury(logs / "promptfoo-0.121.20.json")
    assert jury.voters.tolist() == ["kind", "strict"]
    assert jury.checks == {"latency": (6, 6), "contains": (6, 6)}
    assert jury.items.tolist()[:2] == ["0", "0 epoch 2"]
    assert len(set(jury.questions.values())) == 3


def test_two_suites_are_not_one_and_a_person_is_gold(results, tmp_path):
    for name, text in (("one", "sums"), ("two", "words")):
        for result in results:
            result["vars"] = {"q": f"{text} {result['testIdx']}"}
        whole = {"results": {"results": results}, "config": {"description": text}}
        (tmp_path / f"{name}.json").write_text(json.dumps(whole))
    jury = read_jury(tmp_path)
    assert jury.items.tolist() == ["sums / 0", "sums / 1", "words / 0", "words / 1"]
    results[0]["gradingResult"]["componentResults"][0]["assertion"] = {"type": "human"}
    jury = read_jury(write_lines(tmp_path / "human.jsonl", results))
    assert jury.gold == {"0": "pass"}


def test_the_best_of_several_answers_is_preferred_to_the_others(tmp_path):
    """As promptfoo 0.121 writes select-best: one component per provider, one of them passes."""
    records = []
    for test, best in ((0, "b"), (1, "a"), (2, None)):
        for provider in "abc":
            part = {"pass": provider == best, "assertion": {"type": "select-best", "value": "x"}}
            grading = {"pass": provider == best, "componentResults": [part]}
            record = {"testIdx": test, "provider": {"id": provider}, "vars": {"q": test}}
            records.append({**record, "gradingResult": grading})
    found = read_preferences(write_lines(tmp_path / "results.jsonl", records))
    rows = zip(found.first, found.second, found.winner, strict=True)
    assert [(found.systems[a], found.systems[b], int(w)) for a, b, w in rows] == [
        ("a", "b", 1), ("b", "c", 0), ("a", "b", 0), ("a", "c", 0)
    ]  # fmt: skip
    assert found.judges == ["select-best"]


def test_repeats_of_a_comparison_are_not_mixed(tmp_path):
    """A repeat of a test has a number of its own."""
    records = []
    for number, best in enumerate("aab"):
        for provider in "ab":
            part = {"pass": provider == best, "assertion": {"type": "select-best"}}
            record = {"testIdx": number, "provider": {"id": provider}, "vars": {"q": 0}}
            records.append({**record, "gradingResult": {"componentResults": [part]}})
    found = read_preferences(write_lines(tmp_path / "results.jsonl", records))
    assert found.winner.tolist() == [0, 0, 1]
    assert set(found.questions.tolist()) == {0}


def test_an_answer_with_an_error_is_judged_by_nobody(results, tmp_path):
    """As promptfoo 0.121 writes an error of a provider (2): there is no grading result."""
    for result in results[:2]:
        result["failureReason"] = 2
    grading = results[0].pop("gradingResult")
    asked = [part["assertion"] for part in grading["componentResults"]]
    results[0]["testCase"] = {"assert": [{"type": "assert-set", "assert": asked}]}
    results[0]["promptIdx"] = 0
    with pytest.warns(VotesWarning, match=r"abstentions \(4\):.*the answer has an error"):
        jury = read_jury(write_lines(tmp_path / "results.jsonl", results))
    assert jury.failures == dict.fromkeys(jury.voters, 2)


@pytest.mark.parametrize(
    ("kind", "judges"),
    [("promptfoo:redteam:pii", 1), ("research-rubric", 1), ("not-g-eval", 1), ("is-json", 0)],
)
def test_what_a_model_grades_is_a_judge_and_the_rest_a_check(kind, judges, results, tmp_path):
    for result in results:
        kinds = {"assertion": {"type": "llm-rubric"}}, {"assertion": {"type": kind}}
        parts = [{"pass": True, "score": 1, **one} for one in kinds]
        result["gradingResult"] = {"componentResults": parts}
    jury = read_jury(write_lines(tmp_path / "results.jsonl", results))
    assert (kind in jury.voters) == bool(judges)
    assert (kind in jury.checks) == (not judges)
