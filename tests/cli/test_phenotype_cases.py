import json
from pathlib import Path

import pandas as pd
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.shared
@pytest.mark.parametrize(
    ("data", "example", "patients", "reliable"),
    [
        ("omop_gibleed", "urinary_tract_infection", 2694, True),
        ("omop_mimic_demo", "atrial_fibrillation", 100, False),  # too few patients
    ],
)
def test_public_records_go_from_tables_to_a_cohort(
    run, shared_data, tmp_path, data, example, patients, reliable
):
    out, told, cohort = (tmp_path / name for name in ("p.csv", "p.json", "c.csv"))
    result = run(
        *("phenotype", shared_data / data, "--config", EXAMPLES / f"{example}.toml"),
        *("--out", out, "--json", told, "--cohort", cohort, "--report", tmp_path / "p.html"),
    )
    assert result.exit_code == 0, result.output
    facts, labels, members = json.loads(told.read_text()), pd.read_csv(out), pd.read_csv(cohort)
    assert (facts["patients"], facts["reliable"]) == (patients, reliable)
    assert len(members) == (labels["label"] == 1).sum() == facts["cases"]
    assert all(0 < one["kept"] < one["found"] for one in facts["rare"])
    periods = pd.read_csv(next((shared_data / data).glob("observation_period.csv*")))
    rows = members.merge(periods, left_on="subject_id", right_on="person_id")
    inside = (rows["cohort_start_date"] >= rows["observation_period_start_date"]) & (
        rows["cohort_end_date"] <= rows["observation_period_end_date"]
    )
    assert set(rows["subject_id"][inside]) == set(members["subject_id"])
    future = {one["what"]: one["share"] for one in facts["flaws"] if "future" in one["what"]}
    # dates of the intensive-care patients were shifted by a century
    assert set(future.values()) == ({1.0} if data == "omop_mimic_demo" else {0.0})
