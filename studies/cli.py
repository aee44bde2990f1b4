"""`unelisa reproduce`: every study on this machine, resumable, and the docs pages made from them.

Files are replaced only after all work has succeeded.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from studies import screens, work
from studies.certify import runs as certificates
from studies.certify.page import render_certify
from studies.classes.page import render_classes
from studies.classes.runs import stamp_row as stamp_classes
from studies.commands import (
    JsonFile,
    ResultsFolder,
    Study,
    choose,
    make_command,
    name_files,
    read_stored,
    running,
    write_json,
    write_texts,
)
from studies.drawing import drawing
from studies.ehr.page import render_ehr
from studies.ehr.rare import STAMP as RARE_STAMP
from studies.ehr.splits import STAMP as EHR_STAMP
from studies.jury import runs as juries
from studies.jury.page import render_jury
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
from studies.prior.page import render_prior
from studies.prior.runs import STAMP as PRIOR_STAMP
from studies.rate import runs as rates
from studies.rate.page import render_rate
from studies.real.page import render_real
from studies.real.runs import stamp_row as stamp_real
from studies.records import Json, flatten_row, format_archive
from studies.replay.page import render_replay
from studies.replay.runs import STAMP as REPLAY_STAMP
from studies.review.page import render_review
from studies.review.runs import STAMP as REVIEW_STAMP
from studies.rules.page import render_rules
from studies.rules.runs import STAMP as RULES_STAMP
from studies.worlds.page import render_worlds
from studies.worlds.runs import stamp_kind
from studies.worth.page import render_worth
from studies.worth.runs import STAMP as WORTH_STAMP
from unelisa.cli.commands import PlainCommand, PlainGroup
from unelisa.cli.files import STDOUT, check_outputs, make_folder, output_files
from unelisa.cli.screen import busy, results

app = typer.Typer(cls=PlainGroup, invoke_without_command=True, add_completion=False)

Sampler = Annotated[
    str, typer.Option(metavar="paper|mixed", help="The paper's Gibbs sampler, or tempering.")
]
Graph = Annotated[
    str, typer.Option(metavar="half|full|tree", help="How dense the voters' graph is.")
]
Trials = Annotated[int, typer.Option(min=1, metavar="N", help="Trials per cell.")]
Jobs = Annotated[int, typer.Option(metavar="N", help="Trials at a time; -1 is one per core.")]
_LISTED = (
    Study(
        *("tables", "studies", ("cell",), render_page, screens.show_stored),
        {"studies.cells": stamp_cell},
        named="reproduction.md",
        again="unelisa reproduce tables && unelisa reproduce page --results results/study",
    ),
    Study(
        *("real", "rows", ("set",), render_real, screens.show_ranks),
        {"rows": stamp_real, "panels.rows": stamp_real},
        work.real,
        named="comparison.md",
    ),
    Study(
        *("ehr", "methods", ("set", "told"), render_ehr, screens.show_methods),
        {"methods": EHR_STAMP, "sets": EHR_STAMP, "rare": RARE_STAMP},
        work.ehr,
        named="phenotyping_study.md",
    ),
    Study(
        *("worlds", "kinds", ("part",), render_worlds, screens.show_worlds),
        *({"kinds": stamp_kind}, work.worlds, work.draw_worlds),
    ),
    Study(
        *("certify", "certified", ("set",), render_certify, screens.show_certified),
        *({"certified": certificates.STAMP}, work.certify),
    ),
    Study(
        *("classes", "rows", ("set",), render_classes, screens.show_classes),
        *({"rows": stamp_classes}, work.classes),
    ),
    Study(
        *("jury", "panels", ("set",), render_jury, screens.show_panels),
        *({"panels": juries.STAMP, "simulated": juries.stamp_simulated}, work.jury),
    ),
    Study(
        *("prior", "fitted", ("set", "name"), render_prior, screens.show_prior),
        *({"sets": PRIOR_STAMP}, work.prior),
    ),
    Study(
        *("rate", "models", ("set", "model"), render_rate, screens.show_rate),
        *({"sets": rates.STAMP, "models": rates.SIMULATED_STAMP}, work.rate),
    ),
    Study(
        *("replay", "replays", ("set",), render_replay, screens.show_replays),
        *({"replays": REPLAY_STAMP}, work.replay, work.draw_replays),
    ),
    Study(
        *("review", "reviews", ("set",), render_review, screens.show_reviews),
        *({"reviews": REVIEW_STAMP}, work.review),
    ),
    Study(
        *("rules", "cells", ("part",), render_rules, screens.show_rules),
        *({"cells": RULES_STAMP, "labels": RULES_STAMP}, work.rules),
    ),
    Study(
        *("worth", "voters", ("part",), render_worth, screens.show_worth),
        *({"voters": WORTH_STAMP}, work.worth),
    ),
)
STUDIES = {study.name: study for study in _LISTED}
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
    json: JsonFile = None,
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
    json: JsonFile = None,
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
    json: JsonFile = None,
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
    json: JsonFile = None,
) -> None:
    """Write the page that compares our tables with the published ones."""
    place, written = out / "study" / "tables.json", out / "reproduction.md"
    with busy("summarizing"):
        stored = read_stored(out, "tables.json", "studies", required=folder is None)
        archive = stored if folder is None else collect_archive(folder, stored)
        texts = STUDIES["tables"].write(archive or {}, out)
    if folder is not None and archive is not None:
        texts[place] = format_archive(archive, "cell")
    write_texts(texts, json)
    name_files([written], json)


@app.command(cls=PlainCommand)
def stale(
    docs: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="Folder of the pages and of study/.")
    ] = Path("docs"),
    mark: Annotated[
        bool, typer.Option("--mark", help="Write all pages again: they say what is stale.")
    ] = False,
    json: JsonFile = None,
) -> None:
    """Count the stored rows that other code than the present one made, study by study."""
    check_outputs(json=json)
    archives = {
        study.name: archive
        for study in STUDIES.values()
        if (archive := read_stored(docs, f"{study.name}.json", study.part)) is not None
    }
    if mark:
        written = [STUDIES[name].write(archive, docs) for name, archive in archives.items()]
        write_texts({place: text for one in written for place, text in one.items()}, json)
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
    force: Annotated[
        bool, typer.Option("--force", help="Replace an existing file that unelisa did not write.")
    ] = False,
) -> None:
    """Write the stored results of a study as a table, a row for each result."""
    chosen = STUDIES[choose("STUDY", study, STUDIES)]
    archive = read_stored(docs, f"{study}.json", chosen.part, required=True) or {}
    check_outputs(tables=[out], force=force)
    flat = [flatten_row(row) for row in chosen.list_rows(archive)]
    header = list(dict.fromkeys(key for row in flat for key in row))
    with output_files(force=force) as files:
        files.write_csv(out, header, ([row.get(key) for key in header] for row in flat))


for _study in _LISTED:
    if _study.run is not None:
        app.command(_study.name, cls=PlainCommand)(make_command(_study, _study.run))


def _run_trials(
    trials: Sequence[Trial], path: Path, methods: Sequence[str], jobs: int
) -> dict[Trial, Json]:
    make_folder(path.parent)
    with running(len(trials)) as advance:
        return run_trials(trials, path, methods, jobs, partial(advance, path.stem))
