"""`unelisa suggest`: which votes to buy next."""

from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from rich.table import Table

from unelisa.aggregators import Aggregator
from unelisa.analysis.suggestions import COLUMNS, suggest_votes
from unelisa.cli import options
from unelisa.cli.files import STDOUT
from unelisa.cli.forms import option, takes_form
from unelisa.cli.screen import busy, make_table, printable, tell_written
from unelisa.errors import ModelError
from unelisa.memory import refuse_beyond
from unelisa.outputs import make_plain
from unelisa.report.wording import count_noun
from unelisa.sources.files import TextTable, check_readable, reading
from unelisa.storage import load

LONGEST = 20  # voters that are listed
_COSTS = ("voter", "cost")


@takes_form
def suggest(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    model: options.ModelFile,
    votes: options.VotesFiles,
    n: int = 50,
    cost: Path | None = None,
    voters: str | None = None,
    criterion: str = "errors",
    gold_cost: float | None = None,
    gold_accuracy: float = 1.0,
    out: Annotated[
        Path, option("ask.csv", f"Where {', '.join(COLUMNS)} of each vote go; - is stdout.")
    ] = STDOUT,
    form: options.VotesForm = options.USUAL_FORM,
    run: options.RunForm = options.USUAL_RUN,
) -> None:
    """Say which votes to buy next: on which items, and from whom.

    VOTES holds all votes so far; column names and coding are those of the fit unless given here.

    --n N: How many votes to buy.
    --cost costs.csv: Table with columns voter and cost; 1 for voters who are not listed.
    --voters A,B: Only these voters can be asked; all by default.
    --criterion errors|log_loss|rate: What a vote should lower: the number of wrong labels, the log
        loss, or the variance of the numbers of items of each class.
    --gold-cost PRICE: Price of a human's label, suggested where it is the better buy.
    --gold-accuracy SHARE: Probability that a human's label is right.
    """
    run.check(tables=(out,), inputs=(model, *votes, cost))
    fitted = load(model)
    options.warn_if_unreliable(fitted)
    found = form.read_as_fitted(votes, fitted)
    prices = None if cost is None else read_costs(cost, fitted)
    asked = None if voters is None else find_voters(voters, fitted, "--voters")
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
    with busy("writing"), run.files() as files:
        files.write_csv(out, COLUMNS, rows.itertuples(index=False))
        listed = [[make_plain(x) for x in row] for row in rows.itertuples(index=False)]
        suggested = [dict(zip(COLUMNS, row, strict=True)) for row in listed]
        facts = {key: make_plain(value) for key, value in rows.attrs.items()}
        files.write_json(run.json, {**facts, "votes": suggested})
    screen = run.screen(out)
    _show(screen, rows, criterion)
    tell_written(screen, out, run.json)


def find_voters(names: Any, model: Aggregator, where: str) -> list[Any]:
    """Return the model's own names of some voters, which a text may spell."""
    known = {str(name): name for name in model.voter_names_.tolist()}
    wanted = options.split_names(names) if isinstance(names, str) else [x.strip() for x in names]
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
    facts = rows.attrs
    if not len(rows):
        screen.print(facts["note"])
        return
    units = {"errors": "wrong labels", "log_loss": "nats of log loss"}
    what = units.get(criterion, "of the variance of the classes' numbers of items")
    spent, gain = rows["cost"].sum(), rows["gain"].sum()
    items = count_noun(rows["item"].nunique(), "item")
    screen.print(f"{count_noun(len(rows), 'vote')} on {items}, at a cost of {spent:g}")
    now = f" of about {facts['expected_errors']:.1f}" if criterion == "errors" else ""
    screen.print(f"expected to remove {gain:.2f}{now} {what}; the next batch {facts['stop']:.2f}")
    screen.print(_tabulate(rows))
    if facts["note"]:
        screen.print(facts["note"])


def _tabulate(rows: Any) -> Table:
    """Return whom to ask, how often, and what it is worth."""
    sums = rows.groupby("voter", sort=False)[["gain", "cost"]].sum()
    sums["votes"] = rows["voter"].value_counts()
    cells = [
        (printable(name), f"{row.votes:g}", f"{row.gain:.2f}", f"{row.cost:g}")
        for name, row in sums.sort_values("votes", ascending=False, kind="stable").iterrows()
    ]
    more = f"and {len(cells) - LONGEST} more" if len(cells) > LONGEST else None
    columns = {"voter": 24, "votes": ">", "gain": ">", "cost": ">"}
    return make_table(columns, cells[:LONGEST], caption=more)
