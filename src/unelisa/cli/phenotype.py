"""`unelisa phenotype`: who has a disease, from a database of health records."""

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray
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
from unelisa.phenotyping.charts import draw_charts
from unelisa.phenotyping.omop.cohort import COLUMNS, list_cohort, write_cohort
from unelisa.phenotyping.omop.counts import count_patients, find_related
from unelisa.phenotyping.omop.database import OmopTables, is_server, open_database
from unelisa.phenotyping.omop.persons import Persons, describe_persons
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
COLUMNS_OF_LABELS = ("person_id", "label", "probability", "note")
COLUMNS_OF_CHARTS = ("person_id", "label", "probability", "drawn")
COLUMNS_READ = ("person_id", "label", "drawn")  # of reviewed charts
Charts = Any  # labels by person_id, and the share of similar charts that were drawn if known


class Cases(NamedTuple):
    """Person, label, P(case) and note of all patients, the model, facts on them, the cohort."""

    labels: Iterable[tuple[Any, Any, str, str]]
    model: Phenotyper
    facts: dict[str, Any]
    cohort: Any
    # persons, chances: the eligible patients and their P(case)
    persons: NDArray[np.int64]
    chances: NDArray[np.float64]

    def draw(self, n: int, seed: int) -> Iterator[tuple[int, str, str, str]]:
        """Yield person, an empty label, P(case) and share drawn of charts worth reviewing."""
        sample = draw_charts(self.chances, n, np.random.default_rng(seed))
        for row, share in zip(sample.rows, sample.drawn, strict=True):
            yield int(self.persons[row]), "", f"{self.chances[row]:.6f}", f"{share:.6g}"


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
    _memory: options.Memory = None,
) -> None:
    """Count in an OMOP database, learn a disease from its anchors, and label every patient."""
    drawn = None if charts is None else charts_out
    check_outputs(
        *(report, save),
        tables=(out, cohort, drawn),
        json=json,
        inputs=(config, gold, model, *list_database(database)),
        force=force,
    )
    if report is not None:
        require_jinja()
    if model is not None and (gold, save) != (None, None):
        raise ModelError("--gold and --save apply to a fit; omit them with --model")
    wanted = read_config(config)
    reviewed = None if gold is None else read_charts(gold)
    kept = None
    if model is not None:
        kept, wanted = load_kept(model, wanted)
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
                write_cohort(connection, found.cohort, wanted.schema)
    screen = results(quiet=json == STDOUT)
    show_phenotype(screen, found.facts)
    tell_written(screen, out, report, cohort, drawn, save, json)


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
        people = describe_persons(tables, counts.table.index, wanted.limits, request.window)
        related = find_related(tables, request, wanted.anchors) if kept is None else []
        status.update("finding the cases ...")
        labeled = _label_patients(counts.table, people, wanted, charts, kept or related)
        rows = None
        if dated:
            status.update("dating the cohort ...")
            cases = counts.table.index.to_numpy()[labeled.flagged]
            rows = list_cohort(tables, cases, wanted.cohort, wanted.anchors, request.window)
    performance = None if kept is None else kept.expect_performance(labeled.counts)
    shown = labeled.chances[people.eligible]
    facts = describe_phenotype(wanted.title, labeled.model, shown, counts.steps, performance)
    facts.update(seconds=labeled.seconds if kept is None else None, warnings=labeled.warnings)
    facts.update(
        reliable=facts["reliable"] and labeled.doubt is None,
        unobserved=0 if people.observed is None else int((~people.observed).sum()),
        excluded=int((~people.possible).sum()),
    )
    active = (counts.table > 0).any(axis=1).to_numpy()
    able = labeled.persons[people.eligible], shown
    return Cases(_list_labels(labeled, people, active), labeled.model, facts, rows, *able)


class Labeled(NamedTuple):
    """The patients of a fit, the model, P(case) and label of everybody, and what is to be told."""

    counts: "pd.DataFrame"
    model: Phenotyper
    chances: NDArray[np.float64]
    flagged: NDArray[np.bool_]
    persons: NDArray[np.int64]
    doubt: str | None
    warnings: list[str]
    seconds: float


def _label_patients(
    table: "pd.DataFrame",
    people: Persons,
    wanted: PhenotypeConfig,
    charts: Charts | None,
    given: Phenotyper | list[str],
) -> Labeled:
    """Label everybody by a kept phenotyper, or by a new one, given what is related to anchors.

    It is fitted to the eligible patients; the others show whether it means the disease.
    """
    eligible = table[people.eligible]
    if eligible.empty:
        raise RecordsError("no patient was observed in the window and can have the disease")
    with warnings.catch_warnings(record=True) as caught, Stopwatch() as watch:
        warnings.simplefilter("always", UnelisaWarning)
        if isinstance(given, Phenotyper):
            model = given
            _warn_of_absent(model, table)
        else:
            anchors, utilization = wanted.anchor_names, wanted.request.utilization
            model = Phenotyper(anchors, utilization, wanted.prevalence, wanted.seed, given)
            model.fit(eligible, charts)
        chances = model.predict_proba(table)[:, 1]
        flagged = chances >= model.threshold_
        doubt = people.doubt(flagged)
        if doubt is not None:
            warn_user(f"the phenotype is not reliable: {doubt}", UnelisaWarning)
    replay_warnings(caught)
    notes = [str(one.message) for one in caught if issubclass(one.category, UnelisaWarning)]
    flagged &= people.eligible
    persons = table.index.to_numpy()
    return Labeled(eligible, model, chances, flagged, persons, doubt, notes, watch.seconds)


def _list_labels(
    labeled: Labeled, people: Persons, active: NDArray[np.bool_]
) -> Iterator[tuple[Any, Any, str, str]]:
    """Yield person, label, P(case) and note; no label for those who were not observed."""
    labels = labeled.model.classes_[labeled.flagged.astype(int)].tolist()
    chances = np.where(people.possible, labeled.chances, 0.0)
    observed = np.ones(len(chances), dtype=bool) if people.observed is None else people.observed
    rows = zip(
        labeled.persons.tolist(), labels, chances, observed, people.note(active), strict=True
    )
    for person, label, chance, seen, note in rows:
        yield (person, label, f"{chance:.6f}", note) if seen else (person, "", "", note)


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
    """Return the labels of reviewed charts by person_id, with the shares drawn by --charts."""
    import pandas as pd  # noqa: PLC0415 - only this needs it here

    check_readable(path, RecordsError)
    try:
        with reading(path):
            table = TextTable(path)
            if not {"person_id", "label"} <= set(table.header):
                raise RecordsError(f"{path.name} needs the columns person_id and label")
            columns = [name for name in COLUMNS_READ if name in table.header]
            rows = [row for row in _list_charts(table, columns) if not MISSING & set(row[:2])]
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


def _list_charts(table: TextTable, columns: list[str]) -> Iterator[tuple[str, ...]]:
    for number, batch in enumerate(table.batches(columns), start=1):
        refuse_beyond(number * NAME_BYTES * batch.num_rows, table.path.name, RecordsError)
        cells = (column.fill_null("").to_pylist() for column in batch.columns)
        yield from zip(*(map(str.strip, column) for column in cells), strict=True)


def show_phenotype(screen: Console, facts: dict[str, Any]) -> None:
    """Print what was counted and found."""
    for step in facts["steps"]:
        told = f"{step['what']}: {step['rows']:,} rows in {step['seconds']:.1f} s"
        screen.print(told, markup=False)
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
        table.add_row(printable(one["feature"]), weight, Text(one["reason"]))
    screen.print(table)
