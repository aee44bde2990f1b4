"""Configurations and cohort definitions: names that are SQL, values of any type."""

import copy
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from ground import ANCHORS, PAYLOADS, RULES, blame, fresh, run

from unelisa.ehr.omop.database import OmopTables, open_database
from unelisa.ehr.rules.atlas import read_definition
from unelisa.ehr.rules.members import find_members
from unelisa.errors import UnelisaError

sys.path.append(str(Path(__file__).parents[2] / "tests"))
from postgres_server import find_programs, load_tables, start_server

Outcomes = Iterator[tuple[str, str]]
SQL = [*PAYLOADS["sql"], "a" * 10_000]
PLACES = ("cdm", "vocabulary", "results")
FEATURES = [f"{kind}:{{}}" for kind in ("ICD", "NLP", "CONCEPT", "RX", "LAB", "PROC", "OBS")]


def attack_configurations(ground: Path, place: Path, rng: np.random.Generator) -> Outcomes:
    """Write SQL into every name of a configuration: no table changes, nothing is waited for."""
    with ExitStack() as stack:
        folder = stack.enter_context(fresh(ground, place))
        engines: dict[str, tuple[str, Callable[[], Any]]] = {}
        file = folder / "ra.duckdb"
        engines["DuckDB"] = str(file), file.read_bytes
        if find_programs() is not None:
            address = stack.enter_context(start_server())
            load_tables(file, address)
            engines["PostgreSQL"] = address, lambda: _count_rows(address)
        for engine, (database, look) in engines.items():
            before = look()
            for where, text in _write_configurations(rng):
                (folder / "a.toml").write_text(text, encoding="utf-8")
                command = "rules" if "[rules]" in text else "phenotype"
                output = ["--out", str(folder / "new.csv"), "--force"]
                trouble = blame(
                    run([command, database, "--config", str(folder / "a.toml"), *output])
                )
                if look() != before:
                    trouble = "the database changed"
                yield f"{command} on {engine}: {where}", trouble


def _write_configurations(rng: np.random.Generator) -> Iterator[tuple[str, str]]:
    for name in SQL:
        told = json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
        for k, table in enumerate(PLACES):
            # every second one for rules, in turn
            rules = RULES if (k + len(name)) % 2 else ""
            yield (
                f"{name!r} as schema of {table}",
                f"{rules}{_records()}[{table}]\nschema = {told}\n",
            )
        feature = json.dumps(rng.choice(FEATURES).replace("{}", name)).replace("\x7f", "\\u007f")
        ways = {
            "as a feature": _records(feature),
            "as an anchor": _records(feature, feature),
            "as utilization": _records().replace('"note_count"', told),
            "in a rule": f"[rules]\na = {feature}\n{_records()}",
        }
        way = str(rng.choice(list(ways)))  # each takes a second
        yield f"{name!r} {way}", ways[way]


def _records(feature: str = '"NLP:synovitis"', anchor: str | None = None) -> str:
    anchors = json.dumps(ANCHORS) if anchor is None else f"[{anchor}]"
    listed = f'["ICD:714.%", {feature}]\nutilization = "note_count"'
    return f"[records]\nfeatures = {listed}\n[phenotype]\nanchors = {anchors}\n"


def _count_rows(address: str) -> dict[str, int]:
    with open_database(address) as connection:
        return {name: connection.table(name).count().execute() for name in connection.list_tables()}


STRANGE = [*PAYLOADS["values"], "9" * 400, "[" * 500 + "]" * 500]  # as JSON
_CONDITION = {"ConditionOccurrence": {"CodesetId": 0, "First": False}}
_OCCURRENCE = {
    "Criteria": _CONDITION,
    "StartWindow": {"Start": {"Days": 1, "Coeff": 1}, "End": {"Days": 60, "Coeff": 1}},
    "Occurrence": {"Type": 2, "Count": 1, "IsDistinct": False},
}
_GROUP = {
    "Type": "ANY",
    "Count": 1,
    "CriteriaList": [_OCCURRENCE],
    "Groups": [{"Type": "AT_MOST", "Count": 3}],
}
_CONCEPT = {"concept": {"CONCEPT_ID": 10}, "includeDescendants": True, "isExcluded": False}
DEFINITION = {
    "ConceptSets": [{"id": 0, "expression": {"items": [_CONCEPT]}}],
    "PrimaryCriteria": {
        "CriteriaList": [_CONDITION],
        "ObservationWindow": {"PriorDays": 1, "PostDays": 0},
        "PrimaryCriteriaLimit": {"Type": "All"},
    },
    "AdditionalCriteria": _GROUP,
    "QualifiedLimit": {"Type": "First"},
    "InclusionRules": [{"name": "rule", "expression": _GROUP}],
    "CensorWindow": {},
}


def attack_definitions(ground: Path, place: Path, rng: np.random.Generator) -> Outcomes:  # noqa: ARG001
    """Replace each value of a cohort definition by values of other types."""
    with fresh(ground, place) as folder:
        file, cohort = folder / "tiny.duckdb", folder / "cohort.json"
        with duckdb.connect(str(file)) as connection:
            connection.execute("""
                CREATE TABLE observation_period (person_id bigint,
                  observation_period_start_date date, observation_period_end_date date);
                CREATE TABLE condition_occurrence (person_id bigint, condition_start_date date,
                  condition_concept_id integer);
                INSERT INTO observation_period VALUES (1, DATE '2000-01-01', DATE '2003-01-01');
                INSERT INTO condition_occurrence VALUES (1, DATE '2001-01-01', 10);
                CREATE TABLE concept_ancestor (ancestor_concept_id integer,
                  descendant_concept_id integer);
                INSERT INTO concept_ancestor VALUES (10, 11)""")
        with open_database(file) as connection:
            tables = OmopTables.of(connection)
            for where in _list_places(DEFINITION):
                for value in STRANGE:
                    changed = copy.deepcopy(DEFINITION)
                    inside: Any = changed
                    for key in where[:-1]:
                        inside = inside[key]
                    inside[where[-1]] = "@"
                    cohort.write_text(json.dumps(changed).replace('"@"', value))
                    trouble = ""
                    try:
                        find_members(tables, read_definition(cohort))
                    except UnelisaError as error:
                        trouble = "more than one line" if "\n" in str(error) else ""
                    except Exception as error:
                        trouble = repr(error)[:200]
                    yield f"{'.'.join(map(str, where))} = {value[:30]}", trouble


def _list_places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for key, value in node.items() if isinstance(node, dict) else enumerate(node):
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from _list_places(value, (*path, key))
