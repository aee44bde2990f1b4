from datetime import date

import duckdb
import numpy as np
import pandas as pd
import pytest

from unelisa.ehr.counts import FEWEST_SHOWN
from unelisa.ehr.omop.counts import count_patients
from unelisa.ehr.omop.database import OmopTables, open_database
from unelisa.ehr.omop.persons import (
    TOP,
    Flaw,
    Limits,
    Persons,
    date_anchors,
    describe_groups,
    describe_persons,
    list_flaws,
)
from unelisa.ehr.omop.records import list_spans
from unelisa.ehr.omop.requests import CountRequest, parse_request
from unelisa.errors import RecordsError

PERIODS = """CREATE TABLE observation_period (person_id bigint, observation_period_start_date date,
observation_period_end_date date)"""
ROWS = """INSERT INTO observation_period VALUES (1, DATE '2000-01-01', DATE '2004-12-31'),
(1, DATE '2008-01-01', DATE '2010-12-31'), (2, DATE '2006-01-01', DATE '2007-12-31')"""
NO_LIMITS = Limits()
EVERYBODY = pd.Index([1, 2, 3], name="person_id")


@pytest.fixture
def described(tiny_file):
    def describe(limits=NO_LIMITS, window=(None, None), *, periods=True):
        with duckdb.connect(str(tiny_file)) as connection:
            connection.execute("DROP TABLE IF EXISTS observation_period")
            for statement in (PERIODS, ROWS) if periods else ():
                connection.execute(statement)
            connection.execute(
                "UPDATE person SET gender_concept_id = CASE person_id "
                "WHEN 1 THEN 8507 WHEN 2 THEN 8532 ELSE 0 END"
            )
        with open_database(tiny_file) as connection:
            return describe_persons(OmopTables.of(connection), EVERYBODY, limits, window)

    return describe


def test_a_patient_is_observed_if_a_period_meets_the_window(described):
    assert described().observed.tolist() == [True, True, False]
    window = (date(2005, 1, 1), date(2005, 12, 31))
    assert described(window=window).observed.tolist() == [False, False, False]
    found = described(periods=False)
    assert found.observed is None
    assert found.eligible.all()
    assert described(Limits("female")).possible.tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("age", "window", "possible"),
    [
        ((0, 50), (None, None), [True, True, True]),  # born 1950, 1960 and 1970
        ((0, 40), (None, None), [False, False, True]),  # at least 49 and 45; never observed
        ((58, 110), (None, None), [True, False, True]),
        ((58, 110), (None, date(2001, 1, 1)), [False, True, True]),
        ((58, 110), (date(2009, 1, 1), None), [True, True, True]),
    ],
)
def test_age_excludes_who_never_had_it_while_observed(described, age, window, possible):
    assert described(Limits(None, age), window).possible.tolist() == possible


def test_with_an_index_day_the_days_around_it_are_the_window(rich):
    """Person 1 has 714.0 first on 1 January 2001, person 2 m05.9 on 3 March 2003."""

    def describe(**span):
        request = CountRequest.of(["ICD:714.0"]).around(["ICD:714.0", "ICD:M05.9"], **span)
        with open_database(rich) as connection:
            tables = OmopTables.of(connection)
            spans = list_spans(tables, request)
            return describe_persons(tables, EVERYBODY, Limits(None, (0, 50)), (None, None), spans)

    found = describe(before=30, after=0)
    assert found.observed.tolist() == [True, True, False]
    assert found.age.tolist()[:2] == [51.0, 43.0]  # born 1950 and 1960
    assert np.isnan(found.age[2])
    assert describe(after=0).observed.tolist() == [True, True, False]
    with open_database(rich, read_only=False) as connection:
        connection.raw_sql(
            "UPDATE observation_period SET observation_period_start_date = DATE '2003-04-01' "
            "WHERE person_id = 2"
        )
    assert describe(before=30, after=0).observed.tolist() == [True, False, False]
    assert describe(before=0, after=29).observed.tolist() == [True, True, False]


def test_the_age_at_the_first_anchor_that_counts(rich):
    request = CountRequest.of(["ICD:714.0"], window=("2001-06-01", None))
    anchors = (parse_request("ICD:714.0"), parse_request("ICD:M05.9"))
    with open_database(rich) as connection:
        tables = OmopTables.of(connection)
        born = describe_persons(tables, EVERYBODY, Limits(), (None, None)).born
        found = date_anchors(tables, request, anchors, EVERYBODY, born)
        assert date_anchors(tables, request, anchors, EVERYBODY, None) is None
    assert found.tolist()[:2] == [52.0, 43.0]  # in 2002 and 2003
    assert np.isnan(found[2])


def test_a_table_without_sex_and_age_needs_none(tmp_path):
    (tmp_path / "person.csv").write_text("person_id\n1\n2\n3\n")
    with open_database(tmp_path) as connection:
        tables = OmopTables.of(connection)
        found = describe_persons(tables, EVERYBODY, NO_LIMITS, (None, None))
        assert (found.sex, found.age) == (None, None)
        with pytest.raises(RecordsError, match="no column gender_concept_id"):
            describe_persons(tables, EVERYBODY, Limits("female"), (None, None))


def test_labels_of_patients_who_cannot_be_cases_are_a_doubt():
    possible = np.arange(100) < 60
    persons = Persons(None, possible)
    assert persons.doubt(possible & (np.arange(100) % 3 == 0)) is None
    told = persons.doubt(np.arange(100) % 3 == 0)
    assert told.startswith("14 of the 40 patients whose sex or age excludes the disease")
    assert persons.doubt(np.arange(100) == 99) is None  # one may be a wrong entry


def find(rows, name):
    return next(row for row in rows if row["name"] == name)


def test_age_sex_and_utilization_are_compared():
    cases = np.arange(100) < 40
    counts = pd.DataFrame({"ICD:1": cases * 3, "visit_count": np.arange(100)})
    age, female = np.where(cases, 70.0, 30.0), np.where(np.arange(100) % 2, 1.0, 0.0)
    age[:10] = np.nan  # unknown ages do not count
    rows = describe_groups(counts, cases, {"age in years": age, "female": female}, "visit_count")
    assert find(rows, "age in years")["cases"] == [70.0, 70.0, 70.0]
    assert find(rows, "age in years")["others"] == [30.0, 30.0, 30.0]
    assert (find(rows, "female")["cases"], find(rows, "female")["others"]) == (0.5, 0.5)
    assert (
        find(rows, "visit_count")["cases"] == np.quantile(np.arange(40), [0.25, 0.5, 0.75]).tolist()
    )
    assert (find(rows, "ICD:1")["cases"], find(rows, "ICD:1")["others"]) == (1.0, 0.0)
    assert [row["kind"] for row in rows] == ["quartiles", "share", "quartiles", "share"]


def test_the_most_frequent_features_of_both_groups_are_shown():
    rng, cases = np.random.default_rng(0), np.arange(2000) < 1000
    shares = np.linspace(0.1, 0.9, 30)
    drawn = rng.random((2000, 30)) < np.where(cases[:, None], shares, shares[::-1])
    counts = pd.DataFrame(drawn.astype(int), columns=[f"ICD:{k:02d}" for k in range(30)])
    rows = describe_groups(counts, cases, {"age in years": None}, anchors=["ICD:14"])
    assert rows.pop(0)["name"] == "ICD:14"  # anchors come first, however rare
    present = {
        group: drawn[chosen].mean(axis=0)
        for group, chosen in (("cases", cases), ("others", ~cases))
    }
    top = {f"ICD:{k:02d}" for one in present.values() for k in np.argsort(-one)[:TOP]}
    assert {row["name"] for row in rows} == top
    for row in rows:
        for group, share in present.items():
            assert row[group] == share[int(row["name"][4:])]


def test_figures_of_few_patients_are_withheld():
    cases = np.arange(100) < 40
    has = np.zeros(100)
    has[: FEWEST_SHOWN - 1] = 1  # cases
    has[40:60] = 1
    rows = describe_groups(
        pd.DataFrame({"ICD:1": has}), cases, {"age in years": np.full(100, 50.0)}
    )
    assert (find(rows, "ICD:1")["cases"], find(rows, "ICD:1")["others"]) == (None, 20 / 60)
    few = np.arange(100) < FEWEST_SHOWN - 1
    rows = describe_groups(pd.DataFrame({"ICD:1": has}), few, {"age in years": np.full(100, 50.0)})
    assert find(rows, "age in years")["cases"] is None
    # of four cases all have it, which would tell who they are
    assert find(rows, "ICD:1")["cases"] is None


def find_flaws(database, request):
    with open_database(database) as connection:
        tables = OmopTables.of(connection)
        counts = count_patients(tables, request)
        return {one.what: (one.number, one.of) for one in list_flaws(tables, request, counts)}


def test_visits_dates_and_repeated_rows_are_checked(rich):
    found = find_flaws(rich, CountRequest.of(["ICD:714.%", "NLP:%"], "visit_count"))
    assert found == {
        "patients without a visit": (1, 3),
        "condition_occurrence records with a date in the future": (0, 7),
        "condition_occurrence records without a date": (0, 7),
        "note records with a date in the future": (0, 4),
        "note records without a date": (0, 4),
        "visit_occurrence records with a date in the future": (1, 3),
        "visit_occurrence records without a date": (1, 3),
        # 714.0 is there twice on one day, and two notes of one day mention the disease
        "ICD records that repeat patient, feature and day": (1, 4),
        "NLP records that repeat patient, feature and day": (1, 4),
    }
    window = CountRequest.of(["ICD:714.%"], None, window=("2001-01-02", "2015-01-01"))
    assert find_flaws(rich, window)["patients without a visit"] == (3, 3)


def test_a_table_loaded_twice_is_seen(tiny_file):
    request = CountRequest.of(["ICD:714.%"], None)
    what = "ICD records that repeat patient, feature and day"
    before = find_flaws(tiny_file, request)[what]
    with duckdb.connect(str(tiny_file)) as connection:
        connection.execute("INSERT INTO condition_occurrence SELECT * FROM condition_occurrence")
    repeated, records = find_flaws(tiny_file, request)[what]
    assert records == 2 * before[1]
    assert repeated == before[0] + before[1]


@pytest.mark.parametrize(("number", "of", "share"), [(1, 4, 0.25), (0, 0, 0.0)])
def test_a_share_of_nothing_is_0(number, of, share):
    assert Flaw("x", number, of).share == share
