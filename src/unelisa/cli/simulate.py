"""`unelisa simulate`: votes whose truth and experts are known; `simulate ehr`: health records."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import typer

from unelisa.cli import options, simulate_ehr
from unelisa.cli.files import STDOUT, check_outputs, output_files
from unelisa.cli.help import PlainCommand, PlainGroup
from unelisa.cli.screen import busy, results
from unelisa.errors import ModelError
from unelisa.simulation import (
    Density,
    ExpertCount,
    Sampler,
    SimulatedVotes,
    Snr,
    simulate_votes,
)
from unelisa.votes import Votes

FILES = ("votes.csv", "truth.csv", "experts.csv")
_FLAWS = "What breaks the paper's assumptions"

app = typer.Typer(cls=PlainGroup, invoke_without_command=True, add_completion=False)
app.command(cls=PlainCommand)(simulate_ehr.ehr)


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
            help="Signal to noise: voters depend on each other by .25, .5, 1 or X.",
        ),
    ] = "high",
    items: Annotated[
        int | None, typer.Option(metavar="N", help="Number of items; the paper's by default.")
    ] = None,
    wide: Annotated[
        bool, typer.Option("--wide/--long", help="One row per item, or one row per vote.")
    ] = False,
    density: Annotated[
        str, typer.Option(metavar="half|full|tree", help="How many voters are linked.")
    ] = "half",
    sampler: Annotated[
        str,
        typer.Option(metavar="tempering|gibbs|gibbs-sweeps", help="How states are drawn."),
    ] = "tempering",
    field: Annotated[
        float,
        typer.Option(metavar="X", help="Pull of the truth to one side.", rich_help_panel=_FLAWS),
    ] = 0.0,
    expert_edges: Annotated[
        int, typer.Option(metavar="N", help="Links between experts.", rich_help_panel=_FLAWS)
    ] = 0,
    voter_fields: Annotated[
        float,
        typer.Option(metavar="X", help="Spread of the voters' own bias.", rich_help_panel=_FLAWS),
    ] = 0.0,
    missing: Annotated[
        float,
        typer.Option(metavar="X", help="Share of votes that are lost.", rich_help_panel=_FLAWS),
    ] = 0.0,
    seed: options.Seed = 0,
    json: options.JsonFile = None,
) -> None:
    """Draw votes from the paper's model, with the truth and the experts beside them.

    Or draw health records: unelisa simulate ehr --help.
    """
    if context.invoked_subcommand is not None:
        return
    with busy("drawing votes"):
        drawn = simulate_votes(
            voters,
            cast(ExpertCount, _number(experts, int)),
            cast(Snr, _number(snr, float)),
            items,
            sampler=cast(Sampler, sampler),
            density=cast(Density, density),
            field=field,
            expert_edges=expert_edges,
            voter_fields=voter_fields,
            missing=missing,
            random_state=seed,
        )
    write_simulation(drawn, out, wide, json)
    screen = results(quiet=json == STDOUT)
    screen.print(
        f"[bold]{len(drawn.votes):,} items, {drawn.votes.n_voters} voters, "
        f"{len(drawn.experts)} of them experts[/bold]"
    )
    screen.print(f"wrote {', '.join(FILES)} into {out}", markup=False, soft_wrap=True)


def write_simulation(
    drawn: SimulatedVotes, folder: Path, wide: bool = False, json: Path | None = None
) -> None:
    """Write votes, truth and experts into a folder, which is made where it is absent."""
    make_folder(folder)
    paths = [folder / name for name in FILES]
    check_outputs(json, *paths)
    truth = zip(drawn.votes.items.tolist(), drawn.truth.tolist(), strict=True)
    sides = drawn.model.edges[0, 1:][drawn.experts]
    experts = zip(drawn.votes.voters[drawn.experts], np.sign(sides).astype(int), strict=True)
    with busy("writing"), output_files() as files:
        files.write_csv(paths[0], *tabulate_votes(drawn.votes, wide))
        files.write_csv(paths[1], ("item", "label"), truth)
        files.write_csv(paths[2], ("voter", "polarity"), experts)
        if json is not None:
            files.write_json(json, summarize(drawn, paths))


def summarize(drawn: SimulatedVotes, paths: Sequence[Path]) -> dict[str, Any]:
    """Return what was drawn and where it is."""
    return {
        "items": len(drawn.votes),
        "voters": drawn.votes.n_voters,
        "experts": drawn.votes.voters[drawn.experts].tolist(),
        "positive": int((drawn.truth > 0).sum()),
        "files": [str(path) for path in paths],
    }


def make_folder(folder: Path) -> None:
    """Make a folder for outputs unless it is there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError(f"{folder} cannot be made a folder: {error.strerror}") from None


def tabulate_votes(votes: Votes, wide: bool) -> tuple[tuple[str, ...], Iterator[Any]]:
    """Return header and rows of a table of votes; abstentions are empty cells or absent rows."""
    if wide:
        return ("item", *map(str, votes.voters)), _wide_rows(votes)
    return ("item", "voter", "vote"), _long_rows(votes)


def _wide_rows(votes: Votes) -> Iterator[list[Any]]:
    words = {-1: votes.classes[0], 0: None, 1: votes.classes[1]}
    for item, row in zip(votes.items.tolist(), votes.values, strict=True):
        yield [item, *(words[int(vote)] for vote in row)]


def _long_rows(votes: Votes) -> Iterator[tuple[Any, Any, Any]]:
    words = {-1: votes.classes[0], 1: votes.classes[1]}
    for i, s in np.argwhere(votes.values):
        yield votes.items[i], votes.voters[s], words[int(votes.values[i, s])]


def _number(text: str, kind: type[int] | type[float]) -> str | int | float:
    """Return the number that a text spells, or the text, which the simulation judges."""
    try:
        return kind(text)
    except ValueError:
        return text
