"""A simulated datamart as an OMOP database in DuckDB: the dated records behind every count.

Records that must not count are included: repeated codes, and mentions negated or of relatives.
"""

import errno
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.ehr.datamart import (
    FEATURES,
    MAIN_CODE,
    MAIN_CONCEPT,
    UTILIZATION,
    Integers,
    SimulatedEhr,
)
from unelisa.errors import missing_extra
from unelisa.outputs import whole_file

# table -> the statement that creates it
TABLES = {
    found[1]: found[0]
    for found in re.finditer(
        r"CREATE TABLE (\w+) \(.*?\);",
        files("unelisa.ehr.omop").joinpath("cdm54.sql").read_text(encoding="utf-8"),
        re.DOTALL,
    )
}
Advance = Callable[[str, int], None]  # table, rows written
Block = Mapping[str, Any]  # rows of a table: column -> list or array, or one value for all rows

RHEUMATOID_ARTHRITIS = 80809  # the standard concept
# numbers over two billion are site-specific
INFLAMMATORY_ARTHRITIS, ANTI_CCP_TEST = 2_000_000_001, 2_000_000_002  # its parent; a test
_FIRST_CODE, _FIRST_TERM = 2_000_001_000, 2_000_002_000
ANTI_CCP_NAME = "anti-cyclic citrullinated peptide test"
FIRST_DAY, N_DAYS = np.datetime64("2000-01-01", "D"), 5844  # sixteen years
# standard concepts
OUTPATIENT_VISIT, FEMALE, MALE, ENGLISH, UTF8 = 9202, 8532, 8507, 4180186, 32678
FROM_RECORDS, CLINIC_NOTE, CDM_54 = 32817, 44814640, 756265
# term_exists and term_modifiers of mentions: the first count; the others do not describe the
# patient now, which in the last two only the modifiers say
_MENTIONED = (
    ("Y", None),
    ("N", "negation=true"),
    ("N", "subject=family member"),
    (None, "conditional=true"),
    ("Y", "negation=false, subject=mother"),
)
_REVIEWED: Block = {
    "cohort_definition_id": [1],
    "cohort_definition_name": "charts reviewed",
    "definition_type_concept_id": 0,
    "subject_concept_id": 0,
}
_SOURCE: Block = {
    "cdm_source_name": ["simulated rheumatoid arthritis datamart"],
    "cdm_source_abbreviation": "simulated",
    "cdm_holder": "unelisa",
    "source_description": "no patient of this database exists",
    "source_release_date": "2026-01-01",
    "cdm_release_date": "2026-01-01",
    "cdm_version": "5.4",
    "cdm_version_concept_id": CDM_54,
    "vocabulary_version": "simulated",
}


def write_datamart(
    drawn: SimulatedEhr,
    path: str | Path,
    random_state: int | np.random.Generator | None = 0,
    advance: Advance | None = None,
) -> None:
    """Write a simulated datamart as an OMOP database, without its truth, wholly or not at all."""
    try:
        import duckdb  # noqa: PLC0415 - optional
    except ImportError:
        raise missing_extra("databases need DuckDB", "omop") from None
    rng = np.random.default_rng(random_state)
    with whole_file(path) as draft:
        try:
            with duckdb.connect(str(draft)) as connection:
                for statement in TABLES.values():
                    connection.execute(statement)
                for table, blocks in list_tables(drawn, rng):
                    connection.register("rows", _stream(table, blocks, advance))
                    insert = f"INSERT INTO {table} BY NAME SELECT * FROM rows"  # noqa: S608
                    connection.execute(insert)
                    connection.unregister("rows")
        except (duckdb.IOException, duckdb.FatalException, duckdb.TransactionException):
            raise OSError(errno.EIO, "the disk is full or failed", str(path)) from None


def _stream(table: str, blocks: Iterable[Block], advance: Advance | None) -> Any:
    import pyarrow as pa  # noqa: PLC0415 - only files need it

    def batch(block: Block) -> Any:
        n = next(len(v) for v in block.values() if isinstance(v, np.ndarray | list))
        columns = dict(block)
        for name, value in block.items():
            if not isinstance(value, np.ndarray | list):
                kind = pa.string() if value is None else None
                columns[name] = pa.repeat(pa.scalar(value, kind), n)
        if advance is not None:
            advance(table, n)
        return pa.record_batch(columns)

    batches = map(batch, blocks)
    first = next(batches)
    return pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))


class Term(NamedTuple):
    """A feature as recorded in the database."""

    feature: str
    text: str
    concept: int
    source_concept: int  # of a code; 0 for what notes mention


def _describe_term(place: int, feature: str) -> Term:
    kind, _, text = feature.partition(":")
    own = {"ICD": _FIRST_CODE + 500 + place, "NLP": _FIRST_TERM + place}[kind]
    concept = RHEUMATOID_ARTHRITIS if text in {MAIN_CODE, MAIN_CONCEPT} else own
    return Term(feature, text, concept, _FIRST_CODE + place if kind == "ICD" else 0)


TERMS = tuple(_describe_term(place, one.name) for place, one in enumerate(FEATURES))
CODES = tuple(term for term in TERMS if term.source_concept)
MENTIONS = tuple(term for term in TERMS if not term.source_concept)


def list_concepts() -> Block:
    """Return the concept rows."""
    rows = [
        (RHEUMATOID_ARTHRITIS, MAIN_CONCEPT.capitalize(), "Condition", "SNOMED", "69896004"),
        (INFLAMMATORY_ARTHRITIS, "Inflammatory arthritis", "Condition", "Simulated", "ia"),
        (ANTI_CCP_TEST, ANTI_CCP_NAME.capitalize(), "Measurement", "Simulated", "ccp"),
    ]
    for _, text, concept, code in TERMS:
        known = concept == RHEUMATOID_ARTHRITIS
        if code:
            rows.append((code, f"Code {text}", "Condition", "ICD9CM", text))
            named = (f"Arthropathy coded {text}", "Condition", "Simulated", f"s{text}")
        else:
            named = (text.capitalize(), "Observation", "Simulated", f"t{concept}")
        rows += [] if known else [(concept, *named)]
    numbers, names, domains, vocabularies, codes = map(list, zip(*rows, strict=True))
    return {
        "concept_id": numbers,
        "concept_name": names,
        "domain_id": domains,
        "vocabulary_id": vocabularies,
        "concept_class_id": "Simulated",
        "standard_concept": [None if one == "ICD9CM" else "S" for one in vocabularies],
        "concept_code": codes,
        "valid_start_date": "1970-01-01",
        "valid_end_date": "2099-12-31",
    }


def list_ancestors() -> Block:
    """Return the concept_ancestor rows: the parent of every code's concept, and itself."""
    concepts = list_concepts()
    standard = zip(concepts["concept_id"], concepts["standard_concept"], strict=True)
    pairs = [(INFLAMMATORY_ARTHRITIS, code.concept, 1) for code in CODES]
    pairs += [(concept, concept, 0) for concept, mark in standard if mark == "S"]
    above, below, levels = map(list, zip(*pairs, strict=True))
    return {
        "ancestor_concept_id": above,
        "descendant_concept_id": below,
        "min_levels_of_separation": levels,
        "max_levels_of_separation": levels,
    }


def list_tables(
    drawn: SimulatedEhr, rng: np.random.Generator
) -> Iterator[tuple[str, Iterable[Block]]]:
    """Yield the tables of the database and their rows, in blocks."""
    calendar = Calendar(drawn, rng)
    yield "person", [list_persons(drawn, rng)]
    yield "observation_period", [calendar.list_periods()]
    yield "visit_occurrence", [calendar.list_visits()]
    yield "note", [calendar.list_notes()]
    yield "condition_occurrence", list_conditions(drawn, calendar, rng)
    yield "note_nlp", list_mentions(drawn, calendar, rng)
    yield "measurement", [list_tests(drawn, calendar, rng)]
    yield "cohort", [calendar.list_reviewed(drawn.reviewed)]
    yield "cohort_definition", [_REVIEWED]
    yield "concept", [list_concepts()]
    yield "concept_ancestor", [list_ancestors()]
    yield "cdm_source", [_SOURCE]


class Calendar:
    """The day of each visit and the visit of each note, patient by patient."""

    def __init__(self, drawn: SimulatedEhr, rng: np.random.Generator) -> None:
        self.persons: Integers = drawn.counts.index.to_numpy()
        self.visits = drawn.visits.astype(np.int64)
        self.notes = drawn.counts[UTILIZATION].to_numpy().astype(np.int64)
        self.first = _starts(self.visits)
        self.last = self.first + self.visits - 1
        self.visit_day = self._draw_days(rng)
        patient, place = spread(self.notes)
        # spread evenly over the visits, so that no visit has two notes
        visit = place * self.visits[patient] // self.notes[patient]
        self.note_visit: Integers = self.first[patient] + visit

    def _draw_days(self, rng: np.random.Generator) -> Integers:
        """Draw increasing days: each visit falls into its own part of the patient's history."""
        gap = rng.uniform(5.0, 60.0, len(self.visits))
        span = np.clip((gap * self.visits).astype(np.int64), self.visits, N_DAYS)
        first = np.floor(rng.random(len(span)) * (N_DAYS - span + 1)).astype(np.int64)
        patient, place = spread(self.visits)
        width = (span // self.visits)[patient]
        jitter = np.floor(rng.random(len(width)) * width).astype(np.int64)
        return first[patient] + place * span[patient] // self.visits[patient] + jitter

    def date(self, visit: Integers) -> NDArray[np.datetime64]:
        """Return the dates of visits, given by index."""
        return FIRST_DAY + self.visit_day[visit]

    def list_periods(self) -> Block:
        """Return the observation_period rows: from the first visit to the last."""
        return {
            "observation_period_id": np.arange(len(self.persons)),
            "person_id": self.persons,
            "observation_period_start_date": self.date(self.first),
            "observation_period_end_date": self.date(self.last),
            "period_type_concept_id": FROM_RECORDS,
        }

    def list_visits(self) -> Block:
        """Return the visit_occurrence rows."""
        number = np.arange(len(self.visit_day))
        return {
            "visit_occurrence_id": number,
            "person_id": np.repeat(self.persons, self.visits),
            "visit_concept_id": OUTPATIENT_VISIT,
            "visit_start_date": self.date(number),
            "visit_end_date": self.date(number),
            "visit_type_concept_id": FROM_RECORDS,
        }

    def list_notes(self) -> Block:
        """Return the note rows, without text."""
        return {
            "note_id": np.arange(len(self.note_visit)),
            "person_id": np.repeat(self.persons, self.notes),
            "note_date": self.date(self.note_visit),
            "note_type_concept_id": CLINIC_NOTE,
            "note_class_concept_id": 0,
            "note_text": "",
            "encoding_concept_id": UTF8,
            "language_concept_id": ENGLISH,
            "visit_occurrence_id": self.note_visit,
        }

    def list_reviewed(self, reviewed: Integers) -> Block:
        """Return the cohort rows of the patients whose charts were reviewed."""
        place = np.searchsorted(self.persons, reviewed)
        return {
            "cohort_definition_id": 1,
            "subject_id": reviewed,
            "cohort_start_date": self.date(self.first[place]),
            "cohort_end_date": self.date(self.last[place]),
        }


def spread(counts: Integers) -> tuple[Integers, Integers]:
    """Return the owner of each counted thing, and its index among the owner's."""
    owner = np.repeat(np.arange(len(counts)), counts)
    return owner, np.arange(len(owner)) - _starts(counts)[owner]


def _starts(counts: Integers) -> Integers:
    return np.cumsum(counts) - counts


def choose_days(
    count: Any, available: Integers, rng: np.random.Generator
) -> tuple[Integers, Integers]:
    """Return `count` of each patient's visits or notes, evenly spaced: patients, and indices."""
    count = np.asarray(count, dtype=np.int64)
    offset = np.floor(rng.random(len(count)) * available).astype(np.int64)
    patient, place = spread(count)
    n = available[patient]
    chosen = (offset[patient] + place * n // count[patient]) % n
    return patient, _starts(available)[patient] + chosen


def list_persons(drawn: SimulatedEhr, rng: np.random.Generator) -> Block:
    """Return the person rows."""
    n = len(drawn.counts)
    return {
        "person_id": drawn.counts.index.to_numpy(),
        "gender_concept_id": np.where(rng.random(n) < 0.6, FEMALE, MALE),
        "year_of_birth": rng.integers(1925, 1985, n),
        "race_concept_id": 0,
        "ethnicity_concept_id": 0,
    }


def list_conditions(
    drawn: SimulatedEhr, calendar: Calendar, rng: np.random.Generator
) -> Iterator[Block]:
    """Yield the condition_occurrence rows of each code; one in ten is recorded twice that day."""
    first = 0
    for code in CODES:
        patient, visit = choose_days(drawn.counts[code.feature], calendar.visits, rng)
        twice = np.repeat(np.arange(len(patient)), 1 + (rng.random(len(patient)) < 0.1))
        patient, visit = patient[twice], visit[twice]
        yield {
            "condition_occurrence_id": np.arange(first, first + len(visit)),
            "person_id": calendar.persons[patient],
            "condition_concept_id": code.concept,
            "condition_start_date": calendar.date(visit),
            "condition_type_concept_id": FROM_RECORDS,
            "visit_occurrence_id": visit,
            "condition_source_value": code.text,
            "condition_source_concept_id": code.source_concept,
        }
        first += len(visit)


def list_mentions(
    drawn: SimulatedEhr, calendar: Calendar, rng: np.random.Generator
) -> Iterator[Block]:
    """Yield the note_nlp rows of each concept: first those that count, then those that do not."""
    first = 0
    for term in MENTIONS:
        # many patients of the datamart were examined for the disease
        denied = 0.03 if term.text == MAIN_CONCEPT else 0.001
        for exists, modifiers in _MENTIONED:
            drawn_counts = drawn.counts[term.feature]
            count = rng.binomial(calendar.notes, denied) if modifiers else drawn_counts
            _, note = choose_days(count, calendar.notes, rng)
            yield {
                "note_nlp_id": np.arange(first, first + len(note)),
                "note_id": note,
                "lexical_variant": term.text,
                "note_nlp_concept_id": term.concept,
                "nlp_system": "simulated",
                "nlp_date": calendar.date(calendar.note_visit[note]),
                "term_exists": exists,
                "term_modifiers": modifiers,
            }
            first += len(note)


def list_tests(drawn: SimulatedEhr, calendar: Calendar, rng: np.random.Generator) -> Block:
    """Return the measurement rows: one anti-CCP test per tested patient, without its result."""
    patient, visit = choose_days(drawn.tested, calendar.visits, rng)
    return {
        "measurement_id": np.arange(len(visit)),
        "person_id": calendar.persons[patient],
        "measurement_concept_id": ANTI_CCP_TEST,
        "measurement_date": calendar.date(visit),
        "measurement_type_concept_id": FROM_RECORDS,
        "visit_occurrence_id": visit,
        "measurement_source_value": ANTI_CCP_NAME,
    }
