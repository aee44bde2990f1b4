"""What to count in an OMOP database: features, written as their columns will be named."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Literal, NamedTuple

from unelisa.errors import RecordsError

Day = date | str | None
Window = tuple[date | None, date | None]
Reach = Literal["one", "name", "each", "together"]


class Domain(NamedTuple):
    """Where the records of one kind of feature are: table, date column, concept, source code."""

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


class Request(NamedTuple):
    """One requested feature."""

    text: str  # as written
    domain: str  # key of `DOMAINS`
    code: str  # the code, name or concept number, in the domain's letter case
    # "one": the code or concept number itself; "name": the text, even if it looks like a number;
    # "each": every code that starts with it; "together": all of those combined
    reach: Reach

    @property
    def column(self) -> str:
        """The name of its column, if it has just one."""
        return f"{self.domain}:{self.label}"

    @property
    def label(self) -> str:
        """The name of its column without the domain."""
        return f"{self.code}+" if self.reach == "together" else self.code

    @property
    def concept(self) -> int | None:
        """The concept number, if the feature is named by one."""
        if self.domain == "ICD" or self.reach in {"name", "each"} or not self.code.isdecimal():
            return None
        return int(self.code)

    def covers(self, column: str) -> bool:
        """Return whether a column can come from this request."""
        if self.reach == "each":
            return column.startswith(f"{self.domain}:{self.code}")
        return column == self.column


def parse_request(text: str) -> Request:
    """Return a feature as requested.

    Examples
    --------
    >>> parse_request("ICD:714.%").reach, parse_request("CONCEPT:80809+").concept
    ('each', 80809)
    """
    domain, _, code = text.partition(":")
    code = code.strip()
    if domain not in DOMAINS or not code:
        raise RecordsError(
            f"the feature {text[:60]!r} is not valid; write one of "
            f"{', '.join(f'{name}:' for name in DOMAINS)} followed by a code, such as ICD:714.0"
        )
    ends: dict[str, Reach] = {"%": "each", "+": "together"}
    reach: Reach = ends.get(code[-1], "one")
    code = code if reach == "one" else code[:-1]
    if not code and reach == "together":
        raise RecordsError(f"the feature {text[:60]!r} would combine all codes; name a prefix")
    return Request(text, domain, code.upper() if domain == "ICD" else code.lower(), reach)


@dataclass(frozen=True)
class CountRequest:
    """What to count; features, utilization, entry and window are those of `read_omop`."""

    features: tuple[Request, ...]
    utilization: str | None = "note_count"
    entry: tuple[Request, ...] = ()
    window: Window = (None, None)

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
                f"utilization is {utilization[:40]!r}; use one of {', '.join(UTILIZATIONS)}"
            )
        first, last = (_parse_day(day) for day in window)
        if first is not None and last is not None and first > last:
            raise RecordsError(f"the window ends ({last}) before it starts ({first})")
        asked = tuple(dict.fromkeys(parse_request(text) for text in features))
        rule = tuple(dict.fromkeys(parse_request(text) for text in entry))
        return cls(asked, utilization, rule, (first, last))

    def of_domain(self, domain: str) -> list[Request]:
        """Return the features of one domain."""
        return [one for one in self.features if one.domain == domain]

    def narrow(self, columns: Sequence[str]) -> "CountRequest":
        """Return the request for exactly these columns, including empty ones."""
        by_name = {one.column: one for one in self.features if one.reach != "each"}
        return replace(self, features=tuple(by_name.get(c) or self._pick(c) for c in columns))

    def _pick(self, column: str) -> Request:
        """Return one feature of a pattern."""
        if not any(one.covers(column) for one in self.features):
            raise RecordsError(f"the feature {column[:60]!r} is required, but not requested")
        domain, _, code = column.partition(":")
        return Request(column, domain, code, "name")


def _parse_day(day: Day) -> date | None:
    if isinstance(day, datetime):
        return day.date()
    if day is None or isinstance(day, date):
        return day
    try:
        return date.fromisoformat(day)
    except ValueError:
        raise RecordsError(f"{day[:40]!r} is not a date; write it as 2001-12-31") from None
