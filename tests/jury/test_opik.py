import pytest

VOTES = {
    ("a", "strict"): "pass",
    ("a", "kind"): "pass",
    ("b", "strict"): "fail",
    ("b", "kind"): "pass",
}


@pytest.mark.parametrize("name", ["opik-traces-1.9.json", "opik-test-results-1.9.json"])
def test_scores_and_the_judges_of_a_jury(name, logs, said):
    assert said(logs / name) == VOTES


def test_a_jurys_score_alone_and_an_exported_trace(tmp_path, said):
    path = tmp_path / "scores.jsonl"
    path.write_text('{"id": "a", "metadata": {"judge_scores": {"strict": 1, "kind": 0}}}\n')
    assert said(path) == {("a", "strict"): "pass", ("a", "kind"): "fail"}
    path.write_text('{"trace": {"id": 3, "feedback_scores": [{"name": "x", "value": 1}]}}\n')
    assert said(path) == {("3", "x"): "pass"}


def test_parts_of_another_kind_are_named(refuse):
    assert "'feedback_scores' must be a list" in refuse('{"id": 1, "feedback_scores": "Xylophon7"}')
    assert "it has no 'name'" in refuse('{"id": 1, "feedback_scores": [{"value": 1}]}')
    assert "it has no 'trace_id'" in refuse('{"feedback_scores": []}')
    assert "every part of 'judge_scores'" in refuse(
        '{"id": 1, "feedback_scores": [{"metadata": {"judge_scores": ["Xylophon7"]}}]}'
    )
