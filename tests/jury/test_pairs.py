import numpy as np
import pandas as pd
import pytest

from unelisa.errors import VotesWarning
from unelisa.jury import read_preferences
from unelisa.jury.pairs import read


def test_rows_of_mt_bench_name_systems_judges_and_people(logs):
    found = read_preferences(logs / "mt-bench-2023.jsonl")
    assert found.systems == ["alpaca", "vicuna"]
    assert found.judges == ["expert_1", "expert_2", "gpt-4 pair-v2"]
    assert found.winner.tolist() == [1, 2, 0]
    assert found.first.tolist() == [0, 1, 0]
    assert found.longer[0] == pytest.approx(np.log(5 / 11))
    assert len(set(found.questions.tolist())) == 2
    row = {"question_id": 1, "model_a": "x", "model_b": "y", "winner": "model_a"}
    judges = ("expert_3", "author_0", "human", "gpt-4", "experts")
    found = read([{**row, "judge": judge} for judge in judges])
    assert [one.human for one in found] == [True, True, True, False, False]


def test_both_games_are_read_and_what_is_no_winner_is_refused(logs, refuse):
    with pytest.warns(VotesWarning, match="the judge failed"):
        found = read_preferences(logs / "mt-bench-pairs-2023.jsonl")
    assert found.first.tolist() == [0, 1, 0]
    assert found.winner.tolist() == [1, 0, 0]  # vicuna, shown second and first; alpaca
    assert found.both_orders
    assert "the winner must be A, B, tie" in refuse(
        '{"id": 1, "judge": "x", "winner": "Xylophon7"}'
    )
    assert "one system only" in refuse('{"id": 1, "judge": "x", "model_a": "p", "winner": "A"}')
    assert "read_preferences" in refuse('{"id": 1, "judge": "x", "winner": "A"}')


@pytest.mark.parametrize(
    ("line", "winner"),
    [
        ('{"item": 1, "judge": "x", "winner": "B"}', 1),
        ('{"id": 1, "annotator": "x", "model_1": "a", "model_2": "b", "preference": 1.2}', 0),
        ('{"id": 1, "judge": "x", "model_a": "p", "model_b": "q", "winner": "q"}', 1),
        ('{"id": 1, "judge": "x", "model_a": "p", "model_b": "q", "preference": "model_b"}', 1),
        ('{"id": 1, "model_a": "p", "model_b": "q", "winner": "model_b"}', 1),
        ('{"id": 1, "judge": "x", "model_a": "p", "model_b": "q", "winner": "tie (bothbad)"}', 2),
    ],
)
def test_other_spellings(line, winner, tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(line)
    assert read_preferences(path).winner.tolist() == [winner]


def test_lengths_are_read_from_tables_too(tmp_path):
    row = {"id": 1, "judge": "x", "model_a": "p", "model_b": "q", "winner": "q"}
    frame = pd.DataFrame([{**row, "output_1": "four", "output_2": "twelve chars"}])
    frame.to_csv(tmp_path / "log.csv", index=False)
    for log in (frame, tmp_path / "log.csv"):
        assert read_preferences(log).longer == pytest.approx(np.log(1 / 3))


@pytest.mark.parametrize("said", ['"preference": -1', '"preference": 5', '"winner": 0'])
def test_numbers_of_another_scale_are_refused(said, refuse):
    told = refuse('{"id": 1, "judge": "x", "model_a": "p", "model_b": "q", ' + said + "}")
    assert "must be" in told
