"""`unelisa reproduce classes`: all methods on votes of more than two classes, and their page."""

from pathlib import Path
from typing import Annotated

import typer

from studies import screens
from studies.classes.page import render_classes
from studies.classes.runs import collect_classes, list_tasks, run_classes
from studies.classes.sets import find_class_sets
from studies.commands import (
    ResultsFolder,
    Stored,
    read_stored,
    running,
    write_json,
    write_texts,
)
from studies.real.sets import find_shared_data
from studies.records import format_archive, read_archive
from unelisa.cli import options
from unelisa.cli.files import STDOUT, check_outputs, make_folder
from unelisa.cli.screen import results
from unelisa.errors import ModelError

SCORES = "peers.csv"  # of other programs, in the folder of the sets


def classes(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="One folder per set, with votes.csv.gz and truth.csv; by default data_k next to "
            "the shared data.",
        ),
    ] = None,
    folder: ResultsFolder = Path("results/classes"),
    methods: Annotated[
        str | None, typer.Option(metavar="A,B", help="Only some methods; all by default.")
    ] = None,
    peers: Annotated[bool, typer.Option(help="Also run crowd-kit, if it is installed.")] = True,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Write classes.md, and add to study/classes.json, in there."
        ),
    ] = None,
    stored: Stored = None,
    json: options.JsonFile = None,
) -> None:
    """Run every method that takes more than two classes on sets of such votes."""
    check_outputs(json=json)
    if stored is not None:
        archive = read_archive(stored, "rows", "unelisa reproduce classes")
    else:
        names = None if methods is None else [name.strip() for name in methods.split(",")]
        place, tasks = _choose_folder(data), list_tasks(names, peers)
        sets = find_class_sets(place)
        make_folder(folder)
        with running(len(sets) * len(tasks)) as advance:
            run_classes(sets, folder, tasks, advance)
        old = read_stored(out, "classes.json", "rows")
        archive = collect_classes(folder, place / SCORES, old)
    if out is not None:
        texts = {out / "classes.md": render_classes(archive)}
        write_texts({**texts, out / "study" / "classes.json": format_archive(archive, "set")}, json)
    write_json(json, archive)
    screens.show_classes(results(quiet=json == STDOUT), archive)


def _choose_folder(data: Path | None) -> Path:
    shared = find_shared_data() if data is None else None
    place = data if shared is None else shared.parent / "data_k"
    if place is None:
        raise ModelError("there are no sets here: name their folder with --data FOLDER")
    return place
