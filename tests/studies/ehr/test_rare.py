import pytest

from studies.ehr.rare import Help, judge_cohort, read_rare, run_rare
from studies.ehr.sets import rare_cohort
from unelisa.errors import UnelisaWarning


def test_a_cohort_with_a_prevalence_of_the_right_order(datamart):
    cohort = rare_cohort(datamart, 0, 2000, 0.03)
    with pytest.warns(UnelisaWarning, match="may be cases; review charts$"):
        row = judge_cohort(cohort, 0, Help(0.03, 0))
    assert 1 / 1.5 < row["prevalence"] / row["true_prevalence"] < 1.5
    assert row["ppv"][1] <= row["true_ppv"] <= row["ppv"][2]
    assert row["auc"] > 0.8


def test_reviewed_charts_are_taken(datamart):
    cohort = rare_cohort(datamart, 0, 1000, 0.03)
    with pytest.warns(UnelisaWarning, match="or state the prevalence$"):
        plain = judge_cohort(cohort, 0, Help(None, 0))
    taught = judge_cohort(cohort, 0, Help(None, 300))
    assert taught["charts"] == 300
    error = abs(taught["prevalence"] - 0.03), abs(plain["prevalence"] - 0.03)
    assert error[0] < max(error[1], 0.01)


def test_a_run_goes_on_where_it_was(datamart, tmp_path, monkeypatch):
    monkeypatch.setattr("studies.ehr.rare.COHORTS", 1)
    monkeypatch.setattr("studies.ehr.rare.PATIENTS", 500)
    monkeypatch.setattr("studies.ehr.rare.HELPS", (Help(0.03, 0),))
    run_rare(datamart, tmp_path)
    first = (tmp_path / "ehr_rare.jsonl").read_bytes()
    run_rare(datamart, tmp_path)
    assert (tmp_path / "ehr_rare.jsonl").read_bytes() == first
    assert len(read_rare(tmp_path)) == 1


def test_cohorts_are_counted(rare):
    assert [row["cohorts"] for row in rare] == [2] * len(rare)
    assert rare[0]["within"] == 1
    assert rare[0]["covered"] == 1
    assert rare[0]["prevalence"] == [0.04, 0.03, 0.05]
