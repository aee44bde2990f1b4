"""`unelisa rules`: how good definitions of a disease are, without chart review.

The TOML file is that of `unelisa phenotype` with one table more, [rules]: from the name of a rule
to its definition, to `{atlas = "FILE"}`, or to `{cohort = 12}`, the rows of an existing cohort.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.text import Text

from unelisa.cli import options
from unelisa.cli.files import STDOUT
from unelisa.cli.phenotype import list_database
from unelisa.cli.phenotype_cases import find_doubt, fit_phenotyper, read_records, take_eligible
from unelisa.cli.phenotype_config import PhenotypeConfig, interpret, naming, read_toml
from unelisa.cli.phenotype_reviews import read_charts
from unelisa.cli.screen import busy, make_table, printable, tell_end, tell_written
from unelisa.ehr.counts import FEWEST_SHOWN, read_counts
from unelisa.ehr.omop.counts import find_related
from unelisa.ehr.omop.database import OmopTables
from unelisa.ehr.omop.requests import parse_request
from unelisa.ehr.rules.atlas import CohortDefinition, read_definition
from unelisa.ehr.rules.definition import Rule, parse_rule
from unelisa.ehr.rules.evaluation import QUANTITIES, evaluate_rules
from unelisa.ehr.rules.members import find_members, list_rows
from unelisa.ehr.rules.overlap import describe_overlap
from unelisa.ehr.rules.patterns import (
    LARGEST_TABLE,
    draw_by_pattern,
    evaluate_patterns,
    read_patterns,
    suppress_counts,
    tabulate_patterns,
)
from unelisa.errors import ModelError, VotesError
from unelisa.outputs import make_plain
from unelisa.report.health import render_rules, show_group
from unelisa.report.wording import count_noun
from unelisa.sources.files import TextTable, check_readable, measure_text, reading

if TYPE_CHECKING:
    import pandas as pd

_ENDS = ("", "Ci95Lb", "Ci95Ub")
_CELLS = ("truePositives", "trueNegatives", "falsePositives", "falseNegatives")
_TITLES = ("sensitivity", "specificity", "PPV", "NPV")  # of QUANTITIES


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


@options.takes_form
def rules(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    sources: list[str],
    config: Path | None = None,
    charts: Path | None = None,
    out: Path | None = None,
    phevaluator: Path | None = None,
    report: Path | None = None,
    review: Path | None = None,
    n: int = 100,
    write_patterns: Path | None = None,
    suppress: int = FEWEST_SHOWN,
    pattern_table: bool = False,
    own_accuracies: bool = False,
    run: options.RunForm = options.USUAL_RUN,
) -> None:
    """Judge definitions of a disease without chart review: sensitivity, specificity, PPV, NPV.

    sources DATABASE: OMOP tables, as for phenotype; with --pattern-table, the tables of sites.
    --config rules.toml: The rules, what to count, and the anchors.
    --charts FILE: Reviewed charts: person_id and label, of a random sample.
    --out figures.csv: Write the figures of each rule.
    --phevaluator phevaluator.csv: Write the figures with the columns of PheValuator.
    --report rules.html: Write a report, which names no patient.
    --review review.csv: Write patients to review, most of whom the rules disagree on; fill in the
        labels (0 or 1) and pass the file as --charts.
    --n N 10-: How many to review.
    --write-patterns site.csv: Only count the patterns of rules, for --pattern-table; it names no
        patient.
    --suppress N 0-100: Hide counts of patterns below N, except 0.
    --pattern-table: Judge rules by the tables of sites alone.
    --own-accuracies: Let rules be more accurate at one site than others.
    """
    tables = [Path(one) for one in sources] if pattern_table else []
    inputs = tables or [one for source in sources for one in list_database(source)]
    outputs = out, phevaluator, review, write_patterns
    run.check(page=report, tables=outputs, inputs=(config, charts, *inputs))
    if pattern_table:
        found = evaluate_patterns(read_sites(tables), own_accuracies)
        _finish(Outcome(found, {"sites": [path.name for path in tables]}), out, report, run)
        return
    if config is None or len(sources) != 1:
        raise ModelError("name one database and --config rules.toml, or use --pattern-table")
    wanted = read_rules_config(config)
    if write_patterns is not None:
        if (charts, out, phevaluator, report, review, run.json) != (None,) * 6:
            raise ModelError("--write-patterns only counts: omit the other outputs and --charts")
        _write_patterns(read_patients(sources[0], wanted), write_patterns, suppress, run)
        return
    reviewed = None if charts is None else read_charts(charts)
    patients = read_patients(sources[0], wanted)
    found = judge_rules(patients, wanted.phenotype, reviewed)
    facts = {"title": wanted.phenotype.title, **describe_overlap(*patients.list_flags())}
    if facts["rounded"]:  # sizes could be worked out of exact figures
        found = found.round(2)
    outcome = Outcome(found, facts, patients, reviewed is not None)
    if phevaluator is not None:
        with run.files() as files:
            files.write_csv(phevaluator, *export_figures(found, facts))
        run = run._replace(quiet=run.quiet or phevaluator == STDOUT)
    _finish(outcome, out, report, run, review, (n, wanted.phenotype.seed))


def export_figures(
    figures: "pd.DataFrame", facts: dict[str, Any]
) -> tuple[list[str], list[list[Any]]]:
    """Return header and rows as PheValuator writes them; no number of patients below 10."""
    header = ["phenotype", "cutPoint", *(q + end for q in QUANTITIES for end in _ENDS)]
    header += [*_CELLS, "estimatedPrevalence"]
    rows = []
    for row in figures.to_dict("records"):
        n, flagged = facts["patients"], facts["flagged"][row["rule"]]
        true, cleared = row["ppv"] * flagged, row["npv"] * (n - flagged)
        cells = [true, cleared, flagged - true, n - flagged - cleared]
        known = [row[q + end] for q in QUANTITIES for end in ("", "_low", "_high")]
        shown = ["" if np.isnan(x) or 0 < x < FEWEST_SHOWN else round(x) for x in cells]
        share = (true + n - flagged - cleared) / n
        plain = ["" if make_plain(x) is None else round(x, 4) for x in (*known, share)]
        if 0 < min(flagged, n - flagged) < FEWEST_SHOWN:  # the others would tell how few
            shown, plain = [""] * len(cells), [""] * len(plain)
        rows.append([row["rule"], "EV", *plain[:-1], *shown, plain[-1]])
    return header, rows


class Patients(NamedTuple):
    """The eligible patients of a database: counts, flags (patients x rules), and what is shared."""

    counts: "pd.DataFrame"
    flags: "pd.DataFrame"
    related: list[str]
    people: Any
    everybody: "pd.DataFrame"

    def list_flags(self) -> tuple[list[str], NDArray[np.bool_]]:
        """Return the names of the rules, and whom they flag."""
        return list(self.flags), self.flags.to_numpy()


class Outcome(NamedTuple):
    """The figures, facts for JSON, and the patients if there are any."""

    figures: "pd.DataFrame"
    facts: dict[str, Any]
    patients: Patients | None = None
    reviewed: bool = False  # whether charts were used


def read_patients(database: str, wanted: RulesConfig) -> Patients:
    """Return who is flagged by each rule, and the counts, of the eligible patients."""
    import pandas as pd

    phenotype = wanted.phenotype
    request, cohorts, flags = phenotype.request, [], {}

    def find_cohorts(connection: Any) -> None:
        if any(isinstance(source, int) for source in wanted.rules.values()):
            place, name = phenotype.schemas[2:]
            cohorts.append(OmopTables.of(connection, place, cohort=name))

    with read_records(database, phenotype, find_cohorts) as (tables, found, people, scope, status):
        related, counts = find_related(tables, request, phenotype.anchors), found.table
        status.update("applying the rules ...")
        for name, source in wanted.rules.items():
            if isinstance(source, Rule):
                flags[name] = source.holds(read_counts(counts, request.utilization))
                continue
            if isinstance(source, int):
                members = list_rows(cohorts[0], source, scope)
            else:
                members = find_members(tables, source, scope)
            flags[name] = np.isin(counts.index.to_numpy(), members)
    table = take_eligible(pd.DataFrame(flags, index=counts.index), people)
    return Patients(take_eligible(counts, people), table, related, people, counts)


def judge_rules(patients: Patients, wanted: PhenotypeConfig, charts: Any) -> "pd.DataFrame":
    """Return the figures by a phenotyper that is fitted to the eligible patients."""
    with busy("judging the rules"):
        model = fit_phenotyper(patients.counts, wanted, patients.related)
        flagged = model.predict_proba(patients.everybody)[:, 1] >= model.threshold_
        doubt = find_doubt(patients.people, flagged)
        if doubt is not None:
            model.reliable_, model.reliability_reason_ = False, doubt
        found: pd.DataFrame = evaluate_rules(patients.flags, model, charts)
        return found


def _write_patterns(patients: Patients, path: Path, threshold: int, run: options.RunForm) -> None:
    table = suppress_counts(tabulate_patterns(*patients.list_flags()), threshold)
    with run.files() as files:
        files.write_csv(path, list(table), table.itertuples(index=False))
    tell_written(run.screen(path), path)


def read_sites(paths: Sequence[Path]) -> list[Any]:
    """Return the tables of patterns in some files, one per site."""
    import pandas as pd

    sites = []
    for path in paths:
        check_readable(path, VotesError)
        with reading(path):
            if measure_text(path) > LARGEST_TABLE:
                raise VotesError(f"{path.name} is larger than a table of patterns can be")
            table = TextTable(path)
            batches = [one.to_pandas() for one in table.batches(list(table.header))]
        empty = pd.DataFrame(columns=list(table.header))
        sites.append(read_patterns(pd.concat([empty, *batches], ignore_index=True), path.stem))
    return sites


def _finish(
    outcome: Outcome,
    out: Path | None,
    report: Path | None,
    run: options.RunForm,
    review: Path | None = None,
    draw: tuple[int, int] = (0, 0),
) -> None:
    figures = outcome.figures
    rows = [
        {key: make_plain(value) for key, value in row.items()} for row in figures.to_dict("records")
    ]
    rows = blank_few(rows, outcome.facts)
    with run.files() as files:
        files.write_csv(
            out, list(figures), (["" if x is None else x for x in one.values()] for one in rows)
        )
        if review is not None and outcome.patients is not None:
            names = list(outcome.patients.flags)
            files.write_csv(
                review, ("person_id", "label", "drawn", *names), _draw(outcome.patients, *draw)
            )
        facts = {**outcome.facts, "rules": rows}
        if report is not None:
            files.write_text(report, render_rules(facts))
        files.write_json(run.json, hide_few(facts))
    screen = run.screen(out, review)
    show_figures(screen, rows, outcome.facts)
    if "overlap" in outcome.facts:
        show_overlap(screen, outcome.facts)
    tell_written(screen, out, report, review, run.json)
    tell_end(screen, *sum_up(rows, outcome, review))


def hide_few(facts: dict[str, Any]) -> dict[str, Any]:
    """Return facts for programs without the sizes of rules that show fewer than 10 patients."""
    if "flagged" not in facts:
        return facts
    few = find_few(facts)
    sizes = {k: None if k in few else size for k, size in facts["flagged"].items()}
    return {**facts, "flagged": sizes}


def find_few(facts: dict[str, Any]) -> set[str]:
    """Return the rules that flag from 1 to 9 patients, or all but so many."""
    n, few = facts.get("patients", 0), range(1, FEWEST_SHOWN)
    return {k for k, size in facts.get("flagged", {}).items() if size in few or n - size in few}


def blank_few(rows: list[dict[str, Any]], facts: dict[str, Any]) -> list[dict[str, Any]]:
    """Return rows without the figures of rules of few patients, whom they would show."""
    few = find_few(facts)
    empty: dict[str, Any] = {q + end: None for q in QUANTITIES for end in ("", "_low", "_high")}
    empty["reason"] = f"fewer than {FEWEST_SHOWN} patients are flagged, or are not"
    return [row | empty if row["rule"] in few else row for row in rows]


def sum_up(
    rows: Sequence[dict[str, Any]], outcome: Outcome, review: Path | None = None
) -> tuple[str, str, str]:
    """Return how far to trust the figures, no worst voters, and what is next."""
    doubted = len({row["rule"] for row in rows if row["reason"]})
    rules = len({row["rule"] for row in rows})
    trust = "nothing was found that speaks against these figures"
    if doubted:
        trust = f"{doubted} of {count_noun(rules, 'rule')} with a reason against some figures"
    ends = outcome.patients is None or outcome.reviewed
    then = "" if ends else "--review review.csv draws patients to review, for --charts"
    if review is not None:
        then = f"fill in the column label of {review.name} (0 or 1), and pass the file as --charts"
    return trust, "", then


def _draw(patients: Patients, n: int, seed: int) -> Iterator[tuple[Any, ...]]:
    flags = patients.flags.to_numpy()
    sample = draw_by_pattern(flags, n, np.random.default_rng(seed))
    persons = patients.flags.index.to_numpy()
    for row, share in zip(sample.rows, sample.drawn, strict=True):
        yield int(persons[row]), "", f"{share:.6g}", *flags[row].astype(int).tolist()


def show_figures(screen: Console, rows: Sequence[dict[str, Any]], facts: dict[str, Any]) -> None:
    """Print the figures of each rule with their intervals, and why some are missing."""
    if "patients" in facts:
        summary = f"{facts['patients']:,} patients"
        if facts["disagree"] is not None:
            summary += f"; the rules disagree on {facts['disagree']:,}"
        screen.print(Text(summary, "bold"))
    names = {key: width for key, width in (("site", 16), ("rule", 24)) if key in rows[0]}
    cells = [
        [*(printable(row[key]) for key in names), *(_write(row, name) for name in QUANTITIES)]
        for row in rows
    ]
    screen.print(make_table(names | dict.fromkeys(_TITLES, "<"), cells, 2))
    known = {row["site"]: row["prevalence"] for row in rows if row.get("prevalence") is not None}
    if known:
        listed = ", ".join(f"{site} {share:.1%}" for site, share in known.items())
        screen.print(printable(f"prevalence: {listed}", longest=1000), soft_wrap=True)
    reasons = dict.fromkeys(row["reason"] for row in rows if row["reason"])
    for reason in reasons:
        which = ", ".join(str(row["rule"]) for row in rows if row["reason"] == reason)
        screen.print(printable(f"{which}: {reason}", longest=1000), soft_wrap=True)


def _write(row: dict[str, Any], name: str) -> str:
    value, low, high = (row[name + ending] for ending in ("", "_low", "_high"))
    return "no estimate" if value is None else f"{value:.0%} ({100 * low:.0f}-{high:.0%})"


def show_overlap(screen: Console, facts: dict[str, Any]) -> None:
    """Print which share of the patients of one rule another one flags, too."""
    names = list(facts["overlap"])
    rows = []
    for k, name in enumerate(names):
        shares = [
            "" if other == name else "–" if share is None else f"{share:.0%}"  # noqa: RUF001
            for other, share in facts["overlap"][name].items()
        ]
        label = Text.assemble(f"({k + 1}) ", printable(name))
        n = facts["flagged"][name]
        patients = f"<{FEWEST_SHOWN}" if 0 < n < FEWEST_SHOWN else show_group(n, facts["patients"])
        rows.append((label, patients, *shares))
    columns = {"patients": ">", **{f"({k + 1})": ">" for k in range(len(names))}}
    title = "Of the patients of one rule, flagged by others"
    screen.print(make_table({"rule": 24, **columns}, rows, 2, title=title))
