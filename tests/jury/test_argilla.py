import pytest

from unelisa.jury import read_jury


@pytest.mark.parametrize("name", ["argilla-2.8.json", "argilla-server-2.8.jsonl"])
def test_people_and_agents_vote_once_they_submitted(name, logs, said):
    assert said(logs / name) == {
        ("a", "u1"): "good",
        ("a", "u2"): "bad",
        ("a", "llm-v1"): "good",
        ("b", "u1"): "bad",
    }
    assert read_jury(logs / name).systems == {"a": "model 1", "b": "model 1"}


def test_one_of_several_questions_is_declared(refuse):
    answer = '[{"value": "Xylophon7", "user_id": "u"}]'
    record = f'{{"id": 1, "fields": {{}}, "responses": {{"q": {answer}, "r": {answer}}}}}'
    assert refuse(record).endswith("pass question='q', or question='r'")
    assert "only one label" in refuse(record, question="r")


def test_parts_of_another_kind_are_named(refuse):
    start = '{"id": 1, "fields": {}, "responses": '
    assert "'responses' must be a list" in refuse(start + '"Xylophon7"}')
    assert "'q' must be a list" in refuse(start + '{"q": "Xylophon7"}}')
    assert "it has no 'user_id'" in refuse(start + '{"q": [{"value": "Xylophon7"}]}}')
    assert "an answer must be an object" in refuse(
        start + '[{"user_id": 1, "values": {"q": "Xylophon7"}}]}'
    )


def test_flattened_records_say_who_responded(logs, said):
    people = [f"00000000-0000-0000-0000-00000000000{k}" for k in (0, 1)]
    assert said(logs / "argilla-flat-2.8.json") == {
        ("a", people[0]): "good",
        ("a", people[1]): "bad",
        ("a", "llm"): "good",
        ("b", people[0]): "good",
        ("b", "llm"): "bad",
    }
