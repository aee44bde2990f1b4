"""`unelisa reproduce real`: every method on every set of real votes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from unelisa.cli import options
from unelisa.cli.files import STDOUT, check_outputs, make_folder, output_files
from unelisa.cli.options import find_methods
from unelisa.cli.screen import figure, progress, results
from unelisa.cli.shared_data import WORDS, find_shared_data
from unelisa.study.real import (
    SUPERVISED,
    RealArchive,
    collect_real,
    format_real,
    list_tasks,
    rank_methods,
    read_real,
    run_real,
)
from unelisa.study.real_page import render_real
from unelisa.study.real_sets import Reader, fetched_sets, find_sets


def real(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help=f"One folder per set, with votes.csv and truth.csv; {WORDS}; else sets are "
            "fetched.",
        ),
    ] = None,
    folder: Annotated[
        Path,
        typer.Option(
            "--results",
            metavar="FOLDER",
            help="Where every finished row is kept; a run that was stopped goes on from there.",
        ),
    ] = Path("results/real"),
    methods: options.Methods = None,
    supervised: Annotated[
        bool, typer.Option(help="Also run the references that learn from labels.")
    ] = True,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Write comparison.md and study/real.json into this folder."
        ),
    ] = None,
    stored: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="real.json", help="Run nothing: show and write what this file holds."
        ),
    ] = None,
    json: options.JsonFile = None,
) -> None:
    """Run every method on every set of real votes, with intervals and mean ranks."""
    check_outputs(json)
    names = find_methods(methods)
    if stored is not None:
        archive = read_real(stored)
    else:
        sets = choose_sets(data)
        make_folder(folder)
        run_sets(sets, folder, names, supervised)
        archive = collect_real(folder)
    if out is not None:
        write_pages(archive, out)
    if json is not None:
        with output_files() as files:
            files.write_json(json, archive)
    show_ranks(results(quiet=json == STDOUT), archive)


def choose_sets(data: Path | None) -> Mapping[str, Reader]:
    """Return the sets of a folder; where none is named the shared ones, or those to fetch."""
    place = find_shared_data() if data is None else data
    return fetched_sets() if place is None else find_sets(place)


def run_sets(sets: Mapping[str, Reader], folder: Path, names: list[str], supervised: bool) -> None:
    """Run what is missing, showing which set is at work."""
    tasks = list_tasks(names, supervised)
    with progress() as bar:
        task = bar.add_task("", total=len(sets) * len(tasks))

        def advance(name: str, count: int) -> None:
            bar.update(task, description=name, advance=count)

        run_real(sets, folder, tasks, advance)


def write_pages(archive: RealArchive, out: Path) -> None:
    """Write the archive and the page that is made from it."""
    stored, page = out / "study" / "real.json", out / "comparison.md"
    make_folder(stored.parent)
    check_outputs(stored, page)
    with output_files() as files:
        files.write_text(stored, format_real(archive))
        files.write_text(page, render_real(archive))


def show_ranks(screen: Console, archive: RealArchive) -> None:
    """Print the methods by mean rank."""
    rows = [row for row in archive["rows"] if row["kind"] != SUPERVISED]
    figures = ("accuracy", "balanced_accuracy", "auc")
    ranks = {name: rank_methods(rows, name) for name in figures}
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("method", no_wrap=True)
    for name in ("accuracy", "balanced", "AUC", "mean accuracy", "sets"):
        table.add_column(name, justify="right", no_wrap=True)
    for method in sorted(ranks["accuracy"], key=lambda name: ranks["balanced_accuracy"][name]):
        found = [
            row["figures"]["accuracy"][0]
            for row in rows
            if row["method"] == method and row["figures"]
        ]
        mean = figure(sum(found) / len(found)) if found else figure(None)
        cells = [f"{ranks[name][method]:.1f}" for name in figures]
        table.add_row(method, *cells, mean, str(len(found)))
    screen.print(f"[bold]Mean ranks over {len(archive['sets'])} sets; 1 is best[/bold]")
    screen.print()
    screen.print(table)
