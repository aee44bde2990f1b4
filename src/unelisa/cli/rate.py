"""`unelisa rate`: how common each class is among the items, from a saved model."""

from pathlib import Path
from typing import Any

from rich.table import Table

from unelisa.analysis.rate import estimate_rate
from unelisa.cli import options
from unelisa.cli.forms import takes_form
from unelisa.cli.screen import figure, make_table, printable
from unelisa.errors import VotesError
from unelisa.outputs import make_plain
from unelisa.sources.labels import LabelTable, SampleTable
from unelisa.storage import load
from unelisa.votes import Votes

COLUMNS = ("class", "share", "low", "high")


@takes_form
def rate(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    model: options.ModelFile,
    votes: options.VotesFiles,
    gold: Path | None = None,
    level: float = 0.95,
    out: Path | None = None,
    form: options.VotesForm = options.USUAL_FORM,
    run: options.RunForm = options.USUAL_RUN,
) -> None:
    """Estimate how common each class is among the items, with an interval.

    With gold labels the interval holds whatever the model's quality. Column names and coding are
    those of the fit unless given here.

    --gold GOLD: Table with columns item and label: true labels of a random sample of the items,
        which the model was not fitted to.
    --level 0.95: Level of the intervals.
    --out rates.csv: Write class, share, low and high; - is stdout.
    """
    run.check(tables=(out,), inputs=(model, *votes, gold))
    fitted = load(model)
    table = form.read_as_fitted(votes, fitted)
    known = None if gold is None else read_sample(gold, table)
    found = estimate_rate(fitted, table, known, level).reset_index()
    rows = [
        {key: make_plain(value) for key, value in row.items()} for row in found.to_dict("records")
    ]
    n_gold = 0 if known is None else len(known) - known.count(None)
    with run.files() as files:
        files.write_csv(out, COLUMNS, ([row[key] for key in COLUMNS] for row in rows))
        facts = {"items": len(table), "gold": n_gold, "level": level, "rates": rows}
        files.write_json(run.json, facts)
    screen = run.screen(out)
    labeled = f", {n_gold:,} with a gold label" if known else ""
    screen.print(f"[bold]{len(table):,} items{labeled}[/bold]\n")
    screen.print(rate_table(rows, level))
    screen.print(f"\n{explain_rates(known is not None, rows)}", soft_wrap=True)


def read_sample(path: Path, votes: Votes, table_class: type[LabelTable] = SampleTable) -> list[Any]:
    """Return the gold labels in a file, one per item, None where unknown."""
    known = options.read_known(path, votes, table_class)
    strangers = len(known.unvoted_items)
    if strangers:
        raise VotesError(
            f"{path.name} labels {strangers} items that are not among the votes: gold labels must "
            "be a random sample of the items with votes"
        )
    return list(known.as_gold())


def rate_table(rows: list[dict[str, Any]], level: float) -> Table:
    """Return the share of each class with its interval, in percent."""
    cells = [
        (
            printable(row["class"]),
            f"{row['share']:.1%}",
            "unknown"
            if row["low"] is None
            else f"{figure(row['low'], '.1%')} to {figure(row['high'], '.1%')}",
        )
        for row in rows
    ]
    return make_table({"label": 40, "share": ">", f"{100 * level:g}% interval": "<"}, cells, 2)


def explain_rates(gold: bool, rows: list[dict[str, Any]]) -> str:
    """Return what the intervals mean."""
    if gold:
        return (
            "The intervals hold whatever the model's quality, if the gold labels are a random "
            "sample of these items."
        )
    if rows[0]["low"] is None:
        return "Label a random sample of the items by hand and pass it with --gold."
    return (
        "The intervals rest on the model; with --gold, a random sample of labels, they hold "
        "whatever its quality."
    )
