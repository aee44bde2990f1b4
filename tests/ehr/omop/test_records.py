import ibis
import pytest

from unelisa.ehr.omop.database import OmopTables
from unelisa.ehr.omop.datamart import TABLES
from unelisa.ehr.omop.records import (
    count_contacts,
    count_days,
    keep_spans,
    list_days,
    list_patients,
    list_spans,
)
from unelisa.ehr.omop.requests import DOMAINS, CountRequest

KINDS = {"bigint": "int64", "integer": "int32", "date": "date", "timestamp": "timestamp"}
ASKED = [
    "ICD:714.%",
    "ICD:M05.+",
    "ICD:x'; DROP TABLE person; --",
    "NLP:%",
    "NLP:80809+",
    "CONCEPT:80809+",
    "RX:methotrexate+",
    "RX:1305058+",
    "LAB:anti-ccp",
    "LAB:anti-ccp+>=17",
    "LAB:21<3.5",
    "PROC.source:12+",
    "CONCEPT.era:12",
]
# tables that the simulated datamart does not have
OTHERS = {one.table: one for one in DOMAINS.values() if one.table not in TABLES}


def shape(table):
    """The columns of a table, as an engine would list them."""
    if table in OTHERS:
        parts = [one for one in DOMAINS.values() if one.table == table]
        codes = dict.fromkeys((one.code for one in parts if one.code), "string")
        numbers = dict.fromkeys(("person_id", *(one.concept for one in parts)), "int64")
        return {**numbers, **codes, OTHERS[table].day: "date", "value_as_number": "float64"}
    columns = (line.split() for line in TABLES[table].splitlines()[1:-1])
    return {name.strip('"'): KINDS.get(kind.strip(","), "string") for name, kind, *_ in columns}


@pytest.mark.parametrize("engine", ["pyspark", "databricks", "snowflake", "bigquery", "mssql"])
def test_the_same_expressions_compile_for_other_engines(engine):
    tables = OmopTables([*TABLES, *OTHERS], lambda name: ibis.table(shape(name), name=name))
    request = CountRequest.of(ASKED, entry=["ICD:714.%", "LAB:12"], window=("2001-01-01", None))
    request = request.around(["ICD:714.%"], before=365, after=0)
    cohort, spans = list_patients(tables, request), list_spans(tables, request)
    for domain in dict.fromkeys(one.domain for one in request.features):
        asked = [one for one in request.features if one.domain == domain]
        days = list_days(tables, asked, request.window).semi_join(cohort, "person")
        counted = count_days(keep_spans(days, spans))
        sql = ibis.to_sql(counted, dialect=engine)
        assert DOMAINS[domain].table in sql
        assert "COUNT" in sql
        assert "CONTAINS(" not in sql  # on SQL Server that is a search in a full-text index
        # the quote is escaped, so that what follows it stays inside the text
        assert "X'; DROP" not in sql.replace("\\'", "").replace("''", "")
    assert "note" in ibis.to_sql(count_contacts(tables, "note_count", (None, None)), dialect=engine)
