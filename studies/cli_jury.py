"""`unelisa reproduce jury`: panels of LLM judges with known truth, and their page."""

from pathlib import Path
from typing import Annotated

import typer

from studies import screens
from studies.commands import (
    Docs,
    ResultsFolder,
    Stored,
    Study,
    require_data,
    run_study,
    running,
)
from studies.jury.page import render_jury
from studies.jury.runs import (
    DRAWS,
    STAMP,
    collect_jury,
    find_jury_sets,
    find_systems,
    run_jury,
    stamp_simulated,
)
from studies.records import Json
from unelisa.cli import options
from unelisa.cli.files import make_folder

STAMPS = {"panels": STAMP, "simulated": stamp_simulated}
STUDY = Study("jury", "panels", ("set",), render_jury, screens.show_panels, "jury.md", STAMPS)


def jury(
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="The folder of sources.csv, or one folder per set, with votes.csv and truth.csv, "
            "and further panels in data_k next to it. By default the shared data.",
        ),
    ] = None,
    draws: Annotated[int, typer.Option(min=1, metavar="N", help="Draws of gold labels.")] = DRAWS,
    folder: ResultsFolder = Path("results/jury"),
    out: Docs = None,
    stored: Stored = None,
    json: options.JsonFile = None,
) -> None:
    """Compare labels, pass rates and smaller panels on LLM judges with known truth."""

    def collect(old: Json | None) -> Json:
        place = require_data(data, "panels")
        sets = find_jury_sets(place)
        make_folder(folder)
        with running(len(sets)) as advance:
            run_jury(sets, folder, draws, advance, find_systems(place))
        return collect_jury(folder, old)

    run_study(STUDY, collect, out, stored, json)
