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
from unelisa.cli.forms import option, takes_form
from unelisa.cli.screen import busy, results
from unelisa.ehr.datamart import PATIENTS, SimulatedEhr, simulate_ehr
from unelisa.ehr.omop.datamart import write_datamart
from unelisa.errors import ModelError
from unelisa.simulation.designs import simulate_classes, simulate_votes
from unelisa.votes import Votes

FILES = ("votes.csv", "truth.csv", "experts.csv", "voters.csv")
Folder = Annotated[Path, option("FOLDER", "Folder for the tables of votes, truth and voters.")]
Voters = Annotated[int, option("N", "Number of voters.")]


def _flaw(metavar: str, words: str) -> Any:
    return option(metavar, words, panel="Violations of the paper's assumptions")


app = typer.Typer(cls=PlainGroup, invoke_without_command=True, add_completion=False)


@app.callback()
@takes_form
def simulate(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    context: typer.Context,
    out: Folder = Path("simulated"),
    voters: Voters = 25,
    experts: str = "sqrt",
    snr: str = "high",
    items: int | None = None,
    wide: options.Wide = False,
    density: str = "half",
    sampler: str = "tempering",
    field: Annotated[float, _flaw("X", "Field of the truth: shifts it to one class.")] = 0.0,
    expert_edges: Annotated[int, _flaw("N", "Edges between experts.")] = 0,
    voter_fields: Annotated[float, _flaw("X", "Spread of the voters' biases.")] = 0.0,
    missing: Annotated[float, _flaw("X", "Share of missing votes.")] = 0.0,
    seed: options.Seed = 0,
    run: options.RunForm = options.USUAL_RUN,
) -> None:
    """Draw votes from the paper's model, along with the truth and the experts.

    Or draw votes of more than two classes (unelisa simulate classes --help), or health records
    (unelisa simulate ehr --help).

    --experts log|sqrt|quarter|N: Number of experts.
    --snr high|medium|low|X: Signal-to-noise ratio: voters depend on each other by .25, .5, 1 or X.
    --items N: Number of items; the paper's by default.
    --density half|full|tree: Density of the voters' graph.
    --sampler tempering|gibbs|gibbs-sweeps: How states are drawn.
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
    votes, paths = drawn.votes, [out / name for name in FILES[:3]]
    names = votes.voters[drawn.experts]
    signs = np.sign(drawn.model.edges[0, 1:][drawn.experts]).astype(int)
    facts = {
        "items": len(votes),
        "voters": votes.n_voters,
        "experts": names.tolist(),
        "positive": int((drawn.truth > 0).sum()),
    }
    about = ("voter", "polarity"), zip(names, signs, strict=True)
    sentence = f"{len(votes):,} items, {votes.n_voters} voters, {len(names)} of them experts"
    write_folder(run, paths, (votes, drawn.truth, wide), about, facts, sentence)


def write_folder(
    run: options.RunForm,
    paths: Sequence[Path],
    drawn: tuple[Votes, Any, bool],
    about: tuple[Sequence[str], Any],
    facts: dict[str, Any],
    sentence: str,
) -> None:
    """Write votes, truth and a table about the voters into a folder, made where it is absent."""
    make_folder(paths[0].parent)
    run._replace(force=True).check(tables=paths)  # the same votes may be there already
    run.check()
    votes, truth, wide = drawn
    with busy("writing"), run.files() as files:
        write_votes(votes, truth, paths, wide, files)
        files.write_csv(paths[2], *about)
        files.write_json(run.json, {**facts, "files": [str(path) for path in paths]})
    screen, names = run.screen(), ", ".join(path.name for path in paths)
    screen.print(sentence, style="bold")
    screen.print(f"wrote {names} into {paths[0].parent}", markup=False, soft_wrap=True)


def write_votes(
    votes: Votes, truth: Any, paths: Sequence[Path], wide: bool, files: OutputFiles
) -> None:
    """Write the votes and the truth, as the first two files."""
    files.write_csv(paths[0], *tabulate_votes(votes, wide))
    rows = zip(votes.items, votes.name_codes(truth), strict=True)
    files.write_csv(paths[1], ("item", "label"), rows)


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
@takes_form
def classes(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    out: Folder = Path("simulated"),
    number: Annotated[int, option("K", "Number of classes, 3 or more.", "--classes")] = 4,
    voters: Voters = 25,
    items: int = 500,
    ordered: bool = False,
    spammers: float = 0.1,
    copies: float = 0.1,
    missing: float = 0.5,
    wide: options.Wide = False,
    seed: options.Seed = 0,
    run: options.RunForm = options.USUAL_RUN,
) -> None:
    """Draw votes of a crowd on more than two classes, along with the truth.

    --items N: Number of items.
    --ordered: Classes 1 to K, confused with their neighbors.
    --spammers X: Share of spammers.
    --copies X: Share of voters who copy another one.
    --missing X: Share of missing votes.
    """
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
    votes, paths = drawn.votes, [out / FILES[k] for k in (0, 1, 3)]
    answers_blindly = np.isin(np.arange(voters), drawn.spammers).astype(int)
    copied = [votes.voters[s] if s != k else None for k, s in enumerate(drawn.sources)]
    about = ("voter", "spammer", "copies"), zip(votes.voters, answers_blindly, copied, strict=True)
    facts = {"items": items, "voters": voters, "classes": list(votes.classes)}
    sentence = f"{items:,} items, {voters} voters, {number} classes"
    write_folder(run, paths, (votes, drawn.truth, wide), about, facts, sentence)


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
