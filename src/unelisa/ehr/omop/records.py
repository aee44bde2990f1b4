"""Records as Ibis expressions, which run where the records are.

A mention in a note counts unless term_exists denies it, or term_modifiers mark it as negated,
hypothetical, ruled out, very uncertain, or about another person.
"""

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import ge, gt, le, lt, or_
from typing import Any

from unelisa.ehr.omop.database import OmopTables, fetch
from unelisa.ehr.omop.requests import DOMAINS, UTILIZATIONS, CountRequest, Domain, Request, Window

_DAY = 8  # digits of YYYYMMDD


def as_number(column: Any) -> Any:
    """Return identifiers as 64-bit integers; a fraction fails: rounded, it names somebody else."""
    kind = column.type()
    if kind.is_integer() or (kind.is_decimal() and kind.scale == 0):
        return column if kind.is_int64() else column.cast("int64")
    number = column.cast("float64")
    text = column if kind.is_string() else column.cast("int64").cast("string")
    return (number == number.floor()).ifelse(text, "fraction").cast("int64")


def as_day(column: Any) -> Any:
    """Return dates as dates: DATE, TIMESTAMP, or YYYY-MM-DD and YYYYMMDD as text; others fail."""
    kind = column.type()
    if kind.is_date():
        return column
    if kind.is_timestamp():
        return column.date()
    digits = as_text(column).strip().nullif("").replace("-", "").left(_DAY)
    parts = (digits.substr(0, 4), digits.substr(4, 2), digits.substr(6, 2))
    return (parts[0] + "-" + parts[1] + "-" + parts[2]).cast("date")


def as_value(column: Any) -> Any:
    """Return a column of measured values as numbers."""
    kind = column.type()
    return (column.strip().nullif("") if kind.is_string() else column).cast("float64")


def as_text(column: Any) -> Any:
    """Return a column of codes as text."""
    return column if column.type().is_string() else column.cast("string")


_DENIED = ("n", "no", "f", "false", "0")
# modifiers of a mention that is not about the patient now, unless set to false; blanks are removed
_NOT_NOW = (
    *("negation", "negated", "conditional", "hypothetical", "rule_out", "ruleout", "ruledout"),
    *("family", "uncertain=verylow"),
)
_COMPARE = {">": gt, ">=": ge, "<": lt, "<=": le}
_SEPARATOR = "\x1f"  # no code contains it
_FALSE = ("=false", "=no", "=0", "history=false", "_history=false")


def list_patients(tables: OmopTables, request: CountRequest) -> Any:
    """Return the persons in the database that meet the entry rule and have an index day, if any."""
    people = tables.take("person", person="person_id")
    people = people.filter(people.person.notnull()).select(person=as_number(people.person))
    for rule in filter(None, (request.entry, request.index)):
        people = people.semi_join(
            list_days(tables, rule, request.window).select("person"), "person"
        )
    return people


def list_spans(tables: OmopTables, request: CountRequest) -> Any:
    """Return person, index, first and last day that count, open ends absent; None without index."""
    import ibis  # noqa: PLC0415 - optional

    if not request.index:
        return None
    days = list_days(tables, request.index, request.window)
    spans = days.group_by("person").aggregate(index=days.day.min())
    before, after = request.span
    ends = {}
    if before is not None:
        ends["first"] = (spans["index"] - ibis.interval(days=before)).cast("date")
    if after is not None:
        ends["last"] = (spans["index"] + ibis.interval(days=after)).cast("date")
    return spans.mutate(**ends)


def keep_spans(days: Any, spans: Any | None) -> Any:
    """Return the rows (person, day, ...) on the days that count for their person."""
    if spans is None:
        return days
    joined = days.inner_join(spans, "person")
    if "first" in spans.columns:
        joined = joined.filter(joined.day >= joined["first"])
    if "last" in spans.columns:
        joined = joined.filter(joined.day <= joined["last"])
    return joined.select(*days.columns)


def list_days(tables: OmopTables, requests: Sequence[Request], window: Window) -> Any:
    """Return the days (person, feature, day) of some features, possibly repeated."""
    parts: list[Any] = []
    for domain in dict.fromkeys(one.domain for one in requests):
        asked = [one for one in requests if one.domain == domain]
        valued = any(one.cut is not None for one in asked)
        parts += _find_days(_list_records(tables, domain, window, valued), asked, tables)
    return _unite(parts, {"person": "int64", "day": "date", "feature": "string"})


def find_base(tables: OmopTables, kind: str) -> Domain:
    """Return the domain of the records behind a domain: eras summarize those of another one."""
    domain = DOMAINS[kind]
    base = domain if domain.base is None else DOMAINS[domain.base]
    return base if base.table in tables else domain


def list_contents(
    tables: OmopTables, requests: Sequence[Request], domain: Domain, columns: Sequence[str]
) -> Any:
    """Return which records some features of one kind count: content (columns as text), feature."""
    import ibis  # noqa: PLC0415 - optional

    named = {"concept": domain.concept, **({"code": domain.code} if domain.code else {})}
    records = tables.take(domain.table, **named, **{f"c{i}": c for i, c in enumerate(columns)})
    texts = [as_text(records[f"c{i}"]).fill_null("") for i in range(len(columns))]
    key = reduce(lambda one, other: one + _SEPARATOR + other, texts)
    contents = records.select(*named, person=key, day=ibis.literal(0)).distinct()
    contents = contents.mutate(concept=as_number(contents.concept))
    if requests[0].domain == "RX.era" and "concept_ancestor" in tables:
        contents = contents.inner_join(list_descendants(tables), "concept")
        contents = contents.select("person", "day", concept=contents.above)
    kinds = {"person": "string", "day": "int8", "feature": "string"}
    found = _unite(list(_find_days(contents, requests, tables)), kinds)
    return found.select(content=found.person, feature=found.feature).distinct()


def list_descendants(tables: OmopTables) -> Any:
    """Return which concepts are below which: above, concept; most concepts are below themselves."""
    links = tables.take(
        "concept_ancestor", above="ancestor_concept_id", concept="descendant_concept_id"
    )
    return links.select(above=as_number(links.above), concept=as_number(links.concept))


def _find_days(records: Any, requests: Sequence[Request], tables: OmopTables) -> Iterator[Any]:
    import ibis  # noqa: PLC0415 - optional

    for cut in dict.fromkeys(one.cut for one in requests):
        asked, kept = [one for one in requests if one.cut == cut], records
        if cut is not None and "value" in records.columns:
            # as text: Ibis compiles a number for some engines only if their drivers are installed
            bound = ibis.literal(f"{cut.bound:.12g}").cast("float64")
            kept = records.filter(_COMPARE[cut.sign](records.value, bound))
        for one in asked:
            if one.concept is not None:
                yield _label(_keep_concept(kept, one, tables), one.label)
        by_text = [one for one in asked if one.concept is None]
        if by_text:
            yield from _days_by_text(_name_records(kept, tables, by_text), by_text)


def _unite(parts: list[Any], kinds: dict[str, str]) -> Any:
    if len(parts) == 1:
        return parts[0]
    # engines differ in which columns they know to be nullable
    alike = [part.select(*kinds).cast(kinds) for part in parts]
    return alike[0].union(*alike[1:])


def count_days(days: Any) -> Any:
    """Return the number of distinct days, and of records, per person and feature."""
    return days.group_by("person", "feature").aggregate(
        days=lambda table: table.day.nunique(), records=lambda table: table.count()
    )


def list_contacts(tables: OmopTables, utilization: str, window: Window) -> Any:
    """Return the notes or visits: person, day."""
    table, day = UTILIZATIONS[utilization]
    contacts = tables.take(table, person="person_id", day=day)
    return _within(contacts.mutate(person=as_number(contacts.person)), window)


def count_contacts(
    tables: OmopTables, utilization: str, window: Window, spans: Any | None = None
) -> Any:
    """Return the number of notes or visits per person."""
    contacts = keep_spans(list_contacts(tables, utilization, window), spans)
    return contacts.group_by("person").aggregate(days=lambda table: table.count())


def _list_records(tables: OmopTables, kind: str, window: Window, valued: bool = False) -> Any:
    domain = DOMAINS[kind]
    if kind == "NLP":
        records = _list_mentions(tables)
    else:
        columns = {"person": "person_id", "day": domain.day, "concept": domain.concept}
        columns |= {"code": domain.code} if domain.coded and domain.code else {}
        columns |= {"value": domain.value} if valued and domain.value else {}
        records = tables.take(domain.table, **columns)
    if valued:
        records = records.mutate(value=as_value(records.value))
    numbers = {name: as_number(records[name]) for name in ("person", "concept")}
    return _within(records.mutate(**numbers), window)


def _within(records: Any, window: Window) -> Any:
    """Return the records in the window, without those that name no person."""
    records = records.filter(records.person.notnull()).mutate(day=as_day(records.day))
    return keep_window(records, window)


def keep_window(records: Any, window: Window) -> Any:
    """Return the records on the calendar days of a window."""
    first, last = window
    if first is not None:
        records = records.filter(records.day >= first)
    if last is not None:
        records = records.filter(records.day <= last)
    return records


def _list_mentions(tables: OmopTables) -> Any:
    """Return what notes say about the patient, dated by the note, not by its processing."""
    mentions = tables.take(
        "note_nlp",
        note="note_id",
        concept="note_nlp_concept_id",
        code="lexical_variant",
        exists="term_exists",
        modifiers="term_modifiers",
    )
    exists = as_text(mentions.exists).fill_null("y").lower()
    # most mentions have no modifiers, which spares engines the search
    kept = ~exists.isin(_DENIED) & (mentions.modifiers.isnull() | _is_present(mentions.modifiers))
    mentions = mentions.filter(kept).select("note", "concept", "code")
    notes = tables.take("note", note="note_id", person="person_id", day="note_date")
    joined = mentions.inner_join(notes, "note")
    return joined.select("person", "day", "concept", "code")


def _is_present(modifiers: Any) -> Any:
    text = as_text(modifiers).lower().replace(" ", "")

    def contains(words: str) -> Any:
        return text.like(f"%{words}%")  # Ibis' contains() is a full-text search on SQL Server

    present = contains("subject=patient") | ~contains("subject=")
    for modifier in _NOT_NOW:
        denied = reduce(or_, (contains(modifier + false) for false in _FALSE))
        present &= ~contains(modifier) | denied
    return present


def _name_records(records: Any, tables: OmopTables, requests: Sequence[Request]) -> Any:
    kind = requests[0].domain
    if DOMAINS[kind].coded:
        # some sites pad codes with blanks
        return records.select("person", "day", name=as_text(records.code).strip().upper())
    concepts = tables.take("concept", concept="concept_id", title="concept_name")
    concepts = concepts.select(concept=as_number(concepts.concept), name=concepts.title.lower())
    # joins only the few requested concepts to the many records
    wanted = concepts.filter(_match(concepts.name, requests) & (concepts.concept != 0))
    if kind != "NLP":
        return records.inner_join(wanted, "concept").select("person", "day", "name")
    # a term that is mapped to no concept is named by its own words
    joined = records.left_join(wanted, "concept")
    unmapped = joined.concept.fill_null(0) == 0
    return joined.select(
        "person", "day", name=unmapped.ifelse(as_text(joined.code).lower(), joined.name)
    )


def _days_by_text(named: Any, requests: Sequence[Request]) -> Iterator[Any]:
    alone = [one for one in requests if one.reach != "together"]
    if alone:
        found = named.filter(_match(named.name, alone))
        cut = alone[0].cut
        label = found.name if cut is None else found.name + str(cut)
        yield found.select("person", "day", feature=label)
    for one in requests:
        if one.reach == "together":
            yield _label(named.filter(_match(named.name, [one])), one.label)


def _match(name: Any, requests: Sequence[Request]) -> Any:
    """Return whether a name is requested; Ibis escapes literals, so quotes are safe."""
    whole = [one.code for one in requests if one.reach in {"one", "name"}]
    starts = [one.code for one in requests if one.reach in {"each", "together"}]
    wanted = [name.isin(whole)] if whole else []
    # not LIKE, as some engines would compile startswith: an underscore in a code is not a wildcard
    wanted += [name.left(len(one)) == one if one else name.notnull() for one in starts]
    return reduce(or_, wanted)


def _keep_concept(records: Any, request: Request, tables: OmopTables) -> Any:
    if request.reach == "one":
        return records.filter(records.concept == request.concept)
    below = list_descendants(tables)
    return records.semi_join(below.filter(below.above == request.concept), "concept")


def _label(records: Any, feature: str) -> Any:
    import ibis  # noqa: PLC0415 - optional

    return records.select("person", "day", feature=ibis.literal(feature))


def name_concepts(tables: OmopTables, columns: Sequence[str]) -> dict[str, str]:
    """Return the names of the codes and concept numbers in some columns, as far as known."""
    if "concept" not in tables:
        return {}
    split = [(one, *one.partition(":")[::2]) for one in columns]
    asked = [Request(one, kind, code.rstrip("+"), "one") for one, kind, code in split]
    asked = [one for one in asked if one.domain in DOMAINS]
    codes = sorted({one.code for one in asked if DOMAINS[one.domain].coded})
    numbers = sorted({one.concept for one in asked if one.concept is not None})
    wanted = {"n": "concept_id", "code": "concept_code", "title": "concept_name"}
    table = tables.take("concept", **wanted, kind="vocabulary_id")
    table = table.mutate(n=as_number(table.n), code=as_text(table.code).upper())
    table = table.filter(table.code.isin(codes or [""]) | table.n.isin(numbers or [-1]))
    rows = fetch(table, "naming the codes").to_pylist()
    by_number = {row["n"]: row["title"] for row in rows}
    by_code = {(row["code"], str(row["kind"])[:3] == "ICD"): row["title"] for row in rows}
    found = {
        one.text: by_number.get(one.concept) or by_code.get((one.code, one.domain == "ICD"))
        for one in asked
    }
    return {text: name for text, name in found.items() if name}
