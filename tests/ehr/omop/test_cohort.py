import threading
from datetime import date

import numpy as np
import pytest

from unelisa.ehr.omop.cohort import check_cohort, list_cohort, write_cohort
from unelisa.ehr.omop.database import OmopTables, open_database
from unelisa.ehr.omop.requests import parse_request
from unelisa.ehr.rules.members import list_rows
from unelisa.errors import RecordsError

SIGNS = (parse_request("ICD:714.%"), parse_request("LAB:21"))


def rows(database, *persons, window=(None, None)):
    with open_database(database) as connection:
        tables = OmopTables.of(connection)
        return list_cohort(tables, np.array(persons), 7, SIGNS, window)


def test_a_patient_belongs_from_the_first_sign_to_the_last_day_of_care(tiny):
    table = rows(tiny, 1, 2)
    assert table.to_numpy().tolist() == [
        [7, 1, date(2001, 1, 1), date(2005, 5, 5)],
        [7, 2, date(2004, 4, 4), date(2004, 4, 4)],  # no care after the test
    ]
    assert rows(tiny, 1, 3)["subject_id"].tolist() == [1]
    assert rows(tiny, 1, 3, window=(date(2200, 1, 1), None)).empty  # nobody has a day in it


def test_both_days_are_in_the_first_observation_period_with_an_anchor(rich):
    """Person 1 has 714 in two periods, and 2 a test after the only one, in which 2 has no care."""
    assert rows(rich, 1, 2).to_numpy().tolist() == [[7, 1, date(2001, 1, 1), date(2001, 1, 1)]]
    with open_database(rich, read_only=False) as connection:
        connection.raw_sql(
            "UPDATE condition_occurrence SET condition_start_date = DATE '2001-07-01' "
            "WHERE condition_start_date = DATE '2001-01-01'"  # between the periods
        )
        connection.raw_sql("UPDATE note SET note_date = DATE '2003-03-03' WHERE note_id = 3")
    # care in the first period is no reason to enter then
    assert rows(rich, 1).to_numpy().tolist() == [[7, 1, date(2002, 2, 2), date(2003, 3, 3)]]


def test_a_number_in_use_or_a_folder_is_refused_before_counting(tiny, tmp_path):
    table = rows(tiny, 1)
    with open_database(tiny, read_only=False) as connection:
        check_cohort(connection, 7)
        write_cohort(connection, table)
        with pytest.raises(RecordsError, match="the cohort 7 already has 1 rows"):
            check_cohort(connection, 7)
        check_cohort(connection, 8)
    with pytest.raises(RecordsError, match="is a folder"), open_database(tmp_path, read_only=False):
        pass


def test_cohorts_may_have_a_schema_of_their_own(tiny):
    table = rows(tiny, 1, 2)
    with open_database(tiny, read_only=False) as connection:
        connection.raw_sql("DROP SCHEMA IF EXISTS results CASCADE")
        connection.raw_sql("CREATE SCHEMA results")
        with pytest.raises(RecordsError, match=r"under \[results\]"):
            check_cohort(connection, 7, "results")
        connection.raw_sql("CREATE TABLE results.cohort AS SELECT * FROM cohort")
        check_cohort(connection, 7, "results")
        write_cohort(connection, table, "results")
        assert connection.table("cohort").count().to_pyarrow().as_py() == 0
        with pytest.raises(RecordsError, match="the cohort 7 already has 2 rows"):
            check_cohort(connection, 7, "results")


def test_the_table_of_cohorts_may_have_another_name(tiny):
    """CohortGenerator lets its users choose it."""
    table = rows(tiny, 1, 2)
    with open_database(tiny, read_only=False) as connection:
        with pytest.raises(RecordsError, match="there is no table my_cohorts.*; create it"):
            check_cohort(connection, 7, None, "my_cohorts")
        connection.raw_sql("CREATE TABLE my_cohorts AS SELECT * FROM cohort")
        check_cohort(connection, 7, None, "my_cohorts")
        write_cohort(connection, table, None, "MY_COHORTS")
        assert connection.table("cohort").count().to_pyarrow().as_py() == 0
        with pytest.raises(RecordsError, match="the cohort 7 already has 2 rows"):
            check_cohort(connection, 7, None, "my_cohorts")
        found = list_rows(OmopTables.of(connection, cohort="my_cohorts"), 7)
        connection.raw_sql("DROP TABLE my_cohorts")
    assert found.tolist() == [1, 2]


def test_a_table_that_may_not_be_written_is_refused_before_counting(tiny_server):
    with open_database(tiny_server, read_only=False) as connection:
        for statement in (
            "DROP ROLE IF EXISTS reader",
            "CREATE ROLE reader",
            "GRANT SELECT ON cohort TO reader",
            "SET ROLE reader",
        ):
            connection.raw_sql(statement)
        with pytest.raises(RecordsError, match="rows may not be inserted into the table cohort in"):
            check_cohort(connection, 7)
        connection.raw_sql("RESET ROLE")
        check_cohort(connection, 7)
        connection.raw_sql("DROP OWNED BY reader")
        connection.raw_sql("DROP ROLE reader")


def test_rows_are_added_to_the_database_once(tiny):
    table = rows(tiny, 1, 2)
    with open_database(tiny, read_only=False) as connection:
        write_cohort(connection, table)
        stored = connection.table("cohort").to_pyarrow().to_pandas()
        assert stored["subject_id"].tolist() == [1, 2]
        assert stored["cohort_start_date"].tolist() == table["cohort_start_date"].tolist()
        with pytest.raises(RecordsError, match="the cohort 7 already has 2 rows"):
            write_cohort(connection, table)


def test_of_writers_at_once_one_succeeds(tiny):
    """Each has its own connection and counts before any of them has written."""
    table, told, ready = rows(tiny, 1, 2), [], threading.Barrier(6)

    def write() -> None:
        with open_database(tiny, read_only=False) as connection:
            ready.wait(timeout=30)
            try:
                write_cohort(connection, table)
            except RecordsError as error:
                told.append(str(error))

    writers = [threading.Thread(target=write) for _ in range(6)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(timeout=60)
    with open_database(tiny) as connection:
        assert connection.table("cohort").count().to_pyarrow().as_py() == 2
    assert len(told) == 5
    assert all("already has 2 rows" in one for one in told)


def test_other_processes_wait_for_the_lock(tiny_server):
    """A writer that has counted and not yet written keeps others from counting."""
    table = rows(tiny_server, 1, 2)
    with open_database(tiny_server, read_only=False) as first:
        with first.con.transaction():
            first.con.execute("LOCK TABLE cohort IN SHARE ROW EXCLUSIVE MODE")
            with open_database(tiny_server, read_only=False) as second:
                second.con.execute("SET lock_timeout = '200ms'")
                with pytest.raises(RecordsError, match="failed while writing the cohort"):
                    write_cohort(second, table)
        write_cohort(first, table)
        assert first.table("cohort").count().to_pyarrow().as_py() == 2


def test_a_failed_insert_leaves_nothing(tiny):
    table = rows(tiny, 1, 2)
    with open_database(tiny, read_only=False) as connection:
        broken = table.astype({"subject_id": object})
        broken.loc[1, "subject_id"] = None
        connection.raw_sql("ALTER TABLE cohort ALTER subject_id SET NOT NULL")
        with pytest.raises(RecordsError, match="failed while writing"):
            write_cohort(connection, broken)
        assert connection.table("cohort").count().to_pyarrow().as_py() == 0
        write_cohort(connection, table)  # the connection is usable again
        assert connection.table("cohort").count().to_pyarrow().as_py() == 2
