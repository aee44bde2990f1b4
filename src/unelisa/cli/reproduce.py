"""`unelisa reproduce`: the paper's study on this machine, its numbers beside ours."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from unelisa.cli import options, reproduce_ehr, reproduce_real
from unelisa.cli.commands import INTERRUPTED, PlainCommand, PlainGroup
from unelisa.cli.files import STDOUT, check_outputs, make_folder, output_files
from unelisa.cli.screen import asides, busy, complain, results
from unelisa.cli.study_tables import show_errors, show_seconds, study_tables
from unelisa.errors import ModelError
from unelisa.study.archive import collect_archive, format_archive, read_archive
from unelisa.study.cells import (
    CELLS,
    GRAPHS,
    SAMPLERS,
    TRIALS,
    Trial,
    find_cells,
    list_series,
    list_trials,
)
from unelisa.study.figures import draw_all, drawing
from unelisa.study.page import render_page
from unelisa.study.results import results_path, run_trials, series_path
from unelisa.study.tables import StudyTable, tabulate_study
from unelisa.study.trial import METHODS, Record, find_study_methods

app = typer.Typer(cls=PlainGroup, invoke_without_command=True, add_completion=False)

ResultsFolder = Annotated[
    Path,
    typer.Option(
        "--results",
        metavar="FOLDER",
        help="Where every finished trial is kept; a run that was stopped goes on from there.",
    ),
]
Sampler = Annotated[
    str,
    typer.Option(
        metavar="paper|mixed", help="The paper's Gibbs sampler, or tempering, which mixes."
    ),
]
Graph = Annotated[
    str,
    typer.Option(
        metavar="half|full|tree", help="How dense the voters' graph is; the text leaves it open."
    ),
]
Trials = Annotated[int, typer.Option(min=1, metavar="N", help="Trials per cell.")]
Jobs = Annotated[int, typer.Option(metavar="N", help="Trials at a time; -1 is one per core.")]
DEFAULT_RESULTS = Path("results/study")


@app.callback()
def start(context: typer.Context) -> None:
    """Re-run the paper's study, with its numbers beside ours."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(cls=PlainCommand)
def tables(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    sampler: Sampler = "paper",
    graph: Graph = "half",
    trials: Trials = TRIALS,
    cells: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Some cells only, as high-25-log, or low-81 for three."),
    ] = None,
    methods: Annotated[
        str | None, typer.Option(metavar="A,B", help=f"Some of {', '.join(METHODS)} only.")
    ] = None,
    jobs: Jobs = -1,
    folder: ResultsFolder = DEFAULT_RESULTS,
    json: options.JsonFile = None,
    up_to_sign: Annotated[
        bool, typer.Option("--up-to-sign", help="Show accuracies up to a global sign.")
    ] = False,
) -> None:
    """Run tables 5.1 to 5.3 and print ours beside the published ones."""
    check_outputs(json)
    chosen, reading = _sampler(sampler), _graph(graph)
    asked = list_trials(find_cells(cells), trials, chosen, reading)
    path = results_path(folder, chosen, reading)
    table = tabulate_study(
        run_study(asked, path, find_study_methods(methods), jobs), chosen, reading
    )
    if json is not None:
        with output_files() as files:
            files.write_json(json, table)
    show_study(results(quiet=json == STDOUT), table, up_to_sign)


@app.command(cls=PlainCommand)
def figures(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for the figures, as SVG and PNG.")
    ] = Path("figures"),
    sampler: Sampler = "paper",
    graph: Graph = "half",
    trials: Trials = TRIALS,
    jobs: Jobs = -1,
    folder: ResultsFolder = DEFAULT_RESULTS,
    json: options.JsonFile = None,
) -> None:
    """Draw figures 2.1 and 3.1, experts against n, and accuracies by method."""
    make_folder(out)
    check_outputs(json)
    chosen, reading = _sampler(sampler), _graph(graph)
    with drawing():
        asked = list_trials(CELLS, trials, chosen, reading)
        done = run_study(asked, results_path(folder, chosen, reading), tuple(METHODS), jobs)
        asked = list_series(trials, chosen, reading)
        series = run_study(asked, series_path(folder, chosen, reading), ("unelisa",), jobs)
        with busy("drawing"):
            paths = draw_all(done, series, out, f"{sampler}-{graph}")
    tell_files(paths, json)


@app.command(cls=PlainCommand)
def page(
    out: Annotated[
        Path,
        typer.Option(metavar="FOLDER", help="Folder of reproduction.md and study/tables.json."),
    ] = Path("docs"),
    folder: Annotated[
        Path | None,
        typer.Option(
            "--results",
            metavar="FOLDER",
            help="Sum these results up in study/tables.json first; without it that file is used.",
        ),
    ] = None,
    json: options.JsonFile = None,
) -> None:
    """Write the page that sets our tables against the published ones."""
    archive, written = out / "study" / "tables.json", out / "reproduction.md"
    make_folder(archive.parent)
    check_outputs(archive, written, json)
    if folder is not None:
        with busy("summing up"), output_files() as files:
            text = format_archive(collect_archive(folder))
            files.draft(archive).write_text(text, encoding="utf-8")
    text = render_page(read_archive(archive))
    with output_files() as files:
        files.draft(written).write_text(text, encoding="utf-8")
    tell_files([written], json)


def tell_files(paths: Sequence[Path], json: Path | None) -> None:
    """Say which files were written, to a machine that asks as a list."""
    if json is not None:
        with output_files() as files:
            files.write_json(json, [str(path) for path in paths])
    for path in paths:
        results(quiet=json == STDOUT).print(f"wrote {path}", markup=False, soft_wrap=True)


app.command(cls=PlainCommand)(reproduce_real.real)
app.command(cls=PlainCommand)(reproduce_ehr.ehr)


def run_study(
    trials: Sequence[Trial], path: Path, methods: Sequence[str], jobs: int
) -> dict[Trial, Record]:
    """Return the trials' records, running those that the file lacks, with the time left."""
    make_folder(path.parent)
    with time_left(path.stem, len(trials)) as advance:
        return run_trials(trials, path, methods, jobs, advance)


@contextmanager
def time_left(doing: str, total: int) -> Iterator[Callable[[int], None]]:
    """Give what to call as trials end; Ctrl-C ends with what is kept."""
    screen = asides()
    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.completed} of {task.total} trials"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=screen,
        transient=True,
        disable=not screen.is_terminal,
        speed_estimate_period=300,  # a round over cheap and dear cells must fit into it
    )
    try:
        with bar:
            task = bar.add_task(doing, total=total)
            yield lambda count: bar.advance(task, count)
    except KeyboardInterrupt:
        complain("interrupted: finished trials are kept, the same command goes on from there")
        raise typer.Exit(INTERRUPTED) from None


def show_study(screen: Console, table: StudyTable, up_to_sign: bool) -> None:
    """Print the tables, the errors against the paper and the cost of a trial."""
    for shown in study_tables(table, up_to_sign):
        screen.print(shown)
        screen.print()
    screen.print(show_errors(table))
    screen.print()
    screen.print(show_seconds(table))


def _sampler(name: str) -> Any:
    return _choose("--sampler", name, tuple(SAMPLERS))


def _graph(name: str) -> Any:
    return _choose("--graph", name, GRAPHS)


def _choose(option: str, name: str, choices: Sequence[str]) -> str:
    if name not in choices:
        raise ModelError(f"{option} must be one of {', '.join(choices)}, found {name[:60]!r}")
    return name
