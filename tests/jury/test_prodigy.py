def test_accept_is_pass_and_ignore_an_abstention(logs, said):
    assert said(logs / "prodigy-1.18.jsonl") == {
        ("101", "sums-strict"): "pass",
        ("101", "sums-kind"): "pass",
        ("-102", "sums-strict"): "fail",
    }


def test_the_option_chosen_is_the_label(tmp_path, said, refuse):
    lines = [
        '{"_task_hash": 1, "_annotator_id": "x", "answer": "accept", "accept": ["B"]}',
        '{"_task_hash": 1, "_annotator_id": "y", "answer": "accept", "accept": ["A"]}',
        '{"_task_hash": 2, "_annotator_id": "x", "answer": "reject", "accept": ["A"]}',
        '{"_task_hash": 2, "_annotator_id": "y", "answer": "accept", "accept": []}',
    ]
    path = tmp_path / "choice.jsonl"
    path.write_text("\n".join(lines))
    assert said(path) == {("1", "x"): "B", ("1", "y"): "A"}
    assert "several options" in refuse(lines[0].replace('"B"', '"B", "Xylophon7"'))


def test_parts_of_another_kind_are_named(refuse):
    assert "accept, reject or ignore" in refuse(
        '{"_task_hash": 1, "_session_id": "x", "answer": "Xylophon7"}'
    )
    assert "it has no '_annotator_id'" in refuse('{"_task_hash": 1, "answer": "accept"}')
    assert "'accept' must be a list" in refuse(
        '{"_task_hash": 1, "_session_id": "x", "answer": "accept", "accept": "Xylophon7"}'
    )
