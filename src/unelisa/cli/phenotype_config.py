"""What to count and which anchors to use, from a TOML file."""

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from unelisa.ehr.cautions import read_anchors, read_prevalence
from unelisa.ehr.counts import FEWEST_SHOWN
from unelisa.ehr.omop.persons import SEXES, Limits
from unelisa.ehr.omop.requests import CountRequest, Request, parse_all, parse_request
from unelisa.errors import ModelError, RecordsError
from unelisa.sources.files import check_readable

# table -> its keys and what they must be; [records] has a schema as in version 0.1.0, that of [cdm]
_TABLES = {
    "records": "features:list utilization:str entry:list first_day:date last_day:date index:list "
    "before:int after:int least_share:number least_patients:int schema:str",
    "cdm": "schema:str",
    "vocabulary": "schema:str",
    "results": "schema:str table:str",
    "phenotype": "anchors:list prevalence:share seed:int sex:str age:ages",
    "cohort": "number:int",
}
_KEYS = {table: dict(pair.split(":") for pair in keys.split()) for table, keys in _TABLES.items()}
# kind -> the types of a value, those of the values in a list, and its name
_KINDS: dict[str, tuple[tuple[type, ...], tuple[type, ...], str]] = {
    "list": ((list,), (str,), "a list of strings"),
    "str": ((str,), (str,), "a string"),
    "date": ((date,), (), "a date"),
    "int": ((int,), (), "an integer"),
    "number": ((float, int), (), "a number"),
    "share": ((float, int, list), (float, int), "a number, or two such as [0.005, 0.02]"),
    "ages": ((list,), (int,), "two integers, such as [12, 55]"),
}
# why a file cannot be read, by the first kind that an error has
_UNREADABLE: dict[type[Exception], str] = {
    RecursionError: "is nested too deeply for a configuration",
    OSError: "cannot be read: {0.strerror}",
    tomllib.TOMLDecodeError: "is not a TOML file: {0}",
    UnicodeDecodeError: "is not a TOML file: it is not UTF-8 text",
    ValueError: "has a number with too many digits",
}
LARGEST_NUMBER = 2**31 - 1  # of an OMOP integer
LARGEST_FILE = 1_000_000  # bytes
MOST_DOTS = 5000  # a key of so many parts takes a second, and one of 40,000 two minutes
NO_UTILIZATION = "none"
# of the patients with an anchor, below which a feature that a pattern finds is left out; the
# paper's share of the notes that mention the disease
LEAST_SHARE = 0.05


class Schemas(NamedTuple):
    """Where the tables are: records, vocabulary, and the cohorts that are written."""

    cdm: str | None = None
    vocabulary: str | None = None
    results: str | None = None
    cohort: str = "cohort"  # the table of cohorts in `results`


@dataclass(frozen=True)
class PhenotypeConfig:
    """The definition of a phenotype."""

    title: str  # name of the disease
    request: CountRequest  # what to count, including the anchors
    # anchors, prevalence, seed: as in `Phenotyper`
    anchors: tuple[Request, ...]
    prevalence: float | tuple[float, float] | None
    seed: int
    limits: Limits  # the sex and the ages that allow the disease
    schemas: Schemas
    cohort: int  # the number of the cohort, cohort_definition_id

    @property
    def anchor_names(self) -> list[str]:
        """The columns of the anchors."""
        return [one.column for one in self.anchors]


def read_config(path: Path) -> PhenotypeConfig:
    """Return the configuration in a file, or raise an error that names the file."""
    content = read_toml(path)
    with naming(path):
        return interpret(content)


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file, or raise an error that names the file."""
    check_readable(path, ModelError)
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise ModelError(f"{path.name} is larger than a configuration can be")
        text = path.read_text(encoding="utf-8-sig")
        if text.count(".") > MOST_DOTS:
            raise ModelError(f"{path.name} has more than {MOST_DOTS:,} dots; use patterns of codes")
        return tomllib.loads(text)
    except ModelError:  # which is a ValueError
        raise
    except (RecursionError, OSError, ValueError) as error:
        wrong = next(words for kind, words in _UNREADABLE.items() if isinstance(error, kind))
        raise ModelError(f"{path.name} {wrong.format(error)}") from None


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let the errors of what is done here begin with the name of a file."""
    try:
        yield
    except (RecordsError, ModelError) as error:
        raise type(error)(f"{path.name}: {error}") from None


def interpret(content: dict[str, Any]) -> PhenotypeConfig:
    """Return the configuration that the tables of a TOML file describe."""
    title = content.pop("title", "phenotype")
    if not isinstance(title, str) or not title.strip():
        raise ModelError("title must be a string, such as Rheumatoid arthritis")
    _check(content)
    records, phenotype = content.get("records", {}), content.get("phenotype", {})
    limits = Limits(phenotype.get("sex"), phenotype.get("age") and tuple(phenotype["age"]))
    stated = phenotype.get("prevalence")
    if not records.get("features") or not phenotype.get("anchors"):
        raise ModelError("features under [records] and anchors under [phenotype] are required")
    config = PhenotypeConfig(
        title=title,
        request=_read_request(records, phenotype["anchors"]),
        anchors=tuple(parse_request(text) for text in phenotype["anchors"]),
        prevalence=tuple(stated) if isinstance(stated, list) else stated,
        seed=phenotype.get("seed", 0),
        limits=limits,
        schemas=_read_schemas(content),
        cohort=content.get("cohort", {}).get("number", 1),
    )
    _check_values(config)
    return config


def _read_request(records: dict[str, Any], anchors: list[str]) -> CountRequest:
    """Return what to count; features of patterns that few patients with an anchor have are not."""
    utilization = records.get("utilization", "note_count")
    request = CountRequest.of(
        [*records["features"], *anchors],
        None if utilization == NO_UTILIZATION else utilization,
        records.get("entry", ()),
        (records.get("first_day"), records.get("last_day")),
    )
    request = request.around(records.get("index", ()), records.get("before"), records.get("after"))
    share = records.get("least_share", LEAST_SHARE)
    fewest = records.get("least_patients", FEWEST_SHOWN)
    return request.without_rare(share, parse_all(anchors), fewest)


def _read_schemas(content: dict[str, Any]) -> Schemas:
    """Return the schemas; cohorts are where the records are, unless the file says otherwise."""
    named = {name: content.get(name, {}).get("schema") for name in ("cdm", "vocabulary", "results")}
    older = content.get("records", {}).get("schema")
    if older is not None and named["cdm"] not in {None, older}:
        raise ModelError("schema under [records] and under [cdm] differ; keep the latter")
    cdm = older if named["cdm"] is None else named["cdm"]
    results = cdm if named["results"] is None else named["results"]
    table = content.get("results", {}).get("table", "cohort")
    return Schemas(cdm, named["vocabulary"], results, table)


def _check_values(config: PhenotypeConfig) -> None:
    read_anchors(config.anchor_names)
    read_prevalence(config.prevalence)
    if any(one.reach == "each" for one in config.anchors):
        raise ModelError("an anchor must be one feature; end it with + to combine codes")
    sex, age = config.limits
    if sex is not None and sex not in SEXES:
        raise ModelError(f"sex under [phenotype] must be one of {', '.join(SEXES)}")
    if age is not None and not 0 <= age[0] <= age[1]:
        raise ModelError("age under [phenotype] must be the least and the greatest age")
    if config.seed < 0:
        raise ModelError("seed under [phenotype] must be 0 or more")
    if not 0 <= config.cohort <= LARGEST_NUMBER:
        raise ModelError(f"number under [cohort] must be from 0 to {LARGEST_NUMBER}")


def _check(content: dict[str, Any]) -> None:
    for table, values in content.items():
        if table not in _KEYS or not isinstance(values, dict):
            raise ModelError(
                f"{table[:40]!r} is unknown; use title and the tables "
                f"{', '.join(f'[{name}]' for name in _KEYS)}"
            )
        for key, value in values.items():
            if key not in _KEYS[table]:
                known = ", ".join(_KEYS[table])
                raise ModelError(f"[{table}] has no key {key[:40]!r}; use {known}")
            kinds, parts, words = _KINDS[_KEYS[table][key]]
            inside = value if isinstance(value, list) else []
            # a bool is an int in Python
            right = isinstance(value, kinds) and all(type(one) in parts for one in inside)
            two = str not in parts and isinstance(value, list) and len(value) != 2
            if not right or isinstance(value, bool) or two:
                raise ModelError(f"{key} under [{table}] must be {words}")
