"""The files of one command: all of them appear, or none."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import typer

from unelisa.errors import ModelError
from unelisa.outputs import whole_files, write_table

STDOUT = Path("-")


class OutputFiles:
    """Drafts that are moved into place together; made by `output_files`."""

    make_draft: Callable[[Path], Path]
    latest: Path | None = None

    def draft(self, path: Path) -> Path:
        """Return where to write what will become `path`."""
        self.latest = path
        return self.make_draft(path)

    def write_text(self, path: Path, text: str) -> None:
        """Write a text."""
        self.draft(path).write_text(text, encoding="utf-8")

    def write_json(self, path: Path | None, content: Any) -> None:
        """Write JSON where it is wanted; the path - is stdout."""
        if path is None:
            return
        text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
        if path == STDOUT:
            typer.echo(text)
        else:
            self.write_text(path, f"{text}\n")

    def write_csv(self, path: Path | None, header: Sequence[str], rows: Any) -> None:
        """Write a table that a spreadsheet opens safely, where it is wanted."""
        if path is not None:
            with self.draft(path).open("w", encoding="utf-8", newline="") as file:
                write_table(file, header, rows)


@contextmanager
def output_files() -> Iterator[OutputFiles]:
    """Give the drafts of a command; after an error no file is left behind or changed."""
    files = OutputFiles()
    try:
        with whole_files() as files.make_draft:
            yield files
    except OSError as error:
        # the system names the draft, which nobody knows, or nothing
        raise OSError(error.errno, error.strerror, str(files.latest)) from None


def make_folder(folder: Path) -> None:
    """Make a folder for outputs unless it exists."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError(f"cannot create the folder {folder}: {error.strerror}") from None


def check_outputs(
    *paths: Path | None, json: Path | None = None, inputs: Sequence[Path | None] = ()
) -> None:
    """Refuse, before any long work, what cannot become an output file; only `json` may be -."""
    if STDOUT in paths:
        raise ModelError(
            "only --json can be written to stdout (-); name a file for the other outputs"
        )
    wanted = [path for path in (*paths, json) if path is not None and path != STDOUT]
    for path in wanted:
        if not path.parent.is_dir():
            raise ModelError(f"cannot write {path.name}: there is no folder {path.parent}")
        # moving a file over a device such as /dev/null would destroy it
        if os.path.lexists(path) and not path.is_file():
            raise ModelError(f"cannot write {path.name or path}: it exists and is not a plain file")
        if any(_are_same(path, source) for source in inputs if source is not None):
            raise ModelError(f"{path.name} is an input of this command; choose another output")
    if len({os.path.realpath(path) for path in wanted}) < len(wanted):
        raise ModelError("two outputs have the same file name; choose different ones")


def _are_same(path: Path, other: Path) -> bool:
    """Return whether two names lead to one file; links count, also hard ones."""
    with suppress(OSError):
        return path.samefile(other)
    return False
