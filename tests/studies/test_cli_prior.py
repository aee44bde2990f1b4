import json
import runpy
from pathlib import Path

import numpy as np
import pytest

from unelisa.latent import prior

MAKE = runpy.run_path(str(Path(__file__).parent / "prior" / "conftest.py"))


@pytest.fixture
def sets(tmp_path):
    """Three made-up sets of three sources, as the study's own tests have them."""
    return MAKE["write_sets"](tmp_path / "sets")


def test_the_study_runs_writes_its_page_and_can_be_shown_again(run, refused, sets, tmp_path):
    docs = tmp_path / "docs"
    result = run("prior", "--data", sets, "--no-trials", "--out", docs)
    assert result.exit_code == 0, result.output
    page = (docs / "prior.md").read_text(encoding="utf-8")
    archive = json.loads((docs / "study" / "prior.json").read_text())
    assert {row["set"] for row in archive["sets"]} == {"coins", "stamps", "birds"}
    for row in archive["sets"]:
        assert f"| {row['set']} | {row['source']} | {row['classes']} |" in page
        assert row["set"] in result.output
    (docs / "prior.md").unlink()
    again = run("prior", "--from", docs / "study" / "prior.json", "--out", docs)
    assert again.exit_code == 0, again.output
    assert (docs / "prior.md").read_text(encoding="utf-8") == page
    assert "fewer than 3 sources" in refused("prior", "--data", sets, "--sets", "coins,birds")
    assert "found 'shells'" in refused("prior", "--data", sets, "--sets", "shells")
    assert "sources.csv" in refused("prior", "--data", tmp_path)


def test_the_numbers_in_use_are_those_that_were_fitted():
    """Rounded as they are written; what is fitted anew may differ in the second place."""
    stored = Path(__file__).parents[2] / "docs" / "study" / "prior.json"
    if not stored.is_file():
        pytest.skip("docs/study/prior.json is not there: run unelisa reproduce prior --out docs")
    fitted = json.loads(stored.read_text(encoding="utf-8"))["fitted"]
    assert len(fitted) == 6
    for name, value in fitted.items():
        np.testing.assert_allclose(getattr(prior, name), value, atol=0.02, err_msg=name)
