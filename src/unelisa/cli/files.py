"""The files of one command: all of them appear, or none."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import typer

from unelisa.errors import ModelError
from unelisa.outputs import whole_files
from unelisa.report.spreadsheet import write_table

STDOUT = Path("-")


class OutputFiles:
    """Drafts that are moved into place together; made by `output_files`."""

    def __init__(self, make_draft: Callable[[Path], Path]) -> None:
        self._make_draft = make_draft
        self.latest: Path | None = None

    def draft(self, path: Path) -> Path:
        """Return where to write what shall become `path`."""
        self.latest = path
        return self._make_draft(path)

    def write_text(self, path: Path, text: str) -> None:
        """Write a text."""
        self.draft(path).write_text(text, encoding="utf-8")

    def write_json(self, path: Path, content: Any) -> None:
        """Write JSON, to stdout where the path is -."""
        text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
        if path == STDOUT:
            typer.echo(text)
        else:
            self.write_text(path, f"{text}\n")

    def write_csv(self, path: Path, header: Sequence[str], rows: Any) -> None:
        """Write a table that a spreadsheet opens safely."""
        with self.draft(path).open("w", encoding="utf-8", newline="") as file:
            write_table(file, header, rows)


@contextmanager
def output_files() -> Iterator[OutputFiles]:
    """Give the drafts of a command; after an error none of its files is left or changed."""
    files: OutputFiles | None = None
    try:
        with whole_files() as make_draft:
            files = OutputFiles(make_draft)
            yield files
    except OSError as error:
        # the system names the draft, which nobody knows, or nothing
        latest = None if files is None else files.latest
        raise OSError(error.errno, error.strerror, str(latest)) from None


def refuse_stdout(*paths: Path | None) -> None:
    """Refuse -, the screen, for files that would spoil it or hide there."""
    if STDOUT in paths:
        raise ModelError("only --json can go to stdout as -; name a file for the others")


def check_outputs(*paths: Path | None, inputs: Sequence[Path | None] = ()) -> None:
    """Refuse, before any long work, what cannot become an output file."""
    wanted = [path for path in paths if path is not None and path != STDOUT]
    for path in wanted:
        if not path.parent.is_dir():
            raise ModelError(f"{path.name} cannot be written: there is no folder {path.parent}")
        # moving a file over a device such as /dev/null would destroy it
        if os.path.lexists(path) and not path.is_file():
            name = path.name or path
            raise ModelError(f"{name} cannot be written: it is there and is no plain file")
        if any(_are_same(path, source) for source in inputs if source is not None):
            raise ModelError(
                f"{path.name} is an input of this command; give the output its own name"
            )
    if len({os.path.realpath(path) for path in wanted}) < len(wanted):
        raise ModelError("two outputs have the same file name; give each its own")


def _are_same(path: Path, other: Path) -> bool:
    """Return whether two names lead to one file; links count, also hard ones."""
    with suppress(OSError):
        return path.samefile(other)
    return False
