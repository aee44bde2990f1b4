"""`unelisa suggest`: which votes to buy next."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from unelisa.aggregators import Aggregator
from unelisa.analysis.suggestions import COLUMNS, suggest_votes
from unelisa.cli import options
from unelisa.cli.files import STDOUT, check_outputs, output_files
from unelisa.cli.screen import bare_table, busy, printable, results, tell_written
from unelisa.errors import ModelError
from unelisa.memory import refuse_beyond
from unelisa.report.wording import count_noun
from unelisa.sources.files import check_readable, reading
from unelisa.sources.text import TextTable
from unelisa.storage import load

LONGEST = 20  # voters that are listed
_COSTS = ("voter", "cost")


@options.takes_form
def suggest(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    model: options.ModelFile,
    votes: options.VotesFiles,
    n: Annotated[int, typer.Option("--n", metavar="N", help="How many votes to buy.")] = 50,
    cost: Annotated[
        Path | None,
        typer.Option(
            metavar="costs.csv",
            help="Table with columns voter and cost; 1 for voters who are not listed.",
        ),
    ] = None,
    voters: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Only these voters can be asked; all by default."),
    ] = None,
    criterion: Annotated[
        str,
        typer.Option(
            metavar="errors|log_loss|rate",
            help="What a vote should lower: the number of wrong labels, the log loss, or the "
            "variance of the numbers of items of each class.",
        ),
    ] = "errors",
    gold_cost: Annotated[
        float | None,
        typer.Option(
            metavar="PRICE", help="Price of a human's label, suggested where it is the better buy."
        ),
    ] = None,
    gold_accuracy: Annotated[
        float, typer.Option(metavar="SHARE", help="Probability that a human's label is right.")
    ] = 1.0,
    out: Annotated[
        Path,
        typer.Option(
            metavar="ask.csv", help=f"Where {', '.join(COLUMNS)} of each vote go; - is stdout."
        ),
    ] = STDOUT,
    force: options.Force = False,
    quiet: options.Quiet = False,
    form: options.VotesForm = options.USUAL_FORM,
    _memory: options.Memory = None,
) -> None:
    """Say which votes to buy next: on which items, and from whom.

    VOTES holds all votes so far; column names and coding are those of the fit unless given here.
    """
    check_outputs(tables=(out,), inputs=(model, *votes, cost), force=force)
    fitted = load(model)
    options.warn_if_unreliable(fitted)
    found = form.read_as_fitted(votes, fitted)
    prices = None if cost is None else read_costs(cost, fitted)
    asked = None if voters is None else find_voters(voters.split(","), fitted, "--voters")
    with busy("weighing votes"):
        rows: Any = suggest_votes(
            fitted,
            found,
            n,
            prices,
            asked,
            criterion=criterion,  # type: ignore[arg-type]
            gold_cost=gold_cost,
            gold_accuracy=gold_accuracy,
        )
    with busy("writing"), output_files(force) as files:
        files.write_csv(out, COLUMNS, rows.itertuples(index=False))
    screen = results(quiet=quiet or out == STDOUT)
    _show(screen, rows, criterion)
    tell_written(screen, out)


def find_voters(names: list[str], model: Aggregator, where: str) -> list[Any]:
    """Return the model's own names of some voters, which a text may spell."""
    known = {str(name): name for name in model.voter_names_.tolist()}
    wanted = [name.strip() for name in names]
    for name in wanted:
        if name not in known:
            raise ModelError(f"{where} names {name[:60]!r}, a voter unknown to the model")
    return [known[name] for name in wanted]


def read_costs(path: Path, model: Aggregator) -> dict[Any, float]:
    """Return the price of a vote by voter, from a file with columns voter and cost."""
    check_readable(path)
    with reading(path):
        table = TextTable(path, named=_COSTS)
        refuse_beyond(2 * table.size, path.name)
        if not set(_COSTS) <= set(table.header):
            raise ModelError(f"{path.name} must have columns voter and cost")
        batches = [[c.to_pylist() for c in batch.columns] for batch in table.batches(_COSTS)]
    rows = [row for columns in batches for row in zip(*columns, strict=True)]
    prices = []
    for number, (_, cost) in enumerate(rows, 2):
        try:
            prices.append(float(cost))
        except ValueError:
            raise ModelError(f"the cost in row {number} of {path.name} is not a number") from None
    voters = find_voters([voter for voter, _ in rows], model, path.name)
    return dict(zip(voters, prices, strict=True))


def _show(screen: Console, rows: Any, criterion: str) -> None:
    """Print how many votes of whom, what they are expected to gain, and whether to go on."""
    told = rows.attrs
    if not len(rows):
        screen.print(told["note"])
        return
    units = {"errors": "wrong labels", "log_loss": "nats of log loss"}
    what = units.get(criterion, "of the variance of the classes' numbers of items")
    spent, gain = rows["cost"].sum(), rows["gain"].sum()
    items = count_noun(rows["item"].nunique(), "item")
    screen.print(f"{count_noun(len(rows), 'vote')} on {items}, at a cost of {spent:g}")
    now = f" of about {told['expected_errors']:.1f}" if criterion == "errors" else ""
    screen.print(f"expected to remove {gain:.2f}{now} {what}; the next batch {told['stop']:.2f}")
    screen.print(_tabulate(rows))
    if told["note"]:
        screen.print(told["note"])


def _tabulate(rows: Any) -> Table:
    """Return whom to ask, how often, and what it is worth."""
    table = bare_table(1)
    table.add_column("voter", max_width=24, overflow="fold")
    for name in ("votes", "gain", "cost"):
        table.add_column(name, justify="right", no_wrap=True)
    sums = rows.groupby("voter", sort=False)[["gain", "cost"]].sum()
    sums["votes"] = rows["voter"].value_counts()
    for name, row in sums.sort_values("votes", ascending=False, kind="stable")[:LONGEST].iterrows():
        table.add_row(printable(name), f"{row.votes:g}", f"{row.gain:.2f}", f"{row.cost:g}")
    if len(sums) > LONGEST:
        table.caption = f"and {len(sums) - LONGEST} more"
    return table
