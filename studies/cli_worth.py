"""`unelisa reproduce worth`: how often the intervals of `voters_` hold, and their page."""

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
from studies.rate.runs import find_rate_sets
from studies.real.sets import find_shared_data
from studies.records import format_archive, read_archive
from studies.worth.page import render_worth
from studies.worth.runs import collect_worth, count_targets, run_worth
from unelisa.cli import options
from unelisa.cli.files import STDOUT, check_outputs, make_folder
from unelisa.cli.screen import results
from unelisa.errors import ModelError


def worth(
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
    folder: ResultsFolder = Path("results/worth"),
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write worth.md and study/worth.json in there."),
    ] = None,
    stored: Stored = None,
    json: options.JsonFile = None,
) -> None:
    """Count how often the intervals of voters' accuracies hold."""
    check_outputs(json=json)
    if stored is not None:
        archive = read_archive(stored, "voters", "unelisa reproduce worth")
    else:
        place = find_shared_data() if data is None else data
        if place is None:
            raise ModelError("there are no sets here: name their folder with --data FOLDER")
        sets = find_rate_sets(place, classes)
        make_folder(folder)
        with running(count_targets(sets)) as advance:
            run_worth(sets, folder, advance)
        archive = collect_worth(folder, read_stored(out, "worth.json", "voters"))
    if out is not None:
        texts = {out / "worth.md": render_worth(archive)}
        archived = format_archive(archive, "part")
        write_texts({**texts, out / "study" / "worth.json": archived}, json)
    write_json(json, archive)
    screens.show_worth(results(quiet=json == STDOUT), archive)
