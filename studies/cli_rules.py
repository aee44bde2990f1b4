"""`unelisa reproduce rules`: how far the figures of `evaluate_rules` are from the truth."""

from pathlib import Path
from typing import Annotated

import typer

from studies import screens
from studies.commands import (
    ResultsFolder,
    Stored,
    choose,
    read_seeds,
    read_stored,
    running,
    write_json,
    write_texts,
)
from studies.records import format_archive, read_archive
from studies.rules.page import render_rules
from studies.rules.runs import PARTS, Place, collect_rules, run_rules
from studies.rules.worlds import PATIENTS, PREVALENCES, SIMULATORS
from unelisa.cli import options
from unelisa.cli.files import STDOUT, check_outputs, make_folder
from unelisa.cli.screen import results


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
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Write rules.md, and add to study/rules.json, in there."
        ),
    ] = None,
    stored: Stored = None,
    json: options.JsonFile = None,
) -> None:
    """Judge rules of two simulated diseases, and compare with the truth."""
    check_outputs(json=json)
    if stored is not None:
        archive = read_archive(stored, "cells", "unelisa reproduce rules")
    else:
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
        archive = collect_rules(folder, read_stored(out, "rules.json", "cells"))
    if out is not None:
        texts = {out / "rules.md": render_rules(archive)}
        archived = format_archive(archive, "part")
        write_texts({**texts, out / "study" / "rules.json": archived}, json)
    write_json(json, archive)
    screens.show_rules(results(quiet=json == STDOUT), archive)
