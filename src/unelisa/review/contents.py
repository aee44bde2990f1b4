"""What an item is: its text, its picture or a few facts, from a table beside the votes.

Cells are untrusted: text is escaped, and a picture must lie in the table's folder.
"""

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import VotesError
from unelisa.memory import refuse_beyond
from unelisa.review.pictures import ENDINGS, Picture, read_picture
from unelisa.sources.arrow import list_texts, read_columns
from unelisa.sources.files import TextTable, check_readable, reading
from unelisa.votes.frames import ITEM_NAMES

LONGEST_TEXT, LONGEST_FACT = 20_000, 500  # characters that are shown at first
TEXT, PICTURE = "text", "image"
_CELL = 8  # bytes of a cell as Arrow holds it, besides texts
_ITEM_NAMES = (*ITEM_NAMES, "person_id")


class Contents:
    """The texts, pictures and facts of items; without a table there are only names."""

    def __init__(self, items: NDArray[Any], path: Path | None = None) -> None:
        self._folder = None if path is None else path.parent.resolve()
        self._columns: dict[str, Any] = {}
        self._rows = np.full(len(items), -1)
        if path is not None:
            self._columns, names = _read_columns(path)
            self._rows = _find_rows(items, names, path.name)

    def show(self, item: int) -> dict[str, Any]:
        """Return what the page shows of an item: its text is cut where it is long."""
        text, path = self.read_text(item), self._cell(PICTURE, item)
        names = [name for name in self._columns if name not in (TEXT, PICTURE)]
        facts = ([name, self._cell(name, item)[:LONGEST_FACT]] for name in names)
        return {
            "text": text[:LONGEST_TEXT],
            "length": len(text),
            "facts": [fact for fact in facts if fact[1]],
            "path": path[:LONGEST_FACT],
            "picture": self.read_picture(item) is not None,
        }

    def read_text(self, item: int) -> str:
        """Return the whole text of an item."""
        return self._cell(TEXT, item)

    def read_picture(self, item: int) -> Picture | None:
        """Return an item's picture, if it is one and lies in the table's folder."""
        name = self._cell(PICTURE, item)
        if not name or self._folder is None or Path(name).suffix.lower() not in ENDINGS:
            return None
        with suppress(OSError, ValueError, RuntimeError):  # a name that no file can have, or a loop
            path = (self._folder / name).resolve()
            if path.is_relative_to(self._folder) and path.is_file():
                return read_picture(path)
        return None

    def _cell(self, name: str, item: int) -> str:
        row, value = int(self._rows[item]), None
        if row >= 0 and name in self._columns:
            with suppress(ValueError, OverflowError):  # a day beyond those of Python
                value = self._columns[name][row].as_py()
        return "" if value is None else str(value)


def _read_columns(path: Path) -> tuple[dict[str, Any], Any]:
    import pyarrow as pa  # noqa: PLC0415 - only files need it
    import pyarrow.parquet as pq  # noqa: PLC0415

    check_readable(path)
    with reading(path):
        if path.suffix.lower() == ".parquet":
            read_columns([path])  # refuses two of the same name
            # a text that many rows repeat takes its size once in the file, and in a dictionary
            with pq.ParquetFile(path, read_dictionary=list_texts(path)) as file:
                refuse_beyond(_measure(file.metadata), path.name)
                table = file.read()
            table.validate(full=True)
        else:
            text = TextTable(path)
            refuse_beyond(2 * text.size, path.name)
            table = pa.Table.from_batches(text.batches(text.header)).rename_columns(text.header)
    found = next((x for x in table.column_names if x.lower() in _ITEM_NAMES), None)
    if found is None:
        raise VotesError(f"{path.name} needs a column named item")
    if pa.types.is_nested(table.schema.field(found).type):
        raise VotesError(f"the items of {path.name} are lists or records; name them by texts")
    lowered = [name.lower() for name in table.column_names]
    if max(lowered.count(name) for name in (TEXT, PICTURE)) > 1:
        raise VotesError(f"{path.name} has two columns named {TEXT} or {PICTURE}; keep one")
    columns = {
        name.lower() if name.lower() in (TEXT, PICTURE) else name: table.column(name)
        for name in table.column_names
        if name != found
    }
    return columns, table.column(found)


def _measure(about: Any) -> int:
    groups = [about.row_group(k) for k in range(about.num_row_groups)]
    values = sum(part.column(c).num_values for part in groups for c in range(part.num_columns))
    return int(_CELL * values + sum(part.total_byte_size for part in groups))


def _find_rows(items: NDArray[Any], names: Any, file: str) -> NDArray[np.intp]:
    import pyarrow as pa  # noqa: PLC0415 - only files need it
    import pyarrow.compute as pc  # noqa: PLC0415

    texts = pa.array([str(name) for name in items.tolist()], pa.string())
    given = pc.utf8_trim_whitespace(names.combine_chunks().cast(pa.string()))
    if len(given.unique()) < len(given):
        raise VotesError(f"{file} has several rows for one item; keep one row per item")
    found = pc.index_in(texts, value_set=given).fill_null(-1)
    rows = np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.intp)
    if np.all(rows < 0):
        raise VotesError(f"{file} has none of the items of the votes; compare the two files")
    return rows
