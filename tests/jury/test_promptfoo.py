import json

import pytest

from unelisa.jury import read_jury

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


def test_parts_of_another_kind_are_named(refuse):
    assert "'gradingResult' must be an object" in refuse('{"testIdx": 1, "gradingResult": "x"}')
    assert "it has no 'testIdx' or 'id'" in refuse('{"gradingResult": {}}')
    assert "'componentResults' must be a list" in refuse(
        '{"testIdx": 1, "gradingResult": {"componentResults": {}}}'
    )
    told = refuse(
        '{"id": 1, "gradingResult": {"componentResults": [{"score": 0.4, "assertion": {}}]}}'
    )
    assert "judge 'assertion'" in told
    assert told.endswith("pass cut=0.5")
