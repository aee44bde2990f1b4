import json

import pytest

from jury.conftest import spell
from unelisa.errors import VotesWarning
from unelisa.jury import read_jury


def test_sources_are_judges_and_code_is_a_check(logs):
    with pytest.warns(VotesWarning, match="'claude' 1 .the scorer failed"):
        jury = read_jury(logs / "mlflow-traces-3.17.jsonl")
    assert jury.voters.tolist() == ["claude", "gpt"]
    assert sorted(spell(jury).values()) == ["fail", "fail", "pass"]
    assert jury.checks == {"fast": (2, 2)}
    assert set(jury.systems.values()) == {"run-a"}
    assert "Xylophon7" not in str(jury.items)


def test_replaced_assessments_do_not_count_and_one_may_stand_alone(logs, tmp_path, said):
    lines = (logs / "mlflow-traces-3.17.jsonl").read_text().splitlines()
    alone = json.loads(lines[0])["info"]["assessments"][0]
    path = tmp_path / "assessments.jsonl"
    path.write_text(json.dumps(alone) + "\n")
    assert said(path) == {("tr-1", "gpt"): "pass"}
    path.write_text(
        json.dumps(alone) + "\n" + json.dumps({**alone, "valid": False, "trace_id": "x"})
    )
    assert said(path) == {("tr-1", "gpt"): "pass"}
