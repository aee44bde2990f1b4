"""Results on disk: one line of JSON per finished piece of work, then one archive of them all.

A run may be stopped at any moment, by Ctrl-C, by kill -9 or by a full disk, and resumed later. Each
line is written by one call and flushed to disk before its work counts as done. A torn last line
lacks its line feed: readers skip it, and the next run cuts it off. Each line carries the code that
made it (`fingerprints.py`), and a run repeats what other code has made.
"""

import json
import subprocess
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import unelisa
from studies.fingerprints import DATA, KEY, Stamp, drop_stale, hash_data
from unelisa.errors import ModelError, UnelisaWarning
from unelisa.kernels.threads import one_blas_thread
from unelisa.review.gold_file import Journal, open_journal

FORMAT = 1
Json = dict[str, Any]


class ResultsFile:
    """A results file open for appending; made by `open_results`."""

    def __init__(self, journal: Journal, stamp: Stamp | None) -> None:
        self._journal, self._stamp = journal, stamp

    def append(self, record: Json) -> None:
        """Add one line, on disk when this returns; after an error the file is as before."""
        if self._stamp is not None:
            record = {**record, KEY: self._stamp(record)}
        self._journal.append(json.dumps(record, allow_nan=False).encode() + b"\n")


@contextmanager
def open_results(path: Path, stamp: Stamp | None = None) -> Iterator[ResultsFile]:
    """Open a file for appending, without a torn last line; refuse if another run has it open.

    `stamp` returns the code that a line depends on, which is added to it.
    """
    with ExitStack() as opened:
        try:
            journal = opened.enter_context(open_journal(path))
        except BlockingIOError:
            raise ModelError(
                f"another run is writing {path}: wait for it to finish, or use another folder"
            ) from None
        yield ResultsFile(journal, stamp)


def run_missing(
    sets: Mapping[str, Callable[[], Any]],
    tasks: Mapping[str, Callable[[Any, str], Any]],
    rows: tuple[Path, Iterable[Any]],
    describe: Callable[[str, Any], Json],
    stamp: Stamp,
    done: Callable[[str, int], Any],
) -> None:
    """Run what is missing, set by set, and append each row as it finishes.

    Parameters
    ----------
    sets
        How to read each set.
    tasks
        What to run: a function of a set and its name that returns a row.
    rows
        The file of rows, beside which sets.jsonl is kept, and the rows that are there.
    describe
        Returns the facts about a set.
    stamp
        Returns the code that a row depends on: rows of other code are missing.
    done
        Called with the set's name and the number of tasks already there, then 1 after each.
    """
    path, found = rows
    about = path.with_name("sets.jsonl")
    with (
        open_results(path, stamp) as results,
        open_results(about) as facts,
        one_blas_thread(),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", UnelisaWarning)  # the figures show it
        there = {(row["set"], row["method"]) for row in drop_stale(found, stamp)}
        described = {fact["set"] for fact in read_lines(about)}
        for name, read in sets.items():
            missing = [method for method in tasks if (name, method) not in there]
            done(name, len(tasks) - len(missing))
            if not missing and name in described:
                continue
            known = read()
            data = {DATA: hash_data(known)}
            facts.append({**describe(name, known), **data})
            for method in missing:
                results.append({**tasks[method](known, name), **data})
                done(name, 1)


def run_sets(
    sets: Mapping[str, Callable[[], Any]],
    run: Callable[[Any, str], Json],
    path: Path,
    stamp: Stamp,
    done: Callable[[str, int], Any],
) -> None:
    """Run the sets that a file of rows lacks, and append each row as it finishes.

    `run` returns the row of a set, given the set and its name; `done` is called after each.
    """
    with open_results(path, stamp) as rows, one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UnelisaWarning)  # the figures show it
        there = {row["set"] for row in drop_stale(read_lines(path), stamp)}
        for name, read in sets.items():
            if name not in there:
                known = read()
                rows.append({**run(known, name), DATA: hash_data(known)})
            done(name, 1)


def merge_sets(old: Iterable[Json], new: Iterable[Json]) -> list[Json]:
    """Return the rows of all sets in the order of their names, the new one where there are two.

    Examples
    --------
    >>> merge_sets([{"set": "b", "n": 1}, {"set": "a", "n": 1}], [{"set": "b", "n": 2}])
    [{'set': 'a', 'n': 1}, {'set': 'b', 'n': 2}]
    """
    rows = {row["set"]: row for row in [*old, *new]}
    return [rows[name] for name in sorted(rows)]


def read_lines(path: Path) -> list[Any]:
    """Return the complete lines of a results file; an empty list if there is no file."""
    if not path.exists():
        return []
    found = []
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
        try:
            found.append(json.loads(line))
        except ValueError:
            raise ModelError(
                f"line {number} of {path.name} is not JSON: delete that line, or use a new folder"
            ) from None
    return found


@cache
def find_commit() -> str:
    """Return the commit of this clone, with a plus if the code has changed since."""
    place = str(Path(__file__).parents[1])
    asked = ["git", "-C", place, "status", "--porcelain=v2", "--branch", "--", "src", "studies"]
    try:
        told = subprocess.check_output(asked, text=True, stderr=subprocess.DEVNULL)  # noqa: S603
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    lines = told.splitlines()  # "# branch.oid COMMIT", more about the branch, what has changed
    changed = not all(line.startswith("#") for line in lines)
    return lines[0].split()[-1][:12] + ("+" if changed else "")


def make_archive(**parts: Any) -> Json:
    """Return an archive: its format, the version that made it, and its parts."""
    return {"format": FORMAT, "unelisa": unelisa.__version__, **parts}


def format_archive(archive: Json, *first_keys: str) -> str:
    """Return an archive as JSON, with a new line before each row that starts with a given key.

    Examples
    --------
    >>> print(format_archive({"rows": [{"set": 1}, {"set": 2}]}, "set"), end="")
    {"rows":[
    {"set":1},
    {"set":2}]}
    """
    text = json.dumps(archive, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for key in first_keys:
        text = text.replace(f'{{"{key}":', f'\n{{"{key}":')
    return text + "\n"


def list_rows(archive: Json, part: str) -> list[Json]:
    """Return the rows of a part of an archive, `part.part` of one inside another.

    Examples
    --------
    >>> list_rows({"studies": [{"cells": [{"n": 1}]}, {"cells": [{"n": 2}]}]}, "studies.cells")
    [{'n': 1}, {'n': 2}]
    """
    found: list[Any] = [archive]
    for key in part.split("."):
        inside = [one[key] for one in found if key in one]
        found = [row for one in inside for row in (one if isinstance(one, list) else [one])]
    return found


def flatten_row(row: Json) -> Json:
    """Return a row without tables in it: their keys are joined by dots, lists of numbers too.

    Examples
    --------
    >>> flatten_row({"set": "a", "figures": {"auc": [0.9, 0.8]}, "note": None})
    {'set': 'a', 'figures.auc.0': 0.9, 'figures.auc.1': 0.8, 'note': None}
    """
    flat: Json = {}
    for key, value in row.items():
        inner = dict(enumerate(value)) if isinstance(value, list) else value
        if isinstance(inner, dict):
            flat |= {f"{key}.{name}": x for name, x in flatten_row(inner).items()}
        else:
            flat[str(key)] = value
    return flat


def read_archive(path: Path, part: str, command: str) -> Json:
    """Return an archive from its file, which must have the named part; `command` makes one."""
    try:
        archive: Any = json.loads(path.read_text(encoding="utf-8"))
        known = archive["format"] == FORMAT and part in archive
    except (OSError, ValueError, KeyError, TypeError):
        known = False
    if not known:
        raise ModelError(f"{path.name} is not an archive of this study: create it with {command}")
    return archive  # type: ignore[no-any-return]
