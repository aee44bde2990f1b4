"""`unelisa reproduce ehr`: Table 5.4 and Figure 5.1 on simulated and public health records."""

from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from unelisa.cli import options
from unelisa.cli.files import STDOUT, check_outputs, make_folder, output_files
from unelisa.cli.screen import busy, progress, results
from unelisa.cli.shared_data import VARIABLE, find_shared_data
from unelisa.errors import ModelError
from unelisa.study.ehr import FIGURES, SPLITS, read_splits, run_set
from unelisa.study.ehr_figures import TITLES, draw_splits
from unelisa.study.ehr_page import render_ehr
from unelisa.study.ehr_rare import COHORTS, run_rare
from unelisa.study.ehr_sets import ReviewedSet, phecap_set, simulated_set
from unelisa.study.ehr_tables import EhrArchive, collect_ehr, format_ehr
from unelisa.study.figures import drawing, save_figure
from unelisa.study.wording import share

SHORT = {"f_score": "F"}  # the harmonic mean of PPV and NPV


def ehr(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    seeds: Annotated[
        str, typer.Option(metavar="A,B", help="Seeds of the simulated datamarts.")
    ] = "0",
    patients: Annotated[
        int, typer.Option(min=1000, help="Patients of a simulated datamart.")
    ] = 46568,
    splits: Annotated[
        int, typer.Option(min=1, help="Random halves of the reviewed charts.")
    ] = SPLITS,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder of ehr_phecap, with features.csv.gz and truth.csv; by default "
            f"ehr_phecap in the folder that {VARIABLE} names, or in the shared one beside a "
            "checkout; left out where there is none.",
        ),
    ] = None,
    rare: Annotated[bool, typer.Option(help="Also small cohorts with a rare phenotype.")] = True,
    folder: Annotated[
        Path,
        typer.Option(
            "--results",
            metavar="FOLDER",
            help="Where every finished split is kept; a run that was stopped goes on from there.",
        ),
    ] = Path("results/ehr"),
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write phenotyping_study.md, study/ehr.json and images into this folder.",
        ),
    ] = None,
    json: options.JsonFile = None,
) -> None:
    """Run Table 5.4: penLog, unElisa and Phenotyper on halves of the reviewed charts."""
    check_outputs(json)
    asked = read_seeds(seeds)
    for wanted in (folder, out):
        if wanted is not None:
            make_folder(wanted)
    place = find_phecap() if data is None else data
    public = None if place is None else phecap_set(place)
    run_sets(asked, patients, splits, rare, folder)
    if public is not None:
        run_public(public, splits, folder)
    archive = collect_ehr(folder)
    if out is not None:
        write_pages(archive, folder, out)
    if json is not None:
        with output_files() as files:
            files.write_json(json, archive)
    show_methods(results(quiet=json == STDOUT), archive)


def find_phecap() -> Path | None:
    """Return the folder of ehr_phecap among the shared sets, where it is there."""
    shared = find_shared_data()
    place = None if shared is None else shared / "ehr_phecap"
    return place if place is not None and place.is_dir() else None


def read_seeds(text: str) -> list[int]:
    """Return the seeds of a list such as 0,1,2."""
    try:
        seeds = [int(part) for part in text.split(",")]
    except ValueError:
        seeds = [-1]
    if min(seeds) < 0 or len(set(seeds)) < len(seeds):
        raise ModelError("--seeds must be different whole numbers, such as 0,1,2")
    return seeds


def run_sets(seeds: list[int], patients: int, splits: int, rare: bool, folder: Path) -> None:
    """Run the simulated datamarts, and rare cohorts of them."""
    cohorts = COHORTS if rare else 0
    with progress() as bar:
        task = bar.add_task("", total=len(seeds) * (splits + cohorts))
        for seed in seeds:
            bar.update(task, description=f"simulated datamart {seed}")
            datamart = simulated_set(seed, patients)
            run_set(datamart, folder, splits, lambda count: bar.advance(task, count))
            if rare:
                run_rare(datamart, folder, lambda count: bar.advance(task, count))


def run_public(public: ReviewedSet, splits: int, folder: Path) -> None:
    """Run ehr_phecap."""
    with progress() as bar:
        task = bar.add_task(public.name, total=splits)
        run_set(public, folder, splits, lambda count: bar.advance(task, count))


def write_pages(archive: EhrArchive, folder: Path, out: Path) -> None:
    """Write the archive, the figures and the page that is made from them."""
    stored, page, images = out / "study" / "ehr.json", out / "phenotyping_study.md", out / "images"
    make_folder(stored.parent)
    make_folder(images)
    check_outputs(stored, page)
    rows = read_splits(folder)
    with drawing(), busy("drawing"):
        for facts in archive["sets"]:
            save_figure(draw_splits(rows, facts["set"]), images, f"ehr-{facts['set']}")
    with output_files() as files:
        files.write_text(stored, format_ehr(archive))
        files.write_text(page, render_ehr(archive))


def show_methods(screen: Console, archive: EhrArchive) -> None:
    """Print every method under every protocol."""
    for facts in archive["sets"]:
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
        for name in ("labels", "method"):
            table.add_column(name, no_wrap=True)
        for name in FIGURES:
            table.add_column(SHORT.get(name, TITLES[name]), justify="right", no_wrap=True)
        for row in archive["methods"]:
            if row["set"] == facts["set"]:
                found = [row["figures"].get(name) for name in FIGURES]
                cells = ["" if x is None else share(x[0]) for x in found]
                table.add_row(row["protocol"], row["method"], *cells)
        screen.print(f"[bold]{facts['set']}[/bold], means over the splits")
        screen.print(table)
        screen.print()
    screen.print(
        "labels: paper = of all charts, which leaks the test; train = of the training half. "
        "F: harmonic mean of PPV and NPV."
    )
