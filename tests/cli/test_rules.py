import gzip
import json
import warnings

import numpy as np
import pandas as pd
import psycopg
import pytest
from typer.testing import CliRunner

from postgres_server import find_programs, load_tables, start_server
from unelisa.cli import app
from unelisa.cli.rules import blank_few, export_figures, hide_few
from unelisa.ehr.rules.evaluation import QUANTITIES

CONFIG = """
title = "Rheumatoid arthritis"
[rules]
"one code" = "ICD:714.0"
"two codes" = "ICD:714.0 >= 2"
"code and drug" = "ICD:714.0 and NLP:methotrexate"
"reviewed" = {cohort = 1}
[records]
features = ["ICD:714.%", "NLP:joint swelling", "NLP:synovitis", "NLP:morning stiffness"]
utilization = "note_count"
[phenotype]
anchors = ["ICD:714.0", "NLP:rheumatoid arthritis"]
"""


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    file = tmp_path_factory.mktemp("config") / "rules.toml"
    file.write_text(CONFIG, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def judged(stored, config, tmp_path_factory):
    """What one run writes, and prints."""
    folder = tmp_path_factory.mktemp("rules")
    files = {
        name: folder / name
        for name in ("figures.csv", "review.csv", "facts.json", "page.html", "phevaluator.csv")
    }
    options = ("--out", "--review", "--json", "--report", "--phevaluator")
    paths = [text for pair in zip(options, map(str, files.values()), strict=True) for text in pair]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call = ["rules", str(stored), "--config", str(config), *paths, "--n", "60"]
        result = CliRunner().invoke(app, call)
    assert result.exit_code == 0, result.output
    return files, result.stdout


def test_figures_overlap_and_are_exported_as_phevaluators(judged, drawn):
    files, shown = judged
    figures = pd.read_csv(files["figures.csv"]).set_index("rule")
    facts = json.loads(files["facts.json"].read_text(encoding="utf-8"))
    assert list(figures.index) == ["one code", "two codes", "code and drug", "reviewed"]
    assert facts["patients"] == len(drawn.counts)
    code = drawn.counts["ICD:714.0"]
    assert facts["flagged"]["two codes"] == int((code >= 2).sum())
    assert facts["flagged"]["reviewed"] == len(drawn.reviewed)
    assert facts["overlap"]["two codes"]["one code"] == 1
    assert [one["rule"] for one in facts["rules"]] == list(figures.index)
    told = figures["specificity"].dropna()
    case = drawn.truth > 0
    truth = {"one code": (code[~case] < 1).mean(), "two codes": (code[~case] < 2).mean()}
    assert "two codes" in told
    for rule in told.index.intersection(list(truth)):
        assert abs(told[rule] - truth[rule]) < 0.1
    assert "the rules disagree on" in shown
    assert "(2) two codes" in shown
    last = shown.splitlines()[-2:]
    assert last[0].startswith("Trust: ")
    assert last[1] == (
        "Next: fill in the column label of review.csv (0 or 1), and pass the file as --charts"
    )
    assert str(drawn.counts.index[0]) not in shown
    files, _ = judged
    figures, found = (pd.read_csv(files[name]) for name in ("figures.csv", "phevaluator.csv"))
    assert found["phenotype"].tolist() == figures["rule"].tolist()
    assert found["ppvCi95Lb"].tolist() == pytest.approx(figures["ppv_low"], abs=1e-4, nan_ok=True)
    row = found.set_index("phenotype").loc["two codes"]
    flagged = row["truePositives"] + row["falsePositives"]
    assert flagged == pytest.approx(facts["flagged"]["two codes"], abs=1)
    cells = ["truePositives", "falseNegatives", "falsePositives", "trueNegatives"]
    assert row[cells].sum() == pytest.approx(facts["patients"], abs=2)
    cases = row["truePositives"] + row["falseNegatives"]
    assert row["estimatedPrevalence"] == pytest.approx(cases / facts["patients"], abs=2e-3)
    assert not found[cells].isin(range(1, 10)).any(axis=None)


@pytest.mark.parametrize("flagged", [3, 1997])
def test_few_flagged_patients_cannot_be_worked_out_of_what_is_exported(flagged):
    figures = {q + end: 0.9 for q in QUANTITIES for end in ("", "_low", "_high")}
    facts = {"patients": 2000, "flagged": {"rare": flagged, "usual": 400}}
    frame = pd.DataFrame([{"rule": name, **figures} for name in facts["flagged"]])
    header, (rare, usual) = export_figures(frame, facts)
    cells = slice(header.index("truePositives"), None)
    assert rare[cells] == [""] * 5
    assert usual[cells] == [360, 1440, 40, 160, 0.26]
    assert hide_few(facts)["flagged"] == {"rare": None, "usual": 400}
    # sensitivity / PPV is the rule's size over that of the disease, which other rules show
    assert rare[2:] == [""] * len(rare[2:])
    rows = blank_few(frame.to_dict("records"), facts)
    assert all(rows[0][q] is None and rows[1][q] == 0.9 for q in QUANTITIES)


def test_the_page_draws_the_rules_and_names_no_patient(judged, drawn):
    page = judged[0]["page.html"].read_text(encoding="utf-8")
    assert page.count("<svg") == 3
    assert "two codes is within one code" in page
    facts = json.loads(judged[0]["facts.json"].read_text(encoding="utf-8"))
    assert ["two codes", "one code"] in facts["within"]
    assert {"one code", "two codes", "code and drug"} == set(facts["families"][0])
    assert all(one["patients"] is None or one["patients"] >= 10 for one in facts["patterns"])
    assert not any(str(person) in page for person in drawn.counts.index[:50])


def test_reviewed_charts_are_read_back(run, judged, stored, config, drawn, tmp_path):
    files, _ = judged
    charts = pd.read_csv(files["review.csv"])
    assert charts["label"].isna().all()
    assert 55 <= len(charts) <= 70
    assert np.isclose((1 / charts["drawn"]).sum(), len(drawn.counts), rtol=1e-3)
    charts["label"] = (drawn.truth[charts["person_id"]] > 0).astype(int).to_numpy()
    reviewed, told = tmp_path / "reviewed.csv", tmp_path / "told.json"
    charts.to_csv(reviewed, index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = run(*("rules", stored, "--config", config, "--charts", reviewed, "--json", told))
    assert result.exit_code == 0, result.output
    rows = {row["rule"]: row for row in json.loads(told.read_text())["rules"]}
    case, two = drawn.truth > 0, drawn.counts["ICD:714.0"] >= 2
    found = rows["two codes"]
    assert found["ppv_low"] <= case[two].mean() <= found["ppv_high"]
    assert found["sensitivity_low"] <= two[case].mean() <= found["sensitivity_high"]


def write_site(run, database, config, path, *more):
    result = run("rules", database, "--config", config, "--write-patterns", path, *more)
    assert result.exit_code == 0, result.output
    return pd.read_csv(path, dtype=str)


def test_pattern_tables_leave_a_site_and_are_judged_together(run, stored, config, drawn, tmp_path):
    table = write_site(run, stored, config, tmp_path / "a.csv", "--suppress", 10)
    assert list(table) == ["one code", "two codes", "code and drug", "reviewed", "patients"]
    assert len(table) == 16
    hidden = table["patients"].str.startswith("<")
    assert (table["patients"][hidden] == "<10").all()
    assert (table["patients"][~hidden].astype(int).between(1, 9)).sum() == 0
    whole = write_site(run, stored, config, tmp_path / "b.csv", "--suppress", 0)
    assert whole["patients"].astype(int).sum() == len(drawn.counts)
    out, sites = tmp_path / "sites.csv", (tmp_path / "b.csv", tmp_path / "c.csv")
    whole.to_csv(sites[1], index=False)
    result = run("rules", "--pattern-table", *sites)
    assert result.exit_code == 2
    assert "the tables of b and c are the same" in " ".join(result.output.split())
    counts = whole["patients"].astype(int)
    whole.assign(patients=counts + (counts > 0)).to_csv(sites[0], index=False)
    result = run("rules", "--pattern-table", tmp_path / "a.csv", sites[0], "--out", out)
    assert result.exit_code == 0, result.output
    assert pd.read_csv(out)["site"].tolist() == ["a"] * 4 + ["b"] * 4
    assert "no estimate" in result.stdout  # codes are one family


def test_a_server_answers_as_a_file_does(run, judged, stored, config, drawn, tmp_path):
    if find_programs() is None:
        pytest.skip("PostgreSQL is not installed (.ci/install-postgresql)")
    patterns = write_site(run, stored, config, tmp_path / "file.csv", "--suppress", 0)
    with start_server() as address:
        load_tables(stored, address)
        with psycopg.connect(address) as connection:
            (persons,) = connection.execute("SELECT count(*) FROM person").fetchone()
        assert persons == len(drawn.counts)
        served = write_site(run, address, config, tmp_path / "server.csv", "--suppress", 0)
        figures = tmp_path / "figures.csv"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = run("rules", address, "--config", config, "--out", figures)
    assert result.exit_code == 0, result.output
    pd.testing.assert_frame_equal(patterns, served)
    pd.testing.assert_frame_equal(
        pd.read_csv(judged[0]["figures.csv"]), pd.read_csv(figures), rtol=1e-6
    )


def test_what_does_not_go_together_or_is_too_large_is_refused(refused, stored, config, tmp_path):
    assert "name one database and --config" in refused("rules", stored)
    both = ("--write-patterns", tmp_path / "a.csv", "--out", tmp_path / "b.csv")
    assert "only counts" in refused("rules", stored, "--config", config, *both)
    table = tmp_path / "bad.csv"
    table.write_text("a,b\n0,1\n")
    assert "no column patients" in refused("rules", "--pattern-table", table)
    table = tmp_path / "site.csv.gz"
    table.write_bytes(gzip.compress(b"a,patients\n" + b"0,1\n" * 1_000_000))
    assert "larger than a table of patterns" in refused("rules", "--pattern-table", table)
    table = tmp_path / "site.csv"
    with table.open("wb") as file:
        file.write(b"a,patients\n")
        file.truncate(2**40)
    assert "larger than a table of patterns" in refused("rules", "--pattern-table", table)
