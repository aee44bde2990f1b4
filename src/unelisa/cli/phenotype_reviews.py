"""Reviews of charts by several reviewers, such as LLMs that read Keeper's summaries, as charts.

A table has a row per patient and reviewer: person_id, reviewer, isCase. The reviewers are voters;
their labels stand beside those of charts, with the share of wrong ones that their model expects.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from unelisa.aggregators import LatentIsing
from unelisa.cli.options import read_number
from unelisa.errors import ModelError, RecordsError, VotesError
from unelisa.sources.files import TextTable, check_readable, reading
from unelisa.sources.labels import list_rows

if TYPE_CHECKING:
    import pandas as pd

WORDS = {"yes": "yes", "true": "yes", "1": "yes", "no": "no", "false": "no", "0": "no"}
COLUMNS = ("person_id", "reviewer", "isCase")


def read_reviews(path: Path, charts: Any = None) -> "pd.DataFrame":
    """Return label, chance of being drawn and of being wrong, by person_id as text.

    `charts` are labels that are known: they correct the reviewers, and stay as they are.
    """
    import pandas as pd

    rows = _list_rows(path)
    drawn = {row[0]: read_number(row[3], float) for row in rows if len(row) > len(COLUMNS)}
    cells = pd.Series({row[:2]: row[2] for row in rows}, dtype=object)
    known = charts["label"] if hasattr(charts, "columns") else pd.Series(charts, dtype=object)
    votes = cells.unstack()  # persons x reviewers
    gold = {person: "yes" if label == 1 else "no" for person, label in known.items()}
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
    table["drawn"] = [drawn.get(person, 1.0) for person in table.index]
    if len(known):
        own = pd.DataFrame({"label": known, "error": 0.0})
        own["drawn"] = charts["drawn"] if hasattr(charts, "columns") else 1.0
        table = pd.concat([own, table[~table.index.isin(known.index)]])
    return table


def _list_rows(path: Path) -> list[tuple[Any, ...]]:
    check_readable(path, RecordsError)
    try:
        with reading(path):
            table = TextTable(path)
            if not set(COLUMNS) <= set(table.header):
                raise RecordsError(f"{path.name} needs the columns {', '.join(COLUMNS)}")
            columns = [name for name in (*COLUMNS, "drawn") if name in table.header]
            rows = list(list_rows(table, columns))
    except VotesError as error:
        raise RecordsError(f"{error}; the reviews must be a CSV table") from None
    kept = [
        (row[0], row[1], WORDS[row[2].strip().lower()], *row[3:])
        for row in rows
        if row[2].strip().lower() in WORDS  # others say that they do not know
    ]
    if len({row[:2] for row in kept}) < len(kept):
        raise RecordsError(f"{path.name} lists a patient and reviewer more than once")
    if not kept:
        raise RecordsError(f"{path.name} has no isCase that is yes or no")
    return kept
