"""`unelisa reproduce rate`: how often the intervals of `estimate_rate` hold, and their page."""

from pathlib import Path
from typing import Annotated

import typer

from studies import screens
from studies.commands import (
    ResultsFolder,
    Stored,
    read_stored,
    running,
    write_json,
    write_texts,
)
from studies.rate.page import render_rate
from studies.rate.runs import DRAWS, collect_rate, find_rate_sets, run_rate
from studies.real.sets import find_shared_data
from studies.records import format_archive, read_archive
from unelisa.cli import options
from unelisa.cli.files import STDOUT, check_outputs, make_folder
from unelisa.cli.screen import results
from unelisa.errors import ModelError


def rate(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="One folder per set, with votes.csv and truth.csv, coded -1 and +1; by default "
            "the shared data.",
        ),
    ] = None,
    classes: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Sets with other labels, two or more; by default data_k next to the first folder.",
        ),
    ] = None,
    draws: Annotated[int, typer.Option(min=1, metavar="N", help="Draws per set.")] = DRAWS,
    folder: ResultsFolder = Path("results/rate"),
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write rate.md, and add to study/rate.json, in there."),
    ] = None,
    stored: Stored = None,
    json: options.JsonFile = None,
) -> None:
    """Count how often intervals of shares hold, over draws of gold labels."""
    check_outputs(json=json)
    if stored is not None:
        archive = read_archive(stored, "models", "unelisa reproduce rate")
    else:
        place = find_shared_data() if data is None else data
        if place is None:
            raise ModelError("there are no sets here: name their folder with --data FOLDER")
        sets = find_rate_sets(place, classes)
        make_folder(folder)
        with running(len(sets) + 1) as advance:
            run_rate(sets, folder, draws, advance)
        archive = collect_rate(folder, read_stored(out, "rate.json", "models"))
    if out is not None:
        texts = {out / "rate.md": render_rate(archive)}
        archived = format_archive(archive, "set", "model")
        write_texts({**texts, out / "study" / "rate.json": archived}, json)
    write_json(json, archive)
    screens.show_rate(results(quiet=json == STDOUT), archive)
