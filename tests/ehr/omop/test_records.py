from datetime import date

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from unelisa.ehr.omop.cohort import list_cohort
from unelisa.ehr.omop.counts import PatientCounts, find_related
from unelisa.ehr.omop.database import OmopTables
from unelisa.ehr.omop.datamart import TABLES
from unelisa.ehr.omop.persons import Limits, date_anchors, describe_persons, list_flaws
from unelisa.ehr.omop.records import (
    as_day,
    as_number,
    as_text,
    as_value,
    count_contacts,
    count_days,
    keep_spans,
    list_days,
    list_patients,
    list_spans,
    name_concepts,
)
from unelisa.ehr.omop.requests import DOMAINS, CountRequest, parse_request
from unelisa.ehr.rules.atlas import parse_definition
from unelisa.ehr.rules.members import Scope, find_members
from unelisa.errors import RecordsError

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
ENGINES = ("pyspark", "databricks", "snowflake", "bigquery", "mssql")
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


@pytest.mark.parametrize("engine", ENGINES)
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


ATLAS = {
    "ConceptSets": [
        {
            "id": 0,
            "expression": {
                "items": [{"concept": {"CONCEPT_ID": 80809}, "includeDescendants": True}]
            },
        }
    ],
    "PrimaryCriteria": {
        "CriteriaList": [
            {"ConditionOccurrence": {"CodesetId": 0, "Age": {"Value": 18, "Op": "gte"}}},
            {"Measurement": {"CodesetId": 0, "ValueAsNumber": {"Value": 6.5, "Op": "gt"}}},
        ]
    },
}


@pytest.mark.parametrize("engine", ENGINES[1:])
def test_the_queries_on_patients_cohorts_and_definitions_compile_for_other_engines(
    engine, monkeypatch
):
    queries = []

    def compile_only(table, **_):
        queries.append(ibis.to_sql(table, dialect=engine))
        content = pa.Table.from_pylist([], table.schema().to_pyarrow())
        if "person" in content.column_names or "concept" in content.column_names:
            return content
        nothing = [pa.nulls(1, one.type) for one in content.schema]
        return pa.table(dict(zip(content.column_names, nothing, strict=True)))

    monkeypatch.setattr(ibis.expr.types.Table, "to_pyarrow", compile_only)
    tables = OmopTables([*TABLES, *OTHERS], lambda name: ibis.table(shape(name), name=name))
    request = CountRequest.of(ASKED, window=("2001-01-01", None))
    request = request.around(["ICD:714.%"], before=365, after=0)
    anchors, spans = request.features[-2:], list_spans(tables, request)
    nobody, window = pd.Index(np.array([], dtype=np.int64)), request.record_window
    describe_persons(tables, nobody, Limits("female", (12, 55)), window, spans)
    date_anchors(tables, request, anchors, nobody, np.array([]))
    counts = PatientCounts(pd.DataFrame(index=nobody), (), {}, {})
    assert list_flaws(tables, request, counts)
    find_related(tables, request, anchors)
    name_concepts(tables, ["ICD:714.0", "CONCEPT:80809"])
    list_cohort(tables, nobody.to_numpy(), 1, anchors, window, spans)
    find_members(tables, parse_definition(ATLAS), Scope(window, spans))
    asked = "".join(queries)
    used = ("person", "observation_period", "visit_occurrence", "concept", "concept_ancestor")
    for table in (*used, "condition_occurrence", "measurement", "note"):
        assert table in asked
    assert len(queries) > 15


@pytest.mark.parametrize(
    ("text", "column", "concept"),
    [
        ("ICD:m05.9", "ICD:M05.9", None),
        ("ICD: 714.0 ", "ICD:714.0", None),
        ("ICD:4019", "ICD:4019", None),
        ("ICD:714.+", "ICD:714.+", None),
        ("CONCEPT:80809", "CONCEPT:80809", 80809),
        ("CONCEPT:80809+", "CONCEPT:80809+", 80809),
        ("NLP:Joint Swelling", "NLP:joint swelling", None),
        ("LAB:4%", "LAB:4", None),
        ("LAB:3004410 > 6.50", "LAB:3004410>6.5", 3004410),
        ("LAB:3004410+<=-7", "LAB:3004410+<=-7", 3004410),
        ("OBS:pack years>=20", "OBS:pack years>=20", None),
        ("RX:dose >5", "RX:dose >5", None),  # drugs have no value
        ("LAB:cells >10 um", "LAB:cells >10 um", None),
        ("PROC.code:20610a", "PROC.code:20610A", None),
        ("RX.era:1305058", "RX.era:1305058", 1305058),
    ],
)
def test_a_feature_is_read_as_written(text, column, concept):
    request = parse_request(text)
    assert request.column == column
    assert request.concept == concept


@pytest.mark.parametrize(
    "text",
    ["714.0", "ICD9:714.0", "ICD:", "ICD: ", ":x", "NLP:+", "icd:714", "LAB:%>3", "NLP.era:x"],
)
def test_what_is_not_a_feature_is_refused(text):
    with pytest.raises(RecordsError, match="the feature"):
        parse_request(text)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"features": []}, "no features requested"),
        ({"features": ["ICD:1"], "utilization": "beds"}, "note_count, visit_count"),
        ({"features": ["ICD:1"], "window": ("2001-02-30", None)}, "is not a date"),
        ({"features": ["ICD:1"], "window": ("2002-01-01", "2001-01-01")}, "before it starts"),
    ],
)
def test_requests_that_make_no_sense_are_refused(asked, sentence):
    with pytest.raises(RecordsError, match=sentence):
        CountRequest.of(**asked)


def test_a_narrowed_request_names_its_columns_only_and_values_are_read():
    request = CountRequest.of(["ICD:714.%", "CONCEPT:10+", "NLP:%"], None)
    names = ["NLP:11", "CONCEPT:10+", "ICD:714.8"]
    assert [one.column for one in request.narrow(names).features] == names
    with pytest.raises(RecordsError, match="'ICD:715.0' is required, but not requested"):
        request.narrow(["ICD:715.0"])
    assert evaluate(as_value(ibis.literal(" 6.5 "))) == 6.5
    assert evaluate(as_value(ibis.literal(""))) is None
    assert evaluate(as_number(ibis.literal("12"))) == 12
    assert evaluate(as_text(ibis.literal(12))) == "12"


def evaluate(expression):
    return ibis.duckdb.connect().to_pyarrow(expression).as_py()


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2001-12-31", date(2001, 12, 31)),
        ("20011231", date(2001, 12, 31)),
        (" 2001-12-31 23:59:59", date(2001, 12, 31)),
        (20011231, date(2001, 12, 31)),
        ("", None),
    ],
)
def test_days_are_read(written, read):
    assert evaluate(as_day(ibis.literal(written))) == read


@pytest.mark.parametrize("written", ["31.12.2001", "2001-1-1", "12/31/2001", "2001-13-01"])
def test_what_is_not_a_day_fails(written):
    with pytest.raises(Exception, match="[Cc]onver"):
        evaluate(as_day(ibis.literal(written)))
