import ibis
import pytest

from unelisa.datamart.cdm import TABLES
from unelisa.phenotyping.omop.database import OmopTables
from unelisa.phenotyping.omop.records import count_contacts, count_days, list_days, list_patients
from unelisa.phenotyping.omop.requests import DOMAINS, CountRequest

KINDS = {"bigint": "int64", "integer": "int32", "date": "date", "timestamp": "timestamp"}
DRUGS = {"person_id": "int64", "drug_exposure_start_date": "date", "drug_concept_id": "int32"}
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
]


def shape(table):
    """The columns of a table, as an engine would tell them."""
    if table == "drug_exposure":
        return DRUGS
    columns = (column.split() for column in TABLES[table].split(";"))
    return {name.strip('!"'): KINDS.get(kind, "string") for name, kind in columns}


@pytest.mark.parametrize("engine", ["pyspark", "databricks", "snowflake", "bigquery", "mssql"])
def test_the_same_expressions_compile_for_other_engines(engine):
    tables = OmopTables([*TABLES, "drug_exposure"], lambda name: ibis.table(shape(name), name=name))
    request = CountRequest.of(ASKED, entry=["ICD:714.%", "LAB:12"], window=("2001-01-01", None))
    cohort = list_patients(tables, request)
    for domain in DOMAINS:
        asked = [one for one in request.features if one.domain == domain]
        counted = count_days(list_days(tables, asked, request.window).semi_join(cohort, "person"))
        sql = ibis.to_sql(counted, dialect=engine)
        assert DOMAINS[domain].table in sql
        assert "COUNT" in sql
        assert "CONTAINS(" not in sql  # on SQL Server that is a search in a full-text index
        # the quote is escaped, so that what follows it stays inside the text
        assert "X'; DROP" not in sql.replace("\\'", "").replace("''", "")
    assert "note" in ibis.to_sql(count_contacts(tables, "note_count", (None, None)), dialect=engine)
