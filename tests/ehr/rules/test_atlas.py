import json
from datetime import date

import duckdb
import psycopg
import pytest

from postgres_server import find_programs, start_server
from unelisa.ehr.omop.database import OmopTables, open_database
from unelisa.ehr.rules.atlas import (
    DEEPEST,
    LARGEST_FILE,
    MOST_CONCEPTS,
    parse_definition,
    read_definition,
)
from unelisa.ehr.rules.members import Scope, find_members, list_rows
from unelisa.errors import ModelError, RecordsError
from unelisa.memory import limit_memory

# concepts 11 and 12 are below 10. Person 1 has diagnoses on days 1, 41 and 400; 2 one of a
# descendant, and a drug before; 3 one of an excluded descendant; 4 two outside of observation
ROWS = """
CREATE TABLE observation_period (person_id bigint, observation_period_start_date date,
  observation_period_end_date date);
INSERT INTO observation_period VALUES (1, DATE '2000-01-01', DATE '2003-01-01'),
  (2, DATE '2000-06-01', DATE '2002-01-01'), (3, DATE '2000-01-01', DATE '2003-01-01'),
  (4, DATE '2010-01-01', DATE '2011-01-01');
CREATE TABLE person (person_id bigint, gender_concept_id integer, year_of_birth integer);
INSERT INTO person VALUES (1, 8507, 1960), (2, 8532, 1961), (3, 8507, 1962), (4, 8507, 1963);
CREATE TABLE visit_occurrence (visit_occurrence_id bigint, person_id bigint,
  visit_concept_id integer);
INSERT INTO visit_occurrence VALUES (71, 1, 9201), (72, 2, 9202);
CREATE TABLE condition_occurrence (condition_occurrence_id bigint, person_id bigint,
  condition_start_date date, condition_end_date date, condition_concept_id integer,
  condition_source_concept_id integer, visit_occurrence_id bigint);
INSERT INTO condition_occurrence VALUES
  (1, 1, DATE '2001-01-01', DATE '2001-02-01', 10, 0, 71),
  (2, 1, DATE '2001-02-10', NULL, 10, 0, 71), (3, 1, DATE '2002-02-05', NULL, 11, 31, NULL),
  (4, 2, DATE '2001-01-01', DATE '2000-12-01', 11, 0, 72),
  (5, 3, DATE '2001-01-01', NULL, 12, 0, 3),
  (6, 4, DATE '2001-01-01', NULL, 10, 0, NULL), (7, 4, DATE '2001-01-20', NULL, 10, 0, NULL);
CREATE TABLE drug_exposure (drug_exposure_id bigint, person_id bigint,
  drug_exposure_start_date date, drug_exposure_end_date date, days_supply integer,
  drug_concept_id integer, quantity numeric, visit_occurrence_id bigint);
INSERT INTO drug_exposure VALUES (1, 2, DATE '2000-12-25', NULL, 30, 31, 1.5, 72),
  (2, 2, DATE '2000-05-25', NULL, NULL, 31, 2.5, NULL);
CREATE TABLE concept (concept_id integer, invalid_reason varchar);
INSERT INTO concept VALUES (10, NULL), (11, NULL), (12, NULL), (13, 'D'), (31, NULL);
CREATE TABLE concept_ancestor (ancestor_concept_id integer, descendant_concept_id integer);
INSERT INTO concept_ancestor VALUES (10, 10), (10, 11), (10, 12), (10, 13), (12, 12), (31, 31);
CREATE TABLE concept_relationship (concept_id_1 integer, concept_id_2 integer,
  relationship_id varchar, invalid_reason varchar);
INSERT INTO concept_relationship VALUES (12, 11, 'Maps to', NULL), (10, 11, 'Maps to', 'D');
CREATE TABLE cohort (cohort_definition_id integer, subject_id bigint, cohort_start_date date,
  cohort_end_date date);
INSERT INTO cohort VALUES (7, 2, DATE '2001-01-01', DATE '2001-01-01'),
  (7, 1, DATE '2001-01-01', DATE '2001-01-01'), (8, 3, DATE '2001-01-01', DATE '2001-01-01');
"""


@pytest.fixture(scope="module", params=["duckdb", "postgres"])
def tables(request, tmp_path_factory):
    """The records above on either engine."""
    if request.param == "duckdb":
        file = tmp_path_factory.mktemp("atlas") / "records.duckdb"
        with duckdb.connect(str(file)) as connection:
            connection.execute(ROWS)
        with open_database(file) as connection:
            yield OmopTables.of(connection)
        return
    if find_programs() is None:
        pytest.skip("PostgreSQL is not installed (.ci/install-postgresql)")
    with start_server() as address:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(ROWS)
        with open_database(address) as connection:
            yield OmopTables.of(connection)


def concepts(number, *items):
    chosen = [
        {"concept": {"CONCEPT_ID": one}, "includeDescendants": deep, "isExcluded": out}
        for one, deep, out in items
    ]
    return {"id": number, "expression": {"items": chosen}}


CONDITION = {"ConditionOccurrence": {"CodesetId": 0}}
DRUG = {"DrugExposure": {"CodesetId": 1}}
SETS = [concepts(0, (10, True, False), (12, True, True)), concepts(1, (31, False, False))]


def occurs(criterion, least, start, end, kind=2):
    ends = [{"Days": abs(x) if x is not None else None, "Coeff": side} for x, side in (start, end)]
    return {
        "Criteria": criterion,
        "StartWindow": {"Start": ends[0], "End": ends[1], "UseEventEnd": False},
        "Occurrence": {"Type": kind, "Count": least, "IsDistinct": False},
    }


def define(*criteria, kind="ALL", count=None, limit="All", prior=0, **more):
    group = {"Type": kind, "Count": count, "CriteriaList": list(criteria), "Groups": []}
    rules = [{"name": "rule", "expression": group}] if criteria else []
    return {
        "ConceptSets": SETS,
        "PrimaryCriteria": {
            "CriteriaList": [CONDITION],
            "ObservationWindow": {"PriorDays": prior, "PostDays": 0},
            "PrimaryCriteriaLimit": {"Type": limit},
        },
        "InclusionRules": rules,
        "EndStrategy": {"DateOffset": {"DateField": "StartDate", "Offset": 0}},
        "ExpressionLimit": {"Type": "All"},
        "CensoringCriteria": [],
        **more,
    }


LATER = ((1, 1), (None, 1))  # from the next day on
MONTH, SOON = ((1, 1), (30, 1)), ((1, 1), (60, 1))
BEFORE = ((None, -1), (1, -1))


@pytest.mark.parametrize(
    ("definition", "members"),
    [
        (define(), [1, 2]),
        (define(prior=300), [1]),
        (define(occurs(CONDITION, 1, *SOON)), [1]),
        (define(occurs(CONDITION, 1, *MONTH)), []),
        (define(occurs(CONDITION, 2, *LATER)), [1]),
        (define(occurs(CONDITION, 2, (1, 1), (2**31 - 1, 1))), [1]),
        (define(occurs(CONDITION, 2, *LATER, kind=0)), [1]),
        (define(occurs(CONDITION, 0, *LATER, kind=1), limit="First"), [2]),
        (define(occurs(CONDITION, 0, *LATER, kind=1)), [1, 2]),  # the last event has none after
        (define(occurs(DRUG, 1, *BEFORE)), [2]),
        (define(occurs(DRUG, 2, *BEFORE)), []),  # one was before the observation period
        (define(occurs(DRUG, 1, *BEFORE), occurs(CONDITION, 1, *SOON)), []),
        (define(occurs(DRUG, 1, *BEFORE), occurs(CONDITION, 1, *SOON), kind="ANY"), [1, 2]),
        (
            define(
                *(occurs(DRUG, 1, *BEFORE), occurs(CONDITION, 1, *SOON)), kind="AT_LEAST", count=2
            ),
            [],
        ),
        (define(occurs(DRUG, 1, *BEFORE), kind="AT_MOST", count=0), [1]),
    ],
)
def test_members_are_those_of_the_definition(tables, definition, members):
    assert find_members(tables, parse_definition(definition)).tolist() == members


def test_rows_concepts_and_days_are_those_of_the_definition(tables):
    assert list_rows(tables, 7).tolist() == [1, 2]
    with pytest.raises(RecordsError, match="no rows with the number 9"):
        list_rows(tables, 9)
    # mapped ones join, invalid descendants do not, and absent numbers match nothing
    mapped = {"concept": {"CONCEPT_ID": 11}, "includeMapped": True}
    sets = [{"id": 0, "expression": {"items": [mapped]}}, SETS[1]]
    everybody = define(ConceptSets=sets)
    assert find_members(tables, parse_definition(everybody)).tolist() == [1, 2, 3]
    absent = define(ConceptSets=[concepts(0, (99, True, False)), SETS[1]])
    assert find_members(tables, parse_definition(absent)).tolist() == []
    definition, window = parse_definition(define()), (date(2001, 1, 2), None)
    assert find_members(tables, definition, Scope(window)).tolist() == [1]
    assert list_rows(tables, 7, Scope(window)).tolist() == []
    later = {"Type": "ALL", "CriteriaList": [occurs(CONDITION, 1, *LATER)], "Groups": []}
    inner = {"Type": "ALL", "CriteriaList": [], "Groups": [later]}
    soon_after = occurs(CONDITION, 0, *SOON, kind=1)
    first = {"AdditionalCriteria": inner, "QualifiedLimit": {"Type": "First"}}
    every = {"AdditionalCriteria": inner, "QualifiedLimit": {"Type": "All"}}
    # person 1's second event has one after it, but not soon; the first one has one soon
    assert find_members(tables, parse_definition(define(soon_after, **first))).tolist() == []
    assert find_members(tables, parse_definition(define(soon_after, **every))).tolist() == [1]


NOBODY_LATER = occurs(CONDITION, 0, *LATER, kind=1)
AROUND = ((None, -1), (None, 1))


def with_end(criterion, start, end, **more):
    """A criterion that is met at any time, and ends in a window."""
    ends = [{"Days": None if x is None else abs(x), "Coeff": side} for x, side in (start, end)]
    wanted = occurs(criterion, 1, *AROUND)
    return {**wanted, "EndWindow": {"Start": ends[0], "End": ends[1], **more}}


def filtered(**filters):
    return {"ConditionOccurrence": {"CodesetId": 0, **filters}}


def enter(criterion, **more):
    found = define(**more)
    found["PrimaryCriteria"]["CriteriaList"] = [criterion]
    return found


def without(definition, key):
    return {name: part for name, part in definition.items() if name != key}


SOON_AFTER = {"Type": "ALL", "CriteriaList": [occurs(CONDITION, 1, *SOON)]}
ADULT = {"Age": {"Value": 40, "Op": "gte"}}


@pytest.mark.parametrize(
    ("definition", "members"),
    [
        # 0 is the number of a set, not nothing: source concepts of set 1 are those of one record
        (enter({"ConditionOccurrence": {"ConditionSourceConcept": 1}}), [1]),
        (enter({"ConditionOccurrence": {"ConditionSourceConcept": 0}}), []),
        # an absent limit is to the first event; the first one of patient 1 has another later
        (enter(CONDITION, InclusionRules=define(NOBODY_LATER)["InclusionRules"]), [1, 2]),
        ({**define(NOBODY_LATER), "PrimaryCriteria": {"CriteriaList": [CONDITION]}}, [2]),
        (define(NOBODY_LATER, limit="Last"), [1, 2]),
        # a group without members holds, whatever its type says
        (
            define(kind="ALL", InclusionRules=[{"expression": {"Type": "AT_LEAST", "Count": 2}}]),
            [1, 2],
        ),
        (define(InclusionRules=[{"expression": {"Type": "any"}}]), [1, 2]),
        # the event of patient 2 ends before it starts
        (define(EndStrategy={"DateOffset": {"DateField": "EndDate", "Offset": 0}}), [1]),
        (define(EndStrategy={"DateOffset": {"DateField": "StartDate", "Offset": -1}}), []),
        (
            define(EndStrategy={"CustomEra": {"DrugCodesetId": 1, "GapDays": 1, "Offset": 0}}),
            [1, 2],
        ),
        # when something ends a cohort is no matter, but that it ends it after its start
        (define(CensoringCriteria=[CONDITION]), [1, 2]),
        (define(with_end(CONDITION, (30, 1), (40, 1))), [1]),
        (define(with_end(CONDITION, (10, 1), (40, 1), UseIndexEnd=True)), [1]),
        # open bounds are the edges of observation, and nothing is if it is ignored
        (define(occurs(DRUG, 2, (None, -1), (0, 1))), []),
        (define({**occurs(DRUG, 2, (None, -1), (0, 1)), "IgnoreObservationPeriod": True}), [2]),
        (define({**occurs(DRUG, 1, (None, -1), (0, 1)), "RestrictVisit": True}), [2]),
        (define(occurs(DRUG, 1, (None, 1), (None, 1))), []),
        (enter(filtered(CorrelatedCriteria=SOON_AFTER)), [1]),
        (enter(filtered(**ADULT)), [1, 2]),
        (enter(filtered(Gender=[{"CONCEPT_ID": 8532}])), [2]),
        (enter(filtered(VisitType=[{"CONCEPT_ID": 9201}])), [1]),
        (enter(filtered(OccurrenceStartDate={"Value": "2001-02-10", "Op": "gte"})), [1]),
        (enter(filtered(OccurrenceStartDate={"Value": "2001-02-10", "Op": "gt"}, First=True)), []),
        (enter({"DrugExposure": {"Quantity": {"Value": 1, "Op": "bt", "Extent": 2}}}), [2]),
        (enter({"DrugExposure": {"Quantity": {"Value": 1, "Op": "!bt", "Extent": 2}}}), []),
        (enter(filtered(ConditionTypeExclude=True)), [1, 2]),  # of no types
        (define(AdditionalCriteria={"Type": "all", "DemographicCriteriaList": [ADULT]}), [1, 2]),
        (
            define(
                AdditionalCriteria={
                    "Type": "ALL",
                    "DemographicCriteriaList": [{"Gender": [{"CONCEPT_ID": 8507}]}],
                }
            ),
            [1],
        ),
        (define({**occurs(CONDITION, 3, *AROUND), "Occurrence": {"Type": 2, "Count": 3}}), [1]),
        (
            define(
                {
                    **occurs(CONDITION, 3, *AROUND),
                    "Occurrence": {"Type": 2, "Count": 3, "IsDistinct": True},
                }
            ),
            [],
        ),
    ],
)
def test_the_rest_of_a_definition_means_what_circe_makes_of_it(tables, definition, members):
    found = parse_definition({"QualifiedLimit": {"Type": "All"}, **definition})
    assert find_members(tables, found).tolist() == members


@pytest.mark.parametrize(
    ("definition", "name"),
    [
        (define(CensorWindow={"StartDate": "2001-01-01"}), "CensorWindow.* not supported"),
        (define(occurs({"PayerPlanPeriod": {}}, 1, *SOON)), "PayerPlanPeriod.* not supported"),
        (enter(filtered(StopReason={"Text": "x", "Op": "contains"})), "StopReason.* not supported"),
        (define(occurs(CONDITION, 1, *SOON), kind="NONE"), "Type NONE.* not supported"),
        (define(limit="Latest"), "Type Latest.* not supported"),
        (enter(filtered(Age={"Value": 1, "Op": "like"})), "Op like of Age is not supported"),
        (define(ConceptSets=[*SETS, SETS[0]]), "two concept sets have the same number"),
        (define(ConceptSets=SETS[1:]), "no concept set 0"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(definition, name):
    with pytest.raises(ModelError, match=name):
        parse_definition(definition)


@pytest.mark.parametrize(
    "broken",
    [
        define(occurs(CONDITION, 1, *SOON), kind="AT_LEAST"),  # without a count
        define({"Criteria": CONDITION, "Occurrence": {"Type": 2, "Count": 1}}),  # without a window
        define(EndStrategy={"DateOffset": {"DateField": "Start", "Offset": 1}}),
        enter(filtered(First=0)),
    ],
)
def test_what_circe_itself_cannot_read_is_refused(tmp_path, broken):
    file = tmp_path / "cohort.json"
    file.write_text(json.dumps(broken))
    with pytest.raises(ModelError, match="not a cohort definition of ATLAS"):
        read_definition(file)


def test_a_file_is_read_as_atlas_exports_it(tmp_path):
    file = tmp_path / "cohort.json"
    file.write_text(json.dumps(define()))
    plain = read_definition(file)
    assert plain.primary[0].domain == "ConditionOccurrence"
    for expression in (define(), json.dumps(define())):
        file.write_text(json.dumps({"name": "x", "expression": expression}))
        assert read_definition(file) == plain
    for text, what in (("{", "not a JSON file"), ("[1]", "not a cohort definition of ATLAS")):
        file.write_text(text)
        with pytest.raises(ModelError, match=what):
            read_definition(file)
    file.write_text(json.dumps({**define(), "DemographicCriteria": 1}))
    with pytest.raises(ModelError, match="cohort.json: DemographicCriteria in the cohort def"):
        read_definition(file)


@pytest.mark.parametrize(
    "number",
    ["1e999", "1e30", str(10**30), str(10**400), "-1e3", "true", "1.7", '"1; DROP TABLE x"'],
)
def test_numbers_that_no_database_holds_are_refused(tmp_path, number):
    file = tmp_path / "cohort.json"
    text = json.dumps(define(occurs(CONDITION, 77, *SOON), prior=88))
    for place in ("10",) * (number != "-1e3") + ("77", "88", "60"):
        file.write_text(text.replace(f": {place}", f": {number}"))
        with pytest.raises(ModelError, match="not a cohort definition of ATLAS"):
            read_definition(file)


def test_expressions_and_entries_that_cannot_be_read_are_refused(tmp_path):
    file = tmp_path / "cohort.json"
    for expression in ("{", "[" * 100_000):
        file.write_text(json.dumps({"expression": expression}))
        with pytest.raises(ModelError, match="not a JSON file"):
            read_definition(file)
    nobody = define()
    nobody["PrimaryCriteria"] = {"CriteriaList": []}
    with pytest.raises(ModelError, match="no initial event"):
        parse_definition(nobody)


@pytest.mark.parametrize("flag", ["includeDescendants", "isExcluded", "First"])
def test_a_flag_that_is_text_is_refused(tmp_path, flag):
    """The text "false" is true in Python: others would be in the cohort."""
    file = tmp_path / "cohort.json"
    text = json.dumps(define())
    assert f'"{flag}": false' in text or f'"{flag}": true' in text or flag == "First"
    for key in ("false", "true"):
        text = text.replace(f'"{flag}": {key}', f'"{flag}": "false"')
    if flag == "First":
        text = text.replace('"CodesetId": 0', '"CodesetId": 0, "First": "false"')
    file.write_text(text)
    with pytest.raises(ModelError, match="not a cohort definition of ATLAS"):
        read_definition(file)


def test_sizes_have_limits(tmp_path):
    file = tmp_path / "cohort.json"
    with file.open("wb") as content:
        content.truncate(LARGEST_FILE + 1)
    with pytest.raises(ModelError, match="larger than a cohort definition"):
        read_definition(file)
    many = [{"concept": {"CONCEPT_ID": 1}}] * (MOST_CONCEPTS + 1)
    with pytest.raises(ModelError, match="more than 10,000 concepts"):
        parse_definition({**define(), "ConceptSets": [{"id": 0, "expression": {"items": many}}]})
    file.write_text("[" + "[]," * 1_000_000 + "[]]")
    with limit_memory("70MB"), pytest.raises(ModelError, match="more than the limit"):
        read_definition(file)
    group = {"Type": "ALL"}
    for _ in range(DEEPEST + 1):
        group = {"Type": "ALL", "Groups": [group]}
    with pytest.raises(ModelError, match=f"nested more than {DEEPEST} times"):
        parse_definition({**define(), "InclusionRules": [{"expression": group}]})
