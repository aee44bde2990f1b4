import duckdb
import pytest

from unelisa.ehr.omop.counts import count_patients
from unelisa.ehr.omop.database import OmopTables, open_database
from unelisa.ehr.omop.persons import Flaw, list_flaws
from unelisa.ehr.omop.requests import CountRequest


def find(database, request):
    with open_database(database) as connection:
        tables = OmopTables.of(connection)
        counts = count_patients(tables, request)
        return {one.what: (one.number, one.of) for one in list_flaws(tables, request, counts)}


def test_visits_dates_and_repeated_rows_are_checked(rich):
    found = find(rich, CountRequest.of(["ICD:714.%", "NLP:%"], "visit_count"))
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


def test_visits_outside_of_the_window_do_not_count(rich):
    window = CountRequest.of(["ICD:714.%"], None, window=("2001-01-02", "2015-01-01"))
    assert find(rich, window)["patients without a visit"] == (3, 3)


def test_a_table_loaded_twice_is_seen(tiny_file):
    request = CountRequest.of(["ICD:714.%"], None)
    what = "ICD records that repeat patient, feature and day"
    before = find(tiny_file, request)[what]
    with duckdb.connect(str(tiny_file)) as connection:
        connection.execute("INSERT INTO condition_occurrence SELECT * FROM condition_occurrence")
    repeated, records = find(tiny_file, request)[what]
    assert records == 2 * before[1]
    assert repeated == before[0] + before[1]


@pytest.mark.parametrize(("number", "of", "share"), [(1, 4, 0.25), (0, 0, 0.0)])
def test_a_share_of_nothing_is_0(number, of, share):
    assert Flaw("x", number, of).share == share
