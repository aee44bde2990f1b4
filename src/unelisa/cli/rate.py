"""`unelisa rate`: how common each class is among the items, from a saved model."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from unelisa.cli import options
from unelisa.cli.screen import busy, make_table, printable
from unelisa.errors import VotesError
from unelisa.outputs import make_plain

if TYPE_CHECKING:
    from unelisa.sources.labels import LabelTable
    from unelisa.votes import Votes

COLUMNS = ("class", "share", "low", "high")
MEANINGS = {
    "gold": "The gold labels correct the model's errors, if they are a random sample of these "
    "items.",
    "model": "The intervals rest on the model; with --gold, labels of a random sample, these "
    "correct its errors.",
    "unknown": "Label a random sample of the items by hand and pass it with --gold.",
}


@options.takes_form
def rate(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    model: Path,
    votes: list[Path],
    gold: Path | None = None,
    level: float = 0.95,
    out: Path | None = None,
    form: options.VotesForm = options.USUAL_FORM,
    run: options.RunForm = options.USUAL_RUN,
) -> None:
    """Estimate how common each class is among the items, with an interval.

    Gold labels correct the errors of the model; without them the interval rests on it alone.
    Column names and coding are those of the fit unless given here.

    --gold GOLD: Table with columns item and label: true labels of a random sample of the items,
        which the model was not fitted to.
    --level 0.95: Level of the intervals.
    --out rates.csv: Write class, share, low and high; - is stdout.
    """
    from unelisa.analysis.rate import estimate_rate
    from unelisa.sources.labels import SampleTable
    from unelisa.storage import load

    run.check(tables=(out,), inputs=(model, *votes, gold))
    fitted = load(model)
    table = form.read_as_fitted(votes, fitted)
    known = [] if gold is None else read_sample(gold, table, SampleTable)
    found = estimate_rate(fitted, table, None if gold is None else known, level)
    rows = [[make_plain(x) for x in row] for row in found.itertuples()]
    with run.files() as files:
        files.write_csv(out, COLUMNS, rows)
        facts = {"items": len(table), "gold": len(known) - known.count(None), "level": level}
        rates = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
        files.write_json(run.json, {**facts, "rates": rates})
    screen = run.screen(out)
    labeled = f", {facts['gold']:,} with a gold label" if known else ""
    screen.print(f"[bold]{len(table):,} items{labeled}[/bold]\n")
    cells = [
        (printable(name), f"{share:.1%}", "unknown" if low is None else f"{low:.1%} to {high:.1%}")
        for name, share, low, high in rows
    ]
    columns = {"label": 40, "share": ">", f"{100 * level:g}% interval": "<"}
    screen.print(make_table(columns, cells, 2))
    kind = "gold" if known else "unknown" if rows[0][2] is None else "model"
    screen.print(f"\n{MEANINGS[kind]}", soft_wrap=True)


def read_sample(path: Path, votes: "Votes", table_class: "type[LabelTable]") -> list[Any]:
    """Return the gold labels in a file, one per item, None where unknown."""
    from unelisa.sources.labels import read_labels

    with busy("reading the labels"):
        known = read_labels(path, votes, table_class)
    strangers = len(known.unvoted_items)
    if strangers:
        raise VotesError(
            f"{path.name} labels {strangers} items that are not among the votes: gold labels must "
            "be a random sample of the items with votes"
        )
    return list(known.as_gold())
