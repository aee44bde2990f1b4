"""Results as tables: the voters of a model, the methods of a comparison."""

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from unelisa.cli.screen import printable
from unelisa.comparison import MethodScore
from unelisa.report.findings import Findings

LONGEST_TABLE = 20
_COLOURS = {"expert": "blue", "counted": "blue", "contrarian": "red"}


def voter_table(findings: Findings, longest: int = LONGEST_TABLE) -> Table:
    """Return the heaviest voters with verdict and reason; the rest as a line below."""
    voters = findings["voters"]
    shown, rest = voters[:longest], voters[longest:]
    table = _bare_table(1, caption=_sum_up(rest), caption_justify="left")
    table.add_column("voter", max_width=24, overflow="fold")
    table.add_column("verdict", no_wrap=True)
    table.add_column("weight", justify="right", no_wrap=True)
    shares = [name for name in ("stability", "coverage") if name in voters[0]]
    for name in shares:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("reason", overflow="fold")
    for voter in shown:
        verdict = Text(voter["verdict"], _COLOURS.get(voter["verdict"], "dim"))
        weight = _weight(voter["weight"])
        cells = [f"{voter[name]:.0%}" for name in shares]
        table.add_row(printable(voter["voter"]), verdict, weight, *cells, Text(voter["reason"]))
    return table


def _sum_up(rest: Sequence[dict[str, Any]]) -> str | None:
    """Return how many voters of each verdict the table leaves out."""
    if not rest:
        return None
    counts: dict[str, int] = {}
    for voter in rest:
        counts[voter["verdict"]] = counts.get(voter["verdict"], 0) + 1
    listed = ", ".join(f"{number} {verdict}" for verdict, number in counts.items())
    return f"and {len(rest)} more: {listed}"


def comparison_table(rows: Sequence[MethodScore], title: str | None = None) -> Table:
    """Return the methods side by side, the best figure of each column in bold."""
    table = _bare_table(0, title=title, title_justify="left", title_style="bold")
    table.add_column("method", no_wrap=True)
    for name in ("accuracy", "balanced", "AUC", "log loss", "experts", "time"):
        table.add_column(name, justify="right", no_wrap=True)
    best = {
        name: _best(rows, name, highest=name != "log_loss")
        for name in ("accuracy", "balanced_accuracy", "auc", "log_loss")
    }
    for row in rows:
        cells = [_cell(getattr(row, name), top) for name, top in best.items()]
        experts = "–" if row.n_experts is None else str(row.n_experts)  # noqa: RUF001
        table.add_row(row.method, *cells, experts, _seconds(row.seconds))
    return table


def _bare_table(space: int, **looks: Any) -> Table:
    """Return an empty table with little space between columns, as 80 columns must do."""
    padding = (0, space, 0, 0)
    return Table(box=box.SIMPLE_HEAD, show_edge=False, padding=padding, **looks)


def figure(value: float | None, form: str = ".3f") -> str:
    """Return a figure as printed; a dash where it is not defined."""
    return "–" if value is None else f"{value:{form}}"  # noqa: RUF001


def _weight(value: float | None) -> str:
    """Return a weight with its sign; what rounds to zero has none."""
    shown = figure(value, "+.2f")
    return "0.00" if shown in ("+0.00", "-0.00") else shown


def _seconds(value: float | None) -> str:
    return figure(value) if value is None else f"{value:.2f} s"


def _cell(value: float | None, best: float | None) -> Text:
    return Text(figure(value), "bold" if value is not None and value == best else "")


def _best(rows: Sequence[MethodScore], name: str, highest: bool) -> float | None:
    values = [value for row in rows if (value := getattr(row, name)) is not None]
    if len(rows) < 2 or not values:
        return None
    return float(max(values) if highest else min(values))
