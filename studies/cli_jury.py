"""`unelisa reproduce jury`: panels of LLM judges with known truth, and their page."""

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
from studies.jury.page import render_jury
from studies.jury.runs import DRAWS, collect_jury, find_jury_sets, run_jury
from studies.real.sets import find_shared_data
from studies.records import format_archive, read_archive
from unelisa.cli import options
from unelisa.cli.files import STDOUT, check_outputs, make_folder
from unelisa.cli.screen import results
from unelisa.errors import ModelError


def jury(
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="One folder per set, with votes.csv and truth.csv; further panels are in data_k "
            "next to it. By default the shared data.",
        ),
    ] = None,
    draws: Annotated[int, typer.Option(min=1, metavar="N", help="Draws of gold labels.")] = DRAWS,
    folder: ResultsFolder = Path("results/jury"),
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write jury.md, and add to study/jury.json, in there."),
    ] = None,
    stored: Stored = None,
    json: options.JsonFile = None,
) -> None:
    """Compare labels, pass rates and smaller panels on LLM judges with known truth."""
    check_outputs(json=json)
    if stored is not None:
        archive = read_archive(stored, "panels", "unelisa reproduce jury")
    else:
        place = find_shared_data() if data is None else data
        if place is None:
            raise ModelError("there are no panels here: name their folder with --data FOLDER")
        sets = find_jury_sets(place)
        make_folder(folder)
        with running(len(sets)) as advance:
            run_jury(sets, folder, draws, advance)
        archive = collect_jury(folder, read_stored(out, "jury.json", "panels"))
    if out is not None:
        texts = {out / "jury.md": render_jury(archive)}
        archived = format_archive(archive, "set")
        write_texts({**texts, out / "study" / "jury.json": archived}, json)
    write_json(json, archive)
    screens.show_panels(results(quiet=json == STDOUT), archive)
