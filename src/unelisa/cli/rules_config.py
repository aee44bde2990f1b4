"""Which rules to judge, and by which records, from a TOML file.

It is that of `unelisa phenotype` with one table more, [rules]: from the name of a rule to its
definition, to `{atlas = "FILE"}`, or to `{cohort = 12}`, the rows of an existing cohort.
"""

from pathlib import Path
from typing import Any, NamedTuple

from unelisa.cli.phenotype_config import PhenotypeConfig, interpret, naming, read_toml
from unelisa.ehr.omop.requests import parse_request
from unelisa.ehr.rules.atlas import CohortDefinition, read_definition
from unelisa.ehr.rules.definition import Rule, parse_rule
from unelisa.errors import ModelError

Source = Rule | CohortDefinition | int  # on counts, on dated records, or a cohort's number


class RulesConfig(NamedTuple):
    """The rules by name, and the phenotype that judges them."""

    rules: dict[str, Source]
    phenotype: PhenotypeConfig


def read_rules_config(path: Path) -> RulesConfig:
    """Return the configuration in a file, or raise an error that names the file."""
    content = read_toml(path)
    with naming(path):
        written = content.pop("rules", None)
        if not isinstance(written, dict) or not written:
            raise ModelError(
                'the table [rules] is required, such as "two codes" = "ICD:714.0 >= 2"'
            )
        rules = {name: _read_source(name, value, path.parent) for name, value in written.items()}
        records = content.get("records")
        if isinstance(records, dict) and isinstance(records.get("features"), list):
            needed = [rule.list_features() for rule in rules.values() if isinstance(rule, Rule)]
            records["features"] = [*records["features"], *(one for some in needed for one in some)]
        return RulesConfig(rules, interpret(content))


def _read_source(name: str, value: Any, folder: Path) -> Source:
    """Return a rule: its definition, a cohort definition, or the number of a cohort."""
    if isinstance(value, str):
        return parse_rule(value).rename(_name_column)
    if isinstance(value, dict) and len(value) == 1:
        if isinstance(value.get("atlas"), str):
            return read_definition(folder / value["atlas"])
        if type(value.get("cohort")) is int:
            return int(value["cohort"])
    raise ModelError(
        f"the rule {name[:40]!r} must be a definition such as ICD:714.0 >= 2, "
        '{atlas = "FILE"}, or {cohort = 12}'
    )


def _name_column(feature: str) -> str:
    """Return the name of a feature's column, which a database writes in one letter case."""
    request = parse_request(feature)
    if request.reach == "each":
        raise ModelError(
            f"a rule counts one feature, and {feature[:40]!r} means several; end it with + to "
            "combine codes"
        )
    return request.column
