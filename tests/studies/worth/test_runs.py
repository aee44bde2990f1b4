import numpy as np
import pytest

from studies.worth import runs
from studies.worth.runs import Target, collect_worth, count_cases, judge_target, list_measures
from unelisa.votes import Votes


def test_measures_are_shares_of_cases():
    tables = np.array([[[6.0, 2.0], [1.0, 3.0]]])  # class no: 6 no, 2 yes; class yes: 1 no, 3 yes
    found = {name: float(share[0]) for name, (share, _) in list_measures(tables).items()}
    assert found == pytest.approx(
        {"accuracy": 9 / 12, "sensitivity": 3 / 4, "specificity": 6 / 8, "ppv": 3 / 5, "npv": 6 / 7}
    )


def test_cases_are_counted_on_items_with_known_truth():
    votes = Votes.of([[1, -1], [1, 0], [-1, -1], [1, 1]], coding="pm1")
    tables = count_cases(votes, np.array([1, 1, -1, 0], dtype=np.int8))
    assert tables.tolist() == [[[1, 0], [0, 2]], [[1, 0], [1, 0]]]


def test_intervals_are_counted_where_they_are_told():
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], 300).astype(np.int8)
    right = rng.random((300, 5)) < [0.9, 0.8, 0.7, 0.75, 0.6]
    values = np.where(right, truth[:, None], -truth[:, None]).astype(np.int8)
    votes = Votes.of(values, coding="pm1")
    row = judge_target(Target(votes, count_cases(votes, truth), counted=True))
    assert row["told"]
    inside, asked, widths = row["held"]["accuracy"]
    assert asked == 5
    assert 4 <= inside <= 5
    assert 0 < widths / asked < 0.4


def test_a_run_is_resumed(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "CROWDS", range(100, 101))
    monkeypatch.setattr(runs, "SEEN_WORLDS", range(0))
    monkeypatch.setattr(runs, "KINDS", {"few voters": ""})
    runs.run_worth({}, tmp_path)
    first = (tmp_path / "voters.jsonl").read_text()
    runs.run_worth({}, tmp_path)
    assert (tmp_path / "voters.jsonl").read_text() == first
    archive = collect_worth(tmp_path)
    assert [row["kind"] for row in archive["voters"]] == ["few voters"]
    assert collect_worth(tmp_path / "none", archive)["voters"] == archive["voters"]
