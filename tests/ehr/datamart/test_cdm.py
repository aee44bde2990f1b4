import duckdb
import pytest

from unelisa.ehr.datamart.database import TABLES, create_table


@pytest.mark.parametrize("table", TABLES)
def test_every_table_can_be_created(table):
    with duckdb.connect() as connection:
        connection.execute(create_table(table))
        shown = connection.execute(f"DESCRIBE {table}").fetchall()
    assert len(shown) == TABLES[table].count(";") + 1
    assert sum(row[2] == "NO" for row in shown) == TABLES[table].count("!")
