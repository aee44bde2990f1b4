"""Reviewed charts, and reviews by several reviewers, such as LLMs that read Keeper's summaries.

The reviewers of a table (person_id, reviewer, isCase) are voters; their model gives their labels a
share of wrong ones.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unelisa.aggregators import LatentIsing
from unelisa.cli.options import read_number
from unelisa.errors import ModelError, RecordsError, VotesError, VotesWarning, warn_user
from unelisa.sources.files import TextTable, check_readable, reading
from unelisa.sources.labels import list_rows, settle_table
from unelisa.sources.tables import MISSING
from unelisa.votes.columns import spell_name

if TYPE_CHECKING:
    import pandas as pd

Charts = Any  # labels by person_id, and the share of similar charts that were drawn if known
WORDS = {"yes": "yes", "true": "yes", "1": "yes", "no": "no", "false": "no", "0": "no"}


def read_charts(path: Path) -> Charts:
    """Return the labels of reviewed charts by person_id, with the shares drawn by --charts."""
    import pandas as pd

    rows = _read_rows(path, ("person_id", "label"), "charts")
    rows = [row for row in rows if not MISSING & set(row[:2])]
    # as text: 64-bit numbers in a column with missing values would be rounded
    charts = {person: read_number(label, int, float) for person, label, *_ in rows}
    if len(charts) < len(rows):
        raise RecordsError(f"{path.name} lists a patient more than once")
    drawn = {row[0]: read_number(row[2], float) for row in rows if len(row) > 2}
    if not drawn:
        return charts
    columns = {"label": charts, "drawn": drawn}
    return pd.DataFrame({name: pd.Series(one, dtype=object) for name, one in columns.items()})


def read_drawn(path: Path) -> dict[str, tuple[int | None, float]]:
    """Return label (None without one) and share drawn of all charts that --charts drew."""
    rows = _read_rows(path, ("person_id", "label"), "charts")
    if any(len(row) < 3 for row in rows) or not rows:
        raise RecordsError(f"{path.name} needs the column drawn, which --charts writes")
    _refuse_unnamed(rows, path)
    found: dict[str, tuple[int | None, float]] = {}
    for number, (person, label, drawn) in enumerate(rows, 2):
        if label not in {"0", "1", "0.0", "1.0"} | MISSING:
            raise RecordsError(f"{path.name} needs labels 0 or 1, 1 for a case")
        if person in found:
            raise RecordsError(f"row {number} of {path.name} lists a patient again")
        share = read_number(drawn, float)
        if not isinstance(share, float) or not 0 < share <= 1:
            raise RecordsError(
                f"the share drawn in row {number} of {path.name} is not a number above 0 and at "
                "most 1; keep the column as --charts wrote it"
            )
        found[person] = None if label in MISSING else int(float(label)), share
    return found


def read_reviews(path: Path, charts: Any = None) -> "pd.DataFrame":
    """Return label and chances of being drawn and of being wrong by person_id.

    `charts` are known labels: they correct the reviewers, and stay as they are.
    """
    import pandas as pd

    read = _read_rows(path, ("person_id", "reviewer", "isCase"), "reviews")
    _refuse_unnamed(read, path)
    said = [(row, WORDS.get(spell_name(row[2]).lower())) for row in read]
    rows = [(row[0], row[1], word, *row[3:]) for row, word in said if word]  # others do not know
    if len({row[:2] for row in rows}) < len(rows):
        raise RecordsError(f"{path.name} lists a patient and reviewer more than once")
    if not rows:
        raise RecordsError(f"{path.name} has no isCase that is yes or no")
    if mute := sorted({row[1] for row in read} - {row[1] for row in rows}):
        names = ", ".join(repr(name[:40]) for name in mute[:3])
        warn_user(f"{names} of {path.name} never said yes or no in isCase", VotesWarning)
    drawn = {row[0]: row[3] for row in rows if len(row) > 3}
    if any(row[3] != drawn[row[0]] for row in rows if len(row) > 3):
        raise RecordsError(f"{path.name} has two shares drawn for a patient; keep one")
    cells = pd.Series({row[:2]: row[2] for row in rows}, dtype=object)
    known = charts["label"] if hasattr(charts, "columns") else pd.Series(charts, dtype=object)
    votes = cells.unstack()  # persons x reviewers
    gold = {person: _read_case(label) for person, label in known.items()}
    inside = {person: label for person, label in gold.items() if person in votes.index}
    panel = LatentIsing(random_state=0).fit(votes, inside or None)
    if not panel.reliable_:
        raise ModelError(
            f"the reviews in {path.name} cannot be relied on ({panel.reliability_reason_}): add "
            "reviewers, or charts with --gold"
        )
    found = panel.labels(votes).set_index("item")
    wrong = 1 - panel.expected_accuracy_interval_[0]
    table = pd.DataFrame({"label": (found["label"] == "yes").astype(int), "error": wrong})
    table["drawn"] = [read_number(drawn.get(person, "1"), float) for person in table.index]
    if len(known):
        cases = {person: int(word == "yes") for person, word in gold.items()}
        own = pd.DataFrame({"label": cases, "error": 0.0})
        own["drawn"] = charts["drawn"] if hasattr(charts, "columns") else 1.0
        table = pd.concat([own, table[~table.index.isin(known.index)]])
    return table


def _refuse_unnamed(rows: Sequence[tuple[str, ...]], path: Path) -> None:
    for number, row in enumerate(rows, 2):
        if row[0] in MISSING:
            raise RecordsError(f"row {number} of {path.name} names no patient")


def _read_case(label: Any) -> str:
    """Return whether the label of a chart says yes or no."""
    word = "no" if label == -1 else WORDS.get(spell_name(label).lower())
    if word is None:
        raise RecordsError("charts beside --reviews need labels 0 or 1, 1 for a case")
    return word


def _read_rows(path: Path, columns: Sequence[str], what: str) -> list[tuple[str, ...]]:
    """Return the cells of some columns, and of `drawn` if there is one."""
    check_readable(path, RecordsError)
    try:
        with reading(path):
            table = TextTable(path)
            if not set(columns) <= set(table.header):
                needed = f"{', '.join(columns[:-1])} and {columns[-1]}"
                raise RecordsError(f"{path.name} needs the columns {needed}")
            if "label" in columns:
                table = settle_table(table, "person_id", "label")
            more = ["drawn"] if "drawn" in table.header else []
            cells = list_rows(table, [*columns, *more])
            return [(spell_name(person), *others) for person, *others in cells]
    except VotesError as error:
        raise RecordsError(f"{error}; the {what} must be a CSV table") from None
