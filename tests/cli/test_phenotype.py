import json
import re
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import unelisa as ue
from unelisa.cli import app
from unelisa.cli.phenotype_reviews import read_charts, read_reviews
from unelisa.ehr.counts import FEWEST_SHOWN
from unelisa.ehr.datamart import simulate_ehr
from unelisa.ehr.omop.datamart import write_datamart

EXAMPLE = Path(__file__).parents[2] / "examples" / "ra.toml"


@pytest.fixture
def database(stored, tmp_path):
    file = tmp_path / "ra.duckdb"
    file.write_bytes(stored.read_bytes())
    return file


@pytest.fixture
def config(tmp_path):
    def write(**changes):
        text = EXAMPLE.read_text(encoding="utf-8")
        for old, new in changes.values():
            assert old in text
            text = text.replace(old, new)
        file = tmp_path / "config.toml"
        file.write_text(text, encoding="utf-8")
        return file

    return write


def show_share(has):
    """The share that may be shown: none of fewer than ten patients, or of all but so many."""
    return None if any(0 < n < FEWEST_SHOWN for n in (has.sum(), (~has).sum())) else has.mean()


def test_from_a_database_to_a_cohort(run, refused, database, drawn, tmp_path):
    out, page, cohort, told = (tmp_path / n for n in ("p.csv", "p.html", "c.csv", "p.json"))
    result = run(
        *("phenotype", database, "--config", EXAMPLE, "--out", out, "--report", page),
        *("--cohort", cohort, "--insert-cohort", "--json", told),
    )
    assert result.exit_code == 0, result.output
    assert "NLP counts" in result.stdout
    labels = pd.read_csv(out, index_col="person_id")
    assert labels.index.tolist() == drawn.counts.index.tolist()
    assert ((labels["label"] == 1) == (drawn.truth > 0)).mean() > 0.85
    members = pd.read_csv(cohort)
    assert members["subject_id"].tolist() == labels.index[labels["label"] == 1].tolist()
    assert (members["cohort_start_date"] <= members["cohort_end_date"]).all()
    with duckdb.connect(str(database), read_only=True) as connection:
        question = "SELECT subject_id FROM cohort WHERE cohort_definition_id = 714 ORDER BY 1"
        inserted = [person for (person,) in connection.execute(question).fetchall()]
    assert inserted == members["subject_id"].tolist()
    facts = json.loads(told.read_text())
    assert facts["patients"] == 1200
    assert facts["cases"] == len(members)
    assert facts["steps"][0]["what"] == "patients"
    with duckdb.connect(str(database), read_only=True) as connection:
        inside = (
            "SELECT count(*) FROM cohort JOIN observation_period ON subject_id = person_id AND "
            "cohort_start_date >= observation_period_start_date AND cohort_end_date <= "
            "observation_period_end_date WHERE cohort_definition_id = 714"
        )
        assert connection.execute(inside).fetchone() == (len(members),)
    groups = {row["name"]: row for row in facts["groups"]}
    counts = drawn.counts.loc[labels.index]
    for group, chosen in (("cases", labels["label"] == 1), ("others", labels["label"] == 0)):
        assert groups["note_count"][group][1] == counts.loc[chosen, "note_count"].median()
        assert groups["ICD:714.0"][group] == show_share(counts.loc[chosen, "ICD:714.0"] > 0)
    assert {"age in years", "age at the first anchor", "female"} <= set(groups)
    names = {one["feature"]: one["name"] for one in facts["features"]}
    assert names["ICD:714.0"] == "Code 714.0"
    assert "(Code 714.0)" in page.read_text(encoding="utf-8")
    flaws = {one["what"]: one for one in facts["flaws"]}
    assert flaws["patients without a visit"]["number"] == 0
    assert flaws["ICD records that repeat patient, feature and day"]["share"] > 0
    assert {one["domain"] for one in facts["rare"]} == {"ICD", "NLP"}
    # neither report nor figures name a patient
    text = page.read_text(encoding="utf-8") + told.read_text(encoding="utf-8")
    numbers = {int(number) for number in re.findall(r"(?<![\d.])\d+(?![\d.])", text)}
    assert 1200 in numbers
    assert not numbers & set(drawn.counts.index)
    again = refused("phenotype", database, "--config", EXAMPLE, "--insert-cohort")
    assert "the cohort 714 already has" in again


def _outputs(beside):
    ends = {"--out": ".csv", "--cohort": ".cohort", "--json": ".json"}
    return [part for name, end in ends.items() for part in (name, beside.with_suffix(end))]


@pytest.fixture(scope="module")
def kept(stored, tmp_path_factory):
    """A phenotyper that the command fitted to the datamart and kept."""
    file = tmp_path_factory.mktemp("kept") / "ra.npz"
    arguments = ["phenotype", stored, "--config", EXAMPLE, "--save", file, *_outputs(file)]
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    return file


def test_a_kept_model_says_the_same_again(run, database, kept, tmp_path):
    again = tmp_path / "again"
    result = run("phenotype", database, "--config", EXAMPLE, "--model", kept, *_outputs(again))
    assert result.exit_code == 0, result.output
    for end in (".csv", ".cohort"):
        assert again.with_suffix(end).read_text() == kept.with_suffix(end).read_text()
    facts = [json.loads(path.with_suffix(".json").read_text()) for path in (again, kept)]
    for told in facts:
        del told["seconds"], told["steps"], told["rare"]  # a kept model names its features
    assert facts[0] == facts[1]


def test_a_kept_model_labels_the_patients_of_another_database(run, kept, tmp_path):
    other, new = tmp_path / "new.duckdb", simulate_ehr(300, random_state=9)
    write_datamart(new, other)
    out, told = tmp_path / "p.csv", tmp_path / "p.json"
    arguments = ("--config", EXAMPLE, "--model", kept, "--out", out, "--json", told)
    assert run("phenotype", other, *arguments).exit_code == 0
    model = ue.load(kept, ue.Phenotyper)
    found = pd.read_csv(out, index_col="person_id")
    chances = model.predict_proba(new.counts)[:, 1]
    assert found["probability"].to_numpy() == pytest.approx(chances, abs=1e-6)
    assert found["label"].tolist() == model.predict(new.counts).tolist()
    facts = json.loads(told.read_text())
    assert facts["prevalence"] == pytest.approx(chances.mean())
    assert facts["ppv"]["share"] == pytest.approx(chances[chances >= 0.5].mean())
    assert model.prevalence_ != facts["prevalence"]


def test_a_kept_model_tells_what_new_records_lack(run, kept, tmp_path):
    other = tmp_path / "new.duckdb"
    write_datamart(simulate_ehr(100, random_state=9), other)
    with duckdb.connect(str(other)) as connection:
        connection.execute(
            "UPDATE condition_occurrence SET condition_source_value = "
            "replace(condition_source_value, '.', '')"
        )
    result = run("phenotype", other, "--config", EXAMPLE, "--model", kept)
    assert result.exit_code == 0, result.output
    assert "features that the model uses never occur" in " ".join(result.stderr.split())
    assert "such as ICD:714.0; check that this database" in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('["ICD:714.0", ', "[", "was fitted with the anchors ICD:714.0 and NLP:rheumatoid"),
        ('"note_count"', '"visit_count"', "was fitted with utilization note_count"),
        ('["ICD:714.%", "NLP:%"]', '["ICD:714.%"]', "is required, but not requested by the config"),
    ],
)
def test_a_kept_model_wants_its_own_configuration(
    refused, database, config, kept, tmp_path, old, new, sentence
):
    file, out = config(change=(old, new)), tmp_path / "p.csv"
    told = refused("phenotype", database, "--config", file, "--model", kept, "--out", out)
    assert sentence in told
    assert not out.exists()


def test_a_model_is_fitted_or_taken_never_both(refused, database, kept, tmp_path):
    start = ("phenotype", database, "--config", EXAMPLE, "--model")
    charts = tmp_path / "gold.csv"
    charts.write_text("person_id,label\n100001,1\n")
    for more in (("--save", tmp_path / "m.npz"), ("--gold", charts)):
        assert "apply to a fit" in refused(*start, kept, *more)
    assert "is damaged or not an unelisa model" in refused(*start, charts)
    ue.save(ue.MajorityVote().fit([[1, -1], [-1, 1]]), tmp_path / "votes.npz")
    assert "not one of kind Phenotyper" in refused(*start, tmp_path / "votes.npz")
    assert "is an input" in refused(*start, kept, "--out", kept)


@pytest.mark.parametrize(
    "options", [["--report", "-"], ["--save", "-"], ["--out", "-", "--json", "-"]]
)
def test_one_table_or_json_goes_to_stdout(refused, database, options):
    assert "one table, or --json" in refused("phenotype", database, "--config", EXAMPLE, *options)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('["ICD:714.0"', '["NLP:\u5173\u8282\u708e; --"', "never occurs"),
        ("entry = [", 'entry = ["ICD:zzz%"]\n# [', "nobody meets the entry rule"),
        ('["ICD:714.0"', '["ICD:x%\'; DROP TABLE person; --"', "never occurs"),
        ('["ICD:714.0"', '["WHAT:714.0"', "is not valid"),
        ('utilization = "note_count"', 'utilization = "beds"', "note_count, visit_count"),
        ('["ICD:714.%", "NLP:%"]', '["ICD:714.%", "RX:%"]', "there is no table drug_exposure"),
        ('["ICD:714.%", "NLP:%"]', '["ICD:0%", "NLP:%"]', "matches 'ICD:0%'"),
        ("[cohort]", '[cdm]\nschema = "a"\n[results]\nschema = "main"\n[cohort]', "under [cdm]"),
        ("[cohort]", '[results]\nschema = "nowhere"\n[cohort]', 'schema = "main" under [results]'),
        ("first_day = 2000-01-01", 'schema = "a; DROP"', "must be a plain name"),
        ("2015-12-31", "1999-12-31", "before it starts"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(
    refused, database, config, tmp_path, old, new, sentence
):
    file, before = config(change=(old, new)), database.read_bytes()
    out = tmp_path / "p.csv"
    told = refused("phenotype", database, "--config", file, "--out", out, "--insert-cohort")
    assert sentence in told
    assert not out.exists()
    assert database.read_bytes() == before


def test_bad_charts_are_refused(refused, database, tmp_path):
    gold = tmp_path / "gold.csv"
    gold.write_text("a,b\n1,2\n")
    assert "needs the columns" in refused(
        "phenotype", database, "--config", EXAMPLE, "--gold", gold
    )
    gold.write_text("person_id,label\n1,1\n1,0\n")
    assert "more than once" in refused("phenotype", database, "--config", EXAMPLE, "--gold", gold)
    charts = tmp_path / "charts.csv"
    charts.write_text("person_id,label,drawn\n100001,1,0\n100002,0,0.5\n")
    told = refused("phenotype", database, "--config", EXAMPLE, "--gold", charts)
    assert "must be above 0 and at most 1" in told


def test_charts_are_matched_whatever_else_the_file_holds(run, database, drawn, tmp_path):
    gold, told = tmp_path / "gold.csv", tmp_path / "p.json"
    rows = [f" {person} ,{label}" for person, label in drawn.truth[drawn.reviewed].items()]
    gold.write_text("\n".join(["person_id,label", ",1", "100001,", "7,1", *rows, ""]))
    arguments = ("--config", EXAMPLE, "--gold", gold, "--json", told)
    result = run("phenotype", database, *arguments)
    assert result.exit_code == 0, result.output
    assert "1 of the 436 patients named in the reviewed charts" in " ".join(result.stderr.split())
    assert "reviewed charts" in json.loads(told.read_text())["ppv"]["basis"]


def test_records_with_gaps_are_counted(run, database, tmp_path):
    out = tmp_path / "p.csv"
    with duckdb.connect(str(database)) as connection:
        for statement in (
            "DELETE FROM note WHERE person_id = 100001",
            "DELETE FROM visit_occurrence WHERE person_id = 100001",
            "DELETE FROM measurement",
            "UPDATE condition_occurrence SET condition_source_value = '714.''; %_\"\u95dc' "
            "WHERE condition_occurrence_id % 9 = 0",
        ):
            connection.execute(statement)
    assert run("phenotype", database, "--config", EXAMPLE, "--out", out).exit_code == 0
    assert 1000 < len(pd.read_csv(out)) < 1200


def test_an_address_with_a_password_is_told_without_it(run, tmp_path):
    address = "postgresql://ann:s3cret%zz@127.0.0.1:1/cdm"
    result = run("phenotype", address, "--config", EXAMPLE, "--out", tmp_path / "p.csv")
    assert result.exit_code == 2
    assert "cannot be reached" in result.stderr
    assert "s3cret" not in result.output + result.stderr
    assert not list(tmp_path.iterdir())


def test_an_output_is_neither_a_folder_nor_the_database(refused, database, tmp_path):
    assert "Is a directory" in refused("phenotype", database, "--config", tmp_path)
    told = refused("phenotype", database, "--config", EXAMPLE, "--out", tmp_path)
    assert "is not a regular file" in told
    told = refused("phenotype", database, "--config", EXAMPLE, "--out", database)
    assert "is an input" in told


def change(file, *statements):
    with duckdb.connect(str(file)) as connection:
        for statement in statements:
            connection.execute(statement)


def test_patients_who_were_not_observed_have_no_label(run, database, tmp_path):
    out, told = tmp_path / "p.csv", tmp_path / "p.json"
    change(
        database,
        "DELETE FROM observation_period WHERE person_id = 100001",
        "UPDATE observation_period SET observation_period_start_date = DATE '2016-06-01', "
        "observation_period_end_date = DATE '2017-01-01' WHERE person_id = 100002",
    )
    arguments = ("phenotype", database, "--config", EXAMPLE, "--out", out, "--json", told)
    assert run(*arguments).exit_code == 0
    labels = pd.read_csv(out, index_col="person_id")
    for person in (100001, 100002):
        assert labels.loc[person, ["label", "probability"]].isna().all()
        assert labels.loc[person, "note"] == "not observed in the window: no label"
    assert labels["label"].notna().sum() == len(labels) - 2
    facts = json.loads(told.read_text())
    assert (facts["patients"], facts["unobserved"]) == (len(labels) - 2, 2)


def test_without_observation_periods_patients_without_records_are_marked(run, database, tmp_path):
    out = tmp_path / "p.csv"
    change(
        database,
        "DROP TABLE observation_period",
        *(
            f"DELETE FROM {table} WHERE person_id = 100001"  # noqa: S608
            for table in ("note", "visit_occurrence", "condition_occurrence")
        ),
        "INSERT INTO measurement (measurement_id, person_id, measurement_concept_id, "
        "measurement_date, measurement_type_concept_id) SELECT 999999, 100001, "
        "measurement_concept_id, DATE '2005-01-01', 0 FROM measurement LIMIT 1",
    )
    assert run("phenotype", database, "--config", EXAMPLE, "--out", out).exit_code == 0
    labels = pd.read_csv(out, index_col="person_id")
    assert labels.loc[100001, "label"] == 0
    assert labels["note"].dropna().index.tolist() == [100001]
    assert labels.loc[100001, "note"].startswith("no records in the window")


def test_labels_respect_sex_and_age_and_show_whether_the_anchors_do(
    run, database, config, drawn, tmp_path
):
    out, told = tmp_path / "p.csv", tmp_path / "p.json"
    change(
        database,
        "UPDATE person SET gender_concept_id = CASE person_id % 2 WHEN 0 THEN 8507 "
        "ELSE 8532 END, year_of_birth = CASE WHEN person_id % 4 = 1 THEN 2001 ELSE 1950 END",
    )
    file = config(change=("[phenotype]", '[phenotype]\nsex = "female"\nage = [30, 110]'))
    result = run("phenotype", database, "--config", file, "--out", out, "--json", told)
    assert result.exit_code == 0, result.output
    labels = pd.read_csv(out, index_col="person_id")
    able = labels.index % 4 == 3
    assert (labels["label"][~able] == 0).all()
    assert (labels["probability"][~able] == 0).all()
    assert set(labels["note"][~able]) == {"excluded by sex or age"}
    assert labels["note"][able].isna().all()
    # the disease of this datamart does not know sex and age, and that is told
    assert "patients whose sex or age excludes the disease would" in " ".join(result.stderr.split())
    facts = json.loads(told.read_text())
    assert not facts["reliable"]
    assert facts["excluded"] == (~able).sum()


def test_intervals_come_first(run, database, tmp_path):
    page, told = tmp_path / "p.html", tmp_path / "p.json"
    arguments = ("--config", EXAMPLE, "--report", page, "--json", told)
    result = run("phenotype", database, *arguments)
    facts, text = json.loads(told.read_text()), page.read_text(encoding="utf-8")
    places = [text.index(f"<dt>{name}") for name in ("positive pred", "negative pred", "sensitiv")]
    assert places == sorted(places)
    assert places[-1] < text.index("<dt>patients")
    for name in ("ppv", "npv", "sensitivity"):
        assert facts[name]["low"] <= facts[name]["share"] <= facts[name]["high"]
    assert f"PPV {facts['ppv']['low']:.0%} to {facts['ppv']['high']:.0%}" in result.stdout


def test_charts_are_drawn_filled_in_and_correct_the_figures(run, database, drawn, tmp_path):
    charts, told = tmp_path / "charts.csv", tmp_path / "p.json"
    start = ("phenotype", database, "--config", EXAMPLE, "--json", told)
    result = run(*start, "--charts", 80, "--charts-out", charts)
    assert result.exit_code == 0, result.output
    before = json.loads(told.read_text())
    table = pd.read_csv(charts)
    assert len(table) == 80
    assert "Next: fill in the column label of charts.csv (0 or 1)" in result.stdout
    assert table["label"].isna().all()
    assert table["drawn"].between(0, 1).all()
    table["label"] = (drawn.truth[table["person_id"]] > 0).astype(int).to_numpy()
    table.to_csv(charts, index=False)
    assert run(*start, "--gold", charts).exit_code == 0
    after = json.loads(told.read_text())
    assert after["ppv"]["basis"].endswith("reviewed charts")
    true = (drawn.truth > 0).mean()
    assert abs(after["prevalence"] - true) < abs(before["prevalence"] - true)
    width = {name: after[name]["high"] - after[name]["low"] for name in ("npv", "sensitivity")}
    assert width["sensitivity"] < before["sensitivity"]["high"] - before["sensitivity"]["low"]


def test_the_cohort_of_a_kept_model_is_certified_by_charts(
    run, refused, database, drawn, kept, tmp_path
):
    charts, told, cohort = (tmp_path / name for name in ("charts.csv", "p.json", "c.csv"))
    start = ("phenotype", database, "--config", EXAMPLE, "--model", kept, "--json", told)
    assert run(*start, "--charts", 200, "--charts-out", charts).exit_code == 0
    table = pd.read_csv(charts)
    table["label"] = (drawn.truth[table["person_id"]] > 0).astype(int).to_numpy()
    table.to_csv(charts, index=False)
    page = ("--report", tmp_path / "report.html", "--cohort", cohort, "--force")
    result = run(*start, "--certify", charts, "--error", "40%", *page)
    assert result.exit_code == 0, result.output
    assert "at most 40.0% of the cohort are not cases" in page[1].read_text()
    facts = json.loads(told.read_text())["certificate"]
    assert "with 95% confidence, at most 40%" in " ".join(result.stdout.split())
    members = pd.read_csv(cohort)["subject_id"]
    assert len(members) == facts["n_cohort"] == facts["n_flagged"] - facts["n_removed"]
    right = (drawn.truth[members] > 0).mean()
    assert facts["ppv_at_least"] <= right
    assert facts["certified"]
    table.loc[:9, "label"] = np.nan  # not reviewed: as if they were no cases
    table.to_csv(charts, index=False)
    assert run(*start, "--certify", charts, "--error", "40%", "--force").exit_code == 0
    fewer = json.loads(told.read_text())["certificate"]
    assert fewer["n_unanswered"] == 10
    assert fewer["ppv_at_least"] <= facts["ppv_at_least"]
    table[:-5].to_csv(charts, index=False)
    assert "drawn with another model" in refused(*start, "--certify", charts, "--force")
    assert "--certify needs --model" in refused(*start[:4], "--certify", charts)


def test_reviewers_are_voters_beside_charts(run, refused, database, drawn, tmp_path):
    rng, case = np.random.default_rng(0), drawn.truth > 0
    persons = rng.choice(drawn.counts.index, 150, replace=False)
    rows = [
        (person, f"llm {k}", "insufficient information" if rng.random() < 0.1 else answer)
        for person in persons
        for k in range(4)
        for answer in [("no", "yes")[int(case[person] != (rng.random() < 0.1))]]
    ]
    file, told = tmp_path / "reviews.csv", tmp_path / "facts.json"
    pd.DataFrame(rows, columns=["person_id", "reviewer", "isCase"]).to_csv(file, index=False)
    asked = ("phenotype", database, "--config", EXAMPLE)
    result = run(*asked, "--reviews", file, "--json", told)
    assert result.exit_code == 0, result.output
    ppv = json.loads(told.read_text())["ppv"]
    assert ppv["basis"].endswith("reviewed charts")
    gold = tmp_path / "gold.csv"
    labels = case[persons[:40]].astype(int)
    labels.rename_axis("person_id").to_csv(gold)
    table = read_reviews(file, read_charts(gold))
    table.index = table.index.astype(int)
    assert (table.loc[labels.index, "label"] == labels).all()
    assert (table.loc[labels.index, "error"] == 0).all()
    assert (table["label"] == case[table.index]).mean() > 0.95
    others = table.drop(labels.index)["error"]
    assert 0.005 < others.iloc[0] < 0.3
    file.write_text("person_id,reviewer,isCase\n1,a,yes\n1,a,no\n")
    assert "more than once" in refused(*asked, "--reviews", file)
    file.write_text("person_id,reviewer,isCase\n1,a,perhaps\n")
    assert "no isCase that is yes or no" in refused(*asked, "--reviews", file)
    file.write_text("person_id,reviewer\n1,a\n")
    assert "needs the columns person_id, reviewer and isCase" in refused(*asked, "--reviews", file)
