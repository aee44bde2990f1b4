"""`unelisa suggest`: which votes to buy next."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from unelisa.cli import options
from unelisa.cli.files import STDOUT
from unelisa.cli.screen import busy, make_table, printable, tell_written
from unelisa.errors import ModelError, warn_if_unreliable
from unelisa.outputs import make_plain
from unelisa.report.wording import count_noun

if TYPE_CHECKING:
    from unelisa.aggregators import Aggregator

LONGEST = 20  # voters that are listed
_COSTS = ("voter", "cost")
_UNITS = {"errors": "wrong labels", "log_loss": "nats of log loss"}


@options.takes_form
def suggest(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    model: Path,
    votes: list[Path],
    n: int = 50,
    cost: Path | None = None,
    voters: str | None = None,
    criterion: str = "errors",
    gold_cost: float | None = None,
    gold_accuracy: float = 1.0,
    out: Path = STDOUT,
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
    --out ask.csv: Where item, voter, gain, cost, chance_now of each vote go; - is stdout.
    """
    from unelisa.analysis.suggestions import COLUMNS, suggest_votes
    from unelisa.storage import load

    run.check(tables=(out,), inputs=(model, *votes, cost))
    fitted = load(model)
    warn_if_unreliable(fitted)
    found = form.read_as_fitted(votes, fitted)
    prices = None if cost is None else read_costs(cost, fitted)
    names = None if voters is None else options.split_names(voters)
    asked = None if names is None else find_voters(names, fitted, "--voters")
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
    listed = rows.to_dict("records")
    with busy("writing"), run.files() as files:
        files.write_csv(out, COLUMNS, rows.itertuples(index=False))
        plain = [{name: make_plain(x) for name, x in row.items()} for row in (rows.attrs, *listed)]
        files.write_json(run.json, {**plain[0], "votes": plain[1:]})
    screen = run.screen(out)
    _show(screen, rows, criterion)
    tell_written(screen, out, run.json)


def find_voters(names: Sequence[str], model: "Aggregator", where: str) -> list[Any]:
    """Return the model's own names of some voters."""
    known = {str(name): name for name in model.voter_names_.tolist()}
    for name in names:
        if name not in known:
            raise ModelError(f"{where} names {name[:60]!r}, a voter unknown to the model")
    return [known[name] for name in names]


def read_costs(path: Path, model: "Aggregator") -> dict[Any, float]:
    """Return the price of a vote by voter, from a file with columns voter and cost."""
    from unelisa.sources.files import TextTable, check_readable, reading
    from unelisa.sources.labels import list_rows

    check_readable(path)
    with reading(path):
        table = TextTable(path, named=_COSTS)
        if not set(_COSTS) <= set(table.header):
            raise ModelError(f"{path.name} must have columns voter and cost")
        rows = list(list_rows(table, _COSTS))
    prices = []
    for number, (_, cost) in enumerate(rows, 2):
        try:
            prices.append(float(cost))
        except ValueError:
            raise ModelError(f"the cost in row {number} of {path.name} is not a number") from None
    voters = find_voters([voter for voter, _ in rows], model, path.name)
    return dict(zip(voters, prices, strict=True))


def _show(screen: Console, rows: Any, criterion: str) -> None:
    facts = rows.attrs
    if len(rows):
        unit = _UNITS.get(criterion, "of the variance of the classes' numbers of items")
        spent, gain = rows["cost"].sum(), rows["gain"].sum()
        items = count_noun(rows["item"].nunique(), "item")
        screen.print(f"{count_noun(len(rows), 'vote')} on {items}, at a cost of {spent:g}")
        now = f" of about {facts['expected_errors']:.1f}" if criterion == "errors" else ""
        after = f"the next batch {facts['stop']:.2f}"
        screen.print(f"expected to remove {gain:.2f}{now} {unit}; {after}")
        sums = rows.groupby("voter", sort=False)[["gain", "cost"]].sum()
        sums["votes"] = rows["voter"].value_counts()
        cells = [
            (printable(name), f"{row.votes:g}", f"{row.gain:.2f}", f"{row.cost:g}")
            for name, row in sums.sort_values("votes", ascending=False, kind="stable").iterrows()
        ]
        more = f"and {len(cells) - LONGEST} more" if len(cells) > LONGEST else None
        columns = {"voter": 24, "votes": ">", "gain": ">", "cost": ">"}
        screen.print(make_table(columns, cells[:LONGEST], caption=more))
    if facts["note"]:
        screen.print(facts["note"])
