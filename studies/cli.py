"""`unelisa reproduce`: every study on this machine, resumable, and the docs pages made from them.

Files are replaced only after all work has succeeded.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from studies import (
    cli_certify,
    cli_classes,
    cli_jury,
    cli_prior,
    cli_rate,
    cli_replay,
    cli_review,
    cli_rules,
    cli_worth,
    screens,
)
from studies.commands import (
    Docs,
    ResultsFolder,
    Stored,
    Study,
    choose,
    name_files,
    read_seeds,
    read_stored,
    run_study,
    running,
    write_json,
    write_texts,
)
from studies.drawing import drawing, save_figure
from studies.ehr.page import render_ehr
from studies.ehr.rare import COHORTS, run_rare
from studies.ehr.rare import STAMP as RARE_STAMP
from studies.ehr.sets import phecap_set, simulated_set
from studies.ehr.splits import SPLITS, read_splits, run_set
from studies.ehr.splits import STAMP as EHR_STAMP
from studies.ehr.tables import collect_ehr, draw_splits
from studies.markdown import group_by
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
from studies.paper.theorem import DRAWS, run_theorem
from studies.paper.trials import METHODS, find_study_methods, results_path, run_trials, stamp_cell
from studies.real.page import render_real
from studies.real.runs import (
    PANEL_METHODS,
    PANELS,
    UNRANKED,
    collect_real,
    list_tasks,
    run_real,
)
from studies.real.runs import stamp_row as stamp_real
from studies.real.sets import VARIABLE, choose_sets, find_panels, find_shared_data
from studies.records import Json, flatten_row, format_archive
from studies.sets import is_listed
from studies.worlds.figures import draw_differences
from studies.worlds.kinds import KINDS, NUMBERS, Part, find_kinds, list_places
from studies.worlds.page import render_worlds
from studies.worlds.runs import METHODS as WORLD_METHODS
from studies.worlds.runs import find_world_methods, run_places, stamp_kind
from studies.worlds.summary import collect_worlds
from unelisa.cli import options
from unelisa.cli.commands import PlainCommand, PlainGroup
from unelisa.cli.files import STDOUT, check_outputs, make_folder, output_files
from unelisa.cli.options import find_methods
from unelisa.cli.screen import busy, results

app = typer.Typer(cls=PlainGroup, invoke_without_command=True, add_completion=False)

_DEFAULT_DATA = f"by default the folder that {VARIABLE} names, or ../shared next to a clone"
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
TABLES = Study(
    *("tables", "studies", ("cell",), render_page, screens.show_stored),
    *("reproduction.md", {"studies.cells": stamp_cell}),
    again="unelisa reproduce tables && unelisa reproduce page --results results/study",
)
REAL = Study(
    *("real", "rows", ("set",), render_real, screens.show_ranks),
    *("comparison.md", {"rows": stamp_real, "panels.rows": stamp_real}),
)
EHR = Study(
    *("ehr", "methods", ("set", "told"), render_ehr, screens.show_methods),
    *("phenotyping_study.md", {"methods": EHR_STAMP, "sets": EHR_STAMP, "rare": RARE_STAMP}),
)
WORLDS = Study(
    *("worlds", "kinds", ("part",), render_worlds, screens.show_worlds),
    *("worlds.md", {"kinds": stamp_kind}),
)
_ROOMS = (
    *(
        cli_certify,
        cli_classes,
        cli_jury,
        cli_prior,
        cli_rate,
        cli_replay,
        cli_review,
        cli_rules,
        cli_worth,
    ),
)
STUDIES = {study.name: study for study in (TABLES, REAL, EHR, WORLDS, *(x.STUDY for x in _ROOMS))}
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
    key = choose("--sampler", sampler, SAMPLERS), choose("--graph", graph, GRAPHS)
    asked = list_trials(find_cells(cells), trials, *key)
    done = _run_trials(asked, results_path(folder, *key), find_study_methods(methods), jobs)
    table = tabulate_study(done, *key)
    write_json(json, table)
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
    key = choose("--sampler", sampler, SAMPLERS), choose("--graph", graph, GRAPHS)
    with drawing():
        asked = list_trials(CELLS, trials, *key)
        done = _run_trials(asked, results_path(folder, *key), tuple(METHODS), jobs)
        path = results_path(folder, *key, series=True)
        series = _run_trials(list_series(trials, *key), path, ("unelisa",), jobs)
        with busy("drawing"):
            paths = draw_all(done, series, out, f"{sampler}-{graph}")
    name_files(paths, json)


@app.command(cls=PlainCommand)
def theorem(
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder of study/tables.json, which gets it.")
    ] = Path("docs"),
    draws: Annotated[int, typer.Option(min=1, metavar="N", help="Samples per size.")] = DRAWS,
    json: options.JsonFile = None,
) -> None:
    """Simulate Theorem 3.2: how often all neighborhoods are found, beside its bound."""
    place = out / "study" / "tables.json"
    stored = read_stored(out, "tables.json", "studies", required=True)
    with busy("drawing samples"):
        found = {**(stored or {}), "theorem": run_theorem(draws)}
    write_texts({place: format_archive(found, "cell")}, json)
    name_files([place], json)


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
        stored = read_stored(out, "tables.json", "studies", required=folder is None)
        archive = stored if folder is None else collect_archive(folder, stored)
        texts = {written: TABLES.write(archive or {})}
    if folder is not None and archive is not None:
        texts[place] = format_archive(archive, "cell")
    write_texts(texts, json)
    name_files([written], json)


@app.command(cls=PlainCommand)
def real(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="One folder per set, with votes.csv and truth.csv, or the folder of sources.csv; "
            f"{_DEFAULT_DATA}; otherwise public sets are downloaded.",
        ),
    ] = None,
    panels: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Panels of judges with two labels, for calibration; by default data_k next to the "
            "shared data; skipped if there is none.",
        ),
    ] = None,
    folder: ResultsFolder = Path("results/real"),
    methods: Annotated[
        str | None, typer.Option(metavar="A,B", help="Only some methods; all by default.")
    ] = None,
    supervised: Annotated[
        bool, typer.Option(help="Also run the references that learn from labels.")
    ] = True,
    out: Docs = None,
    stored: Stored = None,
    json: options.JsonFile = None,
) -> None:
    """Run every method on every set of real votes, with intervals and mean ranks."""
    names = None if methods is None else [_find_real_method(x) for x in methods.split(",")]

    def collect(old: Json | None) -> Json:
        sets, tasks = choose_sets(data), list_tasks(names, supervised)
        judged = find_panels(panels) if data is None or panels is not None else {}
        asked = list_tasks([x for x in PANEL_METHODS if names is None or x in names], False)
        make_folder(folder / PANELS)
        with running(len(sets) * len(tasks) + len(judged) * len(asked)) as advance:
            run_real(sets, folder, tasks, advance)
            run_real(judged, folder / PANELS, asked, advance)
        return collect_real(folder, old)

    run_study(REAL, collect, out, stored, json)


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
    out: Docs = None,
    stored: Stored = None,
    json: options.JsonFile = None,
) -> None:
    """Run Table 5.4: penLog, unElisa and Phenotyper on splits of the reviewed charts."""

    def collect(old: Json | None) -> Json:
        asked = read_seeds(seeds)
        for wanted in (folder, out):
            if wanted is not None:
                make_folder(wanted)
        _run_ehr(asked, patients, splits, data, rare, folder)
        if out is not None:
            _draw_ehr(folder, out / "images")
        return collect_ehr(folder, old)

    run_study(EHR, collect, out, stored, json)


@app.command(cls=PlainCommand)
def worlds(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    part: Annotated[
        str,
        typer.Option(metavar="|".join(KINDS), help="Worlds to develop on, or worlds to report."),
    ] = "choosing",
    seeds: Annotated[
        str | None,
        typer.Option(
            metavar="A,B|A-B", help="Numbers of the worlds of each kind; by default 20 of them."
        ),
    ] = None,
    kinds: Annotated[
        str | None, typer.Option(metavar="A,B", help="Only some kinds; all by default.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(metavar="A,B", help=f"Only some of {', '.join(WORLD_METHODS)}.")
    ] = None,
    jobs: Annotated[
        int, typer.Option(metavar="N", help="Worlds at a time; -1 is one per core.")
    ] = 1,
    folder: ResultsFolder = Path("results/worlds"),
    out: Docs = None,
    stored: Stored = None,
    json: options.JsonFile = None,
) -> None:
    """Run every method on simulated worlds with known truth, kind by kind."""

    def collect(old: Json | None) -> Json:
        chosen: Part = choose("--part", part, KINDS)
        numbers = NUMBERS[chosen] if seeds is None else read_seeds(seeds)
        places = list_places(chosen, find_kinds(chosen, kinds), numbers)
        asked = find_world_methods(methods)
        make_folder(folder)
        with running(len(places)) as advance:
            run_places(places, folder, asked, jobs, advance)
        archive = collect_worlds(folder, old)
        if out is not None:
            _draw_worlds(archive, out / "images")
        return archive

    run_study(WORLDS, collect, out, stored, json)


@app.command(cls=PlainCommand)
def stale(
    docs: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="Folder of the pages and of study/.")
    ] = Path("docs"),
    mark: Annotated[
        bool, typer.Option("--mark", help="Write all pages again: they say what is stale.")
    ] = False,
    json: options.JsonFile = None,
) -> None:
    """Count the stored rows that other code than the present one made, study by study."""
    check_outputs(json=json)
    archives = {
        study.name: archive
        for study in STUDIES.values()
        if (archive := read_stored(docs, f"{study.name}.json", study.part)) is not None
    }
    if mark:
        pages = {docs / STUDIES[x].page: STUDIES[x].write(old) for x, old in archives.items()}
        write_texts(pages, json)
    found = [STUDIES[name].count_stale(archive) for name, archive in archives.items()]
    write_json(json, found)
    screens.show_stale(results(quiet=json == STDOUT), found)


@app.command(cls=PlainCommand)
def rows(
    study: Annotated[str, typer.Argument(metavar="STUDY", help=f"One of {', '.join(STUDIES)}.")],
    out: Annotated[Path, typer.Option(metavar="CSV", help="Where the table is written.")],
    docs: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder that holds study/STUDY.json.")
    ] = Path("docs"),
    force: options.Force = False,
) -> None:
    """Write the stored results of a study as a table, a row for each result."""
    chosen = STUDIES[choose("STUDY", study, STUDIES)]
    archive = read_stored(docs, f"{study}.json", chosen.part, required=True) or {}
    check_outputs(tables=[out], force=force)
    flat = [flatten_row(row) for row in chosen.list_rows(archive)]
    header = list(dict.fromkeys(key for row in flat for key in row))
    with output_files(force=force) as files:
        files.write_csv(out, header, ([row.get(key) for key in header] for row in flat))


app.command(cls=PlainCommand)(cli_classes.classes)
app.command(cls=PlainCommand)(cli_rate.rate)
app.command(cls=PlainCommand)(cli_prior.prior)
app.command(cls=PlainCommand)(cli_worth.worth)
app.command(cls=PlainCommand)(cli_jury.jury)
app.command(cls=PlainCommand)(cli_replay.replay)
app.command(cls=PlainCommand)(cli_review.review)
app.command(cls=PlainCommand)(cli_certify.certify)
app.command(cls=PlainCommand)(cli_rules.rules)


def _draw_worlds(archive: Json, images: Path) -> None:
    make_folder(images)
    with drawing(), busy("drawing"):
        for (part,), rows in group_by(archive["kinds"], "part").items():
            save_figure(draw_differences(rows), images, f"worlds-{part}")


def _run_ehr(
    seeds: Sequence[int], patients: int, splits: int, data: Path | None, rare: bool, folder: Path
) -> None:
    """Run the simulated datamarts with their rare cohorts, then ehr_phecap if it is there."""
    shared = find_shared_data() if data is None else None
    if shared is not None and is_listed(shared):
        shared = shared / "data"
    place = shared / "ehr_phecap" if shared is not None else data
    public = phecap_set(place) if place is not None and (data or place.is_dir()) else None
    parts = len(seeds) * (splits + (COHORTS if rare else 0)) + (splits if public else 0)
    with running(parts) as advance:
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


def _find_real_method(name: str) -> str:
    return name.strip() if name.strip() in UNRANKED else find_methods(name)[0]


def _run_trials(
    trials: Sequence[Trial], path: Path, methods: Sequence[str], jobs: int
) -> dict[Trial, Json]:
    make_folder(path.parent)
    with running(len(trials)) as advance:
        return run_trials(trials, path, methods, jobs, partial(advance, path.stem))
