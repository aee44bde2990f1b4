"""Who belongs to a cohort of ATLAS: its definition evaluated on dated records, as Circe's SQL does.

Events have a row per record and observation period that contains its start: `row` is the record,
`start` and `end` days since 1970, `first` and `last` the period's. Groups hold for records.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.ehr.omop.database import OmopTables, fetch
from unelisa.ehr.omop.persons import list_periods
from unelisa.ehr.omop.records import (
    as_day,
    as_number,
    as_value,
    keep_spans,
    keep_window,
    list_descendants,
)
from unelisa.ehr.omop.requests import Window as Days
from unelisa.ehr.rules.atlas import (
    CRITERIA,
    CohortDefinition,
    Concept,
    Criterion,
    Filter,
    Group,
    Occurrence,
    Table,
    Window,
)
from unelisa.ehr.rules.definition import SIGNS
from unelisa.errors import RecordsError

if TYPE_CHECKING:
    import pandas as pd

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
_FAR = 10_000_000  # days: beyond every date
_STRIDE = 4 * _FAR  # between the days of two persons
_MOST_PAIRS = 5_000_000  # of events and records that are compared at once
_NO_VISIT = -(2**62)
# columns of other tables: where they are, and by which columns a record finds them
_LOOKUPS = {
    "gender_concept_id": ("person", ("person",)),
    "race_concept_id": ("person", ("person",)),
    "ethnicity_concept_id": ("person", ("person",)),
    "year_of_birth": ("person", ("person",)),
    "visit_concept_id": ("visit_occurrence", ("visit", "person")),
    "specialty_concept_id": ("provider", ("provider_id",)),
}
_KEYS = {"person": "person_id", "visit": "visit_occurrence_id", "provider_id": "provider_id"}
_NUMBERS = {"value_as_number", "range_low", "range_high", "quantity", "dose_value"}
# the columns of a record that a computed column, or one of another table, needs besides the usual
_ORIGINS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys((*_LOOKUPS, "age", "length", "start", "end"), ()),
    "specialty_concept_id": ("provider_id",),
    "range_low_ratio": ("range_low", "value_as_number"),
    "range_high_ratio": ("range_high", "value_as_number"),
}
_TESTS: dict[str, Callable[[Floats, tuple[float, ...]], Any]] = {
    "bt": lambda x, ends: (x >= ends[0]) & (x <= ends[1]),
    "in": np.isin,
    "lt": lambda x, bound: x < bound[0],
    "lte": lambda x, bound: x <= bound[0],
    "eq": lambda x, bound: x == bound[0],
    "gt": lambda x, bound: x > bound[0],
    "gte": lambda x, bound: x >= bound[0],
}


class Scope(NamedTuple):
    """Which records count: those in a window of calendar days, and near each person's index day."""

    window: Days = (None, None)
    spans: Any | None = None  # as in `records.list_spans`


EVERYTHING = Scope()


def find_members(
    tables: OmopTables, definition: CohortDefinition, scope: Scope = EVERYTHING
) -> Integers:
    """Return the persons who belong to a cohort, sorted."""
    records = _Records(tables, definition.concept_sets, scope)
    events = records.list_primary(definition.primary, definition.observed)
    events = _limit(events, definition.limit)
    if definition.additional is not None:
        events = events[_holds(definition.additional, records, events)]
        events = _limit(events, definition.qualified)
    for group in definition.inclusion:
        events = events[_holds(group, records, events)]
    events = _limit(events, definition.included)
    events = events[_last(definition, records, events)]
    return np.unique(events["person"].to_numpy(np.int64))


def list_rows(tables: OmopTables, number: int, scope: Scope = EVERYTHING) -> Integers:
    """Return the persons in the rows of a cohort that start on days that count, sorted."""
    rows = tables.take(
        "cohort", number="cohort_definition_id", person="subject_id", day="cohort_start_date"
    )
    rows = rows.filter(as_number(rows.number) == number)
    rows = rows.select(person=as_number(rows.person), day=as_day(rows.day))
    persons = _fetch(rows, "reading the cohort")["person"]
    if persons.empty:
        raise RecordsError(f"the table cohort has no rows with the number {number}")
    if scope is not EVERYTHING:
        kept = keep_spans(keep_window(rows, scope.window), scope.spans)
        persons = _fetch(kept, "reading the cohort")["person"]
    return np.unique(persons.to_numpy(np.int64))


def _limit(events: "pd.DataFrame", limit: str) -> "pd.DataFrame":
    """Return all events, or the first or last of each person; of a day the one listed first."""
    if limit == "all":
        return events
    ordered = events.sort_values("start", ascending=limit == "first", kind="stable")
    return ordered.drop_duplicates("person").sort_index()


def _last(definition: CohortDefinition, records: "_Records", events: "pd.DataFrame") -> Flags:
    """Return which events do not end before they start; a censoring event ends them, too."""
    if definition.end is None:
        return np.ones(len(events), dtype=bool)
    from_end, days = definition.end
    start, end = (events[name].to_numpy() for name in ("start", "end"))
    kept = np.asarray((end if from_end else start) + days >= start)
    onwards = Window(((0, 1), (None, 1)), of_end=False, from_end=False)
    for one in definition.censoring:
        wanted = Occurrence(one, ">=", 1, (onwards,), None, same_visit=False, anywhere=False)
        kept |= _holds(wanted, records, events)
    return kept


def _holds(
    part: Occurrence | Group | tuple[Filter, ...], records: "_Records", events: "pd.DataFrame"
) -> Flags:
    if isinstance(part, Occurrence):
        found = _sum_records(events, records.count(part, events))
        return np.asarray(SIGNS[part.sign](found, part.times))
    if not isinstance(part, Group):
        return records.passes(events, part)
    if not part.members:
        return np.ones(len(events), dtype=bool)
    held = np.sum([_holds(one, records, events) for one in part.members], axis=0)
    count = _sum_records(events, held)
    return np.asarray((count >= part.least) & (count <= part.most))


def _sum_records(events: "pd.DataFrame", values: NDArray[Any]) -> NDArray[Any]:
    _, codes = np.unique(events["row"].to_numpy(), return_inverse=True)
    return np.asarray(np.bincount(codes, values, 1)[codes])


class _Records:
    """Records of a database by criterion, each fetched once."""

    def __init__(
        self, tables: OmopTables, concept_sets: Mapping[int, Sequence[Concept]], scope: Scope
    ) -> None:
        self._tables, self._sets, self._scope = tables, concept_sets, scope
        self.list_records = cache(self._list_records)
        self.list_concepts = cache(self._list_concepts)
        self._look_up = cache(self._fetch_lookup)

    @cached_property
    def _periods(self) -> "pd.DataFrame":
        table = _fetch(list_periods(self._tables), "reading the observation periods").dropna()
        return table.assign(**{name: _number(table[name]) for name in ("first", "last")})

    def list_primary(
        self, criteria: Sequence[Criterion], observed: tuple[int, int]
    ) -> "pd.DataFrame":
        """Return the first events: each period of a record is an event of its own."""
        import pandas as pd  # noqa: PLC0415 - only tables need it

        events = self.observe(pd.concat([self.list_records(one) for one in criteria]))
        early, late = events["first"] + observed[0], events["last"] - observed[1]
        events = events[(early <= events["start"]) & (events["start"] <= late)]
        events = events.sort_values(["person", "start", "key"], kind="stable", ignore_index=True)
        return events.assign(row=np.arange(len(events)))

    def observe(self, records: "pd.DataFrame") -> "pd.DataFrame":
        """Return records in the observation periods that contain their start."""
        both = records.merge(self._periods, on="person")
        inside = (both["first"] <= both["start"]) & (both["start"] <= both["last"])
        return both[inside].reset_index(drop=True)

    def _list_records(self, criterion: Criterion) -> "pd.DataFrame":
        found = self._read(criterion)
        found = found.sort_values(["person", "start", "key"], kind="stable", ignore_index=True)
        found = found.assign(row=np.arange(len(found)))
        if criterion.first:
            found = found.drop_duplicates("person")
        found = found[self.passes(found, criterion.filters)]
        if criterion.group is not None:
            events = self.observe(found)
            held = events["row"][_holds(criterion.group, self, events)]
            found = found[found["row"].isin(held)]
        return found.reset_index(drop=True)

    def _read(self, criterion: Criterion) -> "pd.DataFrame":
        table, columns = CRITERIA[criterion.domain], _list_columns(criterion)
        records = self._tables.take(table.name, **columns)
        records = records.filter(records.person.notnull() & records.start.notnull())
        for name, number in (("concept", criterion.concepts), ("source", criterion.source)):
            if number is not None:
                records = records.filter(as_number(records[name]).isin(self.list_concepts(number)))
        kinds: dict[str, Callable[[Any], Any]] = dict.fromkeys(columns, as_number)
        kinds.update(dict.fromkeys(_NUMBERS & set(columns), as_value))
        kinds.update(
            start=as_day, end=as_day, visit=lambda one: as_number(one).fill_null(_NO_VISIT)
        )
        records = records.select(**{name: kinds[name](records[name]) for name in columns})
        dated = keep_window(records.mutate(day=records.start), self._scope.window)
        found = _fetch(keep_spans(dated, self._scope.spans), f"reading {table.name}")
        return _date(found.drop(columns="day"), table)

    def passes(self, records: "pd.DataFrame", filters: Sequence[Filter]) -> Flags:
        """Return which records pass all filters; an unknown value passes none, as in SQL."""
        passed = np.ones(len(records), dtype=bool)
        for column, sign, values in filters:
            found = self._compute(records, column)
            test = _TESTS[sign.removeprefix("!")](found, values)
            passed &= ~np.isnan(found) & (test != sign.startswith("!"))
        return passed

    def _compute(self, records: "pd.DataFrame", column: str) -> Floats:
        if column == "age":
            years = records["start"].to_numpy().astype("datetime64[D]").astype("datetime64[Y]")
            born = self._compute(records, "year_of_birth")
            return np.asarray(years.astype(np.int64) + 1970 - born, dtype=np.float64)
        if column == "length":
            return np.asarray(records["end"] - records["start"], dtype=np.float64)
        if column.endswith("_ratio"):
            bound = records[column.removesuffix("_ratio")].to_numpy(np.float64)
            found = records["value_as_number"].to_numpy(np.float64)
            return np.asarray(found / np.where(bound, bound, np.nan))
        if column in _LOOKUPS and column not in records:
            keys = [*_LOOKUPS[column][1]]
            records = records[keys].merge(self._look_up(column), "left", on=keys)
        return np.asarray(records[column].to_numpy(np.float64, na_value=np.nan))

    def _fetch_lookup(self, column: str) -> "pd.DataFrame":
        name, keys = _LOOKUPS[column]
        names = {key: _KEYS[key] for key in keys}
        table = self._tables.take(name, **names, **{column: column})
        table = table.select(**{one: as_number(table[one]) for one in table.columns})
        table = table.filter(*(table[key].notnull() for key in keys))
        return _fetch(table, f"reading {name}").drop_duplicates([*keys])

    def count(self, wanted: Occurrence, events: "pd.DataFrame") -> NDArray[Any]:
        records = self.list_records(wanted.criterion)
        before, after = _find_range(wanted, events, records)
        if not (wanted.distinct or wanted.same_visit or any(one.of_end for one in wanted.windows)):
            return np.asarray(after - before)
        found = np.zeros(len(events))
        for event, record in _list_pairs(before, after):
            pairs = events.iloc[event].reset_index(drop=True), records.iloc[record]
            kept = np.ones(len(event), dtype=bool)
            for window in wanted.windows:
                if window.of_end:
                    low, high = _bound(window, pairs[0], wanted.anywhere)
                    end = pairs[1]["end"].to_numpy()
                    kept &= (low <= end) & (end <= high)
            if wanted.same_visit:
                visit = pairs[0]["visit"].to_numpy()
                kept &= (visit == pairs[1]["visit"].to_numpy()) & (visit != _NO_VISIT)
            if wanted.distinct:
                kept &= _mark_distinct(pairs, wanted.distinct, kept)
            found += np.bincount(event[kept], minlength=len(events))
        return found

    def _list_concepts(self, number: int) -> list[int]:
        """Return the concepts of a set that the vocabulary has; of descendants, the valid ones."""
        items = self._sets[number]
        chosen, excluded = (
            self._resolve([item for item in items if item[2] == out]) for out in (False, True)
        )
        return sorted(chosen - excluded) or [-1]  # no record has this

    def _resolve(self, items: Sequence[Concept]) -> set[int]:
        found = self._expand(items)
        mapped = self._expand([item for item in items if item[3]])
        if not mapped:
            return found
        names = {"kind": "relationship_id", "invalid": "invalid_reason", "to": "concept_id_2"}
        links = self._tables.take("concept_relationship", concept="concept_id_1", **names)
        links = links.filter((links.kind == "Maps to") & _is_valid(links.invalid))
        return found | _fetch_concepts(links.filter(as_number(links.to).isin(sorted(mapped))))

    def _expand(self, items: Sequence[Concept]) -> set[int]:
        """Return concepts, and the valid descendants of those that are named with them."""
        if not items:
            return set()
        known = self._tables.take("concept", concept="concept_id", invalid="invalid_reason")
        named = known.filter(as_number(known.concept).isin(sorted({item[0] for item in items})))
        found = _fetch_concepts(named)
        above = sorted({item[0] for item in items if item[1]})
        if above:
            links = list_descendants(self._tables)
            links = links.filter(links.above.isin(above)).select("concept")
            valid = known.filter(_is_valid(known.invalid))
            valid = valid.select(concept=as_number(valid.concept))
            found |= _fetch_concepts(valid.semi_join(links, "concept"))
        return found


def _list_columns(criterion: Criterion) -> dict[str, str]:
    table = CRITERIA[criterion.domain]
    columns = {"person": "person_id", "key": table.key, "start": table.start}
    columns["concept"] = f"{table.kind}_concept_id"
    if table.end is not None:
        columns["end"] = table.end
    if table.visits:
        columns["visit"] = "visit_occurrence_id"
    if criterion.source is not None:
        columns["source"] = f"{table.kind}_source_concept_id"
    if criterion.domain == "DrugExposure":
        columns["days_supply"] = "days_supply"
    for column, _, _ in criterion.filters:
        for own in _ORIGINS.get(column, (column.removesuffix("_ratio"),)):
            columns.setdefault(own, own)
    return columns


def _date(records: "pd.DataFrame", table: Table) -> "pd.DataFrame":
    """Return records with numbered days; one without an end has that of its kind."""
    start = _number(records["start"])
    end = _number(records["end"]) if "end" in records else np.full(len(records), np.nan)
    if "days_supply" in records:
        supply = records["days_supply"].to_numpy(np.float64, na_value=np.nan)
        end = np.where(np.isnan(end), start + supply, end)
    if table.open_days is not None:
        end = np.where(np.isnan(end), start + table.open_days, end)
    found = records.assign(start=start, end=end)
    return found if table.visits else found.assign(visit=_NO_VISIT)


def _find_range(
    wanted: Occurrence, events: "pd.DataFrame", records: "pd.DataFrame"
) -> tuple[Integers, Integers]:
    """Return from which record to which the start is where it should be, for each event."""
    low, high = np.full((2, len(events)), np.inf)
    low = -low
    if not wanted.anywhere:
        low, high = events["first"].to_numpy(), events["last"].to_numpy()
    for window in wanted.windows:
        if not window.of_end:
            ends = _bound(window, events, wanted.anywhere)
            low, high = np.maximum(low, ends[0]), np.minimum(high, ends[1])
    # an event without an end has no window that is counted from it
    empty = np.isnan(low) | np.isnan(high)
    low, high = np.where(empty, 1, low), np.where(empty, 0, high)
    whose = records["person"].to_numpy(np.int64)
    _, codes = np.unique(
        np.concatenate([whose, events["person"].to_numpy(np.int64)]), return_inverse=True
    )
    # one number orders persons and days
    keys = codes[: len(whose)] * _STRIDE + records["start"].to_numpy()
    base = codes[len(whose) :] * _STRIDE
    before = np.searchsorted(keys, base + np.clip(low, -_FAR, _FAR), side="left")
    after = np.searchsorted(keys, base + np.clip(high, -_FAR, _FAR), side="right")
    return before, np.maximum(after, before)


def _bound(window: Window, events: "pd.DataFrame", anywhere: bool) -> tuple[Floats, Floats]:
    """Return the first and the last day of a window; open ones reach to the edge of observation."""
    day = events["end" if window.from_end else "start"].to_numpy(np.float64)
    found = []
    for (days, side), far in zip(window.bounds, (-np.inf, np.inf), strict=True):
        if days is not None:
            found.append(day + days)
        elif anywhere:
            found.append(np.full(len(day), far))
        else:
            found.append(events["first" if side < 0 else "last"].to_numpy(np.float64))
    return found[0], found[1]


def _list_pairs(before: Integers, after: Integers) -> Iterator[tuple[Integers, Integers]]:
    """Yield pairs of an event and a record in its range, some events at a time."""
    counts = after - before
    part = np.cumsum(counts) // _MOST_PAIRS
    for k in np.unique(part):
        which = np.flatnonzero(part == k)
        event = np.repeat(which, counts[which])
        place = np.arange(len(event)) - np.repeat(
            np.cumsum(counts[which]) - counts[which], counts[which]
        )
        yield event, before[event] + place


def _mark_distinct(pairs: "tuple[pd.DataFrame, pd.DataFrame]", column: str, kept: Flags) -> Flags:
    """Return one of the kept pairs of each record and known value."""
    import pandas as pd  # noqa: PLC0415 - only tables need it

    values = pairs[1][column]
    kept = kept & (values.notna() & (values != _NO_VISIT)).to_numpy()
    table = pd.DataFrame({"row": pairs[0]["row"].to_numpy(), "value": values.to_numpy()})
    first = np.zeros(len(table), dtype=bool)
    first[table[kept].drop_duplicates().index] = True
    return first


def _is_valid(reason: Any) -> Any:
    """Return whether a row of the vocabulary is valid; files of text leave the reason empty."""
    return reason.isnull() | (reason == "")


def _fetch_concepts(table: Any) -> set[int]:
    found = _fetch(table.select(concept=as_number(table.concept)), "reading the concepts")
    return set(found["concept"].tolist())


def _fetch(expression: Any, doing: str) -> "pd.DataFrame":
    found: pd.DataFrame = fetch(expression, doing).to_pandas()
    return found


def _number(days: "pd.Series[Any]") -> Floats:
    import pandas as pd  # noqa: PLC0415 - only tables need it

    known = pd.to_datetime(days).to_numpy().astype("datetime64[D]")
    return np.where(np.isnat(known), np.nan, known.astype(np.int64))
