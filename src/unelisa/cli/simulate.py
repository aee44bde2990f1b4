"""`unelisa simulate`: votes with known truth; `simulate classes`, of more than two classes.

`simulate ehr`: health records.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from unelisa.cli import options
from unelisa.cli.commands import PlainCommand, PlainGroup
from unelisa.cli.files import STDOUT, OutputFiles, check_outputs, make_folder, output_files
from unelisa.cli.screen import busy, results
from unelisa.ehr.datamart import SimulatedEhr, simulate_ehr, write_datamart
from unelisa.ehr.datamart.patients import PATIENTS
from unelisa.errors import ModelError
from unelisa.simulation.crowds import SimulatedClasses, simulate_classes
from unelisa.simulation.designs import SimulatedVotes, simulate_votes
from unelisa.votes import Votes

FILES = ("votes.csv", "truth.csv", "experts.csv")


def _flaw(metavar: str, words: str) -> Any:
    panel = "Violations of the paper's assumptions"
    return typer.Option(metavar=metavar, help=words, rich_help_panel=panel)


app = typer.Typer(cls=PlainGroup, invoke_without_command=True, add_completion=False)


@app.callback()
def simulate(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    context: typer.Context,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for votes.csv, truth.csv, experts.csv.")
    ] = Path("simulated"),
    voters: Annotated[int, typer.Option(metavar="N", help="Number of voters.")] = 25,
    experts: Annotated[
        str, typer.Option(metavar="log|sqrt|quarter|N", help="Number of experts.")
    ] = "sqrt",
    snr: Annotated[
        str,
        typer.Option(
            metavar="high|medium|low|X",
            help="Signal-to-noise ratio: voters depend on each other by .25, .5, 1 or X.",
        ),
    ] = "high",
    items: Annotated[
        int | None, typer.Option(metavar="N", help="Number of items; the paper's by default.")
    ] = None,
    wide: Annotated[
        bool, typer.Option("--wide/--long", help="One row per item, or one row per vote.")
    ] = False,
    density: Annotated[
        str, typer.Option(metavar="half|full|tree", help="Density of the voters' graph.")
    ] = "half",
    sampler: Annotated[
        str,
        typer.Option(metavar="tempering|gibbs|gibbs-sweeps", help="How states are drawn."),
    ] = "tempering",
    field: Annotated[float, _flaw("X", "Field of the truth: shifts it to one class.")] = 0.0,
    expert_edges: Annotated[int, _flaw("N", "Edges between experts.")] = 0,
    voter_fields: Annotated[float, _flaw("X", "Spread of the voters' biases.")] = 0.0,
    missing: Annotated[float, _flaw("X", "Share of missing votes.")] = 0.0,
    seed: options.Seed = 0,
    json: options.JsonFile = None,
    force: options.Force = False,
) -> None:
    """Draw votes from the paper's model, along with the truth and the experts.

    Or draw votes of more than two classes (unelisa simulate classes --help), or health records
    (unelisa simulate ehr --help).
    """
    if context.invoked_subcommand is not None:
        return
    with busy("drawing votes"):
        drawn = simulate_votes(
            voters,
            options.read_number(experts, int),
            options.read_number(snr, float),
            items,
            sampler=sampler,  # type: ignore[arg-type]
            density=density,  # type: ignore[arg-type]
            field=field,
            expert_edges=expert_edges,
            voter_fields=voter_fields,
            missing=missing,
            random_state=seed,
        )
    _write_votes(drawn, out, wide, json, force)
    screen = results(quiet=json == STDOUT)
    screen.print(
        f"[bold]{len(drawn.votes):,} items, {drawn.votes.n_voters} voters, "
        f"{len(drawn.experts)} of them experts[/bold]"
    )
    screen.print(f"wrote {', '.join(FILES)} into {out}", markup=False, soft_wrap=True)


def _write_votes(
    drawn: SimulatedVotes, folder: Path, wide: bool, json: Path | None, force: bool
) -> None:
    """Write votes, truth and experts into a folder, which is made where it is absent."""
    make_folder(folder)
    paths = [folder / name for name in FILES]
    check_outputs(tables=paths, json=json, force=True)  # the same votes may be there already
    check_outputs(json=json, force=force)
    names = drawn.votes.voters[drawn.experts]
    signs = np.sign(drawn.model.edges[0, 1:][drawn.experts]).astype(int)
    with busy("writing"), output_files(force) as files:
        files.write_csv(paths[0], *tabulate_votes(drawn.votes, wide))
        files.write_csv(
            paths[1], ("item", "label"), zip(drawn.votes.items, drawn.truth, strict=True)
        )
        files.write_csv(paths[2], ("voter", "polarity"), zip(names, signs, strict=True))
        summary = {
            "items": len(drawn.votes),
            "voters": drawn.votes.n_voters,
            "experts": names.tolist(),
            "positive": int((drawn.truth > 0).sum()),
            "files": [str(path) for path in paths],
        }
        files.write_json(json, summary)


def tabulate_votes(votes: Votes, wide: bool) -> tuple[tuple[str, ...], Iterator[Any]]:
    """Return header and rows of a table of votes; abstentions are empty cells or absent rows."""
    values, items, voters = votes.values, votes.items.tolist(), votes.voters
    if wide:
        cells = (votes.name_codes(row).tolist() for row in values)
        named = ([item, *row] for item, row in zip(items, cells, strict=True))
        return ("item", *map(str, voters)), named
    rows, columns = np.nonzero(values)
    words = votes.name_codes(values[rows, columns])
    cast = ((items[i], voters[s], word) for i, s, word in zip(rows, columns, words, strict=True))
    return ("item", "voter", "vote"), cast


@app.command(cls=PlainCommand)
def classes(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for votes.csv, truth.csv, voters.csv.")
    ] = Path("simulated"),
    number: Annotated[
        int, typer.Option("--classes", metavar="K", help="Number of classes, 3 or more.")
    ] = 4,
    voters: Annotated[int, typer.Option(metavar="N", help="Number of voters.")] = 25,
    items: Annotated[int, typer.Option(metavar="N", help="Number of items.")] = 500,
    ordered: Annotated[
        bool, typer.Option("--ordered", help="Classes 1 to K, confused with their neighbors.")
    ] = False,
    spammers: Annotated[float, typer.Option(metavar="X", help="Share of spammers.")] = 0.1,
    copies: Annotated[
        float, typer.Option(metavar="X", help="Share of voters who copy another one.")
    ] = 0.1,
    missing: Annotated[float, typer.Option(metavar="X", help="Share of missing votes.")] = 0.5,
    wide: Annotated[
        bool, typer.Option("--wide/--long", help="One row per item, or one row per vote.")
    ] = False,
    seed: options.Seed = 0,
    json: options.JsonFile = None,
    force: options.Force = False,
) -> None:
    """Draw votes of a crowd on more than two classes, along with the truth."""
    with busy("drawing votes"):
        drawn = simulate_classes(
            number,
            voters,
            items,
            ordered=ordered,
            spammers=spammers,
            copies=copies,
            missing=missing,
            random_state=seed,
        )
    make_folder(out)
    paths = [out / name for name in (*FILES[:2], "voters.csv")]
    check_outputs(tables=paths, json=json, force=True)  # the same votes may be there already
    check_outputs(json=json, force=force)
    with busy("writing"), output_files(force) as files:
        write_crowd(drawn, paths, wide, files)
        summary = {"items": items, "voters": voters, "classes": list(drawn.votes.classes)}
        files.write_json(json, {**summary, "files": [str(path) for path in paths]})
    screen = results(quiet=json == STDOUT)
    screen.print(f"[bold]{items:,} items, {voters} voters, {number} classes[/bold]")
    names = ", ".join(path.name for path in paths)
    screen.print(f"wrote {names} into {out}", markup=False, soft_wrap=True)


def write_crowd(
    drawn: SimulatedClasses, paths: Sequence[Path], wide: bool, files: OutputFiles
) -> None:
    """Write votes, truth and, where there is a third path, who each voter is."""
    votes = drawn.votes
    files.write_csv(paths[0], *tabulate_votes(votes, wide))
    truth = votes.name_codes(drawn.truth)
    files.write_csv(paths[1], ("item", "label"), zip(votes.items, truth, strict=True))
    if len(paths) > 2:
        spammers = np.isin(np.arange(votes.n_voters), drawn.spammers).astype(int)
        copied = [votes.voters[s] if s != k else None for k, s in enumerate(drawn.sources)]
        rows = zip(votes.voters, spammers, copied, strict=True)
        files.write_csv(paths[2], ("voter", "spammer", "copies"), rows)


@app.command(cls=PlainCommand)
def ehr(
    out: Annotated[
        Path,
        typer.Option(metavar="FILE.duckdb", help="The database; FILE.truth.csv appears beside it."),
    ] = Path("ra.duckdb"),
    patients: Annotated[int, typer.Option(metavar="N", help="Number of patients.")] = PATIENTS,
    seed: options.Seed = 0,
    json: options.JsonFile = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Write an OMOP database of simulated rheumatoid arthritis patients, and the truth."""
    truth = out.with_suffix(".truth.csv")
    check_outputs(out, tables=(truth,), json=json, force=force)
    log = Path(f"{out}.wal")
    if log.exists():  # DuckDB would add it to the new database
        raise ModelError(f"{log.name} belongs to another database; close or delete it first")
    with busy("drawing patients"):
        drawn = simulate_ehr(patients, random_state=seed)
    with output_files(force) as files:
        written = _write_ehr(drawn, (out, truth), seed, files)
        files.write_json(json, written)
    screen = results(quiet=quiet or json == STDOUT)
    screen.print(
        f"[bold]{patients:,} patients, {int((drawn.truth > 0).sum()):,} with rheumatoid "
        f"arthritis; {len(drawn.reviewed)} charts reviewed[/bold]"
    )
    screen.print(", ".join(f"{table} {number:,}" for table, number in written["rows"].items()))
    screen.print(f"wrote {out} and {truth}", markup=False, soft_wrap=True)


def _write_ehr(
    drawn: SimulatedEhr, paths: tuple[Path, Path], seed: int, files: OutputFiles
) -> dict[str, Any]:
    """Write the database and the truth; return what was written."""
    rows: dict[str, int] = {}
    reviewed = set(drawn.reviewed.tolist())
    labels = ((i, s, int(i in reviewed)) for i, s in drawn.truth.items())
    with busy("writing") as status:

        def advance(table: str, number: int) -> None:
            rows[table] = rows.get(table, 0) + number
            status.update(f"writing {table}, {rows[table]:,} rows ...")

        write_datamart(drawn, files.draft(paths[0]), seed, advance)
        files.write_csv(paths[1], ("person_id", "label", "reviewed"), labels)
    return {
        "patients": len(drawn.truth),
        "cases": int((drawn.truth > 0).sum()),
        "reviewed": len(drawn.reviewed),
        "rows": rows,
        "files": [str(path) for path in paths],
    }
