"""`unelisa phenotype`: who has a disease, from a database of health records."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from unelisa.cli import options
from unelisa.cli.files import STDOUT, check_outputs, output_files
from unelisa.cli.phenotype_cases import Charts, find_cases, load_kept
from unelisa.cli.phenotype_config import PhenotypeConfig, read_config
from unelisa.cli.phenotype_reviews import read_reviews
from unelisa.cli.screen import bare_table, figure, printable, results, tell_end, tell_written
from unelisa.ehr.omop.cohort import COLUMNS, check_cohort, write_cohort
from unelisa.ehr.omop.database import is_server, open_database
from unelisa.errors import ModelError, RecordsError, VotesError
from unelisa.report.health import render_phenotype
from unelisa.report.page import require_jinja
from unelisa.sources.files import TextTable, check_readable, reading
from unelisa.sources.labels import list_rows, settle_table
from unelisa.sources.tables import MISSING
from unelisa.storage import save as save_model

LONGEST_TABLE = 15
COLUMNS_OF_LABELS = ("person_id", "label", "probability", "note")
COLUMNS_OF_CHARTS = ("person_id", "label", "probability", "drawn")
COLUMNS_READ = ("person_id", "label", "drawn")  # of reviewed charts


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
        typer.Option(metavar="phenotype.csv", help="Write person_id, label, probability and note."),
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
    reviews: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Table of reviews by several readers, such as LLMs: person_id, reviewer, isCase.",
        ),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="MODEL", help="Save the fitted model to a file.")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(metavar="MODEL", help="Label with a saved model instead of fitting one."),
    ] = None,
    charts: Annotated[
        int | None,
        typer.Option(metavar="N", min=10, help="Draw about N charts worth reviewing."),
    ] = None,
    charts_out: Annotated[
        Path,
        typer.Option(
            metavar="charts.csv",
            help="Where to write them; fill in the labels (0 or 1) and pass the file as --gold.",
        ),
    ] = Path("charts.csv"),
    json: options.JsonFile = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    strict: options.Strict = False,
    _memory: options.Memory = None,
) -> None:
    """Count in an OMOP database, learn a disease from its anchors, and label every patient."""
    drawn = None if charts is None else charts_out
    check_outputs(
        *(report, save),
        tables=(out, cohort, drawn),
        json=json,
        inputs=(config, gold, reviews, model, *list_database(database)),
        force=force,
    )
    if report is not None:
        require_jinja()
    if model is not None and (gold, reviews, save) != (None, None, None):
        raise ModelError("--gold, --reviews and --save apply to a fit; omit them with --model")
    wanted = read_config(config)
    reviewed = None if gold is None else read_charts(gold)
    reviewed = reviewed if reviews is None else read_reviews(reviews, reviewed)
    kept, wanted = load_kept(model, wanted)
    if insert:
        check_insertion(database, wanted)
    found = find_cases(database, wanted, kept, reviewed, dated=cohort is not None or insert)
    with output_files(force) as files:
        files.write_csv(out, COLUMNS_OF_LABELS, found.labels)
        if cohort is not None:
            files.write_csv(cohort, COLUMNS, found.cohort.itertuples(index=False))
        files.write_csv(drawn, COLUMNS_OF_CHARTS, found.draw(charts or 0, wanted.seed))
        if report is not None:
            files.write_text(report, render_phenotype(found.facts))
        if save is not None:
            save_model(found.model, files.draft(save))
        files.write_json(json, found.facts)
        if insert:
            with open_database(database, read_only=False) as connection:
                write_cohort(connection, found.cohort, *wanted.schemas[2:])
    screen = results(quiet=quiet or STDOUT in (out, json))
    show_phenotype(screen, found.facts)
    tell_written(screen, out, report, cohort, drawn, save, json)
    tell_end(screen, *sum_up(found.model.reliable_, reviewed is not None))
    options.end_strictly(strict, found.model)


def sum_up(reliable: bool, reviewed: bool) -> tuple[str, str, str]:
    """Return how far to trust the phenotype, no worst voters, and what is next."""
    trust = "nothing was found that speaks against the phenotype"
    doubt = "this phenotype cannot be relied on, see the warnings"
    then = "" if reviewed else "--charts 100 draws charts to review; pass them back with --gold"
    return trust if reliable else doubt, "", then


def check_insertion(database: str, wanted: PhenotypeConfig) -> None:
    """Reject a cohort that cannot be inserted before counting, which may take long."""
    with open_database(database, read_only=False) as connection:
        check_cohort(connection, wanted.cohort, *wanted.schemas[2:])


def list_database(database: str) -> list[Path]:
    """Return the files of a database: none for a server, and DuckDB keeps a log beside its file."""
    return [] if is_server(database) else [Path(database), Path(f"{database}.wal")]


def read_charts(path: Path) -> Charts:
    """Return the labels of reviewed charts by person_id, with the shares drawn by --charts."""
    import pandas as pd

    check_readable(path, RecordsError)
    try:
        with reading(path):
            table = TextTable(path)
            if not {"person_id", "label"} <= set(table.header):
                raise RecordsError(f"{path.name} needs the columns person_id and label")
            table = settle_table(table, "person_id", "label")
            columns = [name for name in COLUMNS_READ if name in table.header]
            rows = [row for row in list_rows(table, columns) if not MISSING & set(row[:2])]
    except VotesError as error:
        raise RecordsError(f"{error}; the charts must be a CSV table") from None
    # as text: 64-bit numbers in a column with missing values would be rounded
    charts = {person: options.read_number(label, int, float) for person, label, *_ in rows}
    if len(charts) < len(rows):
        raise RecordsError(f"{path.name} lists a patient more than once")
    if "drawn" not in columns:
        return charts
    shares = [options.read_number(row[2], float) for row in rows]
    labels = pd.Series(list(charts.values()), list(charts), dtype=object)
    return pd.DataFrame({"label": labels, "drawn": pd.Series(shares, list(charts), dtype=object)})


def show_phenotype(screen: Console, facts: dict[str, Any]) -> None:
    """Print what was counted and found."""
    for step in facts["steps"]:
        took = f"{step['rows']:,} rows in {step['seconds']:.1f} s"
        screen.print(f"{step['what']}: {took}", markup=False)
    for one in facts["rare"]:
        kept = f"{one['kept']:,} of {one['found']:,} features are frequent enough"
        screen.print(f"{one['domain']}: {kept}", markup=False)
    for one in facts["flaws"]:
        if one["number"]:
            screen.print(f"{one['what']}: {one['share']:.1%}", markup=False)
    screen.print(Text(facts["answer"], "bold"))
    words = {"ppv": "PPV", "npv": "NPV", "sensitivity": "sensitivity"}
    known = {word: facts[name] for name, word in words.items() if facts[name] is not None}
    intervals = [f"{word} {one['low']:.0%} to {one['high']:.0%}" for word, one in known.items()]
    screen.print(f"{', '.join(intervals)} (95% intervals)")
    selected = [one for one in facts["features"] if one["selected"]]
    rest = len(selected) - LONGEST_TABLE
    caption = f"and {rest} more" if rest > 0 else None
    table = bare_table(1, caption=caption, caption_justify="left")
    table.add_column("feature", max_width=32, overflow="fold")
    table.add_column("weight", justify="right", no_wrap=True)
    table.add_column("reason", overflow="fold")
    for one in selected[:LONGEST_TABLE]:
        weight = figure(one["weight"], "+.2f")
        name = f" ({one['name']})" if one.get("name") else ""
        table.add_row(printable(one["feature"] + name), weight, Text(one["reason"]))
    screen.print(table)
