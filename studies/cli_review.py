"""`unelisa reproduce review`: answers that a review needs, in its order and at random."""

from pathlib import Path
from typing import Annotated

import typer

from studies import screens
from studies.commands import (
    Docs,
    LabeledSets,
    ResultsFolder,
    SignedSets,
    Stored,
    Study,
    require_data,
    run_study,
    running,
)
from studies.rate.runs import find_rate_sets
from studies.records import Json
from studies.review.page import render_review
from studies.review.runs import DRAWS, STAMP, collect_review, run_review
from unelisa.cli import options
from unelisa.cli.files import make_folder

STUDY = Study(
    "review",
    "reviews",
    ("set",),
    render_review,
    screens.show_reviews,
    "review.md",
    {"reviews": STAMP},
)


def review(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    data: SignedSets = None,
    classes: LabeledSets = None,
    draws: Annotated[int, typer.Option(min=1, metavar="N", help="Random orders per set.")] = DRAWS,
    folder: ResultsFolder = Path("results/review"),
    out: Docs = None,
    stored: Stored = None,
    json: options.JsonFile = None,
) -> None:
    """Count the answers that a review needs, in its own order and in a random one."""

    def collect(old: Json | None) -> Json:
        sets = find_rate_sets(require_data(data), classes)
        make_folder(folder)
        with running(len(sets)) as advance:
            run_review(sets, folder, draws, advance)
        return collect_review(folder, old)

    run_study(STUDY, collect, out, stored, json)
