"""`unelisa simulate ehr`: an OMOP database of patients who do not exist, and their truth."""

from pathlib import Path
from typing import Annotated

import typer

from unelisa.cli import options
from unelisa.cli.files import check_outputs, output_files
from unelisa.cli.screen import busy, results
from unelisa.datamart import SimulatedEhr, simulate_ehr, write_datamart
from unelisa.datamart.patients import PATIENTS


def ehr(
    out: Annotated[
        Path,
        typer.Option(metavar="FILE.duckdb", help="The database; FILE.truth.csv appears beside it."),
    ] = Path("ra.duckdb"),
    patients: Annotated[int, typer.Option(help="Number of patients.")] = PATIENTS,
    seed: options.Seed = 0,
) -> None:
    """Write a datamart of rheumatoid arthritis like the paper's, and apart from it the truth."""
    truth = out.with_suffix(".truth.csv")
    check_outputs(out, truth)
    with busy("drawing patients"):
        drawn = simulate_ehr(patients, random_state=seed)
    rows = _write(drawn, out, truth, seed)
    screen = results()
    screen.print(
        f"[bold]{patients:,} patients, {int((drawn.truth > 0).sum()):,} with rheumatoid "
        f"arthritis; {len(drawn.reviewed)} charts reviewed[/bold]"
    )
    screen.print(", ".join(f"{table} {number:,}" for table, number in rows.items()))
    screen.print(f"wrote {out} and {truth}", markup=False, soft_wrap=True)


def _write(drawn: SimulatedEhr, out: Path, truth: Path, seed: int) -> dict[str, int]:
    """Write database and truth together; return the rows of each table."""
    rows: dict[str, int] = {}
    reviewed = set(drawn.reviewed.tolist())
    labels = ((i, s, int(i in reviewed)) for i, s in drawn.truth.items())
    with busy("writing") as status, output_files() as files:

        def advance(table: str, number: int) -> None:
            rows[table] = rows.get(table, 0) + number
            status.update(f"writing {table}: {rows[table]:,} rows ...")

        write_datamart(drawn, files.draft(out), seed, advance)
        files.write_csv(truth, ("person_id", "label", "reviewed"), labels)
    return rows
