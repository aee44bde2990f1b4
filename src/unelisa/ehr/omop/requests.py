"""What to count in an OMOP database: features, written as their columns will be named."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Literal, NamedTuple

from unelisa.errors import RecordsError

Day = date | str | None
Window = tuple[date | None, date | None]
Span = tuple[int | None, int | None]  # days before and after the index day; None: open
Reach = Literal["one", "name", "each", "together"]


class Domain(NamedTuple):
    """Where the records of one kind of feature are: the table and its columns."""

    table: str
    day: str
    concept: str  # the column with the concept that names a feature
    code: str | None = None  # the column with the source code
    coded: bool = False  # whether the source code names a feature, not the concept
    value: str | None = None  # the column with a measured number
    base: str | None = None  # of eras: the domain of the records they summarize

    @property
    def naming(self) -> tuple[str, ...]:
        """The columns by which features are named: of a mention, concept or words."""
        if self.code is None:
            return (self.concept,)
        return (self.code,) if self.coded else (self.concept, self.code)


def _list_domains() -> Iterator[tuple[str, Domain]]:
    for name, table, kind, day in (
        ("CONCEPT", "condition_occurrence", "condition", "condition_start_date"),
        ("RX", "drug_exposure", "drug", "drug_exposure_start_date"),
        ("LAB", "measurement", "measurement", "measurement_date"),
        ("PROC", "procedure_occurrence", "procedure", "procedure_date"),
        ("OBS", "observation", "observation", "observation_date"),
    ):
        concept, source = f"{kind}_concept_id", f"{kind}_source_concept_id"
        code = f"{kind}_source_value"
        value = "value_as_number" if name in {"LAB", "OBS"} else None
        by_code = "ICD" if name == "CONCEPT" else f"{name}.code"
        yield by_code, Domain(table, day, concept, code, coded=True, value=value)
        yield name, Domain(table, day, concept, value=value)
        yield f"{name}.source", Domain(table, day, source, value=value)


DOMAINS = {
    **dict(_list_domains()),
    "NLP": Domain("note_nlp", "note_date", "note_nlp_concept_id", "lexical_variant"),
    "CONCEPT.era": Domain(
        "condition_era", "condition_era_start_date", "condition_concept_id", base="CONCEPT"
    ),
    "RX.era": Domain("drug_era", "drug_era_start_date", "drug_concept_id", base="RX"),
}
_CUT = re.compile(r"(?P<code>.+?)\s*(?P<sign>>=|<=|>|<)\s*(?P<bound>-?\d+(\.\d+)?)")
UTILIZATIONS = {
    "note_count": ("note", "note_date"),
    "visit_count": ("visit_occurrence", "visit_start_date"),
}


class Cut(NamedTuple):
    """A condition on the measured value of a record."""

    sign: str  # one of >, >=, <, <=
    bound: float

    def __str__(self) -> str:
        return f"{self.sign}{self.bound:.12g}"


class Request(NamedTuple):
    """One requested feature."""

    text: str  # as written
    domain: str  # key of `DOMAINS`
    code: str  # the code, name or concept number, in the domain's letter case
    # "one": the code or concept number itself; "name": the text, even if it looks like a number;
    # "each": every code that starts with it; "together": all of those combined
    reach: Reach
    cut: Cut | None = None  # which values count; None: all records do

    @property
    def column(self) -> str:
        """The name of its column, if it has just one."""
        return f"{self.domain}:{self.label}"

    @property
    def label(self) -> str:
        """The name of its column without the domain."""
        code = f"{self.code}+" if self.reach == "together" else self.code
        return code if self.cut is None else f"{code}{self.cut}"

    @property
    def concept(self) -> int | None:
        """The concept number, if the feature is named by one."""
        named = DOMAINS[self.domain].coded or self.reach in {"name", "each"}
        return None if named or not self.code.isdecimal() else int(self.code)

    def without_dots(self) -> "Request | None":
        """Return the same source code without dots, as some sites write it; None if it has none."""
        bare = self.code.replace(".", "")
        if not DOMAINS[self.domain].coded or bare in {self.code, ""}:
            return None
        end = {"each": "%", "together": "+"}.get(self.reach, "")
        return self._replace(text=f"{self.domain}:{bare}{end}", code=bare)

    def covers(self, column: str) -> bool:
        """Return whether a column can come from this request."""
        if self.reach == "each":
            return column.startswith(f"{self.domain}:{self.code}")
        return column == self.column


def parse_request(text: str) -> Request:
    """Return a feature as requested."""
    domain, _, code = text.partition(":")
    code, cut = code.strip(), None
    if domain not in DOMAINS or not code:
        raise RecordsError(
            f"the feature {text[:60]!r} is not valid; write one of "
            f"{', '.join(f'{name}:' for name in DOMAINS)} followed by a code, such as ICD:714.0"
        )
    found = _CUT.fullmatch(code)
    if found is not None and DOMAINS[domain].value is not None:
        code, cut = found["code"], Cut(found["sign"], float(found["bound"]))
    ends: dict[str, Reach] = {"%": "each", "+": "together"}
    reach: Reach = ends.get(code[-1], "one")
    code = code if reach == "one" else code[:-1]
    if not code and reach == "together":
        raise RecordsError(f"the feature {text[:60]!r} would combine all codes; name a prefix")
    if cut is not None and reach == "each":
        raise RecordsError(
            f"the feature {text[:60]!r} compares the values of different tests with one number; "
            "name one test, or combine several with +"
        )
    code = code.upper() if DOMAINS[domain].coded else code.lower()
    return Request(text, domain, code, reach, cut)


class Screen(NamedTuple):
    """Which features of a pattern are too rare: by share and number of the patients `among`."""

    share: float
    among: tuple[Request, ...] = ()
    fewest: int = 1


NO_SCREEN = Screen(0.0)


@dataclass(frozen=True)
class CountRequest:
    """What to count; features, utilization, entry and window are those of `read_omop`."""

    features: tuple[Request, ...]
    utilization: str | None = "note_count"
    entry: tuple[Request, ...] = ()
    window: Window = (None, None)
    # index, span: features whose first day is the index day; the days before and after it
    index: tuple[Request, ...] = ()
    span: Span = (None, None)
    screen: Screen = NO_SCREEN

    @classmethod
    def of(
        cls,
        features: Sequence[str],
        utilization: str | None = "note_count",
        entry: Sequence[str] = (),
        window: tuple[Day, Day] = (None, None),
    ) -> "CountRequest":
        """Return the validated request, or raise `RecordsError`."""
        if not features:
            raise RecordsError("no features requested; name some, such as ICD:714.%")
        if utilization is not None and utilization not in UTILIZATIONS:
            raise RecordsError(
                f"utilization is {utilization[:40]!r}; use one of {', '.join(UTILIZATIONS)}, none"
            )
        first, last = (_parse_day(day) for day in window)
        if first is not None and last is not None and first > last:
            raise RecordsError(f"the window ends ({last}) before it starts ({first})")
        return cls(parse_all(features), utilization, parse_all(entry), (first, last))

    def around(
        self, index: Sequence[str], before: int | None = None, after: int | None = None
    ) -> "CountRequest":
        """Return the request with an index day per patient, and the days around it that count."""
        if not index and (before, after) != (None, None):
            raise RecordsError(
                "before and after count days from the index day; name the features of index, "
                'such as index = ["ICD:714.0"]'
            )
        for name, days in (("before", before), ("after", after)):
            if days is not None and days < 0:
                raise RecordsError(f"{name} is {days}; it must be a number of days, 0 or more")
        return replace(self, index=parse_all(index), span=(before, after))

    def without_rare(
        self, share: float, among: Sequence[Request] = (), fewest: int = 1
    ) -> "CountRequest":
        """Return the request that leaves features of patterns out if they are too rare."""
        if not 0 <= share < 1:
            raise RecordsError(f"least_share is {share}; it must be at least 0 and below 1")
        if fewest < 1:
            raise RecordsError(f"least_patients is {fewest}; it must be at least 1")
        return replace(self, screen=Screen(share, tuple(among), fewest))

    @property
    def record_window(self) -> Window:
        """The calendar days whose records count; days around the index day replace an end."""
        first, last = self.window
        before, after = self.span
        return (first if before is None else None, last if after is None else None)

    def of_domain(self, domain: str) -> list[Request]:
        """Return the features of one domain."""
        return [one for one in self.features if one.domain == domain]

    def narrow(self, columns: Sequence[str]) -> "CountRequest":
        """Return the request for exactly these columns, including empty ones."""
        by_name = {one.column: one for one in self.features if one.reach != "each"}
        features = tuple(by_name.get(c) or self._pick(c) for c in columns)
        return replace(self, features=features, screen=NO_SCREEN)

    def _pick(self, column: str) -> Request:
        if not any(one.covers(column) for one in self.features):
            raise RecordsError(f"the feature {column[:60]!r} is required, but not requested")
        domain, _, code = column.partition(":")
        return Request(column, domain, code, "name")


def parse_all(texts: Sequence[str]) -> tuple[Request, ...]:
    """Return some features as requested, each once."""
    return tuple(dict.fromkeys(parse_request(text) for text in texts))


def _parse_day(day: Day) -> date | None:
    if isinstance(day, datetime):
        return day.date()
    if day is None or isinstance(day, date):
        return day
    try:
        return date.fromisoformat(day)
    except ValueError:
        raise RecordsError(f"{day[:40]!r} is not a date; write it as 2001-12-31") from None
