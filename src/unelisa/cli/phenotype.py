"""`unelisa phenotype`: from a database of health records to who has a disease."""

import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from unelisa.cli import options
from unelisa.cli.files import STDOUT, check_outputs, output_files
from unelisa.cli.phenotype_config import PhenotypeConfig, read_config
from unelisa.cli.screen import busy, printable, results
from unelisa.cli.tables import figure
from unelisa.errors import RecordsError, UnelisaWarning
from unelisa.phenotyping.phenotyper import Phenotyper
from unelisa.report.page import require_jinja
from unelisa.report.phenotype import describe_phenotype, render_phenotype
from unelisa.sources.omop import count_patients
from unelisa.sources.omop_cohort import COLUMNS, list_cohort, write_cohort
from unelisa.sources.omop_connection import is_server, open_database
from unelisa.sources.omop_tables import OmopTables

if TYPE_CHECKING:
    import pandas as pd

LONGEST_TABLE = 15


class Cases(NamedTuple):
    """What was found: per patient the label and P(case), facts without patients, cohort rows."""

    persons: Any
    labels: Any
    chances: Any
    facts: dict[str, Any]
    cohort: Any

    def list_labels(self) -> Iterator[tuple[Any, Any, str]]:
        """Return person, label and probability of every patient."""
        chances = (f"{chance:.6f}" for chance in self.chances)
        return zip(self.persons.tolist(), self.labels.tolist(), chances, strict=True)


def phenotype(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    database: Annotated[
        str,
        typer.Argument(
            metavar="DATABASE",
            help="OMOP tables: a DuckDB file, a folder of Parquet or CSV files, or "
            "postgresql://user@host/name.",
        ),
    ],
    config: Annotated[
        Path, typer.Option(metavar="ra.toml", help="What to count, and the anchors.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="phenotype.csv", help="Write person_id, label and probability."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="report.html", help="Write a page for people; it names no patient."),
    ] = None,
    cohort: Annotated[
        Path | None,
        typer.Option(metavar="cohort.csv", help="Write the cases as OMOP cohort rows."),
    ] = None,
    insert: Annotated[
        bool,
        typer.Option("--insert-cohort", help="Add the cases to the database's cohort table."),
    ] = False,
    gold: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Table of reviewed charts: person_id and label, for some patients."
        ),
    ] = None,
    json: options.JsonFile = None,
) -> None:
    """Count in an OMOP database, learn a disease from its anchors, and label every patient."""
    sources = (config, gold, None if is_server(database) else Path(database))
    check_outputs(out, report, cohort, json, inputs=sources)
    if report is not None:
        require_jinja()
    wanted = read_config(config)
    charts = None if gold is None else read_charts(gold)
    found = find_cases(database, wanted, charts, dated=cohort is not None or insert)
    with output_files() as files:
        if out is not None:
            files.write_csv(out, ("person_id", "label", "probability"), found.list_labels())
        if cohort is not None:
            files.write_csv(cohort, COLUMNS, found.cohort.itertuples(index=False))
        if report is not None:
            files.write_text(report, render_phenotype(found.facts))
        if json is not None:
            files.write_json(json, found.facts)
        if insert:
            with open_database(database, read_only=False) as connection:
                write_cohort(connection, found.cohort, wanted.schema)
    show_phenotype(results(quiet=json == STDOUT), found.facts)


def find_cases(
    database: str, wanted: PhenotypeConfig, charts: "pd.Series | None", *, dated: bool
) -> Cases:
    """Return the labels of all patients of a database, and since when the cases are cases."""
    with busy("opening the database") as status, open_database(database) as connection:

        def show(doing: str) -> None:
            status.update(f"{doing} ...")

        tables = OmopTables.of(connection, wanted.schema)
        counts = count_patients(tables, wanted.request, show)
        show("learning the phenotype")
        model, seconds, notes = fit_phenotype(wanted, counts.table, charts)
        chances = model.predict_proba(counts.table)[:, 1]
        labels = np.asarray(model.predict(counts.table))
        persons = counts.table.index.to_numpy()
        rows = None
        if dated:
            show("dating the cohort")
            cases, window = persons[labels == model.classes_[1]], wanted.request.window
            rows = list_cohort(tables, cases, wanted.cohort, wanted.anchors, window)
    facts = describe_phenotype(wanted.title, model, chances, counts.steps)
    facts.update(seconds=seconds, warnings=notes)
    return Cases(persons, labels, chances, facts, rows)


def fit_phenotype(
    wanted: PhenotypeConfig, counts: "pd.DataFrame", charts: "pd.Series | None"
) -> tuple[Phenotyper, float, list[str]]:
    """Return the fitted phenotyper, the seconds it took, and what it warned of."""
    start = time.perf_counter()
    utilization, prevalence = wanted.request.utilization, wanted.prevalence
    model = Phenotyper(wanted.anchor_names, utilization, prevalence, wanted.seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnelisaWarning)
        model.fit(counts, charts)
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    notes = [str(one.message) for one in caught if issubclass(one.category, UnelisaWarning)]
    return model, time.perf_counter() - start, notes


def read_charts(path: Path) -> "pd.Series":
    """Return the labels of reviewed charts by person_id."""
    import pandas as pd  # noqa: PLC0415 - only this needs it here

    try:
        table = pd.read_csv(path)
    except (OSError, ValueError):
        raise RecordsError(f"{path.name} cannot be read as a CSV table") from None
    if not {"person_id", "label"} <= set(table.columns):
        raise RecordsError(f"{path.name} needs the columns person_id and label")
    if table["person_id"].duplicated().any():
        raise RecordsError(f"{path.name} names a patient more than once")
    return table.set_index("person_id")["label"].dropna()


def show_phenotype(screen: Console, facts: dict[str, Any]) -> None:
    """Print what was counted and found."""
    for step in facts["steps"]:
        screen.print(f"{step['what']}: {step['rows']:,} rows in {step['seconds']:.1f} s")
    screen.print(Text(facts["answer"], "bold"))
    selected = [one for one in facts["features"] if one["selected"]]
    rest = len(selected) - LONGEST_TABLE
    caption = f"and {rest} more" if rest > 0 else None
    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
        caption=caption,
        caption_justify="left",
    )
    table.add_column("feature", max_width=32, overflow="fold")
    table.add_column("weight", justify="right", no_wrap=True)
    table.add_column("reason", overflow="fold")
    for one in selected[:LONGEST_TABLE]:
        weight = figure(one["weight"], "+.2f")
        table.add_row(printable(one["feature"]), weight, Text(one["reason"]))
    screen.print(table)
