import json

import pytest

from unelisa.errors import VotesWarning

SAID = {"strict": ("pass", "fail"), "kind": ("pass", "pass")}


@pytest.mark.parametrize(
    ("name", "items"),
    [("opik-traces-1.9.json", ("a", "b")), ("opik-test-results-1.9.json", ("d1", "d2"))],
)
def test_scores_and_the_judges_of_a_jury(name, items, logs, said):
    expected = {(i, j): own[k] for k, i in enumerate(items) for j, own in SAID.items()}
    assert said(logs / name) == expected


def test_failed_scores_abstain_aloud_and_authors_are_judges(tmp_path, said):
    path = tmp_path / "scores.jsonl"
    authors = {"ann": {"value": 1}, "bob": {"value": 0}}
    score = {"name": "x", "value": 0.5, "value_by_author": authors}
    path.write_text(json.dumps({"id": 3, "feedback_scores": [score]}))
    assert said(path) == {("3", "x by ann"): "pass", ("3", "x by bob"): "fail"}
    failed = {"name": "x", "value": 0, "scoring_failed": True}
    path.write_text(json.dumps({"id": 3, "score_results": [failed, {"name": "y", "value": 0}]}))
    with pytest.warns(VotesWarning, match=r"abstentions \(1\):.*'x' 1"):
        assert said(path) == {("3", "y"): "fail"}


def test_a_jurys_score_alone_and_an_exported_trace(tmp_path, said):
    path = tmp_path / "scores.jsonl"
    path.write_text('{"id": "a", "metadata": {"judge_scores": {"strict": 1, "kind": 0}}}\n')
    assert said(path) == {("a", "strict"): "pass", ("a", "kind"): "fail"}
    path.write_text('{"trace": {"id": 3, "feedback_scores": [{"name": "x", "value": 1}]}}\n')
    assert said(path) == {("3", "x"): "pass"}


def test_parts_of_another_kind_are_named(refuse):
    assert "'feedback_scores' must be a list" in refuse('{"id": 1, "feedback_scores": "Xylophon7"}')
    assert "it has no 'name'" in refuse('{"id": 1, "feedback_scores": [{"value": 1}]}')
    assert "it has no 'dataset_item_id'" in refuse('{"feedback_scores": []}')
    assert "every part of 'judge_scores'" in refuse(
        '{"id": 1, "feedback_scores": [{"metadata": {"judge_scores": ["Xylophon7"]}}]}'
    )
