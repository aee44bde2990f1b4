"""Cohort definitions of ATLAS (Circe JSON): the common part of them, evaluated on dated records.

Read are concept sets (with descendants and exclusions), primary criteria with their observation
window and limit, and inclusion or additional criteria: groups of counted occurrences in a window
around the index event, and groups within groups. What else changes who belongs to a cohort is
refused by name; when a patient leaves it makes no difference here.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.ehr.omop.columns import as_day, as_number
from unelisa.ehr.omop.database import OmopTables, explain_engine
from unelisa.ehr.omop.persons import list_periods
from unelisa.ehr.omop.records import list_descendants
from unelisa.ehr.omop.requests import DOMAINS, UTILIZATIONS, Domain
from unelisa.ehr.rules.definition import SIGNS
from unelisa.errors import ModelError, RecordsError
from unelisa.memory import refuse_beyond, weigh_json
from unelisa.sources.files import check_readable

if TYPE_CHECKING:
    import pandas as pd

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
LARGEST_FILE = 10_000_000  # bytes
MOST_CONCEPTS = 10_000  # in a set, which the database compares one by one
DEEPEST = 20  # groups inside each other
FAR = 1_000_000  # days: an open end
LARGEST_NUMBER = 2**31 - 1  # as OMOP stores concepts
_STRIDE = 4 * FAR  # between the days of two persons
CRITERIA = {
    "ConditionOccurrence": DOMAINS["CONCEPT"],
    "DrugExposure": DOMAINS["RX"],
    "Measurement": DOMAINS["LAB"],
    "ProcedureOccurrence": DOMAINS["PROC"],
    "Observation": DOMAINS["OBS"],
    "VisitOccurrence": Domain(*UTILIZATIONS["visit_count"], "visit_concept_id"),
}
# what a part may hold; the rest is refused unless it is empty
_ROOT = {"ConceptSets", "PrimaryCriteria", "AdditionalCriteria", "InclusionRules"}
_HARMLESS = {"Title", "QualifiedLimit", "ExpressionLimit", "EndStrategy", "CollapseSettings"}
_HARMLESS |= {"cdmVersionRange", "CdmVersionRange"}
_ALL, _FIRST = "All", "First"


class ConceptSet(NamedTuple):
    """Concepts that are in or out: number, whether with descendants, whether excluded."""

    items: tuple[tuple[int, bool, bool], ...]


class Criterion(NamedTuple):
    """Records of a domain with a concept of a set; all of them if it is None."""

    domain: str
    concepts: int | None
    first: bool


class Occurrence(NamedTuple):
    """How often a criterion is met from one day to another, relative to the index day."""

    criterion: Criterion
    sign: str  # "<=", "=" or ">="
    times: int
    start: int
    end: int


class Group(NamedTuple):
    """At least `least` and at most `most` of the members hold."""

    least: int
    most: int
    members: tuple["Occurrence | Group", ...]


class CohortDefinition(NamedTuple):
    """Who belongs to a cohort."""

    concept_sets: dict[int, ConceptSet]
    primary: tuple[Criterion, ...]
    observed: tuple[int, int]  # days of observation before and after the index event
    first_only: bool  # whether only a patient's first event can qualify
    additional: Group | None
    first_qualified: bool  # whether only the first event that meets these is looked at further
    inclusion: tuple[Group, ...]


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
    window = primary.get("ObservationWindow") or {}
    _refuse(window, {"PriorDays", "PostDays"}, "ObservationWindow")
    additional = content.get("AdditionalCriteria")
    return CohortDefinition(
        {_read_number(one["id"]): _read_set(one) for one in content.get("ConceptSets") or ()},
        _read_primary(primary["CriteriaList"]),
        (
            _read_number(window.get("PriorDays") or 0, 0),
            _read_number(window.get("PostDays") or 0, 0),
        ),
        _is_first(primary.get("PrimaryCriteriaLimit")),
        _read_group(additional) if additional else None,
        bool(additional) and _is_first(content.get("QualifiedLimit")),
        tuple(_read_group(one["expression"]) for one in content.get("InclusionRules") or ()),
    )


def _read_primary(content: Sequence[Mapping[str, Any]]) -> tuple[Criterion, ...]:
    if not content:
        raise ModelError("the cohort definition has no initial event: name one in ATLAS")
    return tuple(_read_criterion(one) for one in content)


def _is_first(limit: Mapping[str, Any] | None) -> bool:
    """Return whether a limit is to the first event; `Last` would mean others."""
    kind = (limit or {}).get("Type") or _ALL
    if kind not in (_ALL, _FIRST):
        raise ModelError(
            f"Type {str(kind)[:40]} of a limit is not supported: use {_ALL} or {_FIRST}"
        )
    return bool(kind == _FIRST)


def _refuse(part: Mapping[str, Any], known: set[str], where: str) -> None:
    """Refuse what is not known, by name, unless it is empty."""
    for key, value in part.items():
        if key not in known and value not in (None, False, [], {}, ""):
            raise ModelError(
                f"{str(key)[:40]} in {where} is not supported; supported are concept sets, "
                "occurrence counts and windows: insert the cohort into the database and name its "
                "number, as {cohort = 12}"
            )


def _read_set(content: Mapping[str, Any]) -> ConceptSet:
    items = []
    if len(content["expression"]["items"]) > MOST_CONCEPTS:
        raise ModelError(
            f"a concept set has more than {MOST_CONCEPTS:,} concepts: name those above"
        )
    for item in content["expression"]["items"]:
        _refuse(item, {"concept", "isExcluded", "includeDescendants"}, "a concept set")
        number = _read_number(item["concept"]["CONCEPT_ID"])
        deep, out = (_read_flag(item.get(key)) for key in ("includeDescendants", "isExcluded"))
        items.append((number, deep, out))
    return ConceptSet(tuple(items))


def _read_criterion(content: Mapping[str, Any]) -> Criterion:
    _refuse(content, set(CRITERIA), "a criterion")
    ((domain, what),) = [(key, content[key]) for key in content if key in CRITERIA]
    _refuse(what, {"CodesetId", "First"}, domain)
    concepts = what.get("CodesetId")
    return Criterion(
        domain, None if concepts is None else _read_number(concepts), _read_flag(what.get("First"))
    )


def _read_group(content: Mapping[str, Any], depth: int = 0) -> Group:
    if depth > DEEPEST:
        raise ModelError(f"groups are nested more than {DEEPEST} times")
    _refuse(content, {"Type", "Count", "CriteriaList", "Groups"}, "a group of criteria")
    members: list[Occurrence | Group] = [
        _read_occurrence(one) for one in content.get("CriteriaList") or ()
    ]
    members += [_read_group(one, depth + 1) for one in content.get("Groups") or ()]
    count, n = _read_number(content.get("Count") or 0, 0), len(members)
    bounds = {"ALL": (n, n), "ANY": (min(1, n), n), "AT_LEAST": (count, n), "AT_MOST": (0, count)}
    if content.get("Type") not in bounds:
        raise ModelError(f"Type {str(content.get('Type'))[:40]} of a group is not supported")
    return Group(*bounds[content["Type"]], tuple(members))


def _read_occurrence(content: Mapping[str, Any]) -> Occurrence:
    known = {"Criteria", "StartWindow", "Occurrence"}
    _refuse(content, known, "a criterion of a group")
    window, times = content.get("StartWindow") or {}, content["Occurrence"]
    _refuse(window, {"Start", "End"}, "StartWindow")
    _refuse(times, {"Type", "Count"}, "Occurrence")
    start, end = (_read_end(window.get(key), side) for key, side in (("Start", -1), ("End", 1)))
    sign = {0: "=", 1: "<=", 2: ">="}[_read_number(times["Type"])]
    return Occurrence(
        _read_criterion(content["Criteria"]), sign, _read_number(times["Count"], 0), start, end
    )


def _read_end(content: Mapping[str, Any] | None, side: int) -> int:
    """Return the end of a window in days after the index event; `side` of an absent one."""
    if content is None:
        return side * FAR
    days = content.get("Days")
    far = FAR if days is None else min(_read_number(days, 0), FAR)
    return (-1 if _read_number(content["Coeff"]) < 0 else 1) * far


def _read_number(value: Any, least: int = -LARGEST_NUMBER) -> int:
    """Return a whole number, which may be text; `ValueError` for others and for huge ones."""
    number = float(value)
    if isinstance(value, bool) or not number.is_integer() or not least <= number <= LARGEST_NUMBER:
        raise ValueError
    return int(number)


def _read_flag(value: Any) -> bool:
    """Return whether something is so; the text "false" would be true."""
    if value not in (None, False, True):
        raise ValueError
    return bool(value)


class Events(NamedTuple):
    """Index events in order of person and day, and the ends of their observation periods."""

    person: Integers
    day: Integers
    first: Integers
    last: Integers

    def keep(self, kept: Flags) -> "Events":
        """Return some of the events."""
        return Events(*(part[kept] for part in self))

    def keep_first(self) -> "Events":
        """Return the first event of each person."""
        return self.keep(np.diff(self.person, prepend=-1) != 0)


def find_members(tables: OmopTables, definition: CohortDefinition) -> Integers:
    """Return the persons who belong to a cohort, sorted."""
    records = _Records(tables, definition.concept_sets)
    days = [records.list_days(one) for one in definition.primary]
    person, day = (np.concatenate(part) for part in zip(*days, strict=True))
    events = records.observe(person, day, definition.observed)
    if definition.first_only:
        events = events.keep_first()
    if definition.additional is not None:
        events = events.keep(_holds(definition.additional, records, events))
    if definition.first_qualified:
        events = events.keep_first()
    for group in definition.inclusion:
        events = events.keep(_holds(group, records, events))
    return np.unique(events.person)


def _holds(part: Occurrence | Group, records: "_Records", events: Events) -> Flags:
    """Return whether a criterion holds at each index event."""
    if isinstance(part, Group):
        held = [_holds(one, records, events) for one in part.members]
        count = np.sum(held, axis=0) if held else np.zeros(len(events.person), dtype=int)
        return np.asarray((count >= part.least) & (count <= part.most))
    found = records.count(part, events)
    return np.asarray(SIGNS[part.sign](found, part.times))


class _Records:
    """Records of a database by criterion: persons and days, each fetched once."""

    def __init__(self, tables: OmopTables, concept_sets: dict[int, ConceptSet]) -> None:
        self._tables, self._sets = tables, concept_sets
        self._fetched: dict[Criterion, tuple[Integers, Integers]] = {}

    def list_days(self, criterion: Criterion) -> tuple[Integers, Integers]:
        """Return person and day of every record, in order."""
        if criterion not in self._fetched:
            person, day = self._fetch(criterion)
            if criterion.first:
                person, place = np.unique(person, return_index=True)
                day = day[place]
            self._fetched[criterion] = person, day
        return self._fetched[criterion]

    def count(self, wanted: Occurrence, events: Events) -> Integers:
        """Return how many records fall into each event's window and observation period."""
        whose, when = self.list_days(wanted.criterion)
        # one number orders persons and days
        _, codes = np.unique(np.concatenate([whose, events.person]), return_inverse=True)
        keys, base = codes[: len(whose)] * _STRIDE + when, codes[len(whose) :] * _STRIDE
        start = np.maximum(events.day + wanted.start, events.first)
        end = np.minimum(events.day + wanted.end, events.last)
        before = np.searchsorted(keys, base + start, side="left")
        after = np.searchsorted(keys, base + end, side="right")
        return np.asarray(np.maximum(after - before, 0), dtype=np.int64)

    def observe(self, person: Integers, day: Integers, days: tuple[int, int]) -> Events:
        """Return the events in an observation period with enough days before and after them."""
        import pandas as pd  # noqa: PLC0415 - only tables need it

        rows = _fetch(list_periods(self._tables), "reading the observation periods")
        both = pd.DataFrame({"person": person, "day": day}).merge(rows.dropna(), on="person")
        both = both.sort_values(["person", "day"], kind="stable")
        whose, when = (both[name].to_numpy(np.int64) for name in ("person", "day"))
        events = Events(whose, when, _number(both["first"]), _number(both["last"]))
        early, late = events.first + days[0], events.last - days[1]
        return events.keep((early <= events.day) & (events.day <= late))

    def _fetch(self, criterion: Criterion) -> tuple[Integers, Integers]:
        table, day, concept, *_ = CRITERIA[criterion.domain]
        records = self._tables.take(table, person="person_id", day=day, concept=concept)
        records = records.filter(records.person.notnull() & records.day.notnull())
        if criterion.concepts is not None:
            wanted = self._list_concepts(criterion.concepts)
            records = records.filter(as_number(records.concept).isin(wanted))
        rows = _fetch(
            records.select(person=as_number(records.person), day=as_day(records.day)),
            f"reading {table}",
        )
        person, days = rows["person"].to_numpy(np.int64), _number(rows["day"])
        order = np.lexsort((days, person))
        return person[order], days[order]

    def _list_concepts(self, number: int) -> list[int]:
        """Return the concepts of a set."""
        if number not in self._sets:
            raise RecordsError(f"the cohort definition has no concept set {number}")
        items = self._sets[number].items
        below = self._list_below({concept for concept, deep, _ in items if deep})
        included: set[int] = set()
        excluded: set[int] = set()
        for concept, deep, out in items:
            (excluded if out else included).update([concept, *(below[concept] if deep else ())])
        return sorted(included - excluded) or [-1]  # no record has this

    def _list_below(self, concepts: set[int]) -> Mapping[int, list[int]]:
        """Return the descendants of some concepts, by one query."""
        below: dict[int, list[int]] = {concept: [] for concept in concepts}
        if concepts:
            links = list_descendants(self._tables)
            found = _fetch(links.filter(links.above.isin(sorted(concepts))), "reading the concepts")
            for above, concept in zip(found["above"], found["concept"], strict=True):
                below[above].append(concept)
        return below


def list_rows(tables: OmopTables, number: int) -> Integers:
    """Return the persons in the rows of an existing cohort, sorted."""
    rows = tables.take("cohort", number="cohort_definition_id", person="subject_id")
    rows = rows.filter(as_number(rows.number) == number)
    persons = _fetch(rows.select(person=as_number(rows.person)), "reading the cohort")["person"]
    if persons.empty:
        raise RecordsError(f"the table cohort has no rows with the number {number}")
    return np.unique(persons.to_numpy(np.int64))


def _fetch(expression: Any, doing: str) -> "pd.DataFrame":
    with explain_engine(doing):
        found: pd.DataFrame = expression.to_pyarrow().to_pandas()
    return found


def _number(days: "pd.Series[Any]") -> Integers:
    """Return dates as days since 1970."""
    return np.asarray(days.to_numpy().astype("datetime64[D]").astype(np.int64))
