from datetime import date

import duckdb
import numpy as np
import pandas as pd
import pytest

from unelisa.ehr.omop.database import OmopTables, open_database
from unelisa.ehr.omop.persons import Limits, Persons, date_anchors, describe_persons
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


def test_periods_outside_of_the_window_do_not_count(described):
    window = (date(2005, 1, 1), date(2005, 12, 31))
    assert described(window=window).observed.tolist() == [False, False, False]


def test_without_the_table_nothing_is_known(described):
    found = described(periods=False)
    assert found.observed is None
    assert found.eligible.all()


def test_sex_excludes_who_is_known_to_have_the_other(described):
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
