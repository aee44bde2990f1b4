"""`unelisa simulate`: votes with known truth; `classes`: more than two; `ehr`: health records."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from unelisa.cli import options
from unelisa.cli.commands import PlainCommand, PlainGroup
from unelisa.cli.files import OutputFiles, make_folder
from unelisa.cli.screen import busy, show_path
from unelisa.errors import ModelError

if TYPE_CHECKING:
    from unelisa.votes import Votes

PATIENTS = 46568  # `ehr.datamart.PATIENTS`, which a help page shows without loading it
FILES = ("votes.csv", "truth.csv", "experts.csv", "voters.csv")

app = typer.Typer(cls=PlainGroup, invoke_without_command=True, add_completion=False)


@app.callback()
@options.takes_form
def simulate(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    context: typer.Context,
    out: Path = Path("simulated"),
    voters: int = 25,
    experts: str = "sqrt",
    snr: str = "high",
    items: int | None = None,
    wide: bool = False,
    density: str = "half",
    sampler: str = "tempering",
    field: float = 0.0,
    expert_edges: int = 0,
    voter_fields: float = 0.0,
    missing: float = 0.0,
    seed: int = 0,
    run: options.RunForm = options.USUAL_RUN,
) -> None:
    """Draw votes from the paper's model, along with the truth and the experts.

    Or draw votes of more than two classes (unelisa simulate classes --help), or health records
    (unelisa simulate ehr --help).

    --out FOLDER: Folder for the tables of votes, truth and voters.
    --voters N: Number of voters.
    --experts log|sqrt|quarter|N: Number of experts.
    --snr high|medium|low|X: Signal-to-noise ratio: voters depend on each other by .25, .5, 1 or X.
    --items N: Number of items; the paper's by default.
    --density half|full|tree: Density of the voters' graph.
    --sampler tempering|gibbs|gibbs-sweeps: How states are drawn.
    Violations of the paper's assumptions:
    --field X: Field of the truth: shifts it to one class.
    --expert-edges N: Edges between experts.
    --voter-fields X: Spread of the voters' biases.
    --missing X: Share of missing votes.
    """
    if context.invoked_subcommand is not None:
        return
    import numpy as np

    from unelisa.simulation.designs import simulate_votes

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
    drawn: tuple["Votes", Any, bool],
    about: tuple[Sequence[str], Any],
    facts: dict[str, Any],
    sentence: str,
) -> None:
    """Write votes, truth and a table about the voters into a folder, made where it is absent."""
    make_folder(paths[0].parent)
    run._replace(force=True).check(tables=paths)  # the same votes may be there already
    run.check()
    with busy("writing"), run.files() as files:
        write_votes(drawn, paths, files)
        files.write_csv(paths[2], *about)
        files.write_json(run.json, {**facts, "files": [str(path) for path in paths]})
    screen, names = run.screen(), ", ".join(path.name for path in paths)
    screen.print(sentence, style="bold")
    show_path(screen, f"wrote {names} into {paths[0].parent}")


def write_votes(
    drawn: tuple["Votes", Any, bool], paths: Sequence[Path], files: OutputFiles
) -> None:
    """Write the votes, one row per item or per vote, and the truth, as the first two files."""
    import numpy as np

    votes, truth, wide = drawn
    values, items, voters = votes.values, votes.items.tolist(), votes.voters
    if wide:
        cells = (votes.name_codes(row).tolist() for row in values)
        header: Sequence[str] = ("item", *map(str, voters))
        table: Iterator[Any] = ([x, *row] for x, row in zip(items, cells, strict=True))
    else:
        rows, columns = np.nonzero(values)
        words, header = votes.name_codes(values[rows, columns]), ("item", "voter", "vote")
        places = zip(rows, columns, words, strict=True)
        table = ((items[i], voters[s], word) for i, s, word in places)
    files.write_csv(paths[0], header, table)
    labels = zip(votes.items, votes.name_codes(truth), strict=True)
    files.write_csv(paths[1], ("item", "label"), labels)


@app.command(cls=PlainCommand)
@options.takes_form
def classes(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    out: Path = Path("simulated"),
    number: int = 4,
    voters: int = 25,
    items: int = 500,
    ordered: bool = False,
    spammers: float = 0.1,
    copies: float = 0.1,
    missing: float = 0.5,
    wide: bool = False,
    seed: int = 0,
    run: options.RunForm = options.USUAL_RUN,
) -> None:
    """Draw votes of a crowd on more than two classes, along with the truth.

    --out FOLDER: Folder for the tables of votes, truth and voters.
    number --classes K: Number of classes, 3 or more.
    --voters N: Number of voters.
    --items N: Number of items.
    --ordered: Classes 1 to K, confused with their neighbors.
    --spammers X: Share of spammers.
    --copies X: Share of voters who copy another one.
    --missing X: Share of missing votes.
    """
    import numpy as np

    from unelisa.simulation.designs import simulate_classes

    shares = {"spammers": spammers, "copies": copies, "missing": missing}
    with busy("drawing votes"):
        drawn = simulate_classes(
            number, voters, items, ordered=ordered, random_state=seed, **shares
        )
    votes, paths = drawn.votes, [out / FILES[k] for k in (0, 1, 3)]
    answers_blindly = np.isin(np.arange(voters), drawn.spammers).astype(int)
    copied = [votes.voters[s] if s != k else None for k, s in enumerate(drawn.sources)]
    about = ("voter", "spammer", "copies"), zip(votes.voters, answers_blindly, copied, strict=True)
    facts = {"items": items, "voters": voters, "classes": list(votes.classes)}
    sentence = f"{items:,} items, {voters} voters, {number} classes"
    write_folder(run, paths, (votes, drawn.truth, wide), about, facts, sentence)


@app.command(cls=PlainCommand)
@options.takes_form
def ehr(
    out: Path = Path("ra.duckdb"),
    patients: int = PATIENTS,
    seed: int = 0,
    run: options.RunForm = options.USUAL_RUN,
) -> None:
    """Write an OMOP database of simulated rheumatoid arthritis patients, and the truth.

    --out FILE.duckdb: The database; FILE.truth.csv appears beside it.
    --patients N: Number of patients.
    """
    from unelisa.ehr.datamart import simulate_ehr
    from unelisa.ehr.omop.datamart import write_datamart

    truth = out.with_suffix(".truth.csv")
    run.check(out, tables=(truth,))
    log = Path(f"{out}.wal")
    if log.exists():  # DuckDB would add it to the new database
        raise ModelError(f"{log.name} belongs to another database; close or delete it first")
    with busy("drawing patients"):
        drawn = simulate_ehr(patients, random_state=seed)
    rows: dict[str, int] = {}
    reviewed, cases = set(drawn.reviewed.tolist()), int((drawn.truth > 0).sum())
    with run.files() as files, busy("writing") as status:

        def advance(table: str, number: int) -> None:
            rows[table] = rows.get(table, 0) + number
            status.update(f"writing {table}, {rows[table]:,} rows ...")

        write_datamart(drawn, files.draft(out), seed, advance)
        labels = ((i, s, int(i in reviewed)) for i, s in drawn.truth.items())
        files.write_csv(truth, ("person_id", "label", "reviewed"), labels)
        numbers = {"patients": len(drawn.truth), "cases": cases, "reviewed": len(reviewed)}
        files.write_json(run.json, {**numbers, "rows": rows, "files": [str(out), str(truth)]})
    screen = run.screen()
    screen.print(
        f"[bold]{patients:,} patients, {cases:,} with rheumatoid arthritis; "
        f"{len(reviewed)} charts reviewed[/bold]"
    )
    screen.print(", ".join(f"{table} {number:,}" for table, number in rows.items()))
    show_path(screen, f"wrote {out} and {truth}")
