"""The study's tables for a terminal of 80 columns: ours, its standard error, the paper's."""

from collections.abc import Iterator

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from unelisa.study.cells import CELLS, LEVELS, find_cell
from unelisa.study.tables import LIMITS, CellTable, Figure, StudyTable, find_figure

# A column's name in the study -> at the head of a column.
HEADS = {
    "hit_rate": "hit",
    "precision": "prec",
    "unelisa-bayes": "Bayes",
    "unelisa-amv": "AMV",
    "spectral-meta-learner": "SML",
    "latent-spectral-meta-learner": "SML-L",
    "dawid-skene": "DS",
    "majority-vote": "MV",
    "latent-ising": "Latent",
    "oracle": "best",
}
_MARKS = {"within": ("=", "green"), "above": ("+", "blue"), "below": ("-", "red"), None: (" ", "")}


def study_tables(table: StudyTable, up_to_sign: bool = False) -> Iterator[Group]:
    """Yield one table with its title per level of signal to noise, as the paper has them."""
    reading = "up to a global sign" if up_to_sign else "majority sign"
    how = f"{table['sampler']} sampler, {table['graph']} graph; {reading}"
    for level in LEVELS:
        cells = [cell for cell in table["cells"] if find_cell(cell["cell"]).snr == level]
        if cells:
            title = Text(f"Table {cells[0]['table']}, {level} SNR; {how}", "bold")
            yield Group(title, _level_table(cells, up_to_sign))


def _level_table(cells: list[CellTable], up_to_sign: bool) -> Table:
    columns = [name for name in HEADS if _find(cells[0], name, up_to_sign)]
    shown = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=0)
    shown.add_column("p/d0", no_wrap=True)
    shown.add_column("", no_wrap=True)
    for name in (*(HEADS[column] for column in columns), "truth"):
        shown.add_column(name, justify="right", no_wrap=True)
    for cell in cells:
        _add_cell(shown, cell, columns, up_to_sign)
    return shown


def _add_cell(shown: Table, cell: CellTable, columns: list[str], up_to_sign: bool) -> None:
    """Add a cell's three lines; the last column tells whether the chain mixed."""
    figures = [_find(cell, name, up_to_sign) for name in columns]
    name = f"{find_cell(cell['cell']).n_voters}/{cell['n_experts']}"
    shown.add_row(name, "ours", *(_marked(x) for x in figures), f"|{short(cell['mean_truth'], 2)}|")
    errors = (_plain(x, "standard_error") for x in figures)
    shown.add_row("", "s.e.", *errors, f"{cell['flips']:.0f} fl")
    paper = (_plain(figure, "published") for figure in figures)
    shown.add_row(f"T={cell['trials']}", "paper", *paper, end_section=True)


def _find(cell: CellTable, column: str, up_to_sign: bool) -> Figure | None:
    if up_to_sign and column in cell["up_to_sign"]:
        return cell["up_to_sign"][column]
    return find_figure(cell, column)


def _marked(figure: Figure | None) -> Text:
    if figure is None:
        return Text()
    mark, colour = _MARKS[figure["mark"]]
    return Text.assemble(short(figure["mean"]), (mark, colour))


def _plain(figure: Figure | None, key: str) -> Text:
    value = None if figure is None else figure[key]  # type: ignore[literal-required]
    return Text("" if value is None else f"{short(value)} ", "dim")


def short(value: float, digits: int = 3) -> str:
    """Return a share without its leading zero, 1 with a digit less, so that widths agree.

    Examples
    --------
    >>> short(.9864), short(1)
    ('.986', '1.00')
    """
    text = f"{value:.{digits}f}"
    return text.removeprefix("0") if text[0] == "0" else text[:-1]


def show_errors(table: StudyTable) -> Text:
    """Return the mean absolute errors against the published cells, and whether they are small.

    The bounds hold for the faithful reading and all cells together.
    """
    cells = len(table["cells"])
    faithful = (table["sampler"], table["graph"], cells) == ("paper", "half", len(CELLS))
    told = []
    for column, error in table["errors"].items():
        limit = LIMITS.get(column) if faithful else None
        bound = "" if limit is None else f" ({'<=' if error <= limit else '>'} {short(limit, 2)})"
        told.append(f"{HEADS[column]} {short(error)}{bound}")
    legend = (
        "\n= within two standard errors of the paper, + above it, - below it. best: the Bayes rule "
        "with the true model. truth: |its mean|, near 1 where the chain was stuck; flips of it."
    )
    head = f"Mean absolute error against the {cells} published cells: "
    return Text.assemble((head, "bold"), ", ".join(told), (legend, "dim"))


def show_seconds(table: StudyTable) -> str:
    """Return the processor's milliseconds per trial, in all and by part."""
    parts = sorted(table["seconds"].items(), key=lambda part: -part[1])
    told = ", ".join(f"{name} {1000 * seconds:.1f}" for name, seconds in parts)
    return f"Per trial {1000 * sum(table['seconds'].values()):.0f} ms of processor time: {told}"
