import sys

import duckdb
import numpy as np
import pytest

from unelisa.ehr.datamart import simulate_ehr
from unelisa.ehr.omop.datamart import (
    CODES,
    INFLAMMATORY_ARTHRITIS,
    MENTIONS,
    N_DAYS,
    TABLES,
    Calendar,
    choose_days,
    list_ancestors,
    list_concepts,
    list_mentions,
    write_datamart,
)
from unelisa.errors import MissingExtraError


@pytest.fixture(scope="module")
def drawn():
    return simulate_ehr(60, random_state=2)


@pytest.fixture(scope="module")
def database(drawn, tmp_path_factory):
    file = tmp_path_factory.mktemp("datamart") / "ra.duckdb"
    write_datamart(drawn, file)
    with duckdb.connect(str(file), read_only=True) as connection:
        yield connection


def ask(database, question):
    return database.execute(question).fetchall()


def test_every_table_is_filled_and_every_reference_leads_somewhere(database):
    for table in TABLES:
        assert ask(database, f"SELECT count(*) FROM {table}")[0][0] > 0  # noqa: S608
    for table, parent in (
        ("visit_occurrence", "person"),
        ("condition_occurrence", "visit_occurrence"),
        ("note", "visit_occurrence"),
        ("note_nlp", "note"),
        ("measurement", "person"),
        ("observation_period", "person"),
    ):
        key = f"{parent}_id"
        lost = f"SELECT count(*) FROM {table} WHERE {key} NOT IN (SELECT {key} FROM {parent})"  # noqa: S608
        assert ask(database, lost) == [(0,)]


def test_every_concept_used_is_in_the_vocabulary(database):
    for table, column in [
        ("condition_occurrence", "condition_concept_id"),
        ("condition_occurrence", "condition_source_concept_id"),
        ("note_nlp", "note_nlp_concept_id"),
        ("measurement", "measurement_concept_id"),
    ]:
        used = f"SELECT DISTINCT {column} FROM {table}"  # noqa: S608
        known = {number for (number,) in ask(database, "SELECT concept_id FROM concept")}
        assert {number for (number,) in ask(database, used)} <= known


def test_records_lie_within_the_observed_time_and_the_truth_is_nowhere(database, drawn):
    outside = """SELECT count(*) FROM condition_occurrence JOIN observation_period USING (person_id)
        WHERE condition_start_date NOT BETWEEN observation_period_start_date
        AND observation_period_end_date"""
    assert ask(database, outside) == [(0,)]
    members = ask(database, "SELECT subject_id FROM cohort WHERE cohort_definition_id = 1")
    assert sorted(person for (person,) in members) == drawn.reviewed.tolist()
    columns = {name for (name,) in ask(database, "SELECT column_name FROM duckdb_columns()")}
    assert not columns & {"label", "truth", "case"}


def test_rows_are_reported_and_the_seed_decides(drawn, tmp_path):
    told = {}

    def advance(table, rows):
        told[table] = told.get(table, 0) + rows

    days = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        file = tmp_path / f"{name}.duckdb"
        write_datamart(drawn, file, seed, advance if name == "a" else None)
        with duckdb.connect(str(file), read_only=True) as connection:
            rows = connection.execute("SELECT note_date FROM note ORDER BY note_id").fetchnumpy()
            days.append(rows["note_date"])
    assert told["person"] == 60
    assert told["note"] == drawn.counts["note_count"].sum() == len(days[0])
    assert np.array_equal(days[0], days[1])
    assert not np.array_equal(days[0], days[2])


def test_a_missing_package_is_reported_with_its_extra(monkeypatch, drawn, tmp_path):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingExtraError, match=r"unelisa\[omop\]"):
        write_datamart(drawn, tmp_path / "ra.duckdb")
    assert not list(tmp_path.iterdir())


@pytest.fixture
def calendar(drawn):
    return Calendar(drawn, np.random.default_rng(0))


def test_visits_fall_on_different_days_of_their_patients(calendar, drawn):
    days = calendar.visit_day
    assert days.min() >= 0
    assert days.max() < N_DAYS
    for first, n in zip(calendar.first, calendar.visits, strict=True):
        assert (np.diff(days[first : first + n]) > 0).all()
    assert len(set(calendar.note_visit.tolist())) == len(calendar.note_visit)
    owner = calendar.list_visits()["person_id"]
    assert (np.bincount(owner - drawn.counts.index[0]) == drawn.visits).all()
    rows = list(list_mentions(drawn, calendar, np.random.default_rng(0)))
    kinds = {(block["term_exists"], block["term_modifiers"]) for block in rows}
    assert ("N", "negation=true") in kinds
    assert (None, "conditional=true") in kinds
    assert ("Y", "negation=false, subject=mother") in kinds
    numbers = np.concatenate([block["note_nlp_id"] for block in rows])
    assert len(np.unique(numbers)) == len(numbers)


def test_chosen_days_are_different_and_there():
    rng = np.random.default_rng(1)
    available = rng.integers(1, 60, 500)
    count = rng.integers(0, available + 1)
    patient, day = choose_days(count, available, rng)
    day -= (np.cumsum(available) - available)[patient]
    assert (np.bincount(patient, minlength=500) == count).all()
    assert ((day >= 0) & (day < available[patient])).all()
    assert len({*zip(patient.tolist(), day.tolist(), strict=True)}) == count.sum()


def test_the_vocabulary_has_every_feature_below_its_parent():
    concepts, links = list_concepts(), list_ancestors()
    numbers = concepts["concept_id"]
    assert len(set(numbers)) == len(numbers)
    assert max(numbers) < 2**31  # fits in 32 bits
    names = dict(zip(numbers, concepts["concept_name"], strict=True))
    assert len(CODES) == 9
    assert len(MENTIONS) == 133
    assert all(names[term.concept].lower() == term.text for term in MENTIONS)
    assert all(code.source_concept in names for code in CODES)
    pairs = set(zip(links["ancestor_concept_id"], links["descendant_concept_id"], strict=True))
    assert {(INFLAMMATORY_ARTHRITIS, code.concept) for code in CODES} <= pairs
