"""What the commands of the studies share: their choices, their progress, the files they write."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from studies.records import Json, read_archive
from unelisa.cli.commands import INTERRUPTED
from unelisa.cli.files import STDOUT, check_outputs, make_folder, output_files
from unelisa.cli.screen import complain, results
from unelisa.errors import ModelError
from unelisa.progress import show_progress

_RESUMED = "Where finished work is kept; an interrupted run continues from there."
ResultsFolder = Annotated[Path, typer.Option("--results", metavar="FOLDER", help=_RESUMED)]
Stored = Annotated[
    Path | None,
    typer.Option(
        "--from", metavar="JSON", help="Run nothing: show and write what this archive holds."
    ),
]


def choose(option: str, name: str, choices: Any) -> Any:
    """Return the name if it is one of the choices of an option."""
    if name not in choices:
        raise ModelError(f"{option} must be one of {', '.join(choices)}, found {name[:60]!r}")
    return name


def read_seeds(text: str) -> list[int]:
    """Return the seeds in a list such as 0,1,2 or 0-19.

    Examples
    --------
    >>> read_seeds("7,0-2")
    [7, 0, 1, 2]
    """
    try:
        ends = [part.partition("-") for part in text.split(",")]
        ranges = [range(int(low), int(high or low) + 1) for low, _, high in ends]
        seeds = [seed for numbers in ranges for seed in numbers]
    except ValueError:
        seeds = []
    if not seeds or len(set(seeds)) < len(seeds):
        raise ModelError("--seeds must be distinct nonnegative integers, such as 0,1,2 or 0-19")
    return seeds


@contextmanager
def running(total: int) -> Iterator[Callable[[str, int], None]]:
    """Show progress and the time left; give a function to call as work finishes."""
    try:
        with show_progress("", total) as advance:
            yield lambda doing, count: advance(count, doing)
    except KeyboardInterrupt:
        complain("interrupted: finished work is kept; run the same command again to continue")
        raise typer.Exit(INTERRUPTED) from None


def read_stored(out: Path | None, name: str, part: str, required: bool = False) -> Json | None:
    """Return the archive in an output folder; None if there is none and none is required."""
    if out is None or not (required or (out / "study" / name).exists()):
        return None
    return read_archive(out / "study" / name, part, "unelisa reproduce")


def write_texts(texts: dict[Path, str], json: Path | None) -> None:
    """Write pages and archives together: all of them or none."""
    for path in texts:
        make_folder(path.parent)
    # a study rewrites its own pages, whatever was edited in them
    check_outputs(*texts, json=json, force=True)
    with output_files(force=True) as files:
        for path, text in texts.items():
            files.write_text(path, text)


def write_json(path: Path | None, content: Any) -> None:
    """Write the file of `--json`, if there is one."""
    if path is not None:
        with output_files() as files:
            files.write_json(path, content)


def name_files(paths: Sequence[Path], json: Path | None) -> None:
    """Say which files were written, on the screen and in the file of `--json`."""
    write_json(json, [str(path) for path in paths])
    for path in paths:
        results(quiet=json == STDOUT).print(f"wrote {path}", markup=False, soft_wrap=True)
