"""`unelisa reproduce certify`: how often the promise of a certificate is broken, and its page."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from studies import screens
from studies.certify.page import render_certify
from studies.certify.runs import DRAWS, STAMP, collect_certify, run_certify
from studies.commands import (
    Docs,
    ResultsFolder,
    SignedSets,
    Stored,
    Study,
    require_data,
    run_study,
    running,
)
from studies.records import Json
from studies.sets import list_sets, read_known
from unelisa.cli import options
from unelisa.cli.files import make_folder

STUDY = Study(
    "certify",
    "certified",
    ("set",),
    render_certify,
    screens.show_certified,
    "certify.md",
    {"certified": STAMP},
)


def certify(
    data: SignedSets = None,
    draws: Annotated[
        int, typer.Option(min=1, metavar="N", help="Draws of gold labels per set.")
    ] = DRAWS,
    folder: ResultsFolder = Path("results/certify"),
    out: Docs = None,
    stored: Stored = None,
    json: options.JsonFile = None,
) -> None:
    """Count how often certified labels have more errors than promised."""

    def collect(old: Json | None) -> Json:
        place = require_data(data)
        sets = {one.name: partial(read_known, place, one) for one in list_sets(place)}
        make_folder(folder)
        with running(len(sets)) as advance:
            run_certify(sets, folder, draws, advance)
        return collect_certify(folder, old)

    run_study(STUDY, collect, out, stored, json)
