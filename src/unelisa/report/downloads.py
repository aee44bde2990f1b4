"""Files that a page carries inside itself, for its save buttons.

A file is its bytes, deflated and in base64. The bytes are made here by the same code that writes
the command line's files, so what a button saves is what `unelisa fit --out` writes, and formulas
are defused by the one rule of `spreadsheet`.
"""

import base64
import zlib
from io import StringIO
from typing import Any, NamedTuple

import numpy as np

from unelisa.aggregators import Aggregator
from unelisa.report.spreadsheet import write_labels, write_table
from unelisa.votes import Votes

# base64 letters of labels that a page may carry, so that it can still be mailed
LARGEST = 3_000_000
_FIRST = ("voter", "verdict", "weight", "sensitivity", "specificity", "votes", "coverage")


class Download(NamedTuple):
    """One file within a page: its name, and its content as letters."""

    name: str
    packed: str


def pack_text(name: str, text: str) -> Download:
    """Return a text as a file within a page.

    Examples
    --------
    >>> zlib.decompress(base64.b64decode(pack_text("a.csv", "item,label").packed))
    b'item,label'
    """
    # "replace": half a surrogate pair in a name must not stop a report
    content = zlib.compress(text.encode("utf-8", "replace"), 9)
    return Download(name, base64.b64encode(content).decode("ascii"))


def pack_labels(model: Aggregator, votes: Votes, show_items: bool) -> Download | None:
    """Return the labels for the save button; None where they are too many for a page.

    With `show_items`, or where items have no names of their own but 0, 1, 2, ..., this is the
    labels.csv of the command line, byte for byte. Otherwise the names stay out of the page: row k
    of the file belongs to row k of that labels.csv, and its first column says so.
    """
    named = show_items or not _has_named_items(votes)
    file = StringIO()
    write_labels(file, model, votes, named=named)
    packed = pack_text("labels.csv" if named else "labels-by-row.csv", file.getvalue())
    return packed if len(packed.packed) <= LARGEST else None


def pack_voters(voters: list[dict[str, Any]]) -> Download:
    """Return the voters' table for the save button, names in full."""
    names = [row["voter"] for row in voters]
    others = [key for key in voters[0] if key not in (*_FIRST, "reason", "depends_on", "links")]
    columns = [key for key in (*_FIRST, *others) if key in voters[0]]
    rows = []
    for voter in voters:
        near = "; ".join(names[link["voter"]] for link in voter["depends_on"])
        rows.append([*(voter[key] for key in columns), voter["links"], near, voter["reason"]])
    file = StringIO()
    write_table(file, (*columns, "links", "depends on", "reason"), rows)
    return pack_text("voters.csv", file.getvalue())


def _has_named_items(votes: Votes) -> bool:
    return not np.array_equal(votes.items, np.arange(votes.n_items))
