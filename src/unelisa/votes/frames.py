"""Tables in memory: frames of any library that narwhals supports, and arrays; columns, names."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import Hint, VotesError
from unelisa.votes.coding import MAX_CLASSES, CodingChoice, Declared
from unelisa.votes.columns import (
    NO_NAMES,
    Column,
    Label,
    Later,
    Names,
    encode_names,
    fill_mask,
    is_missing,
    no_name,
    pa,
    read_cells,
    spell_name,
)

if TYPE_CHECKING:
    import narwhals.stable.v1 as nw
else:
    nw = Later("narwhals.stable.v1")
# the first of these that is present; "id" last, because exports often number their rows with it
# WorkerId and HITId are MTurk's, ASSIGNMENT:... Toloka's, the participant Prolific's
ITEM_NAMES = (
    "item", "task", "item_id", "task_id", "hit_id", "assignment:task_id", "", "unnamed: 0", "id",
)  # fmt: skip
VOTER_NAMES = (
    "voter", "worker", "annotator", "voter_id", "worker_id", "annotator_id", "performer", "judge",
    "rater", "rater_id", "assignment:worker_id", "participant", "participant_id", "prolific_id",
    "prolific_pid", "user", "user_id",
)  # fmt: skip
VOTE_NAMES = ("vote", "label", "answer", "response")
_MOMENT = re.compile(r"\d{4}-\d\d?-\d\d?\b.*|\d\d?[./]\d\d?[./]\d{2,4}\b.*|\d\d?:\d\d(:\d\d)?.*")
FEWEST = 3  # labels of one's own: two may be the answers of a voter whom nobody follows


class ColumnNames(NamedTuple):
    """Which columns hold what, as declared: None or empty where nothing is declared."""

    item: str | None = None
    voter: str | None = None
    vote: str | None = None
    voters: tuple[str, ...] | None = None  # the only voters to read
    drop: tuple[str, ...] = ()  # columns, or voters of a long table, to leave out

    @classmethod
    def of(cls, given: Sequence[Any]) -> "ColumnNames":
        """Return the names that a model stored, also one of an earlier version."""
        every: list[Any] = [*given, *cls()[len(given) :]]
        item, voter, vote = (None if name is None else spell_column(name) for name in every[:3])
        voters, drop = (
            None if some is None else tuple(map(spell_column, some)) for some in every[3:]
        )
        return cls(item, voter, vote, voters, drop or ())


NO_COLUMNS = ColumnNames()


def spell_column(name: Any) -> str:
    """Return the name of a column as text; pandas numbers columns without names."""
    return name if isinstance(name, str) else spell_name(name)


def as_frame(table: Any) -> "nw.DataFrame[Any] | None":
    """Return a frame of any library that narwhals supports, or None for everything else."""
    try:
        frame = nw.from_native(table, pass_through=True)
    except nw.exceptions.DuplicateError:
        raise VotesError("two columns have the same name; rename one") from None
    if isinstance(frame, nw.LazyFrame):
        return frame.collect()
    if isinstance(frame, nw.DataFrame) and nw.get_level(frame) == "full":
        return _name_columns(frame)
    if not hasattr(table, "__arrow_c_stream__"):
        return None
    try:  # whatever else speaks Arrow, such as record batches; a column is no frame
        arrow: nw.DataFrame[Any] = nw.from_native(pa.table(table), eager_only=True)
    except pa.ArrowInvalid:
        return None
    return arrow


def _name_columns(frame: "nw.DataFrame[Any]") -> "nw.DataFrame[Any]":
    spelled = {name: spell_column(name) for name in frame.columns if not isinstance(name, str)}
    if len({spelled.get(name, name) for name in frame.columns}) < len(frame.columns):
        raise VotesError("two columns have the same name as text; rename one")
    return frame.rename(spelled) if spelled else frame


def read_column(series: "nw.Series[Any]") -> Column:
    """Return a column of votes."""
    cells = _as_arrow(series)
    if cells is None:  # of several types
        return Column.of(series.to_list())
    return read_cells(cells, repr(str(series.name)[:60]))


def read_names(series: "nw.Series[Any]") -> Names:
    """Return a column of names: whole numbers as they are, everything else as text."""
    cells, title = _as_arrow(series), repr(str(series.name)[:60])
    if cells is not None:
        return encode_names(cells, title)
    texts = ["" if is_missing(name) else spell_name(name) for name in series.to_list()]
    missing = next((row for row, text in enumerate(texts, 1) if text in NO_NAMES), 0)
    if missing:
        raise no_name(title, missing)
    return Names.of(np.array(texts, dtype=object))


def _as_arrow(series: "nw.Series[Any]") -> Any:
    try:
        return series.to_arrow()
    except (pa.ArrowException, UnicodeError, TypeError, ValueError, OverflowError):
        return None


def read_row_names(frame: "nw.DataFrame[Any]") -> NDArray[Any]:
    """Return the names of the rows: the index of a pandas frame, otherwise numbers."""
    index = nw.maybe_get_index(frame)
    names = np.arange(len(frame)) if index is None else np.asarray(index)
    kinds = {type(name) for name in names.tolist()} if names.dtype == object else set()
    if names.dtype.kind in "UTf" or kinds & {str, bytes, float} or len(kinds) > 1:
        return np.array([spell_name(name) for name in names.tolist()], dtype=object)
    return names


def is_header(columns: Iterable[Any], named: Iterable[str | None] = ()) -> bool:
    """Return whether some of these are surely names of columns: usual or declared ones."""
    usual = {*map(fold_name, (*ITEM_NAMES, *VOTER_NAMES, *VOTE_NAMES)), *named} - {"", None}
    return any(fold_name(column) in usual or column in usual for column in columns)


def fold_name(column: Any) -> str:
    """Return the name of a column as it is compared with the usual ones: WorkerId, worker_id."""
    return re.sub(r"[\W_]+", "", str(column).lower())


def long_columns(columns: Iterable[str], named: Sequence[Any]) -> tuple[str | None, ...]:
    """Return the item, voter and vote columns, declared or usual; the last two are None if wide."""
    present, named = list(columns), tuple(named[:3])
    given = [name for name in named if name is not None]
    for name in given:
        if name not in present:
            raise no_column(name, present, named)
    if len(set(given)) < len(given):
        raise VotesError("items, voters and votes need a column each; name three different columns")
    picked = _pick_columns(present, named)
    if None not in picked:
        return tuple(picked)
    if named[1:] != (None, None):
        raise VotesError("a long table needs columns of items, voters and votes; name all three")
    return picked[0], None, None


def _pick_columns(present: list[str], named: tuple[Any, ...]) -> list[str | None]:
    by_name = {fold_name(column): column for column in reversed(present) if column not in named}
    if present and fold_name(present[0]) != "":
        by_name.pop("", None)  # only the first column may be an index without a name
    picked = []
    for name, names in zip(named, (ITEM_NAMES, VOTER_NAMES, VOTE_NAMES), strict=True):
        usual = (by_name[fold_name(one)] for one in names if fold_name(one) in by_name)
        picked.append(next(usual, None) if name is None else name)
    if picked[2] is None and None not in picked[:2]:
        picked[2] = _find_answers(present)
    return picked


def _find_answers(columns: Sequence[str]) -> str | None:
    """Return the column of answers in an export of MTurk (Answer.*) or Toloka (OUTPUT:*)."""
    answers = [name for name in columns if str(name).lower().startswith(("answer.", "output:"))]
    if len(answers) > 1:
        raise VotesError(
            f"{len(answers)} columns hold answers: {list_names(answers)}; read one at a time",
            Hint("vote", answers[0]),
        )
    return answers[0] if answers else None


def no_column(name: str, present: Sequence[str], named: Iterable[str | None] = ()) -> VotesError:
    """Return the error about a column that a table does not have."""
    listed = f"are {list_names(list(present))}" if is_header(present, named) else "have other names"
    return VotesError(f"there is no column {name!r}; the columns {listed}", column=name)


def choose_voters(columns: Sequence[str], named: "ColumnNames") -> list[str]:
    """Return the columns of a wide table that are voters: those named, or all but those dropped."""
    for name in (*(named.voters or ()), *named.drop):
        if name not in columns and name != named.item:
            raise no_column(name, [*([named.item] if named.item else []), *columns])
    kept = columns if named.voters is None else named.voters
    return [name for name in kept if name not in named.drop]


def refuse_free_text(title: str) -> NoReturn:
    """Raise `VotesError` for a column with more labels than there can be classes."""
    raise VotesError(
        f"column {title} holds far more labels than votes do ({MAX_CLASSES} at most): a column of "
        "free text was taken for votes; if it names the items, pass its name as item (--item)"
    )


def refuse_repeated_items(items: NDArray[Any]) -> None:
    """Raise `VotesError` where a wide table has two rows for one item, in any spelling."""
    numbers = items.dtype.kind in "iu"
    names = items.tolist() if numbers else [spell_name(name) for name in items.tolist()]
    if len(set(names)) < len(names):
        counted = Counter(names)
        row = next(row for row, name in enumerate(names, 1) if counted[name] > 1)
        raise VotesError(f"the item of data row {row} appears twice; keep one row per item")


def as_array(table: Any) -> NDArray[Any]:
    """Return a table that is not a frame as a two-dimensional array."""
    if isinstance(table, list | tuple) and any(map(np.ma.isMaskedArray, table)):
        table = np.ma.array(table)
    table = fill_mask(table)
    numeric = isinstance(table, np.ndarray) and table.dtype.kind != "O"
    array = np.asarray(table) if numeric else np.asarray(table, dtype=object)
    if array.ndim != 2:
        raise VotesError(
            f"votes must be a table of items x voters, found {array.ndim} dimension(s); "
            "Reshape your data to two"
        )
    if array.dtype.kind == "c":
        raise VotesError("Complex data not supported: votes are labels")
    return array


def array_columns(array: NDArray[Any]) -> list[Column]:
    """Return the columns of an array."""
    if array.dtype.itemsize == 1:
        array = np.asfortranarray(array)  # a cheap copy: columns are read several times
    return [Column.of(array[:, s]) for s in range(array.shape[1])]


def name_voters(n_voters: int) -> NDArray[Any]:
    """Return names for voters who have none: v0, v1, ..."""
    return np.array([f"v{s}" for s in range(n_voters)], dtype=object)


def find_similar_names(names: list[Any]) -> list[Any]:
    """Return the names that differ in case, spaces, accents or invisible characters only."""
    looks = [_strip_invisible(spell_name(name)).casefold() for name in names]
    counts = Counter(looks)
    return [name for name, look in zip(names, looks, strict=True) if counts[look] > 1]


def _strip_invisible(name: str) -> str:
    if not name.isascii():
        shown = (letter for letter in name if unicodedata.category(letter) != "Cf")
        name = unicodedata.normalize("NFKC", "".join(shown))
    return "".join(name.split())


def list_names(names: list[Any]) -> str:
    """Return the first of the names, and how many there are beyond."""
    shown = ", ".join(repr(str(name)[:60]) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


def find_item(
    present: Sequence[str], named: ColumnNames, coding: CodingChoice, read: Callable[[str], Column]
) -> str | None:
    """Return the first column if it names the items: different cells, none of them a label."""
    first = present[0] if present else ""
    voters = [name for name in choose_voters(present, named) if name != first]
    if not voters or first in (*(named.voters or ()), *named.drop):
        return None
    column = read(first)
    names = column.distinct()
    if len(names) < max(FEWEST, len(column)) or any(map(_is_measure, names)):
        return None
    declared = coding.labels if isinstance(coding, Declared) else coding
    labels = set(declared if isinstance(declared, tuple | list) else ())
    labels |= set().union(*(read(name).distinct() for name in voters))
    apart = not names & labels and (all(map(_is_text, names)) or len(names) >= 2 * len(labels))
    return first if apart else None


def refuse_other_columns(
    columns: Sequence[Column],
    labels: Sequence[set[Label]],
    titles: Sequence[str],
    names: Sequence[Any],
) -> None:
    """Raise `VotesError` for columns whose labels no other has: minutes, comments, dates."""
    if len(columns) < 2 or len(set().union(*labels)) <= 2:
        return
    times = Counter(label for own in labels for label in own)
    measures = [s for s, own in enumerate(labels) if any(map(_is_measure, own))]
    odd = {
        s for s in range(len(labels)) if _holds_no_votes(labels[s], times, columns[s], len(labels))
    }
    if 2 * len(measures) < len(columns):
        odd.update(measures)
    if not odd or len(odd) == len(columns):
        return
    shown = [titles[s] for s in sorted(odd)]
    more = f" and {len(shown) - 5} more" if len(shown) > 5 else ""
    hints, more = [], f"{more} can hardly hold votes: no other column has such labels"
    if all(title == repr(str(names[s])[:60]) for s, title in zip(sorted(odd), shown, strict=True)):
        dropped = [str(names[s]) for s in sorted(odd)]
        hints = [Hint("drop", dropped, "to leave out what holds no votes")]
        when = "if it names the items"
        when += ", with voter and vote if each row is one vote" if len(columns) == 3 else ""
        hints += [Hint("item", dropped[0], when)] if 0 in odd else []
    else:
        more += "; if the first line is not a header, add one, such as item,voter,vote"
    many = "column" if len(odd) == 1 else "columns"
    raise VotesError(f"{many} {', '.join(shown[:5])}{more}", *hints)


def _holds_no_votes(own: set[Label], times: Counter[Label], column: Column, n_columns: int) -> bool:
    """Return whether no other column has these labels; two, or one, may still be a voter's."""
    alone = sum(times[label] == 1 for label in own)
    if len(own) > MAX_CLASSES or (alone >= FEWEST and alone == len(own)):
        return True
    if n_columns < 3 or max(times.values()) < 2:
        return False
    if alone >= FEWEST and 2 * alone > len(own):
        return True
    cast = sum(column.count(label) for label in own)
    return 0 < alone == len(own) and 2 * cast >= len(column) >= 2 * FEWEST


def _is_text(label: Label) -> bool:
    return isinstance(label, str) and not label.lstrip("-").isdigit()


def _is_measure(label: Label) -> bool:
    if isinstance(label, str):
        if _MOMENT.fullmatch(label):
            return True
        try:
            label = float(label)
        except ValueError:
            return False
    if isinstance(label, float):
        return math.isfinite(label) and not label.is_integer()
    return hasattr(label, "isoformat")
