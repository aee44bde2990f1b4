"""`unelisa reproduce rate`: how often the intervals of `estimate_rate` hold, and their page."""

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
from studies.rate.page import render_rate
from studies.rate.runs import DRAWS, SIMULATED_STAMP, STAMP, collect_rate, find_rate_sets, run_rate
from studies.records import Json
from unelisa.cli import options
from unelisa.cli.files import make_folder

STUDY = Study(
    "rate",
    "models",
    ("set", "model"),
    render_rate,
    screens.show_rate,
    "rate.md",
    {"sets": STAMP, "models": SIMULATED_STAMP},
)


def rate(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    data: SignedSets = None,
    classes: LabeledSets = None,
    draws: Annotated[int, typer.Option(min=1, metavar="N", help="Draws per set.")] = DRAWS,
    folder: ResultsFolder = Path("results/rate"),
    out: Docs = None,
    stored: Stored = None,
    json: options.JsonFile = None,
) -> None:
    """Count how often intervals of shares hold, over draws of gold labels."""

    def collect(old: Json | None) -> Json:
        sets = find_rate_sets(require_data(data), classes)
        make_folder(folder)
        with running(len(sets) + 1) as advance:
            run_rate(sets, folder, draws, advance)
        return collect_rate(folder, old)

    run_study(STUDY, collect, out, stored, json)
