"""What the command of each study runs, with its own options.

Each function returns how the archive is collected from the folder of finished work; `commands.py`
adds the options that all studies have. An argument named `folder` or `out` is the common one.
"""

import warnings
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from studies.certify import runs as certificates
from studies.classes.runs import collect_classes, run_classes
from studies.classes.runs import list_tasks as list_class_tasks
from studies.classes.sets import find_class_sets
from studies.commands import (
    Collect,
    LabeledSets,
    SignedSets,
    choose,
    read_seeds,
    require_data,
    running,
)
from studies.drawing import drawing, save_figure
from studies.ehr.rare import COHORTS, run_rare
from studies.ehr.sets import phecap_set, simulated_set
from studies.ehr.splits import SPLITS, read_splits, run_set
from studies.ehr.tables import collect_ehr, draw_splits
from studies.jury import runs as juries
from studies.markdown import group_by
from studies.names import pick_names
from studies.prior.runs import TRIED, TRIED_TRUST, read_sets, run_prior
from studies.rate import runs as rates
from studies.real.runs import PANEL_METHODS, PANELS, UNRANKED, collect_real, list_tasks, run_real
from studies.real.sets import VARIABLE, choose_sets, find_panels, find_sets, find_shared_data
from studies.records import Json
from studies.replay.figures import draw_curves
from studies.replay.policies import POLICIES
from studies.replay.recordings import FIRST_WORLD, WORLDS
from studies.replay.runs import Reader, collect_replays, run_replays
from studies.review import runs as reviews
from studies.rules.runs import PARTS, Place, collect_rules, run_rules
from studies.rules.worlds import PATIENTS, PREVALENCES, SIMULATORS
from studies.sets import Reader as SetReader
from studies.sets import is_listed, list_sets, read_known
from studies.worlds.figures import draw_differences
from studies.worlds.kinds import KINDS, NUMBERS, Part, draw_world, find_kinds, list_places
from studies.worlds.kinds import Place as World
from studies.worlds.runs import METHODS as WORLD_METHODS
from studies.worlds.runs import find_world_methods, run_places
from studies.worlds.summary import collect_worlds
from studies.worth import runs as accuracies
from unelisa.cli.files import make_folder
from unelisa.cli.options import find_methods
from unelisa.cli.screen import busy
from unelisa.errors import ModelError, UnelisaWarning
from unelisa.kernels.threads import one_blas_thread
from unelisa.sources.labels import KnownLabels
from unelisa.votes import Votes

DEFAULT_DATA = f"by default the folder that {VARIABLE} names, or ../shared next to a clone"
SCORES = ("peers.csv", "data_k/peers.csv", "data_more/peers_k.csv")  # of other programs
BINARY = ("bluebirds", "llm_judges", "magic_ensemble")
JUDGED = ("care_civilcomments", "triviaqa_judges_v1")
CLASSES = ("dog",)
Draws = Annotated[int, typer.Option(min=1, metavar="N", help="Random draws per set.")]
Methods = Annotated[
    str | None, typer.Option(metavar="A,B", help="Only some methods; all by default.")
]
Sets = Annotated[str | None, typer.Option(metavar="A,B", help="Only some sets; all by default.")]
Seeds = Annotated[
    str | None,
    typer.Option(metavar="A,B|A-B", help="Seeds of the worlds; those of the part by default."),
]


def real(
    folder: Path,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="One folder per set, with votes.csv and truth.csv, or the folder of sources.csv; "
            f"{DEFAULT_DATA}; otherwise public sets are downloaded.",
        ),
    ] = None,
    panels: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Panels of judges with two labels, for calibration; by default data_k next to the "
            "shared data; skipped if there is none.",
        ),
    ] = None,
    methods: Methods = None,
    supervised: Annotated[
        bool, typer.Option(help="Also run the references that learn from labels.")
    ] = True,
) -> Collect:
    """Run every method on every set of real votes, with intervals and mean ranks."""
    names = None if methods is None else [_find_real_method(x) for x in methods.split(",")]
    sets, tasks = choose_sets(data), list_tasks(names, supervised)
    judged = find_panels(panels) if data is None or panels is not None else {}
    asked = list_tasks([x for x in PANEL_METHODS if names is None or x in names], False)
    make_folder(folder / PANELS)
    with running(len(sets) * len(tasks) + len(judged) * len(asked)) as advance:
        run_real(sets, folder, tasks, advance)
        run_real(judged, folder / PANELS, asked, advance)
    return partial(collect_real, folder)


def _find_real_method(name: str) -> str:
    return name.strip() if name.strip() in UNRANKED else find_methods(name)[0]


def ehr(  # noqa: PLR0913, PLR0917 - its arguments are options
    folder: Path,
    out: Path | None,
    seeds: Annotated[
        str, typer.Option(metavar="A,B", help="Seeds of the simulated datamarts.")
    ] = "0",
    patients: Annotated[
        int, typer.Option(min=1000, help="Patients in a simulated datamart.")
    ] = 46568,
    splits: Annotated[
        int, typer.Option(min=1, help="Random splits of the reviewed charts.")
    ] = SPLITS,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder of ehr_phecap, with features.csv.gz and truth.csv; by default ehr_phecap "
            f"in the shared data ({DEFAULT_DATA}); skipped if there is none.",
        ),
    ] = None,
    rare: Annotated[bool, typer.Option(help="Also small cohorts with a rare phenotype.")] = True,
) -> Collect:
    """Run Table 5.4: penLog, unElisa and Phenotyper on splits of the reviewed charts."""
    numbers = read_seeds(seeds)
    make_folder(folder)
    place = _find_phecap() if data is None else data
    public = None if place is None else phecap_set(place)
    parts = len(numbers) * (splits + (COHORTS if rare else 0)) + (splits if public else 0)
    with running(parts) as advance:
        for seed in numbers:
            datamart = simulated_set(seed, patients)
            run_set(datamart, folder, splits, partial(advance, f"datamart {seed}"))
            if rare:
                run_rare(datamart, folder, partial(advance, f"rare cohorts {seed}"))
        if public is not None:
            run_set(public, folder, splits, partial(advance, "ehr_phecap"))
    if out is not None:
        make_folder(out / "images")
        rows = read_splits(folder)
        with drawing(), busy("drawing"):
            for name in dict.fromkeys(row["set"] for row in rows):
                save_figure(draw_splits(rows, name), out / "images", f"ehr-{name}")
    return partial(collect_ehr, folder)


def _find_phecap() -> Path | None:
    shared = find_shared_data()
    if shared is None:
        return None
    place = (shared / "data" if is_listed(shared) else shared) / "ehr_phecap"
    return place if place.is_dir() else None


def worlds(
    folder: Path,
    part: Annotated[
        str,
        typer.Option(metavar="|".join(KINDS), help="Worlds to develop on, or worlds to report."),
    ] = "choosing",
    seeds: Seeds = None,
    kinds: Annotated[
        str | None, typer.Option(metavar="A,B", help="Only some kinds; all by default.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(metavar="A,B", help=f"Only some of {', '.join(WORLD_METHODS)}.")
    ] = None,
    jobs: Annotated[
        int, typer.Option(metavar="N", help="Worlds at a time; -1 is one per core.")
    ] = 1,
) -> Collect:
    """Run every method on simulated worlds with known truth, kind by kind."""
    chosen: Part = choose("--part", part, KINDS)
    numbers = NUMBERS[chosen] if seeds is None else read_seeds(seeds)
    places = list_places(chosen, find_kinds(chosen, kinds), numbers)
    asked = find_world_methods(methods)
    make_folder(folder)
    with running(len(places)) as advance:
        run_places(places, folder, asked, jobs, advance)
    return partial(collect_worlds, folder)


def draw_worlds(archive: Json, images: Path) -> None:
    """Draw how every kind compares, a figure for each part."""
    with drawing(), busy("drawing"):
        for (part,), rows in group_by(archive["kinds"], "part").items():
            save_figure(draw_differences(rows), images, f"worlds-{part}")


def classes(
    folder: Path,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="One folder per set, with votes.csv.gz and truth.csv, or the folder of "
            "sources.csv; by default the shared data.",
        ),
    ] = None,
    methods: Methods = None,
    peers: Annotated[bool, typer.Option(help="Also run crowd-kit, if it is installed.")] = True,
) -> Collect:
    """Run every method that takes more than two classes on sets of such votes."""
    names = None if methods is None else [name.strip() for name in methods.split(",")]
    place = require_data(data)
    if data is None and not is_listed(place):
        place = place.parent / "data_k"
    sets, tasks = find_class_sets(place), list_class_tasks(names, peers)
    make_folder(folder)
    with running(len(sets) * len(tasks)) as advance:
        run_classes(sets, folder, tasks, advance)
    return partial(collect_classes, folder, [place / name for name in SCORES])


def rate(
    folder: Path, data: SignedSets = None, classes: LabeledSets = None, draws: Draws = rates.DRAWS
) -> Collect:
    """Count how often intervals of shares hold, over draws of gold labels."""
    sets = rates.find_rate_sets(require_data(data), classes)
    make_folder(folder)
    with running(len(sets) + 1) as advance:
        rates.run_rate(sets, folder, draws, advance)
    return partial(rates.collect_rate, folder)


def review(
    folder: Path, data: SignedSets = None, classes: LabeledSets = None, draws: Draws = reviews.DRAWS
) -> Collect:
    """Count the answers that a review needs, in its own order and in a random one."""
    sets = rates.find_rate_sets(require_data(data), classes)
    make_folder(folder)
    with running(len(sets)) as advance:
        reviews.run_review(sets, folder, draws, advance)
    return partial(reviews.collect_review, folder)


def worth(folder: Path, data: SignedSets = None, classes: LabeledSets = None) -> Collect:
    """Count how often the intervals of voters' accuracies hold."""
    sets = rates.find_rate_sets(require_data(data), classes)
    make_folder(folder)
    with running(accuracies.count_targets(sets)) as advance:
        accuracies.run_worth(sets, folder, advance)
    return partial(accuracies.collect_worth, folder)


def certify(folder: Path, data: SignedSets = None, draws: Draws = certificates.DRAWS) -> Collect:
    """Count how often certified labels have more errors than promised."""
    place = require_data(data)
    sets = {one.name: partial(read_known, place, one) for one in list_sets(place)}
    make_folder(folder)
    with running(len(sets)) as advance:
        certificates.run_certify(sets, folder, draws, advance)
    return partial(certificates.collect_certify, folder)


def jury(
    folder: Path,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="The folder of sources.csv, or one folder per set, with votes.csv and truth.csv, "
            "and further panels in data_k next to it. By default the shared data.",
        ),
    ] = None,
    draws: Draws = juries.DRAWS,
) -> Collect:
    """Compare labels, pass rates and smaller panels on LLM judges with known truth."""
    place = require_data(data, "panels")
    sets = juries.find_jury_sets(place)
    make_folder(folder)
    with running(len(sets)) as advance:
        juries.run_jury(sets, folder, draws, advance, juries.find_systems(place))
    return partial(juries.collect_jury, folder)


def prior(
    data: SignedSets = None,
    sets: Sets = None,
    trials: Annotated[bool, typer.Option(help="Try other values of every number.")] = True,
) -> Collect:
    """Learn the prior from real votes, leaving one source out at a time."""
    names = None if sets is None else [name.strip() for name in sets.split(",")]
    found = read_sets(require_data(data), names)
    tried = [*map(len, TRIED.values()), *(1 + len(x) for x in TRIED_TRUST.values())]
    with (
        running(len(found) * (2 + sum(tried) * trials)) as advance,
        one_blas_thread(),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", UnelisaWarning)  # the page shows it
        archive = run_prior(found, advance, alternatives=trials)
    return lambda _: archive


def rules(
    folder: Path,
    part: Annotated[
        str, typer.Option(metavar="choosing|reporting", help="Worlds to develop on, or to report.")
    ] = "choosing",
    seeds: Seeds = None,
    patients: Annotated[int, typer.Option(min=1000, help="Patients of a world.")] = PATIENTS,
) -> Collect:
    """Judge rules of three simulated diseases, and compare with the truth."""
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
    return partial(collect_rules, folder)


def replay(
    folder: Path,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Holds the folders data and data_k of sets; by default those beside a clone.",
        ),
    ] = None,
    sets: Sets = None,
    policies: Annotated[
        str | None, typer.Option(metavar="A,B", help=f"Only some of {', '.join(POLICIES)}.")
    ] = None,
    seeds: Annotated[
        str, typer.Option(metavar="A,B|A-B", help="Numbers of the replays of each set.")
    ] = "0-19",
) -> Collect:
    """Buy recorded votes batch by batch, and compare which policy needs the fewest."""
    known = _find_recorded(data)
    chosen = {name: known[name] for name in pick_names(sets, known, "there is no set")}
    asked = pick_names(policies, POLICIES, "there is no policy")
    numbers = read_seeds(seeds)
    make_folder(folder)
    with running(len(chosen) * len(asked) * len(numbers)) as advance:
        run_replays(chosen, folder, asked, numbers, advance)
    return partial(collect_replays, folder)


def _find_recorded(data: Path | None) -> dict[str, Reader]:
    """Return how to read or draw each set of the study."""
    shared = find_shared_data() if data is None else None
    place = data
    if shared is not None:
        place = shared if is_listed(shared) else shared.parent
    if place is None or not (place / "data").is_dir() or not (place / "data_k").is_dir():
        raise ModelError("there are no sets here: name the folder of data and data_k with --data")
    parts: list[tuple[dict[str, SetReader], tuple[str, ...]]] = [
        (find_sets(place / "data"), BINARY),
        (find_panels(place / "data_k"), JUDGED),
        (find_class_sets(place / "data_k"), CLASSES),
    ]
    sets: dict[str, Reader] = {
        name: partial(_read, found[name]) for found, names in parts for name in names
    }
    return sets | {name: partial(_draw, name) for name in WORLDS}


def _read(reader: SetReader, _seed: int) -> KnownLabels:
    return reader()


def _draw(kind: str, seed: int) -> KnownLabels:
    """Return a world of the choosing part as votes with labels."""
    world = draw_world(World("choosing", kind, FIRST_WORLD + seed))
    n_items, n_voters = world.votes.shape
    names = np.array([f"v{s}" for s in range(n_voters)])
    votes = Votes.of_values(np.asfortranarray(world.votes), np.arange(n_items), names)
    return KnownLabels(votes, world.truth, np.empty(0), np.empty(0, dtype=np.int8))


def draw_replays(archive: Json, images: Path) -> None:
    """Draw accuracy against the votes bought."""
    with drawing(), busy("drawing"):
        save_figure(draw_curves(archive["replays"]), images, "replay")
