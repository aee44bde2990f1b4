"""`unelisa simulate ehr`: an OMOP database of patients who do not exist, and their truth."""

from pathlib import Path
from typing import Annotated, Any

import typer

from unelisa.cli import options
from unelisa.cli.files import STDOUT, check_outputs, output_files, refuse_stdout
from unelisa.cli.screen import busy, progress, results
from unelisa.datamart import SimulatedEhr, simulate_ehr, write_datamart
from unelisa.datamart.patients import PATIENTS, UTILIZATION


def ehr(
    out: Annotated[
        Path,
        typer.Option(metavar="FILE.duckdb", help="The database; FILE.truth.csv appears beside it."),
    ] = Path("ra.duckdb"),
    patients: Annotated[int, typer.Option(metavar="N", help="Number of patients.")] = PATIENTS,
    seed: options.Seed = 0,
    json: options.JsonFile = None,
) -> None:
    """Write a datamart of rheumatoid arthritis like the paper's, and apart from it the truth."""
    truth = out.with_suffix(".truth.csv")
    check_outputs(out, truth, json)
    refuse_stdout(out)
    with busy("drawing patients"):
        drawn = simulate_ehr(patients, random_state=seed)
    rows = _write(drawn, (out, truth), seed, json)
    screen = results(quiet=json == STDOUT)
    screen.print(
        f"[bold]{patients:,} patients, {int((drawn.truth > 0).sum()):,} with rheumatoid "
        f"arthritis; {len(drawn.reviewed)} charts reviewed[/bold]"
    )
    screen.print(", ".join(f"{table} {number:,}" for table, number in rows.items()))
    screen.print(f"wrote {out} and {truth}", markup=False, soft_wrap=True)


def _write(
    drawn: SimulatedEhr, paths: tuple[Path, Path], seed: int, json: Path | None
) -> dict[str, int]:
    """Write database, truth and summary together; return the rows of each table."""
    rows: dict[str, int] = {}
    reviewed = set(drawn.reviewed.tolist())
    labels = ((i, s, int(i in reviewed)) for i, s in drawn.truth.items())
    with progress() as bar, output_files() as files:
        task = bar.add_task("writing", total=expect_rows(drawn))

        def advance(table: str, number: int) -> None:
            rows[table] = rows.get(table, 0) + number
            bar.update(task, description=f"writing {table}", advance=number)

        write_datamart(drawn, files.draft(paths[0]), seed, advance)
        files.write_csv(paths[1], ("person_id", "label", "reviewed"), labels)
        if json is not None:
            files.write_json(json, _summarize(drawn, rows, paths))
    return rows


def expect_rows(drawn: SimulatedEhr) -> int:
    """Return about how many rows the database will have."""
    notes = int(drawn.counts[UTILIZATION].sum())
    # two more rows a patient; concepts that a note names and denies are two thirds of the notes
    return (
        2 * len(drawn.truth) + int(drawn.visits.sum() + drawn.counts.sum().sum()) + notes * 2 // 3
    )


def _summarize(
    drawn: SimulatedEhr, rows: dict[str, int], paths: tuple[Path, Path]
) -> dict[str, Any]:
    """Return what was drawn and where it is."""
    return {
        "patients": len(drawn.truth),
        "cases": int((drawn.truth > 0).sum()),
        "reviewed": len(drawn.reviewed),
        "rows": rows,
        "files": [str(path) for path in paths],
    }
