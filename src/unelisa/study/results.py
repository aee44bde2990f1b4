"""The results folder: one line of JSON per trial, appended as the trial ends.

A run may end at any moment, by Ctrl-C, by kill -9 or on a full disk, and go on later. Each line is
written by one call and flushed to the disk before the trial counts as done. A line that was torn
all the same lacks its line feed: readers skip it, and the next run cuts it off. Lines of the same
trial are joined, so that no trial counts twice, and a method that joins the study later adds its
scores to the trials that are there.
"""

import errno
import json
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from unelisa.errors import ExpertsWarning, ModelError, VotesWarning
from unelisa.kernels.blas import one_blas_thread
from unelisa.parallel import run_all
from unelisa.simulation import Density
from unelisa.study.cells import StudySampler, Trial, find_cell
from unelisa.study.trial import METHODS, Record, methods_of, run_trial

# What names a trial; all else in a line is measured.
_FACTS = ("n", "flips", "mean_truth", "scores", "seconds")


def results_path(folder: Path, sampler: StudySampler, graph: Density) -> Path:
    """Return where the tables' trials of one sampler and one reading of the graph are kept."""
    return folder / f"{sampler}-{graph}.jsonl"


def series_path(folder: Path, sampler: StudySampler, graph: Density) -> Path:
    """Return where the trials of the series over n are kept."""
    return folder / f"{sampler}-{graph}-sizes.jsonl"


def read_results(path: Path) -> dict[Trial, Record]:
    """Return the finished trials in a file; none where there is no file.

    Only whole lines count. Where several lines speak of one trial their scores are joined, and the
    first one is kept of a score that appears twice.
    """
    results: dict[Trial, Record] = {}
    if not path.exists():
        return results
    lines = path.read_bytes().split(b"\n")[:-1]  # what follows the last line feed is torn
    for number, line in enumerate(lines, 1):
        record = _read_line(line, f"line {number} of {path.name}")
        trial = name_trial(record)
        results[trial] = join_records(results[trial], record) if trial in results else record
    return results


def _read_line(line: bytes, where: str) -> Record:
    try:
        record: Record = json.loads(line)
        name_trial(record)
        missing = [fact for fact in _FACTS if fact not in record]
    except (ValueError, KeyError, TypeError):
        missing = ["name"]
    if missing:
        raise ModelError(
            f"{where} is no trial of this study: delete that line, or use a new folder"
        )
    return record


def name_trial(record: Record) -> Trial:
    """Return which trial a record belongs to."""
    cell = find_cell(record["cell"])
    return Trial(cell, record["trial"], record["sampler"], record["graph"], record["factor"])


def join_records(first: Record, later: Record) -> Record:
    """Return one record with the scores and seconds of both."""
    joined = {key: {**later[key], **first[key]} for key in ("scores", "seconds")}
    return {**first, **joined}


def missing_methods(record: Record | None, methods: Sequence[str]) -> tuple[str, ...]:
    """Return which of the methods a trial still lacks; all of them where there is no record."""
    done = {} if record is None else record["seconds"]
    return tuple(name for name in methods if name not in done)


class ResultsFile:
    """A file of results that is open for appending; made by `open_results`."""

    def __init__(self, path: Path, handle: int) -> None:
        self._path = path
        self._handle = handle
        self._lock = threading.Lock()

    def append(self, record: Record) -> None:
        """Add one line, on the disk when this returns; after an error the file is as before."""
        line = json.dumps(record, allow_nan=False).encode() + b"\n"
        with self._lock:
            size = os.fstat(self._handle).st_size
            try:
                if os.write(self._handle, line) != len(line):  # the disk took a part only
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(self._handle)
            except OSError as error:
                os.ftruncate(self._handle, size)
                raise OSError(error.errno, error.strerror, str(self._path)) from None


@contextmanager
def open_results(path: Path) -> Iterator[ResultsFile]:
    """Give the file for appending, a torn last line cut off; refuse where another run has it."""
    plain = getattr(os, "O_BINARY", 0)  # Windows would write two bytes for a line feed
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | plain, 0o666)
    try:
        _claim(handle, path)
        content = path.read_bytes()
        os.ftruncate(handle, content.rfind(b"\n") + 1)
        yield ResultsFile(path, handle)
    finally:
        os.close(handle)  # which gives the claim back, as the end of the process does


def _claim(handle: int, path: Path) -> None:
    try:
        import fcntl  # noqa: PLC0415 - not on Windows, where two runs are not told apart
    except ImportError:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise ModelError(
            f"another run is writing {path}: wait for it, or use another folder"
        ) from None


def _run(task: tuple[Trial, tuple[str, ...]]) -> Record:
    return run_trial(*task)


def run_trials(
    trials: Iterable[Trial],
    path: Path,
    methods: Sequence[str] = tuple(METHODS),
    n_jobs: int | None = None,
    done: Callable[[int], Any] = lambda _: None,
) -> dict[Trial, Record]:
    """Run the trials that the file lacks, append each as it ends, and return all that were asked.

    Parameters
    ----------
    trials
        The trials wanted.
    path
        The file of results.
    methods
        Which methods each trial needs, as far as it is meant for them (`methods_of`).
    n_jobs
        Trials at a time, in threads: the kernels release the interpreter lock, and kill -9 leaves
        no orphans. On two quiet cores two threads took .54 of the time of one with tempering, .81
        with the paper's sampler, which is cheap. BLAS keeps to one thread: the bits do not depend
        on n_jobs.
    done
        Called with the number of trials that were there, then with 1 after each that has ended.

    Notes
    -----
    That experts are few or voters never vary is a result here, not a warning: the paper's sampler
    may never leave one side. An iteration limit still warns.
    """
    wanted = list(trials)
    with open_results(path) as file, one_blas_thread(), warnings.catch_warnings():
        # set once for all threads: filters are the process's, not the thread's
        warnings.simplefilter("ignore", ExpertsWarning)
        warnings.simplefilter("ignore", VotesWarning)
        there = read_results(path)
        lacking = {
            trial: missing_methods(there.get(trial), methods_of(trial, methods)) for trial in wanted
        }
        asked = [trial for trial in wanted if lacking[trial]]

        def keep(record: Record) -> None:
            file.append(record)
            done(1)

        done(len(wanted) - len(asked))
        run_all(_run, [(trial, lacking[trial]) for trial in asked], n_jobs, keep)
        finished = read_results(path)
    return {trial: finished[trial] for trial in wanted if trial in finished}
