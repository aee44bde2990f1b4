"""`unelisa reproduce`: every study on this machine, resumable, and the docs pages made from them.

Files are replaced only after all work has succeeded.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from studies import screens
from studies.drawing import drawing, save_figure
from studies.ehr.page import render_ehr
from studies.ehr.rare import COHORTS, run_rare
from studies.ehr.sets import phecap_set, simulated_set
from studies.ehr.splits import SPLITS, read_splits, run_set
from studies.ehr.tables import collect_ehr, draw_splits
from studies.paper.cells import (
    CELLS,
    GRAPHS,
    SAMPLERS,
    TRIALS,
    Trial,
    find_cells,
    list_series,
    list_trials,
)
from studies.paper.figures import draw_all
from studies.paper.page import render_page
from studies.paper.tables import collect_archive, tabulate_study
from studies.paper.trials import METHODS, find_study_methods, results_path, run_trials
from studies.real.page import render_real
from studies.real.runs import SETTINGS, collect_real, list_tasks, run_real
from studies.real.sets import VARIABLE, choose_sets, find_shared_data
from studies.records import Json, format_archive, read_archive
from unelisa.cli import options
from unelisa.cli.commands import INTERRUPTED, PlainCommand, PlainGroup
from unelisa.cli.files import STDOUT, check_outputs, make_folder, output_files
from unelisa.cli.options import find_methods
from unelisa.cli.screen import busy, complain, results
from unelisa.errors import ModelError
from unelisa.progress import show_progress

app = typer.Typer(cls=PlainGroup, invoke_without_command=True, add_completion=False)

_RESUMED = "Where finished work is kept; an interrupted run continues from there."
_DEFAULT_DATA = (
    f"by default the folder that {VARIABLE} names, or the one in ../shared/data next to a clone"
)
ResultsFolder = Annotated[Path, typer.Option("--results", metavar="FOLDER", help=_RESUMED)]
Sampler = Annotated[
    str,
    typer.Option(metavar="paper|mixed", help="The paper's Gibbs sampler, or tempering."),
]
Graph = Annotated[
    str,
    typer.Option(metavar="half|full|tree", help="How dense the voters' graph is."),
]
Trials = Annotated[int, typer.Option(min=1, metavar="N", help="Trials per cell.")]
Jobs = Annotated[int, typer.Option(metavar="N", help="Trials at a time; -1 is one per core.")]
Stored = Annotated[
    Path | None,
    typer.Option(
        "--from", metavar="JSON", help="Run nothing: show and write what this archive holds."
    ),
]
STUDY_RESULTS = Path("results/study")


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
        typer.Option(metavar="A,B", help="Only some cells: high-25-log, or low-81 for three."),
    ] = None,
    methods: Annotated[
        str | None, typer.Option(metavar="A,B", help=f"Only some of {', '.join(METHODS)}.")
    ] = None,
    jobs: Jobs = -1,
    folder: ResultsFolder = STUDY_RESULTS,
    json: options.JsonFile = None,
    up_to_sign: Annotated[
        bool, typer.Option("--up-to-sign", help="Show accuracies up to a global sign.")
    ] = False,
) -> None:
    """Run tables 5.1 to 5.3 and print ours beside the published ones."""
    check_outputs(json=json)
    key = _choose("--sampler", sampler, SAMPLERS), _choose("--graph", graph, GRAPHS)
    asked = list_trials(find_cells(cells), trials, *key)
    done = _run_trials(asked, results_path(folder, *key), find_study_methods(methods), jobs)
    table = tabulate_study(done, *key)
    _write_json(json, table)
    screens.show_study(results(quiet=json == STDOUT), table, up_to_sign)


@app.command(cls=PlainCommand)
def figures(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for the figures, as SVG and PNG.")
    ] = Path("figures"),
    sampler: Sampler = "paper",
    graph: Graph = "half",
    trials: Trials = TRIALS,
    jobs: Jobs = -1,
    folder: ResultsFolder = STUDY_RESULTS,
    json: options.JsonFile = None,
) -> None:
    """Draw figures 2.1 and 3.1, experts against n, and accuracies by method."""
    make_folder(out)
    check_outputs(json=json)
    key = _choose("--sampler", sampler, SAMPLERS), _choose("--graph", graph, GRAPHS)
    with drawing():
        asked = list_trials(CELLS, trials, *key)
        done = _run_trials(asked, results_path(folder, *key), tuple(METHODS), jobs)
        path = results_path(folder, *key, series=True)
        series = _run_trials(list_series(trials, *key), path, ("unelisa",), jobs)
        with busy("drawing"):
            paths = draw_all(done, series, out, f"{sampler}-{graph}")
    _name_files(paths, json)


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
            help="Add these results to study/tables.json first; by default that file is used.",
        ),
    ] = None,
    json: options.JsonFile = None,
) -> None:
    """Write the page that compares our tables with the published ones."""
    place, written = out / "study" / "tables.json", out / "reproduction.md"
    with busy("summarizing"):
        stored = _read_stored(out, "tables.json", "studies", required=folder is None)
        archive = stored if folder is None else collect_archive(folder, stored)
        texts = {written: render_page(archive or {})}
    if folder is not None and archive is not None:
        texts[place] = format_archive(archive, "cell")
    _write_texts(texts, json)
    _name_files([written], json)


@app.command(cls=PlainCommand)
def real(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help=f"One folder per set, with votes.csv and truth.csv; {_DEFAULT_DATA}; otherwise "
            "public sets are downloaded.",
        ),
    ] = None,
    folder: ResultsFolder = Path("results/real"),
    methods: Annotated[
        str | None, typer.Option(metavar="A,B", help="Only some methods; all by default.")
    ] = None,
    supervised: Annotated[
        bool, typer.Option(help="Also run the references that learn from labels.")
    ] = True,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Write comparison.md, and add to study/real.json, in there."
        ),
    ] = None,
    stored: Stored = None,
    json: options.JsonFile = None,
) -> None:
    """Run every method on every set of real votes, with intervals and mean ranks."""
    check_outputs(json=json)
    names = None if methods is None else [_find_real_method(x) for x in methods.split(",")]
    if stored is not None:
        archive = read_archive(stored, "rows", "unelisa reproduce real")
    else:
        sets, tasks = choose_sets(data), list_tasks(names, supervised)
        make_folder(folder)
        with _running(len(sets) * len(tasks)) as advance:
            run_real(sets, folder, tasks, advance)
        archive = collect_real(folder, _read_stored(out, "real.json", "rows"))
    if out is not None:
        texts = {out / "comparison.md": render_real(archive)}
        _write_texts({**texts, out / "study" / "real.json": format_archive(archive, "set")}, json)
    _write_json(json, archive)
    screens.show_ranks(results(quiet=json == STDOUT), archive)


@app.command(cls=PlainCommand)
def ehr(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    seeds: Annotated[
        str, typer.Option(metavar="A,B", help="Seeds of the simulated datamarts.")
    ] = "0",
    patients: Annotated[
        int, typer.Option(min=1000, help="Patients in a simulated datamart.")
    ] = 46568,
    splits: Annotated[
        int, typer.Option(min=1, help="Random splits of the reviewed charts.")
    ] = SPLITS,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder of ehr_phecap, with features.csv.gz and truth.csv; by default ehr_phecap "
            f"in the shared data ({_DEFAULT_DATA}); skipped if there is none.",
        ),
    ] = None,
    rare: Annotated[bool, typer.Option(help="Also small cohorts with a rare phenotype.")] = True,
    folder: ResultsFolder = Path("results/ehr"),
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write phenotyping_study.md and images, and add to study/ehr.json, in there.",
        ),
    ] = None,
    stored: Stored = None,
    json: options.JsonFile = None,
) -> None:
    """Run Table 5.4: penLog, unElisa and Phenotyper on splits of the reviewed charts."""
    check_outputs(json=json)
    if stored is not None:
        archive = read_archive(stored, "methods", "unelisa reproduce ehr")
    else:
        asked = _read_seeds(seeds)
        for wanted in (folder, out):
            if wanted is not None:
                make_folder(wanted)
        _run_ehr(asked, patients, splits, data, rare, folder)
        archive = collect_ehr(folder, _read_stored(out, "ehr.json", "methods"))
    if out is not None:
        texts = {out / "phenotyping_study.md": render_ehr(archive)}
        archived = format_archive(archive, "set", "told")
        if stored is None:
            _draw_ehr(folder, out / "images")
        _write_texts({**texts, out / "study" / "ehr.json": archived}, json)
    _write_json(json, archive)
    screens.show_methods(results(quiet=json == STDOUT), archive)


def _run_ehr(
    seeds: Sequence[int], patients: int, splits: int, data: Path | None, rare: bool, folder: Path
) -> None:
    """Run the simulated datamarts with their rare cohorts, then ehr_phecap if it is there."""
    shared = find_shared_data() if data is None else None
    place = shared / "ehr_phecap" if shared is not None else data
    public = phecap_set(place) if place is not None and (data or place.is_dir()) else None
    parts = len(seeds) * (splits + (COHORTS if rare else 0)) + (splits if public else 0)
    with _running(parts) as advance:
        for seed in seeds:
            datamart = simulated_set(seed, patients)
            run_set(datamart, folder, splits, partial(advance, f"datamart {seed}"))
            if rare:
                run_rare(datamart, folder, partial(advance, f"rare cohorts {seed}"))
        if public is not None:
            run_set(public, folder, splits, partial(advance, "ehr_phecap"))


def _draw_ehr(folder: Path, images: Path) -> None:
    make_folder(images)
    rows = read_splits(folder)
    with drawing(), busy("drawing"):
        for name in dict.fromkeys(row["set"] for row in rows):
            save_figure(draw_splits(rows, name), images, f"ehr-{name}")


def _read_seeds(text: str) -> list[int]:
    """Return the seeds in a list such as 0,1,2."""
    try:
        seeds = [int(part) for part in text.split(",")]
    except ValueError:
        seeds = [-1]
    if min(seeds) < 0 or len(set(seeds)) < len(seeds):
        raise ModelError("--seeds must be distinct nonnegative integers, such as 0,1,2")
    return seeds


def _find_real_method(name: str) -> str:
    return name.strip() if name.strip() in SETTINGS else find_methods(name)[0]


def _choose(option: str, name: str, choices: Any) -> Any:
    if name not in choices:
        raise ModelError(f"{option} must be one of {', '.join(choices)}, found {name[:60]!r}")
    return name


def _run_trials(
    trials: Sequence[Trial], path: Path, methods: Sequence[str], jobs: int
) -> dict[Trial, Json]:
    make_folder(path.parent)
    with _running(len(trials)) as advance:
        return run_trials(trials, path, methods, jobs, partial(advance, path.stem))


@contextmanager
def _running(total: int) -> Iterator[Callable[[str, int], None]]:
    """Show progress and the time left; give a function to call as work finishes."""
    try:
        with show_progress("", total) as advance:
            yield lambda doing, count: advance(count, doing)
    except KeyboardInterrupt:
        complain("interrupted: finished work is kept; run the same command again to continue")
        raise typer.Exit(INTERRUPTED) from None


def _read_stored(out: Path | None, name: str, part: str, required: bool = False) -> Json | None:
    """Return the archive in an output folder; None if there is none and none is required."""
    if out is None or not (required or (out / "study" / name).exists()):
        return None
    return read_archive(out / "study" / name, part, "unelisa reproduce")


def _write_texts(texts: dict[Path, str], json: Path | None) -> None:
    """Write pages and archives together: all of them or none."""
    for path in texts:
        make_folder(path.parent)
    check_outputs(*texts, json=json)
    with output_files() as files:
        for path, text in texts.items():
            files.write_text(path, text)


def _write_json(path: Path | None, content: Any) -> None:
    if path is not None:
        with output_files() as files:
            files.write_json(path, content)


def _name_files(paths: Sequence[Path], json: Path | None) -> None:
    _write_json(json, [str(path) for path in paths])
    for path in paths:
        results(quiet=json == STDOUT).print(f"wrote {path}", markup=False, soft_wrap=True)
