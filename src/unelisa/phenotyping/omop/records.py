"""What can be counted in an OMOP database, as Ibis expressions that run where the records are.

A feature is written as its column will be named::

    ICD:714.0          the source code 714.0 in condition_occurrence
    ICD:714.%          every code that starts with 714., each a feature of its own
    ICD:714.+          the same codes taken together as one feature
    CONCEPT:80809      the standard concept 80809 in condition_occurrence
    CONCEPT:80809+     it and all concepts below it (concept_ancestor), as one feature
    NLP:joint swelling mentions of a concept in notes (note_nlp), by its name; NLP:% is all
    RX:..., LAB:...    drug_exposure and measurement, by concept number or name, as above

Each feature counts at most once a day. A mention counts where it says that the patient has it:
term_exists must not say no, and term_modifiers must not say that it is negated, hypothetical, ruled
out, very uncertain, or of another person than the patient.
"""

from collections.abc import Iterator, Sequence
from datetime import date
from functools import reduce
from operator import or_
from typing import Any, Literal, NamedTuple

from unelisa.errors import RecordsError
from unelisa.sources.omop_tables import OmopTables, as_day, as_number, as_text

Window = tuple[date | None, date | None]
Reach = Literal["one", "name", "each", "together"]


class Domain(NamedTuple):
    """Where the records of one kind of feature are.

    Attributes
    ----------
    table, day
        The table and its column of dates.
    concept
        Column of the standard concept.
    code
        Column of the source code, for features that are named by it.
    """

    table: str
    day: str
    concept: str
    code: str | None = None


DOMAINS = {
    "ICD": Domain(
        "condition_occurrence",
        "condition_start_date",
        "condition_concept_id",
        "condition_source_value",
    ),
    "CONCEPT": Domain("condition_occurrence", "condition_start_date", "condition_concept_id"),
    "NLP": Domain("note_nlp", "note_date", "note_nlp_concept_id"),
    "RX": Domain("drug_exposure", "drug_exposure_start_date", "drug_concept_id"),
    "LAB": Domain("measurement", "measurement_date", "measurement_concept_id"),
}
UTILIZATIONS = {
    "note_count": ("note", "note_date"),
    "visit_count": ("visit_occurrence", "visit_start_date"),
}
_DENIED = ("n", "no", "f", "false", "0")
# modifiers of a mention that is not of the patient now, unless they say false; blanks are left out
_NOT_NOW = (
    "negation",
    "negated",
    "conditional",
    "hypothetical",
    "rule_out",
    "ruleout",
    "ruledout",
    "family",
    "uncertain=verylow",
)
_FALSE = ("=false", "=no", "=0", "history=false", "_history=false")


class Request(NamedTuple):
    """One feature as asked for.

    Attributes
    ----------
    text
        As written.
    domain
        Key of `DOMAINS`.
    code
        What is looked for, in the case of the domain.
    reach
        The code or concept number itself; the text only, even if it looks like a number; each that
        starts with it; or all of them together.
    """

    text: str
    domain: str
    code: str
    reach: Reach

    @property
    def column(self) -> str:
        """The name of its column, where it has just one."""
        return f"{self.domain}:{self.label}"

    @property
    def label(self) -> str:
        """What the database calls it."""
        return f"{self.code}+" if self.reach == "together" else self.code

    @property
    def concept(self) -> int | None:
        """The concept's number, where the feature names one."""
        if self.domain == "ICD" or self.reach in {"name", "each"} or not self.code.isdecimal():
            return None
        return int(self.code)

    def covers(self, column: str) -> bool:
        """Return whether a column can come from this request."""
        if self.reach == "each":
            return column.startswith(f"{self.domain}:{self.code}")
        return column == self.column


def parse_request(text: str) -> Request:
    """Return a feature as asked for.

    Examples
    --------
    >>> parse_request("ICD:714.%").reach, parse_request("CONCEPT:80809+").concept
    ('each', 80809)
    """
    domain, _, code = text.partition(":")
    code = code.strip()
    if domain not in DOMAINS or not code:
        raise RecordsError(
            f"the feature {text[:60]!r} cannot be understood; write one of "
            f"{', '.join(f'{name}:' for name in DOMAINS)} and a code, such as ICD:714.0"
        )
    ends: dict[str, Reach] = {"%": "each", "+": "together"}
    reach: Reach = ends.get(code[-1], "one")
    code = code if reach == "one" else code[:-1]
    if not code and reach == "together":
        raise RecordsError(f"the feature {text[:60]!r} would take everything together")
    return Request(text, domain, code.upper() if domain == "ICD" else code.lower(), reach)


def list_days(tables: OmopTables, requests: Sequence[Request], window: Window) -> Any:
    """Return the days (person, feature, day) of some features; they may repeat."""
    parts: list[Any] = []
    for domain in dict.fromkeys(one.domain for one in requests):
        records = _list_records(tables, domain, window)
        asked = [one for one in requests if one.domain == domain]
        by_text = [one for one in asked if one.concept is None]
        parts += [_days_by_number(records, one, tables) for one in asked if one not in by_text]
        if by_text:
            parts += _days_by_text(_name_records(records, tables, by_text), by_text)
    if len(parts) == 1:
        return parts[0]
    # some engines know more of a column's nulls than others
    kinds = {"person": "int64", "day": "date", "feature": "string"}
    alike = [part.select("person", "day", "feature").cast(kinds) for part in parts]
    return alike[0].union(*alike[1:])


def count_days(days: Any) -> Any:
    """Return the number of different days per person and feature."""
    return days.group_by("person", "feature").aggregate(days=lambda table: table.day.nunique())


def find_contacts(utilization: str) -> tuple[str, str]:
    """Return the table and the column of days that tell the utilisation."""
    if utilization not in UTILIZATIONS:
        raise RecordsError(
            f"utilization is {utilization[:40]!r}; use one of {', '.join(UTILIZATIONS)}"
        )
    return UTILIZATIONS[utilization]


def list_contacts(tables: OmopTables, utilization: str, window: Window) -> Any:
    """Return the notes or visits: person, day."""
    table, day = find_contacts(utilization)
    contacts = tables.take(table, person="person_id", day=day)
    return _within(contacts.mutate(person=as_number(contacts.person)), window)


def count_contacts(tables: OmopTables, utilization: str, window: Window) -> Any:
    """Return the number of notes or visits per person."""
    contacts = list_contacts(tables, utilization, window)
    return contacts.group_by("person").aggregate(days=lambda table: table.count())


def _list_records(tables: OmopTables, kind: str, window: Window) -> Any:
    """Return the records of a domain: person, day, concept, and the code where it names them."""
    domain = DOMAINS[kind]
    if kind == "NLP":
        records = _list_mentions(tables)
    else:
        code = {} if domain.code is None else {"code": domain.code}
        records = tables.take(
            domain.table, person="person_id", day=domain.day, concept=domain.concept, **code
        )
    numbers = {name: as_number(records[name]) for name in ("person", "concept")}
    return _within(records.mutate(**numbers), window)


def _within(records: Any, window: Window) -> Any:
    """Return the records in the window; one that names no person is nobody's."""
    first, last = window
    records = records.filter(records.person.notnull()).mutate(day=as_day(records.day))
    if first is not None:
        records = records.filter(records.day >= first)
    if last is not None:
        records = records.filter(records.day <= last)
    return records


def _list_mentions(tables: OmopTables) -> Any:
    """Return what notes say of the patient; the day is the note's, not that of the reading."""
    mentions = tables.take(
        "note_nlp",
        note="note_id",
        concept="note_nlp_concept_id",
        code="lexical_variant",
        exists="term_exists",
        modifiers="term_modifiers",
    )
    exists = as_text(mentions.exists).fill_null("y").lower()
    # most mentions have no modifiers, and engines look no further then
    kept = ~exists.isin(_DENIED) & (mentions.modifiers.isnull() | _is_present(mentions.modifiers))
    mentions = mentions.filter(kept).select("note", "concept", "code")
    notes = tables.take("note", note="note_id", person="person_id", day="note_date")
    joined = mentions.inner_join(notes, "note")
    return joined.select("person", "day", "concept", "code")


def _is_present(modifiers: Any) -> Any:
    """Return whether modifiers leave a mention one of the patient now."""
    told = as_text(modifiers).lower().replace(" ", "")

    def tells(words: str) -> Any:
        return told.like(f"%{words}%")  # contains() would be a full-text search on SQL Server

    present = tells("subject=patient") | ~tells("subject=")
    for sign in _NOT_NOW:
        denied = reduce(or_, (tells(sign + false) for false in _FALSE))
        present &= ~tells(sign) | denied
    return present


def _name_records(records: Any, tables: OmopTables, requests: Sequence[Request]) -> Any:
    """Return records with the text by which features name them: a code, or a concept's name."""
    kind = requests[0].domain
    if kind == "ICD":
        # some sites pad codes with blanks
        return records.select("person", "day", name=as_text(records.code).strip().upper())
    concepts = tables.take("concept", concept="concept_id", title="concept_name")
    concepts = concepts.select(concept=as_number(concepts.concept), name=concepts.title.lower())
    # only the few wanted concepts are joined to the many records
    wanted = concepts.filter(_match(concepts.name, requests) & (concepts.concept != 0))
    if kind != "NLP":
        return records.inner_join(wanted, "concept").select("person", "day", "name")
    # a term that was mapped to no concept is known by its own words
    joined = records.left_join(wanted, "concept")
    unmapped = joined.concept.fill_null(0) == 0
    return joined.select(
        "person", "day", name=unmapped.ifelse(as_text(joined.code).lower(), joined.name)
    )


def _days_by_text(named: Any, requests: Sequence[Request]) -> Iterator[Any]:
    """Yield the days of features named by a text: those by themselves, then those together."""
    alone = [one for one in requests if one.reach != "together"]
    if alone:
        found = named.filter(_match(named.name, alone))
        yield found.select("person", "day", feature=found.name)
    for one in requests:
        if one.reach == "together":
            yield _label(named.filter(_match(named.name, [one])), one.label)


def _match(name: Any, requests: Sequence[Request]) -> Any:
    """Return whether a text is wanted; Ibis writes values as literals, so a quote stays a quote."""
    whole = [one.code for one in requests if one.reach in {"one", "name"}]
    wanted = [name.isin(whole)] if whole else []
    wanted += [_starts(name, one.code) for one in requests if one.reach in {"each", "together"}]
    return reduce(or_, wanted)


def _starts(name: Any, start: str) -> Any:
    # not LIKE, as some engines would write it: an underscore in a code is no wildcard
    return name.left(len(start)) == start if start else name.notnull()


def _days_by_number(records: Any, request: Request, tables: OmopTables) -> Any:
    """Return the days of a concept, or of it and all below it."""
    if request.reach == "one":
        return _label(records.filter(records.concept == request.concept), request.label)
    below = tables.take(
        "concept_ancestor", above="ancestor_concept_id", concept="descendant_concept_id"
    )
    below = below.filter(as_number(below.above) == request.concept)
    below = below.select(concept=as_number(below.concept))
    return _label(records.semi_join(below, "concept"), request.label)


def _label(records: Any, feature: str) -> Any:
    import ibis  # noqa: PLC0415 - optional

    return records.select("person", "day", feature=ibis.literal(feature))
