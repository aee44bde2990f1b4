"""`unelisa phenotype`: from a database of health records to who has a disease."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from unelisa.cli import options
from unelisa.cli.files import STDOUT, OutputFiles, check_outputs, output_files, refuse_stdout
from unelisa.cli.phenotype_config import PhenotypeConfig, read_config
from unelisa.cli.phenotype_model import (
    Learned,
    apply_phenotype,
    fit_phenotype,
    load_phenotype,
)
from unelisa.cli.screen import busy, printable, results
from unelisa.cli.tables import figure
from unelisa.errors import ModelError, RecordsError
from unelisa.phenotyping.omop.cohort import COLUMNS, list_cohort, write_cohort
from unelisa.phenotyping.omop.counts import count_patients
from unelisa.phenotyping.omop.database import OmopTables, is_server, open_database
from unelisa.phenotyping.phenotyper import Phenotyper
from unelisa.report.page import require_jinja
from unelisa.report.phenotype import describe_phenotype, render_phenotype
from unelisa.storage import save as save_model

if TYPE_CHECKING:
    import pandas as pd

LONGEST_TABLE = 15
Learn = Callable[["pd.DataFrame"], Learned]  # counts -> phenotyper


class Cases(NamedTuple):
    """What was found: label and P(case) per patient, the model, facts without patients, cohort."""

    persons: Any
    labels: Any
    chances: Any
    model: Phenotyper
    facts: dict[str, Any]
    cohort: Any

    def list_labels(self) -> Iterator[tuple[Any, Any, str]]:
        """Return person, label and probability of every patient."""
        chances = (f"{chance:.6f}" for chance in self.chances)
        return zip(self.persons.tolist(), self.labels.tolist(), chances, strict=True)


class Outputs(NamedTuple):
    """The files that are asked for."""

    out: Path | None
    report: Path | None
    cohort: Path | None
    model: Path | None
    json: Path | None

    @property
    def named(self) -> list[Path]:
        """All of them that are no stdout."""
        return [path for path in self if path is not None and path != STDOUT]

    def check(self, *inputs: Path | None) -> None:
        """Refuse, before any long work, what cannot be written."""
        check_outputs(*self, inputs=inputs)
        refuse_stdout(*self[:-1])
        if self.report is not None:
            require_jinja()

    def write(self, files: OutputFiles, found: Cases) -> None:
        """Write them."""
        if self.out is not None:
            files.write_csv(self.out, ("person_id", "label", "probability"), found.list_labels())
        if self.cohort is not None:
            files.write_csv(self.cohort, COLUMNS, found.cohort.itertuples(index=False))
        if self.report is not None:
            files.write_text(self.report, render_phenotype(found.facts))
        if self.model is not None:
            save_model(found.model, files.draft(self.model))
        if self.json is not None:
            files.write_json(self.json, found.facts)


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
    save: Annotated[
        Path | None, typer.Option(metavar="MODEL", help="Keep the fitted model in a file.")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL", help="Label with a model that --save kept, instead of fitting one."
        ),
    ] = None,
    json: options.JsonFile = None,
) -> None:
    """Count in an OMOP database, learn a disease from its anchors, and label every patient."""
    outputs = Outputs(out, report, cohort, save, json)
    outputs.check(config, gold, model, None if is_server(database) else Path(database))
    if model is not None and (gold, save) != (None, None):
        raise ModelError("--gold and --save belong to a fit; leave them out with --model")
    wanted = read_config(config)
    learn: Learn
    if model is None:
        learn = partial(fit_phenotype, wanted, charts=None if gold is None else read_charts(gold))
    else:
        kept, wanted = load_phenotype(model, wanted)
        learn = partial(apply_phenotype, kept)
    found = find_cases(database, wanted, learn, dated=cohort is not None or insert)
    with output_files() as files:
        outputs.write(files, found)
        if insert:
            with open_database(database, read_only=False) as connection:
                write_cohort(connection, found.cohort, wanted.schema)
    screen = results(quiet=json == STDOUT)
    show_phenotype(screen, found.facts)
    for path in outputs.named:
        screen.print(f"wrote {path}", markup=False, soft_wrap=True)


def find_cases(database: str, wanted: PhenotypeConfig, learn: Learn, *, dated: bool) -> Cases:
    """Return the labels of all patients of a database, and since when the cases are cases."""
    with busy("opening the database") as status, open_database(database) as connection:

        def show(doing: str) -> None:
            status.update(f"{doing} ...")

        tables = OmopTables.of(connection, wanted.schema)
        counts = count_patients(tables, wanted.request, show)
        show("finding the cases")
        learned = learn(counts.table)
        chances = learned.model.predict_proba(counts.table)[:, 1]
        labels = np.asarray(learned.model.predict(counts.table))
        persons = counts.table.index.to_numpy()
        rows = None
        if dated:
            show("dating the cohort")
            cases, window = persons[labels == learned.model.classes_[1]], wanted.request.window
            rows = list_cohort(tables, cases, wanted.cohort, wanted.anchors, window)
    facts = describe_phenotype(wanted.title, learned.model, chances, counts.steps, learned.ppv)
    facts.update(seconds=learned.seconds, warnings=learned.notes)
    return Cases(persons, labels, chances, learned.model, facts, rows)


def read_charts(path: Path) -> dict[str, Any]:
    """Return the labels of reviewed charts by person_id."""
    import pandas as pd  # noqa: PLC0415 - only this needs it here

    try:
        # as text: numbers of 64 bits with a gap among them would be rounded
        table = pd.read_csv(path, dtype={"person_id": str})
    except (OSError, ValueError):
        raise RecordsError(f"{path.name} cannot be read as a CSV table") from None
    if not {"person_id", "label"} <= set(table.columns):
        raise RecordsError(f"{path.name} needs the columns person_id and label")
    table = table[["person_id", "label"]].dropna()
    persons = table["person_id"].str.strip()
    if persons.duplicated().any():
        raise RecordsError(f"{path.name} names a patient more than once")
    return dict(zip(persons, table["label"].tolist(), strict=True))


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
