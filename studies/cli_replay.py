"""`unelisa reproduce replay`: votes bought from what was recorded, policy by policy."""

from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from studies import screens
from studies.classes.sets import find_class_sets
from studies.commands import (
    Docs,
    ResultsFolder,
    Stored,
    Study,
    read_seeds,
    run_study,
    running,
)
from studies.drawing import drawing, save_figure
from studies.names import pick_names
from studies.real.sets import find_panels, find_sets, find_shared_data
from studies.records import Json
from studies.replay.figures import draw_curves
from studies.replay.page import render_replay
from studies.replay.policies import POLICIES
from studies.replay.recordings import FIRST_WORLD, WORLDS
from studies.replay.runs import STAMP, Reader, collect_replays, run_replays
from studies.sets import Reader as SetReader
from studies.sets import is_listed
from studies.worlds.kinds import Place, draw_world
from unelisa.cli import options
from unelisa.cli.files import make_folder
from unelisa.cli.screen import busy
from unelisa.errors import ModelError
from unelisa.sources.labels import KnownLabels
from unelisa.votes import Votes

STUDY = Study(
    "replay",
    "replays",
    ("set",),
    render_replay,
    screens.show_replays,
    "replay.md",
    {"replays": STAMP},
)
BINARY = ("bluebirds", "llm_judges", "magic_ensemble")
PANELS = ("care_civilcomments", "triviaqa_judges_v1")
CLASSES = ("dog",)


def replay(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Holds the folders data and data_k of sets; by default those beside a clone.",
        ),
    ] = None,
    sets: Annotated[
        str | None, typer.Option(metavar="A,B", help="Only some sets; all by default.")
    ] = None,
    policies: Annotated[
        str | None, typer.Option(metavar="A,B", help=f"Only some of {', '.join(POLICIES)}.")
    ] = None,
    seeds: Annotated[
        str, typer.Option(metavar="A,B|A-B", help="Numbers of the replays of each set.")
    ] = "0-19",
    folder: ResultsFolder = Path("results/replay"),
    out: Docs = None,
    stored: Stored = None,
    json: options.JsonFile = None,
) -> None:
    """Buy recorded votes batch by batch, and compare which policy needs the fewest."""

    def collect(old: Json | None) -> Json:
        known = _find_recorded(data)
        known |= {name: partial(_draw, name) for name in WORLDS}
        chosen = {name: known[name] for name in pick_names(sets, known, "there is no set")}
        asked = pick_names(policies, POLICIES, "there is no policy")
        numbers = read_seeds(seeds)
        make_folder(folder)
        with running(len(chosen) * len(asked) * len(numbers)) as advance:
            run_replays(chosen, folder, asked, numbers, advance)
        return collect_replays(folder, old)

    run_study(STUDY, collect, out, stored, json, _draw_figures)


def _find_recorded(data: Path | None) -> dict[str, Reader]:
    """Return how to read each set of the study that is there."""
    shared = find_shared_data() if data is None else None
    place = data
    if shared is not None:
        place = shared if is_listed(shared) else shared.parent
    if place is None or not (place / "data").is_dir() or not (place / "data_k").is_dir():
        raise ModelError("there are no sets here: name the folder of data and data_k with --data")
    parts: list[tuple[dict[str, SetReader], tuple[str, ...]]] = [
        (find_sets(place / "data"), BINARY),
        (find_panels(place / "data_k"), PANELS),
        (find_class_sets(place / "data_k"), CLASSES),
    ]
    return {name: partial(_read, found[name]) for found, names in parts for name in names}


def _read(reader: SetReader, _seed: int) -> KnownLabels:
    return reader()


def _draw(kind: str, seed: int) -> KnownLabels:
    """Return a world of the choosing part as votes with labels."""
    world = draw_world(Place("choosing", kind, FIRST_WORLD + seed))
    n_items, n_voters = world.votes.shape
    names = np.array([f"v{s}" for s in range(n_voters)])
    votes = Votes.of_values(np.asfortranarray(world.votes), np.arange(n_items), names)
    return KnownLabels(votes, world.truth, np.empty(0), np.empty(0, dtype=np.int8))


def _draw_figures(archive: Json, images: Path) -> None:
    make_folder(images)
    with drawing(), busy("drawing"):
        save_figure(draw_curves(archive["replays"]), images, "replay")
