"""Logs of judges: evaluations of language models and annotation projects as votes.

Every file is a stream of records. The first one determines the format: a module named in `SOURCES`
says whether a record `fits`, and can `read` records as what a `Panel` collects.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypedDict, Unpack

from unelisa.errors import Hint, ModelError, VotesError, VotesWarning, warn_user
from unelisa.jury import (
    argilla,
    inspect_logs,
    label_studio,
    langsmith,
    long_records,
    mlflow,
    openai_evals,
    opik,
    pairs,
    prodigy,
    promptfoo,
)
from unelisa.jury.documents import GZIP, ZIP, Record, is_json, read_archive, read_documents
from unelisa.jury.preferences import Preferences
from unelisa.jury.scores import Scores
from unelisa.jury.verdicts import Jury, Panel
from unelisa.memory import limit_memory
from unelisa.sources.arrow import ArrowTable, refuse_nested
from unelisa.sources.files import TextTable, check_readable, read_beginning, reading, refuse_bomb
from unelisa.votes.coding import CodingChoice, declare_order
from unelisa.votes.frames import as_frame

__all__ = ["SOURCES", "Jury", "Logs", "read_jury", "read_logs", "read_preferences", "read_scores"]


# of each format the module, which says whether a record `fits` and can `read` records
SOURCES: dict[str, ModuleType] = {
    "argilla": argilla,
    "inspect": inspect_logs,
    "label-studio": label_studio,
    "langsmith": langsmith,
    "long": long_records,
    "mlflow": mlflow,
    "openai-evals": openai_evals,
    "opik": opik,
    "pairs": pairs,
    "prodigy": prodigy,
    "promptfoo": promptfoo,
}
_UNIQUE = ("langsmith", "mlflow", "prodigy")  # formats whose items have names of no other item
# what is read in a folder: one of these kinds
_FOLDERS = {
    "Arrow": (".arrow", ".feather"),
    "Parquet": (".parquet",),
    "JSON": (".eval", ".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz"),
    "CSV": (".csv", ".csv.gz"),
}
_OTHERS = (".tsv", ".txt", ".xlsx", ".zip", ".zst", ".bz2", ".xz")  # that may hold logs
_KINDS = ("item", "judge", "label", "score", "system", "criterion")  # of columns that can be named
_ABOUT = frozenset(("dataset_info.json", "state.json"))  # beside the Arrow files of `datasets`

PARQUET, FEATHER, STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
ROWS = 1 << 14  # per batch
MOST_FIELDS = 20  # that a message lists
_PLAIN = re.compile(r"[a-z_.]{1,40}")  # of a schema, and not of a person
Columns = Mapping[str, str]  # kind of column -> its name, as declared
# what a table of samples has besides scores
_SAMPLES = ("id", "epoch", "sample_id", "model", "eval_id", "log", "task_name", "error")


class Logs(NamedTuple):
    """What logs hold, before it is known whether these are votes, scores or preferences."""

    panel: Panel
    source: str  # the names of the formats
    coding: CodingChoice

    def as_jury(self) -> Jury:
        """Return the votes; raise `VotesError` where the marks are scores on a scale."""
        return self.panel.finish(self.coding, self.source)


class Options(TypedDict, total=False):
    """How logs are read; `read_jury` describes each option."""

    source: str | None
    cut: float | None
    question: str | None
    judges: Iterable[str] | None
    item: str | None
    judge: str | None
    label: str | None
    score: str | None
    system: str | None
    criterion: str | None
    coding: CodingChoice
    order: Sequence[Any] | None
    memory: str | int | None


def read_logs(paths: Any, **options: Unpack[Options]) -> Logs:
    """Return what logs hold; the options are those of `read_jury`."""
    if unknown := options.keys() - Options.__annotations__:
        raise TypeError(
            f"there is no option {min(unknown)!r}; choose {', '.join(Options.__annotations__)}"
        )
    named = {kind: str(name) for kind in _KINDS if (name := options.get(kind)) is not None}
    if {"label", "score"} <= named.keys():
        raise ModelError("name the column of labels or that of scores; a mark is one of them")
    source, cut = "long" if named else options.get("source"), options.get("cut")
    if source is not None and source not in SOURCES:
        raise ModelError(f"there is no source {str(source)[:60]!r}; choose {', '.join(SOURCES)}")
    if cut is not None and not (isinstance(cut, int | float) and abs(cut) < float("inf")):
        raise ModelError("cut must be a finite number, the lowest score that passes")
    judges = options.get("judges")
    if isinstance(judges, str) or not isinstance(judges, Iterable | None):
        raise ModelError("judges must be a list of names")
    panel, sources = Panel(cut, options.get("question"), judges), []
    with limit_memory(options.get("memory")):
        for name, records in _list_inputs(paths, named):
            sources.append(_collect(panel, records, name, source))
    panel.tell_doubts(shared="item" not in named)
    coding = declare_order(options.get("coding", "auto"), options.get("order"))
    return Logs(panel, ", ".join(sorted(set(sources))), coding)


def read_jury(paths: Any, **options: Unpack[Options]) -> Jury:
    r"""Return the verdicts of judges in logs, as votes with gold labels and systems under test.

    The judges are the voters. The result is a `Votes` with more attributes, see `Jury`. With
    several systems, an item's name begins with its system's. Judgments that failed are abstentions,
    and one warning counts them.

    Parameters
    ----------
    paths
        A file, a folder of files, a list of them, or a data frame. Inspect AI logs (.eval, .json,
        and what `samples_df` returns), promptfoo results, OpenAI evals, LangSmith feedback, Opik
        scores, MLflow assessments, exports of Label Studio, Argilla and Prodigy, and records or
        tables (JSON Lines, CSV, Parquet, Arrow) with an item, a judge and a label each.
    source
        The format: "argilla", "inspect", "label-studio", "langsmith", "long", "mlflow",
        "openai-evals", "opik", "pairs", "prodigy" or "promptfoo". By default the first record
        decides; if it fits two formats, that is an error.
    cut
        The lowest score that passes. Without it 0 and 1 are fail and pass, a few whole scores such
        as 1 to 5 are ordered classes, and other scores are refused (see `read_scores`).
    question
        Which question to read where annotators answered several; "QUESTION: OPTION" asks whether an
        option was chosen where several can be.
    judges
        The judges to read; by default all of them.
    item, judge, label, score, system, criterion
        The columns or fields of records that hold these, by name; a criterion is what was asked,
        where each judge answered several questions.
    coding, order
        Your own labels, as (negative, positive) or all classes, or, as `order`, from worst to best;
        by default pass and fail, or the labels in sort order.
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
    return read_logs(paths, **options).as_jury()


def read_scores(paths: Any, **options: Unpack[Options]) -> Scores:
    """Return the scores of judges on a continuous scale; the parameters are those of `read_jury`.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"item": [1, 1], "judge": ["x", "y"], "score": [0.7, 0.4]})
    >>> read_scores(table).judges
    ['x', 'y']
    """
    return Scores.of(read_logs(paths, **options).panel)


def read_preferences(paths: Any, **options: Unpack[Options]) -> Preferences:
    """Return which of two systems' answers judges prefer; the parameters are those of `read_jury`.

    Examples
    --------
    >>> import pandas as pd
    >>> row = {"question_id": [1], "model_a": ["x"], "model_b": ["y"], "winner": ["model_a"]}
    >>> read_preferences(pd.DataFrame(row | {"judge": ["ann"]})).systems
    ['x', 'y']
    """
    return Preferences.of(read_logs(paths, **options).panel)


def _list_inputs(paths: Any, named: Mapping[str, str]) -> Iterator[tuple[str, Iterator[Record]]]:
    if not isinstance(paths, str | Path | Sequence) and (frame := as_frame(paths)) is not None:
        rows = frame.select(_choose_columns(frame.columns, "the table", named))
        yield "the table", _rename(rows.iter_rows(named=True), named)
        return
    for path in _list_paths(paths):
        for file in _list_files(path):
            yield file.name, _rename(_open_records(file, named), named)


def _list_paths(paths: Any) -> list[Path]:
    given = [paths] if isinstance(paths, str | Path) else paths
    given = list(given) if isinstance(given, Iterable) and not isinstance(given, bytes) else [given]
    odd = next((path for path in given if not isinstance(path, str | Path)), "")
    if not isinstance(odd, str):
        kind = type(odd).__name__
        raise VotesError(f"logs are a file, a folder, a list of them or a data frame, found {kind}")
    if not given:
        raise VotesError("there is no log to read; name at least one file")
    return [Path(path) for path in given]


def _list_files(path: Path) -> list[Path]:
    """Return a file, or those of one kind in a folder; say which others may be logs."""
    check_readable(path)
    if not path.is_dir():
        return [path]
    with reading(path):
        every = sorted(path.rglob("*"))
    found = {
        kind: [file for file in every if file.name.lower().endswith(endings)]
        for kind, endings in _FOLDERS.items()
    }
    if found["Arrow"]:
        found["JSON"] = [file for file in found["JSON"] if file.name not in _ABOUT]
    unread = [file for file in every if file.name.lower().endswith(_OTHERS)]
    if found["JSON"]:
        unread += found.pop("CSV")  # often gold labels
    kinds = [kind for kind, files in found.items() if files]
    if len(kinds) > 1:
        listed = " and ".join(f"{len(found[kind])} of {kind}" for kind in kinds)
        raise VotesError(f"{path.name} holds logs of several kinds, {listed}; name the files")
    if not kinds:
        raise VotesError(f"{path.name} is a folder without logs; name the files")
    if unread:
        endings = ", ".join(sorted({file.suffix.lower() for file in unread}))
        warn_user(
            f"{len(unread)} of the files in {path.name} were not read ({endings}); name them to "
            "read them",
            VotesWarning,
        )
    for file in found[kinds[0]]:
        check_readable(file)
    return found[kinds[0]]


def _rename(records: Iterator[Record], named: Mapping[str, str]) -> Iterator[Record]:
    if not named:
        yield from records
        return
    for record in records:
        missing = [name for name in named.values() if name not in record]
        if missing:
            raise VotesError(f"it has no field {missing[0][:60]!r} ({_list_fields(list(record))})")
        fields = long_records.choose_fields(tuple(record), named)
        if lacking := [kind for kind in ("item", "judge") if kind not in fields]:
            listed = _list_fields(list(record))
            raise VotesError(
                f"it has no field of {lacking[0]}s ({listed}); name it",
                *(Hint(x, "NAME") for x in lacking),
            )
        yield {kind: record[name] for kind, name in fields.items()}


def _open_records(path: Path, named: Mapping[str, str]) -> Iterator[Record]:
    with reading(path), path.open("rb") as file:
        start = file.read(1 << 12)
    if not start.strip():
        raise VotesError(f"{path.name} is empty")
    if start.startswith(ZIP):
        return read_archive(path)
    packed, inside = start.startswith(GZIP), start
    if packed:
        with reading(path):
            inside = read_beginning(path) if path.suffix.lower() == ".gz" else b"{"
    if is_json(inside):
        return read_documents(path)
    return _read_rows(path, b"" if packed else start, named)


def _collect(panel: Panel, records: Iterator[Record], name: str, source: str | None) -> str:
    number = 0

    def count() -> Iterator[Record]:
        nonlocal number
        for record in records:
            number += 1
            yield record

    counted = count()
    first = next(counted, None)
    if first is None:
        raise VotesError(f"{name} holds no records")
    chosen = source or find_source(first, name)
    panel.open_file("" if chosen in _UNIQUE else name)
    try:
        for entry in SOURCES[chosen].read(chain([first], counted)):
            panel.add(entry)
    except VotesError as error:
        if error.message.startswith(name):
            raise
        where = f"{name}, record {number}, read as {chosen}: {error.message}"
        raise VotesError(where, *error.hints) from None
    return chosen


def find_source(record: Record, name: str) -> str:
    """Return the only format that a record fits, or raise `VotesError`."""
    found = [source for source, module in SOURCES.items() if module.fits(record)]
    if not found:
        raise VotesError(
            f"{name} is in none of the known formats ({', '.join(SOURCES)}); "
            f"{_list_fields(list(record))}; say which ones hold the item, the judge and the label, "
            "or save it with one record per verdict"
        )
    if len(found) > 1:
        raise VotesError(
            f"{name} fits {len(found)} formats; declare the one that it has",
            *(Hint("source", source) for source in found),
        )
    return found[0]


def _read_rows(path: Path, start: bytes, named: Columns) -> Iterator[Record]:
    with reading(path):
        if start.startswith(PARQUET):
            yield from _read_parquet(path, named)
            return
        table = (ArrowTable if start.startswith((FEATHER, STREAM)) else TextTable)(path)
        for batch in table.batches(_choose_columns(table.header, path.name, named)):
            yield from batch.to_pylist()


def _choose_columns(names: Sequence[str], file: str, named: Columns) -> list[str]:
    if named:
        missing = [name for name in named.values() if name not in names]
        if missing:
            raise VotesError(f"{file} has no column {missing[0][:60]!r}")
        return list(dict.fromkeys(long_records.choose_fields(tuple(names), named).values()))
    record = dict.fromkeys(names)
    if long_records.fits(record):
        return [name for name in names if name.lower() in long_records.COLUMNS]
    if inspect_logs.fits(record):
        return [name for name in names if name in _SAMPLES or name.startswith(inspect_logs.SCORE)]
    if pairs.fits(record):
        return [name for name in names if name in pairs.COLUMNS]
    if argilla.fits(record):
        return list(names)
    raise VotesError(
        f"{file} has no columns of items, judges and labels ({_list_fields(names)}); name them "
        "with item, judge and label; a table with one column per judge is read by read_votes "
        "(unelisa fit)"
    )


def _list_fields(names: Sequence[str]) -> str:
    """Return the fields that were seen; names that may be those of items are only counted."""
    shown = sorted(name for name in names if _PLAIN.fullmatch(name))[:MOST_FIELDS]
    more = len(names) - len(shown)
    other = f" and {more} other{'s' if more > 1 else ''}" if more else ""
    return f"it has the fields {', '.join(shown)}{other}" if shown else f"it has {more} fields"


def _read_parquet(path: Path, named: Columns) -> Iterator[Record]:
    import pyarrow as pa  # noqa: PLC0415 - only files need it
    import pyarrow.parquet as pq  # noqa: PLC0415

    with pq.ParquetFile(path) as file:
        names = _choose_columns(file.schema_arrow.names, path.name, named)
        refuse_nested(pa.schema(map(_take_parts, map(file.schema_arrow.field, names))))
        groups = [file.metadata.row_group(k) for k in range(file.metadata.num_row_groups)]
        cells = [group.column(c) for group in groups for c in range(group.num_columns)]
        unpacked = sum(
            c.total_uncompressed_size for c in cells if c.path_in_schema.split(".")[0] in names
        )
        refuse_bomb(path.name, path.stat().st_size, unpacked)
        for batch in file.iter_batches(ROWS, columns=names, use_threads=False):
            batch.validate(full=True)
            yield from batch.to_pylist()


def _take_parts(field: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415 - only files need it

    listed = pa.types.is_list(field.type) or pa.types.is_large_list(field.type)
    return pa.field(field.name, field.type.value_type) if listed else field
