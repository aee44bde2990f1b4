"""The files of one command: all of them appear, or none; no input or foreign file is replaced."""

import filecmp
import gzip
import io
import json
import math
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from unelisa import __version__
from unelisa.cli.screen import escape_controls, program_output
from unelisa.errors import ModelError
from unelisa.outputs import find_target, whole_files, write_table

STDOUT = Path("-")
# how files begin that only unelisa writes: tables, whatever columns a method adds, and JSON; a page
# says who made it. Charts are not listed: somebody may have filled them in
_BEGINNINGS = {
    rb'item,label,probability(,status)?(,expected_accuracy)?(,ease)?(\n|,"?P\()': b"labels",
    rb"person_id,label,probability(,note)?\n": b"patients",
    rb"(site,prevalence,)?rule,sensitivity,": b"rules",
    rb"voter,polarity\n": b"voters",
    rb"class,share,low,high\n": b"rates",
    rb"item,voter,gain,cost,chance_now\n": b"suggestions",
    rb'\{\n  "unelisa": "': b"findings",
    rb'\[\n  \{\n    "method": "': b"methods",
}
# of a model file; `storage.MARK`
MARK = b"unelisa:sha256:"
_GENERATOR = b'<meta name="generator" content="unelisa'
PARQUET = b"PAR1"
_BEGINNING = 4096  # bytes
_PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")
_NOT_CSV = (".parquet", ".feather", ".arrow", ".tsv", ".xlsx", ".json", ".html", ".npz", ".duckdb")


class OutputFiles:
    """Drafts that are moved into place together; made by `output_files`."""

    make_draft: Callable[[Path], Path]

    def __init__(self) -> None:
        self.drafts: dict[Path, Path] = {}

    def draft(self, path: Path) -> Path:
        """Return where to write what will become `path`."""
        self.drafts[path] = path  # named if making the draft fails
        self.drafts[path] = self.make_draft(path)
        return self.drafts[path]

    def write_text(self, path: Path, text: str) -> None:
        """Write a text."""
        self.draft(path).write_text(text, encoding="utf-8", errors="replace")

    def write_json(self, path: Path | None, content: Any) -> None:
        """Write JSON where it is wanted; the path - is stdout."""
        if path is None:
            return
        if isinstance(content, dict):
            content = {"unelisa": __version__, **content}
        # a control character in a name reaches no terminal: JSON has a way to write it
        text = json.dumps(_fill_nan(content), indent=2, ensure_ascii=False, allow_nan=False)
        text = escape_controls(text)
        if path == STDOUT:
            program_output().write(f"{text}\n")
        else:
            self.write_text(path, f"{text}\n")

    def write_labels(self, path: Path | None, judged: Any) -> None:
        """Write the labels of all items where they are wanted."""
        from unelisa.report.labels import label_columns, label_rows

        self.write_csv(path, label_columns(judged), label_rows(judged))

    def write_csv(self, path: Path | None, header: Sequence[str], rows: Any) -> None:
        """Write a table that a spreadsheet opens safely; - is stdout, .gz is compressed."""
        if path == STDOUT:
            write_table(program_output(), header, rows)
        elif path is not None:
            with ExitStack() as opened:
                file: Any = opened.enter_context(self.draft(path).open("wb"))
                if path.suffix.lower() == ".gz":  # the same bytes in every run
                    file = opened.enter_context(gzip.GzipFile("", "wb", 6, file, mtime=0))
                text = io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="")
                write_table(opened.enter_context(text), header, rows)


@contextmanager
def output_files(force: bool = False) -> Iterator[OutputFiles]:
    """Give the drafts of a command; after an error no file is left behind or changed."""
    files = OutputFiles()
    try:
        with whole_files() as files.make_draft:
            yield files
            for path, draft in files.drafts.items():
                if not force and path.exists() and not filecmp.cmp(path, draft, shallow=False):
                    refuse_replacing(path, find_kind(draft) or b"none")
    except OSError as error:
        # the system names the draft, which nobody knows, or nothing
        latest = next(reversed(files.drafts), "stdout")
        raise OSError(error.errno, error.strerror, str(latest)) from None


def make_folder(folder: Path) -> None:
    """Make a folder for outputs unless it exists."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError(f"cannot create the folder {folder}: {error.strerror}") from None


def check_outputs(
    *paths: Path | None,
    tables: Sequence[Path | None] = (),
    json: Path | None = None,
    inputs: Sequence[Path | None] = (),
    force: bool = False,
) -> None:
    """Refuse, before any long work, what cannot become an output file, or is within an input."""
    if STDOUT in paths or [*tables, json].count(STDOUT) > 1:
        raise ModelError(
            "one table, or --json, can be written to stdout (-); name a file for other outputs"
        )
    wanted = [path for path in (*paths, *tables, json) if path is not None and path != STDOUT]
    for path in wanted:
        if not path.parent.is_dir():
            raise ModelError(f"cannot write {path.name}: there is no folder {path.parent}")
        check_output(path, inputs, force)
        _check_ending(path, path in tables)
    if len({os.path.realpath(path) for path in wanted}) < len(wanted):
        raise ModelError("two outputs have the same file name; choose different ones")


def _check_ending(path: Path, is_table: bool) -> None:
    """Refuse a name that promises another format than the one that is written."""
    ending = path.suffix.lower()
    if is_table and ending == ".gz":
        ending = Path(path.stem).suffix.lower()
    if ending in _PACKED or (is_table and ending in _NOT_CSV):
        written = "a CSV table; end its name in .csv or .csv.gz" if is_table else "not compressed"
        raise ModelError(f"cannot write {path.name}: the file is {written}")


def check_output(
    path: Path, inputs: Sequence[Path | None], force: bool, kind: bytes | None = None
) -> None:
    """Refuse an output that cannot be replaced, is an input, or is a file of somebody else."""
    try:
        find_target(path)
    except OSError as error:
        raise ModelError(f"cannot write {path.name or path}: it {error.strerror}") from None
    for source in inputs:
        if source is not None and is_input(path, source):
            raise ModelError(f"{path.name} is an input of this command; choose another output")
    if path.exists() and not force:
        refuse_replacing(path, kind)


def is_input(path: Path, source: Path) -> bool:
    """Return whether writing `path` would change an input, also by links or as redirected stdin."""
    with suppress(OSError, ValueError, AttributeError):
        if source == STDOUT:
            return os.path.samestat(os.fstat(sys.stdin.fileno()), path.stat())
        if Path(os.path.realpath(path)).is_relative_to(os.path.realpath(source)):
            return True
        files = source.rglob("*") if source.is_dir() else [source]
        return path.exists() and any(file.exists() and path.samefile(file) for file in files)
    return False


def refuse_replacing(path: Path, new: bytes | None = None) -> None:
    """Refuse to replace a file unless unelisa wrote it, as an output of the new one's kind."""
    found = find_kind(path)
    if found is None or new not in (None, found):
        raise ModelError(
            f"{path.name} exists and is not an earlier version of this output; choose another "
            "name, or replace it with --force"
        )


def is_model(path: Path) -> bool:
    """Return whether a file is a saved model, or will be refused as one."""
    return path.suffix == ".npz" or (path.is_file() and find_kind(path) == MARK)


def find_kind(path: Path) -> bytes | None:
    """Return which kind of unelisa's outputs a file is, None if nothing marks it as one."""
    with path.open("rb") as file:
        start = file.read(_BEGINNING)
        file.seek(max(path.stat().st_size - 128, 0))
        end = file.read()
    if start.startswith(b"\x1f\x8b"):
        with suppress(OSError, EOFError, zlib.error), gzip.open(path) as unpacked:
            start = unpacked.read(_BEGINNING)
    if start.startswith(PARQUET):
        from unelisa.report.labels import is_label_file

        return PARQUET if is_label_file(path) else None
    for mark, kind in _BEGINNINGS.items():
        if re.match(mark, start):
            return kind
    return next((mark for mark in (_GENERATOR, MARK) if mark in start or mark in end), None)


def _fill_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _fill_nan(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_fill_nan(one) for one in value]
    return None if isinstance(value, float) and math.isnan(value) else value
