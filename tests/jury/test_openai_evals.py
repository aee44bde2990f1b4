from unelisa.jury import read_jury


def test_an_eval_is_a_judge(logs, said):
    path = logs / "openai-evals-3.0.jsonl"
    judge = "sums-strict.dev.v0"
    assert said(path) == {
        ("sums/samples.jsonl 0", judge): "pass",
        ("sums/samples.jsonl 1", judge): "fail",
    }
    assert set(read_jury(path).systems.values()) == {"gpt-4o-mini"}


def test_another_eval_of_the_same_samples_meets_it(logs, tmp_path):
    path = logs / "openai-evals-3.0.jsonl"
    other = tmp_path / "kind.jsonl"
    other.write_text(path.read_text().replace("sums-strict", "sums-kind"))
    assert read_jury([path, other]).shape == (2, 2)


def test_events_without_a_spec_name_the_sample(refuse, said, tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"sample_id": "s.0", "type": "match", "data": {"correct": true}}\n')
    assert said(path) == {("s.0", "match"): "pass"}
    assert "'data' must be an object" in refuse('{"sample_id": 1, "type": "match", "data": []}')
    assert "it has no 'sample_id'" in refuse('{"spec": {}}\n{"type": "match", "data": {}}\n')
    assert "no verdicts" in refuse('{"spec": {}}\n{"final_report": {}}\n')
