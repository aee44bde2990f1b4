"""`unelisa phenotype`: who has a disease, from a database of health records."""

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.text import Text

from unelisa.cli import options
from unelisa.cli.files import STDOUT, check_outputs, output_files
from unelisa.cli.phenotype_config import PhenotypeConfig, read_config
from unelisa.cli.screen import bare_table, busy, figure, printable, results, tell_written
from unelisa.errors import (
    ModelError,
    RecordsError,
    UnelisaWarning,
    VotesError,
    replay_warnings,
    warn_user,
)
from unelisa.kernels.compilation import Stopwatch
from unelisa.memory import refuse_beyond
from unelisa.phenotyping.omop.cohort import COLUMNS, list_cohort, write_cohort
from unelisa.phenotyping.omop.counts import count_patients
from unelisa.phenotyping.omop.database import OmopTables, is_server, open_database
from unelisa.phenotyping.phenotyper import Phenotyper
from unelisa.report.page import require_jinja
from unelisa.report.phenotype import describe_phenotype, render_phenotype
from unelisa.sources.files import check_readable, reading
from unelisa.sources.tables import MISSING, NAME_BYTES
from unelisa.sources.text import TextTable
from unelisa.storage import load
from unelisa.storage import save as save_model

if TYPE_CHECKING:
    import pandas as pd

LONGEST_TABLE = 15
Charts = dict[str, Any]  # person_id -> label


class Cases(NamedTuple):
    """Person, label and P(case) of all patients, the model, facts that name none, the cohort."""

    labels: Iterable[tuple[Any, Any, str]]
    model: Phenotyper
    facts: dict[str, Any]
    cohort: Any


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
        typer.Option(metavar="report.html", help="Write a report, which names no patient."),
    ] = None,
    cohort: Annotated[
        Path | None,
        typer.Option(metavar="cohort.csv", help="Write the cases as OMOP cohort rows."),
    ] = None,
    insert: Annotated[
        bool,
        typer.Option("--insert-cohort", help="Insert the cases into the database's cohort table."),
    ] = False,
    gold: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Table of reviewed charts: person_id and label, for some patients."
        ),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="MODEL", help="Save the fitted model to a file.")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(metavar="MODEL", help="Label with a saved model instead of fitting one."),
    ] = None,
    json: options.JsonFile = None,
    force: options.Force = False,
    _memory: options.Memory = None,
) -> None:
    """Count in an OMOP database, learn a disease from its anchors, and label every patient."""
    check_outputs(
        *(report, save),
        tables=(out, cohort),
        json=json,
        inputs=(config, gold, model, *list_database(database)),
        force=force,
    )
    if report is not None:
        require_jinja()
    if model is not None and (gold, save) != (None, None):
        raise ModelError("--gold and --save apply to a fit; omit them with --model")
    wanted = read_config(config)
    charts = None if gold is None else read_charts(gold)
    kept = None
    if model is not None:
        kept, wanted = load_kept(model, wanted)
    found = find_cases(database, wanted, kept, charts, dated=cohort is not None or insert)
    with output_files(force) as files:
        files.write_csv(out, ("person_id", "label", "probability"), found.labels)
        if cohort is not None:
            files.write_csv(cohort, COLUMNS, found.cohort.itertuples(index=False))
        if report is not None:
            files.write_text(report, render_phenotype(found.facts))
        if save is not None:
            save_model(found.model, files.draft(save))
        files.write_json(json, found.facts)
        if insert:
            with open_database(database, read_only=False) as connection:
                write_cohort(connection, found.cohort, wanted.schema)
    screen = results(quiet=json == STDOUT)
    show_phenotype(screen, found.facts)
    tell_written(screen, out, report, cohort, save, json)


def list_database(database: str) -> list[Path]:
    """Return the files of a database: none for a server, and DuckDB keeps a log beside its file."""
    return [] if is_server(database) else [Path(database), Path(f"{database}.wal")]


def load_kept(path: Path, wanted: PhenotypeConfig) -> tuple[Phenotyper, PhenotypeConfig]:
    """Return a saved phenotyper, and the configuration narrowed to its features if they fit."""
    model = load(path, Phenotyper)
    if set(model.anchors) != set(wanted.anchor_names):
        anchors = " and ".join(str(name)[:60] for name in model.anchors)
        raise ModelError(
            f"{path.name} was fitted with the anchors {anchors}; the configuration names others"
        )
    if model.utilization != wanted.request.utilization:
        raise ModelError(
            f"{path.name} was fitted with utilization {str(model.utilization)[:60]}; "
            "the configuration has a different one"
        )
    try:
        request = wanted.request.narrow(model.feature_names_in_.tolist())
    except RecordsError as error:
        raise RecordsError(
            f"{error} by the configuration; {path.name} was fitted with a different one"
        ) from None
    return model, replace(wanted, request=request)


def find_cases(
    database: str,
    wanted: PhenotypeConfig,
    kept: Phenotyper | None,
    charts: Charts | None,
    *,
    dated: bool,
) -> Cases:
    """Return the labels of all patients in a database, by a kept phenotyper or a new one."""
    request = wanted.request
    with busy("opening the database") as status, open_database(database) as connection:
        tables = OmopTables.of(connection, wanted.schema)
        counts = count_patients(tables, request, lambda what: status.update(f"{what} ..."))
        status.update("finding the cases ...")
        with warnings.catch_warnings(record=True) as caught, Stopwatch() as watch:
            warnings.simplefilter("always", UnelisaWarning)
            if kept is not None:
                model = kept
                _warn_of_absent(kept, counts.table)
            else:
                anchors, utilization = wanted.anchor_names, request.utilization
                model = Phenotyper(anchors, utilization, wanted.prevalence, wanted.seed)
                model.fit(counts.table, charts)
        replay_warnings(caught)
        chances = model.predict_proba(counts.table)[:, 1]
        flagged = chances >= model.threshold_
        persons, rows = counts.table.index.to_numpy(), None
        if dated:
            status.update("dating the cohort ...")
            cases, first = persons[flagged], wanted.anchors
            rows = list_cohort(tables, cases, wanted.cohort, first, request.window)
    ppv = model.ppv_ if kept is None else model.expect_ppv(counts.table)
    facts = describe_phenotype(wanted.title, model, chances, counts.steps, ppv)
    notes = [str(one.message) for one in caught if issubclass(one.category, UnelisaWarning)]
    facts.update(seconds=watch.seconds if kept is None else None, warnings=notes)
    labels, shown = model.classes_[flagged.astype(int)], (f"{chance:.6f}" for chance in chances)
    listed = zip(persons.tolist(), labels.tolist(), shown, strict=True)
    return Cases(listed, model, facts, rows)


def _warn_of_absent(model: Phenotyper, counts: "pd.DataFrame") -> None:
    """Warn if no new patient has some feature that a saved model uses."""
    table = model.features_
    used = table["feature"][table["selected"]].tolist()
    absent = [name for name in used if not counts[name].any()]
    if absent:
        warn_user(
            f"{len(absent)} of the {len(used)} features that the model uses never occur here, such "
            f"as {absent[0][:60]}; check that this database writes its codes as the one of the fit",
            UnelisaWarning,
        )


def read_charts(path: Path) -> Charts:
    """Return the labels of reviewed charts by person_id."""
    check_readable(path, RecordsError)
    try:
        with reading(path):
            table = TextTable(path)
            if not {"person_id", "label"} <= set(table.header):
                raise RecordsError(f"{path.name} needs the columns person_id and label")
            rows = [row for row in _list_charts(table) if not MISSING & set(row)]
    except VotesError as error:
        raise RecordsError(f"{error}; the charts must be a CSV table") from None
    # as text: 64-bit numbers in a column with missing values would be rounded
    charts = {person: options.read_number(label, int, float) for person, label in rows}
    if len(charts) < len(rows):
        raise RecordsError(f"{path.name} lists a patient more than once")
    return charts


def _list_charts(table: TextTable) -> Iterator[tuple[str, str]]:
    for number, batch in enumerate(table.batches(["person_id", "label"]), start=1):
        refuse_beyond(number * NAME_BYTES * batch.num_rows, table.path.name, RecordsError)
        persons, labels = (column.fill_null("").to_pylist() for column in batch.columns)
        stripped = (map(str.strip, cells) for cells in (persons, labels))
        yield from zip(*stripped, strict=True)


def show_phenotype(screen: Console, facts: dict[str, Any]) -> None:
    """Print what was counted and found."""
    for step in facts["steps"]:
        told = f"{step['what']}: {step['rows']:,} rows in {step['seconds']:.1f} s"
        screen.print(told, markup=False)
    screen.print(Text(facts["answer"], "bold"))
    selected = [one for one in facts["features"] if one["selected"]]
    rest = len(selected) - LONGEST_TABLE
    caption = f"and {rest} more" if rest > 0 else None
    table = bare_table(1, caption=caption, caption_justify="left")
    table.add_column("feature", max_width=32, overflow="fold")
    table.add_column("weight", justify="right", no_wrap=True)
    table.add_column("reason", overflow="fold")
    for one in selected[:LONGEST_TABLE]:
        weight = figure(one["weight"], "+.2f")
        table.add_row(printable(one["feature"]), weight, Text(one["reason"]))
    screen.print(table)
