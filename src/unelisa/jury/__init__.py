"""Logs of judges: evaluations of language models and annotation projects as votes.

Every file is a stream of records. The first record tells which program wrote it: each module named
in `SOURCES` says whether a record `fits` it and can `read` records as verdicts.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

from unelisa.errors import Hint, ModelError, VotesError
from unelisa.jury import (
    argilla,
    inspect_logs,
    label_studio,
    langsmith,
    long_records,
    openai_evals,
    opik,
    prodigy,
    promptfoo,
)
from unelisa.jury.archive import MARK, read_archive
from unelisa.jury.documents import GZIP, is_json, read_documents
from unelisa.jury.fields import Record
from unelisa.jury.rows import read_frame, read_rows
from unelisa.jury.verdicts import Jury, Panel, Verdict
from unelisa.memory import limit_memory
from unelisa.sources.files import check_readable, reading
from unelisa.sources.text import read_beginning
from unelisa.votes.coding import CodingChoice
from unelisa.votes.frames import as_frame

__all__ = ["SOURCES", "Jury", "read_jury"]


class Source(Protocol):
    """What the module of a format offers."""

    def fits(self, record: Record) -> bool:
        """Return whether a record is of this format."""

    def read(self, records: Iterable[Record]) -> Iterator[Verdict]:
        """Yield the verdicts of records."""


SOURCES: dict[str, Source] = {
    "argilla": argilla,
    "inspect": inspect_logs,
    "label-studio": label_studio,
    "langsmith": langsmith,
    "long": long_records,
    "openai-evals": openai_evals,
    "opik": opik,
    "prodigy": prodigy,
    "promptfoo": promptfoo,
}
# what is read in a folder: the first kind that is present
_FOLDERS = (("*.arrow",), ("*.parquet",), ("*.eval", "*.json", "*.jsonl", "*.jsonl.gz"))


def read_jury(
    paths: Any,
    *,
    source: str | None = None,
    cut: float | None = None,
    question: str | None = None,
    coding: CodingChoice = "auto",
    memory: str | int | None = None,
) -> Jury:
    r"""Return the verdicts of judges in logs, as votes with gold labels and systems under test.

    The judges are the voters. The result is a `Votes` with three more attributes: `gold` (item ->
    gold label, a `y` for `fit`), `systems` (item -> the system under test) and `source` (the names
    of the formats). With several systems, an item's name begins with its system's.

    Parameters
    ----------
    paths
        A file, a folder of files, a list of them, or a data frame. Inspect AI logs (.eval, .json,
        and what `samples_df` returns), promptfoo results, OpenAI evals, LangSmith feedback, Opik
        scores, exports of Label Studio, Argilla and Prodigy, and records or tables (JSON Lines,
        CSV, Parquet, Arrow) with an item, a judge and a label each.
    source
        The format: "argilla", "inspect", "label-studio", "langsmith", "long", "openai-evals",
        "opik", "prodigy" or "promptfoo". By default the first record decides; if it fits two
        formats, that is an error.
    cut
        The lowest score that passes. Without it only 0 and 1 are accepted as scores.
    question
        Which question to read where annotators (Label Studio, Argilla) answered several.
    coding
        Your own labels, as (negative, positive) or all classes; by default pass and fail, or the
        labels in sort order.
    memory
        The limit in bytes, or as text such as "500MB"; see `read_votes`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "panel.jsonl"
    >>> _ = file.write_text(
    ...     '{"item": "a", "judge": "large", "label": "pass", "gold": "pass"}\n'
    ...     '{"item": "a", "judge": "small", "label": "fail"}\n'
    ... )
    >>> jury = read_jury(file)
    >>> jury, jury.voters.tolist(), jury.gold
    (Votes(1 items x 2 voters, 0.0% abstained), ['large', 'small'], {'a': 'pass'})
    """
    if source is not None and source not in SOURCES:
        raise ModelError(f"there is no source {str(source)[:60]!r}; choose {', '.join(SOURCES)}")
    if cut is not None and not (isinstance(cut, int | float) and abs(cut) < float("inf")):
        raise ModelError("cut must be a finite number, the lowest score that passes")
    panel, sources = Panel(cut, question), []
    with limit_memory(memory):
        for name, records in _list_inputs(paths):
            sources.append(_collect(panel, _Numbered(records), name, source))
        return panel.finish(coding, sources)


def _list_inputs(paths: Any) -> Iterator[tuple[str, Iterator[Record]]]:
    """Yield what messages call each input, and its records."""
    if not isinstance(paths, str | Path | Sequence) and (frame := as_frame(paths)) is not None:
        yield "the table", read_frame(frame)
        return
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    if not given:
        raise VotesError("there is no log to read; name at least one file")
    for path in given:
        for file in _list_files(Path(path)):
            yield file.name, _open_records(file)


def _list_files(path: Path) -> list[Path]:
    check_readable(path)
    if not path.is_dir():
        return [path]
    for patterns in _FOLDERS:
        found = sorted({file for pattern in patterns for file in path.rglob(pattern)})
        if found:
            for file in found:
                check_readable(file)
            return found
    raise VotesError(f"{path.name} is a folder without logs; name the files")


def _open_records(path: Path) -> Iterator[Record]:
    """Return the records of a file, whose first bytes tell what it is."""
    with reading(path), path.open("rb") as file:
        start = file.read(1 << 12)
    if not start.strip():
        raise VotesError(f"{path.name} is empty")
    if start.startswith(MARK):
        return read_archive(path)
    if start.startswith(GZIP):
        with reading(path):
            inside = read_beginning(path) if path.suffix.lower() == ".gz" else b"{"
        return read_documents(path) if is_json(inside) else read_rows(path, b"")
    return read_documents(path) if is_json(start) else read_rows(path, start)


class _Numbered:
    """Records that are counted as they are read."""

    def __init__(self, records: Iterator[Record]) -> None:
        self._records, self.number = records, 0

    def __iter__(self) -> Iterator[Record]:
        for record in self._records:
            self.number += 1
            yield record


def _collect(panel: Panel, numbered: _Numbered, name: str, source: str | None) -> str:
    """Add the verdicts of one input to the panel; return the name of its format."""
    records = iter(numbered)
    first = next(records, None)
    if first is None:
        raise VotesError(f"{name} holds no records")
    chosen = source or find_source(first, name)
    try:
        for verdict in SOURCES[chosen].read(chain([first], records)):
            panel.add(verdict)
    except VotesError as error:
        if error.message.startswith(name):
            raise
        told = f"{name}, record {numbered.number}, read as {chosen}: {error.message}"
        raise VotesError(told, *error.hints) from None
    return chosen


def find_source(record: Record, name: str) -> str:
    """Return the only format that a record fits, or raise `VotesError`.

    Examples
    --------
    >>> find_source({"_task_hash": 17, "answer": "accept"}, "annotations.jsonl")
    'prodigy'
    """
    found = [source for source, module in SOURCES.items() if module.fits(record)]
    if not found:
        raise VotesError(
            f"{name} is in none of the known formats ({', '.join(SOURCES)}); save it with one "
            "record per verdict: item, judge, label"
        )
    if len(found) > 1:
        raise VotesError(
            f"{name} fits {len(found)} formats; declare the one that it has",
            *(Hint("source", source) for source in found),
        )
    return found[0]
