"""`unelisa reproduce review`: answers that a review needs, in its order and at random."""

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
from studies.review.page import render_review
from studies.review.runs import DRAWS, collect_review, run_review
from unelisa.cli import options
from unelisa.cli.files import STDOUT, check_outputs, make_folder
from unelisa.cli.screen import results
from unelisa.errors import ModelError


def review(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
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
    draws: Annotated[int, typer.Option(min=1, metavar="N", help="Random orders per set.")] = DRAWS,
    folder: ResultsFolder = Path("results/review"),
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Write review.md, and add to study/review.json, in there."
        ),
    ] = None,
    stored: Stored = None,
    json: options.JsonFile = None,
) -> None:
    """Count the answers that a review needs, in its own order and in a random one."""
    check_outputs(json=json)
    if stored is not None:
        archive = read_archive(stored, "reviews", "unelisa reproduce review")
    else:
        place = find_shared_data() if data is None else data
        if place is None:
            raise ModelError("there are no sets here: name their folder with --data FOLDER")
        sets = find_rate_sets(place, classes)
        make_folder(folder)
        with running(len(sets)) as advance:
            run_review(sets, folder, draws, advance)
        archive = collect_review(folder, read_stored(out, "review.json", "reviews"))
    if out is not None:
        texts = {out / "review.md": render_review(archive)}
        write_texts({**texts, out / "study" / "review.json": format_archive(archive, "set")}, json)
    write_json(json, archive)
    screens.show_reviews(results(quiet=json == STDOUT), archive)
