"""How the study's pages write tables, shares and the names of cells."""

from collections.abc import Iterable, Sequence

from unelisa.study.cells import find_cell
from unelisa.study.tables import CellTable


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    r"""Return a Markdown table; bars in the text are escaped.

    Examples
    --------
    >>> markdown_table(["a"], [["|x|"]])
    ['| a |', '| --- |', '| \\|x\\| |']
    """
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(x.replace("|", "\\|") for x in line) + " |" for line in lines]


def share(value: float, digits: int = 3) -> str:
    """Return a share without its leading zero.

    Examples
    --------
    >>> share(.5), share(1, 2)
    ('.500', '1.00')
    """
    return f"{value:.{digits}f}".removeprefix("0")


def place(cell: CellTable) -> str:
    """Return a cell as its row is called: signal to noise, p and d_0."""
    which = find_cell(cell["cell"])
    return f"{which.snr} {which.n_voters}/{cell['n_experts']}"
