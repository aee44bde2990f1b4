"""Cohort definitions of ATLAS (Circe JSON), read into a few tuples that members.py evaluates.

What changes who belongs is read, or refused by name. Defaults are Circe's; where Circe fails, or
where the JSON could mean two things, this refuses.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from unelisa.errors import ModelError
from unelisa.memory import refuse_beyond, weigh_json
from unelisa.sources.files import check_readable

LARGEST_FILE = 10_000_000  # bytes
MOST_CONCEPTS = 10_000  # in a set, which the database compares one by one
DEEPEST = 20  # groups inside each other
LARGEST_NUMBER = 2**31 - 1  # as OMOP stores concepts
# what a part may hold; the rest is refused unless it is empty
_ROOT = {"ConceptSets", "PrimaryCriteria", "AdditionalCriteria", "InclusionRules", "EndStrategy"}
_ROOT |= {"QualifiedLimit", "ExpressionLimit", "CensoringCriteria"}
_HARMLESS = {"Title", "CollapseSettings", "cdmVersionRange", "CdmVersionRange"}
_SIGNS = {0: "=", 1: "<=", 2: ">="}
_OPERATORS = ("lt", "lte", "eq", "!eq", "gt", "gte", "bt", "!bt")
# of which distinct ones are counted: the columns in members.py
_COUNTED = {"DOMAIN_CONCEPT": "concept", "START_DATE": "start", "VISIT_ID": "visit"}
_PEOPLE = {
    "Age": "age",
    "Gender": "gender_concept_id",
    "Race": "race_concept_id",
    "Ethnicity": "ethnicity_concept_id",
    "OccurrenceStartDate": "start",
    "OccurrenceEndDate": "end",
}


class Table(NamedTuple):
    """Where the records of a kind of criterion are, and what they can be filtered by."""

    name: str
    kind: str  # how the names of its columns begin
    start: str
    end: str | None  # a record without one lasts `open_days`, or if that is None has no end
    open_days: int | None
    filters: dict[str, str]
    visits: bool  # whether a record names its visit

    @property
    def key(self) -> str:
        """The column that identifies a record."""
        return "person_id" if self.name == "death" else f"{self.name}_id"


def _name_filters(kind: str, *columns: str, **more: str) -> dict[str, str]:
    own = {"".join(map(str.title, one.split("_"))): one for one in columns}
    typed = "".join(map(str.title, kind.split("_"))) + "Type"
    shared = {
        **_PEOPLE,
        "VisitType": "visit_concept_id",
        "ProviderSpecialty": "specialty_concept_id",
    }
    return {**shared, typed: f"{kind}_type_concept_id", **own, **more}


_PERIODS = {"EraLength": "length", "EraStartDate": "start", "EraEndDate": "end"}
_ERA = {**_PERIODS, "AgeAtStart": "age", "Gender": "gender_concept_id"}
_VALUES = {"ValueAsConcept": "value_as_concept_id", "Unit": "unit_concept_id"}
_RANGES = ("range_low", "range_high", "range_low_ratio", "range_high_ratio")
# criterion: how the names of its columns begin, and its filters
_CRITERIA: dict[str, tuple[str, dict[str, str]]] = {
    "ConditionOccurrence": (
        "condition",
        _name_filters("condition", ConditionStatus="condition_status_concept_id"),
    ),
    "DrugExposure": ("drug", _name_filters("drug", "days_supply", "quantity", "refills")),
    "ProcedureOccurrence": ("procedure", _name_filters("procedure", "quantity")),
    "Measurement": (
        "measurement",
        _name_filters("measurement", "value_as_number", *_RANGES, **_VALUES),
    ),
    "Observation": ("observation", _name_filters("observation", "value_as_number", **_VALUES)),
    "DeviceExposure": ("device", _name_filters("device", "quantity")),
    "VisitOccurrence": ("visit", _name_filters("visit", VisitLength="length")),
    "VisitDetail": ("visit_detail", _name_filters("visit_detail", VisitDetailLength="length")),
    "Death": ("cause", {**_PEOPLE, "DeathType": "death_type_concept_id"}),
    "Specimen": (
        "specimen",
        {**_PEOPLE, "SpecimenType": "specimen_type_concept_id", "Unit": "unit_concept_id"},
    ),
    "ObservationPeriod": ("period_type", {"PeriodLength": "length", "AgeAtStart": "age"}),
    "ConditionEra": ("condition", {**_ERA, "OccurrenceCount": "condition_occurrence_count"}),
    "DrugEra": ("drug", {**_ERA, "OccurrenceCount": "drug_exposure_count", "GapDays": "gap_days"}),
    "DoseEra": ("drug", {**_ERA, "DoseValue": "dose_value", "Unit": "unit_concept_id"}),
}
_WITHOUT_END = {"procedure_occurrence", "measurement", "observation", "death", "specimen"}
_ONE_DAY = {*_WITHOUT_END, "condition_occurrence", "drug_exposure", "device_exposure"}
_WITHOUT_VISIT = {"death", "specimen", "observation_period"}


def _describe(criterion: str, kind: str, filters: dict[str, str]) -> Table:
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", criterion).lower()
    dated = f"{kind}_start_date", f"{kind}_end_date"
    if name in _WITHOUT_END:
        dated = (f"{name.removesuffix('_occurrence')}_date", "")
    elif name.endswith(("era", "exposure", "period")):
        dated = f"{name}_start_date", f"{name}_end_date"
    visits = name not in _WITHOUT_VISIT and not name.endswith("era")
    open_days = 1 if name in _ONE_DAY else None
    return Table(name, kind, dated[0], dated[1] or None, open_days, filters, visits)


CRITERIA = {key: _describe(key, *row) for key, row in _CRITERIA.items()}


# of a set: number, with descendants, excluded, with what is mapped to it
Concept = tuple[int, bool, bool, bool]


class Filter(NamedTuple):
    """A condition on a column: compared with numbers, or `in` some; negated by a leading `!`."""

    column: str
    sign: str
    values: tuple[float, ...]


class Criterion(NamedTuple):
    """Records of a kind with a concept of a set, if one is named, that pass some filters."""

    domain: str
    concepts: int | None
    source: int | None  # the set of source concepts
    first: bool  # only a patient's first record, which is chosen before the filters
    filters: tuple[Filter, ...]
    group: "Group | None"  # what must hold around the record itself


class Window(NamedTuple):
    """Days around an event in which a record must fall; None: to the edge of its observation."""

    bounds: tuple[tuple[int | None, int], tuple[int | None, int]]
    of_end: bool  # of the record's end rather than its start
    from_end: bool  # counted from the end of the index event


class Occurrence(NamedTuple):
    """How often a criterion is met in windows around an index event."""

    criterion: Criterion
    sign: str  # "<=", "=" or ">="
    times: int
    windows: tuple[Window, ...]
    distinct: str | None  # of what distinct values are counted
    same_visit: bool
    anywhere: bool  # also outside of the observation period


class Group(NamedTuple):
    """At least `least` and at most `most` of the members hold; filters are for the person."""

    least: int
    most: int
    members: tuple["Occurrence | Group | tuple[Filter, ...]", ...]


class CohortDefinition(NamedTuple):
    """Who belongs to a cohort; a limit is which of a patient's events are kept."""

    concept_sets: dict[int, tuple[Concept, ...]]
    primary: tuple[Criterion, ...]
    observed: tuple[int, int]  # days of observation before and after the index event
    limit: str  # of the first events: "all", "first" or "last"
    additional: Group | None
    qualified: str  # the limit after the additional criteria
    inclusion: tuple[Group, ...]
    included: str  # the limit after the inclusion rules
    # it ends so many days after an event's end (True) or start; none ends before it starts
    end: tuple[bool, int] | None
    censoring: tuple[Criterion, ...]


def read_definition(path: Path) -> CohortDefinition:
    """Return the cohort definition in a file, or say what in it is not supported."""
    check_readable(path, ModelError)
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise ModelError(f"{path.name} is larger than a cohort definition can be")
        content = _load(path.read_text(encoding="utf-8-sig"), path.name)
        if isinstance(content, dict) and "expression" in content:  # as WebAPI exports it
            content = content["expression"]
            content = _load(content, path.name) if isinstance(content, str) else content
    except ModelError:  # which is a ValueError
        raise
    except (ValueError, RecursionError):
        raise ModelError(f"{path.name} is not a JSON file") from None
    except OSError as error:
        raise ModelError(f"{path.name} cannot be read: {error.strerror}") from None
    try:
        return parse_definition(content)
    except ModelError as error:
        raise ModelError(f"{path.name}: {error}") from None
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError):
        raise ModelError(
            f"{path.name} is not a cohort definition of ATLAS: export it there as JSON"
        ) from None


def _load(text: str, name: str) -> Any:
    refuse_beyond(weigh_json(text), name, ModelError)
    return json.loads(text)


def parse_definition(content: Mapping[str, Any]) -> CohortDefinition:
    """Return the cohort definition that some JSON describes."""
    _refuse(content, _ROOT | _HARMLESS, "the cohort definition")
    primary = content["PrimaryCriteria"]
    _refuse(primary, {"CriteriaList", "ObservationWindow", "PrimaryCriteriaLimit"}, "its entry")
    window, sides = primary.get("ObservationWindow") or {}, ("PriorDays", "PostDays")
    _refuse(window, {*sides}, "ObservationWindow")
    if not primary["CriteriaList"]:
        raise ModelError("the cohort definition has no initial event: name one in ATLAS")
    additional = content.get("AdditionalCriteria")
    definition = CohortDefinition(
        _read_sets(content.get("ConceptSets") or ()),
        tuple(_read_criterion(one) for one in primary["CriteriaList"]),
        tuple(_read_number(window.get(side) or 0, 0) for side in sides),  # type: ignore[arg-type]
        _read_limit(primary, "PrimaryCriteriaLimit"),
        _read_group(additional) if additional else None,
        _read_limit(content, "QualifiedLimit") if additional else "all",
        tuple(_read_group(one["expression"]) for one in content.get("InclusionRules") or ()),
        _read_limit(content, "ExpressionLimit"),
        _read_end_strategy(content.get("EndStrategy") or {}),
        tuple(_read_criterion(one) for one in content.get("CensoringCriteria") or ()),
    )
    _check_sets(definition, definition.concept_sets)
    return definition


def _read_limit(content: Mapping[str, Any], key: str) -> str:
    """Return which events a limit keeps: the first ones if it is absent, as in Circe."""
    limit = content.get(key, {})
    _refuse(limit, {"Type"}, key)
    kind = limit.get("Type", "First")
    if not isinstance(kind, str) or kind.lower() not in {"all", "first", "last"}:
        raise ModelError(f"Type {str(kind)[:40]} of {key} is not supported: use All or First")
    return kind.lower()


def _read_end_strategy(content: Mapping[str, Any]) -> tuple[bool, int] | None:
    """Return after which date a cohort ends; a drug era never ends before its event starts."""
    _refuse(content, {"DateOffset", "CustomEra"}, "EndStrategy")
    offset = content.get("DateOffset")
    if not offset:
        return None
    _refuse(offset, {"DateField", "Offset"}, "DateOffset")
    from_end = {"StartDate": False, "EndDate": True}[offset["DateField"]]
    return from_end, _read_number(offset["Offset"])


def _is_empty(value: Any) -> bool:
    return value is None or value is False or (isinstance(value, list | dict | str) and not value)


def _refuse(part: Mapping[str, Any], known: set[str], where: str) -> None:
    for key, value in part.items():
        if key not in known and not _is_empty(value):
            raise ModelError(
                f"{str(key)[:40]} in {where} is not supported: insert the cohort into the database "
                "and name its number, as {cohort = 12}"
            )


def _read_sets(content: Sequence[Mapping[str, Any]]) -> dict[int, tuple[Concept, ...]]:
    sets: dict[int, tuple[Concept, ...]] = {}
    for one in content:
        number, written = _read_number(one["id"]), one["expression"]["items"]
        if number in sets:
            raise ModelError("two concept sets have the same number: number them anew in ATLAS")
        if len(written) > MOST_CONCEPTS:
            raise ModelError(
                f"a concept set has more than {MOST_CONCEPTS:,} concepts: name those above"
            )
        sets[number] = tuple(map(_read_concept, written))
    return sets


def _read_concept(item: Mapping[str, Any]) -> Concept:
    known = ("includeDescendants", "isExcluded", "includeMapped")
    _refuse(item, {"concept", *known}, "a concept set")
    deep, out, mapped = (_read_flag(item.get(key)) for key in known)
    return _read_number(item["concept"]["CONCEPT_ID"]), deep, out, mapped


def _check_sets(part: Any, sets: Collection[int]) -> None:
    """Refuse a criterion whose concept set is absent: it would select nobody."""
    if isinstance(part, Criterion):
        for number in {part.concepts, part.source} - {None, *sets}:
            raise ModelError(f"the cohort definition has no concept set {number}")
    for one in part if isinstance(part, tuple) else ():
        _check_sets(one, sets)


def _read_criterion(content: Mapping[str, Any], depth: int = 0) -> Criterion:
    ((domain, what),) = [(key, value or {}) for key, value in content.items() if value is not None]
    if domain not in CRITERIA:
        _refuse({domain: True}, set(), "a criterion")
    table = CRITERIA[domain]
    source = "".join(map(str.title, table.kind.split("_"))) + "SourceConcept"
    types = {f"{key}Exclude" for key in table.filters if key.endswith("Type")}
    known = {"CodesetId", "First", "CorrelatedCriteria", source, *types}
    _refuse(what, {*known, *table.filters}, domain)
    number, origin = (
        None if what.get(key) is None else _read_number(what[key]) for key in ("CodesetId", source)
    )
    first, group = _read_flag(what.get("First")), what.get("CorrelatedCriteria")
    filters = _read_filters(what, table.filters)
    around = _read_group(group, depth + 1) if group else None
    return Criterion(domain, number, origin, first, filters, around)


def _read_filters(content: Mapping[str, Any], columns: Mapping[str, str]) -> tuple[Filter, ...]:
    found = []
    for key, column in columns.items():
        value = content.get(key)
        if isinstance(value, list) and value:
            numbers = tuple(float(_read_number(one["CONCEPT_ID"])) for one in value)
            out = _read_flag(content.get(f"{key}Exclude"))
            found.append(Filter(column, "!in" if out else "in", numbers))
        elif not _is_empty(value):
            found.append(_read_range(value, column, key))
    return tuple(found)


def _read_range(content: Any, column: str, key: str) -> Filter:
    """Return a comparison; Circe rounds measured numbers to four places."""
    _refuse(content, {"Value", "Op", "Extent"}, key)
    sign = content["Op"]
    if sign not in _OPERATORS:
        raise ModelError(f"Op {str(sign)[:40]} of {key} is not supported")
    ends = ("Value", "Extent") if sign.endswith("bt") else ("Value",)
    values = []
    for value in (content[end] for end in ends):
        if key.endswith("Date"):
            values.append(float((date.fromisoformat(value) - date(1970, 1, 1)).days))
        elif column in {"age", "length"}:
            values.append(float(_read_number(value)))
        elif isinstance(value, bool) or not abs(float(value)) <= LARGEST_NUMBER:
            raise ValueError
        else:
            values.append(float(f"{float(value):.4f}"))
    return Filter(column, sign, tuple(values))


def _read_group(content: Mapping[str, Any], depth: int = 0) -> Group:
    if depth > DEEPEST:
        raise ModelError(f"groups are nested more than {DEEPEST} times")
    known = {"Type", "Count", "CriteriaList", "DemographicCriteriaList", "Groups"}
    _refuse(content, known, "a group of criteria")
    members: list[Occurrence | Group | tuple[Filter, ...]] = [
        _read_occurrence(one, depth) for one in content.get("CriteriaList") or ()
    ]
    for one in content.get("DemographicCriteriaList") or ():
        _refuse(one, set(_PEOPLE), "a demographic criterion")
        members.append(_read_filters(one, _PEOPLE))
    members += [_read_group(one, depth + 1) for one in content.get("Groups") or ()]
    n, kind = len(members), str(content.get("Type")).upper()
    if kind not in {"ALL", "ANY", "AT_LEAST", "AT_MOST"}:
        raise ModelError(f"Type {str(content.get('Type'))[:40]} of a group is not supported")
    if n == 0:
        return Group(0, 0, ())
    if kind in {"ALL", "ANY"}:
        return Group(n if kind == "ALL" else 1, n, tuple(members))
    count = _read_number(content["Count"], 0)
    return Group(*((count, n) if kind == "AT_LEAST" else (0, count)), tuple(members))


def _read_occurrence(content: Mapping[str, Any], depth: int) -> Occurrence:
    known = {"Criteria", "StartWindow", "EndWindow", "Occurrence"}
    flags = ("RestrictVisit", "IgnoreObservationPeriod")
    _refuse(content, {*known, *flags}, "a criterion of a group")
    windows = [_read_window(content["StartWindow"], of_end=False)]
    if content.get("EndWindow"):
        windows.append(_read_window(content["EndWindow"], of_end=True))
    times = content["Occurrence"]
    _refuse(times, {"Type", "Count", "IsDistinct", "CountColumn"}, "Occurrence")
    distinct = None
    if _read_flag(times.get("IsDistinct")):
        column = times.get("CountColumn") or "DOMAIN_CONCEPT"
        if column not in _COUNTED:
            raise ModelError(f"CountColumn {str(column)[:40]} is not supported")
        distinct = _COUNTED[column]
    return Occurrence(
        _read_criterion(content["Criteria"], depth),
        _SIGNS[_read_number(times["Type"])],
        _read_number(times["Count"], 0),
        tuple(windows),
        distinct,
        *(_read_flag(content.get(key)) for key in flags),
    )


def _read_window(content: Mapping[str, Any], *, of_end: bool) -> Window:
    """Return a window; `of_end` is which date of a record it limits unless it says so."""
    _refuse(content, {"Start", "End", "UseEventEnd", "UseIndexEnd"}, "a window")
    ends = content.get("UseEventEnd")
    bounds = (_read_bound(content["Start"]), _read_bound(content["End"]))
    of_end = of_end if ends is None else _read_flag(ends)
    return Window(bounds, of_end, _read_flag(content.get("UseIndexEnd")))


def _read_bound(content: Mapping[str, Any]) -> tuple[int | None, int]:
    """Return days after the index event and the side; no days: up to the edge of observation."""
    _refuse(content, {"Days", "Coeff"}, "a bound of a window")
    side = {-1: -1, 1: 1}[_read_number(content["Coeff"])]
    days = content.get("Days")
    return (None if days is None else side * _read_number(days, 0)), side


def _read_number(value: Any, least: int = -LARGEST_NUMBER) -> int:
    """Return a whole number, which may be text; `ValueError` for others and for huge ones."""
    number = float(value)
    if isinstance(value, bool) or not number.is_integer() or not least <= number <= LARGEST_NUMBER:
        raise ValueError
    return int(number)


def _read_flag(value: Any) -> bool:
    """Return whether something is so; the text "false" would be true, and 0 is a number."""
    if value is not None and not isinstance(value, bool):
        raise ValueError
    return bool(value)
