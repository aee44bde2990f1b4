"""`unelisa reproduce rules`: how far the figures of `evaluate_rules` are from the truth."""

from pathlib import Path
from typing import Annotated

import typer

from studies import screens
from studies.commands import (
    Docs,
    ResultsFolder,
    Stored,
    Study,
    choose,
    read_seeds,
    run_study,
    running,
)
from studies.records import Json
from studies.rules.page import render_rules
from studies.rules.runs import PARTS, STAMP, Place, collect_rules, run_rules
from studies.rules.worlds import PATIENTS, PREVALENCES, SIMULATORS
from unelisa.cli import options
from unelisa.cli.files import make_folder

STUDY = Study(
    *("rules", "cells", ("part",), render_rules, screens.show_rules, "rules.md"),
    {"cells": STAMP, "labels": STAMP},
)


def rules(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    part: Annotated[
        str,
        typer.Option(metavar="choosing|reporting", help="Worlds to develop on, or to report."),
    ] = "choosing",
    seeds: Annotated[
        str | None,
        typer.Option(metavar="A,B|A-B", help="Seeds of the worlds; those of the part by default."),
    ] = None,
    patients: Annotated[int, typer.Option(min=1000, help="Patients of a world.")] = PATIENTS,
    folder: ResultsFolder = Path("results/rules"),
    out: Docs = None,
    stored: Stored = None,
    json: options.JsonFile = None,
) -> None:
    """Judge rules and labels of three simulated diseases, and compare with the truth."""

    def collect(old: Json | None) -> Json:
        choose("--part", part, PARTS)
        places = [
            Place(part, simulator, prevalence, seed)
            for seed in read_seeds(seeds or PARTS[part])
            for simulator in SIMULATORS
            for prevalence in PREVALENCES
        ]
        make_folder(folder)
        with running(len(places)) as advance:
            run_rules(places, folder, advance, patients)
        return collect_rules(folder, old)

    run_study(STUDY, collect, out, stored, json)
