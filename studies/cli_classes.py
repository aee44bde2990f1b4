"""`unelisa reproduce classes`: all methods on votes of more than two classes, and their page."""

from pathlib import Path
from typing import Annotated

import typer

from studies import screens
from studies.classes.page import render_classes
from studies.classes.runs import collect_classes, list_tasks, run_classes, stamp_row
from studies.classes.sets import find_class_sets
from studies.commands import (
    Docs,
    ResultsFolder,
    Stored,
    Study,
    require_data,
    run_study,
    running,
)
from studies.records import Json
from studies.sets import is_listed
from unelisa.cli import options
from unelisa.cli.files import make_folder

STUDY = Study(
    "classes",
    "rows",
    ("set",),
    render_classes,
    screens.show_classes,
    "classes.md",
    {"rows": stamp_row},
)
SCORES = ("peers.csv", "data_k/peers.csv", "data_more/peers_k.csv")  # of other programs


def classes(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="One folder per set, with votes.csv.gz and truth.csv, or the folder of "
            "sources.csv; by default the shared data.",
        ),
    ] = None,
    folder: ResultsFolder = Path("results/classes"),
    methods: Annotated[
        str | None, typer.Option(metavar="A,B", help="Only some methods; all by default.")
    ] = None,
    peers: Annotated[bool, typer.Option(help="Also run crowd-kit, if it is installed.")] = True,
    out: Docs = None,
    stored: Stored = None,
    json: options.JsonFile = None,
) -> None:
    """Run every method that takes more than two classes on sets of such votes."""

    def collect(old: Json | None) -> Json:
        names = None if methods is None else [name.strip() for name in methods.split(",")]
        place = _find_default() if data is None else data
        sets, tasks = find_class_sets(place), list_tasks(names, peers)
        make_folder(folder)
        with running(len(sets) * len(tasks)) as advance:
            run_classes(sets, folder, tasks, advance)
        return collect_classes(folder, [place / name for name in SCORES], old)

    run_study(STUDY, collect, out, stored, json)


def _find_default() -> Path:
    place = require_data(None)
    return place if is_listed(place) else place.parent / "data_k"
