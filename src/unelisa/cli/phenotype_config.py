"""What to count and which anchors to use, as a TOML file says it."""

import tomllib
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from unelisa.errors import ModelError, RecordsError
from unelisa.phenotyping.omop.requests import CountRequest, Request, parse_request

# table -> key -> what it must be
_KEYS: dict[str, dict[str, tuple[type, ...]]] = {
    "records": {
        "features": (list,),
        "utilization": (str,),
        "entry": (list,),
        "first_day": (date,),
        "last_day": (date,),
        "schema": (str,),
    },
    "phenotype": {"anchors": (list,), "prevalence": (float, int), "seed": (int,)},
    "cohort": {"number": (int,)},
}
_WORDS = {
    list: "a list of texts",
    str: "a text",
    date: "a date",
    float: "a number",
    int: "a whole number",
}
LARGEST_NUMBER = 2**31 - 1  # of an OMOP integer


@dataclass(frozen=True)
class PhenotypeConfig:
    """A phenotype to look for.

    Attributes
    ----------
    title
        The disease, for people.
    request
        What to count; the anchors are among it.
    anchors
        The features that stand for the disease.
    prevalence
        About which share of the patients has it, where that is known.
    seed
        Seed of all that is random.
    schema
        Schema of the OMOP tables, where there is one.
    cohort
        The number of the cohort, cohort_definition_id.
    """

    title: str
    request: CountRequest
    anchors: tuple[Request, ...]
    prevalence: float | None
    seed: int
    schema: str | None
    cohort: int

    @property
    def anchor_names(self) -> list[str]:
        """The anchors' columns."""
        return [one.column for one in self.anchors]


def read_config(path: Path) -> PhenotypeConfig:
    """Return the configuration in a file, or raise one sentence on what is wrong with it."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ModelError(f"{path.name} cannot be read: {error.strerror}") from None
    except tomllib.TOMLDecodeError as error:
        raise ModelError(f"{path.name} is no TOML file: {error}") from None
    except UnicodeDecodeError:
        raise ModelError(f"{path.name} is no TOML file: it is not written in UTF-8") from None
    try:
        return _understand(content)
    except RecordsError as error:
        raise RecordsError(f"{path.name}: {error}") from None
    except ModelError as error:
        raise ModelError(f"{path.name}: {error}") from None


def _understand(content: dict[str, Any]) -> PhenotypeConfig:
    title = content.pop("title", "phenotype")
    if not isinstance(title, str) or not title.strip():
        raise ModelError("title must be a text, such as Rheumatoid arthritis")
    _check(content)
    records, phenotype = content.get("records", {}), content.get("phenotype", {})
    if not records.get("features") or not phenotype.get("anchors"):
        raise ModelError("it needs features under [records] and anchors under [phenotype]")
    request = CountRequest.of(
        [*records["features"], *phenotype["anchors"]],
        records.get("utilization", "note_count"),
        records.get("entry", ()),
        (records.get("first_day"), records.get("last_day")),
    )
    config = PhenotypeConfig(
        title=title,
        request=request,
        anchors=tuple(parse_request(text) for text in phenotype["anchors"]),
        prevalence=phenotype.get("prevalence"),
        seed=phenotype.get("seed", 0),
        schema=records.get("schema"),
        cohort=content.get("cohort", {}).get("number", 1),
    )
    _check_values(config)
    return config


def _check_values(config: PhenotypeConfig) -> None:
    """Refuse what no phenotype can have."""
    if any(one.reach == "each" for one in config.anchors):
        raise ModelError("an anchor is one feature; end it with + to take codes together")
    if len(set(config.anchor_names)) < len(config.anchors):
        raise ModelError("anchors under [phenotype] name a feature twice")
    if config.prevalence is not None and not 0 < config.prevalence < 1:
        raise ModelError("prevalence under [phenotype] must lie between 0 and 1, both left out")
    if config.seed < 0:
        raise ModelError("seed under [phenotype] must be 0 or more")
    if not 0 <= config.cohort <= LARGEST_NUMBER:
        raise ModelError(f"number under [cohort] must be from 0 to {LARGEST_NUMBER}")


def _check(content: dict[str, Any]) -> None:
    """Refuse what is not known, and what is of another kind than it must be."""
    for table, values in content.items():
        if table not in _KEYS or not isinstance(values, dict):
            raise ModelError(
                f"{table[:40]!r} is not known; there are title and the tables "
                f"{', '.join(f'[{name}]' for name in _KEYS)}"
            )
        for key, value in values.items():
            kinds = _KEYS[table].get(key)
            if kinds is None:
                known = ", ".join(_KEYS[table])
                raise ModelError(f"[{table}] has no {key[:40]!r}; there are {known}")
            texts = not isinstance(value, list) or all(isinstance(one, str) for one in value)
            # true is a whole number to Python
            if not isinstance(value, kinds) or isinstance(value, bool) or not texts:
                raise ModelError(f"{key} under [{table}] must be {_WORDS[kinds[0]]}")
