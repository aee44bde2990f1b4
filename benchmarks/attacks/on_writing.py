"""Processes that are killed, and calls of the system that fail, while outputs are written."""

import errno
import io
import json
import os
import signal
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from ground import QUICK, Out, blame, fresh, list_files, look_at, run, spell

import unelisa as ue
from unelisa.errors import ModelError
from unelisa.review.gold_file import Answer, open_gold

Outcomes = Iterator[tuple[str, str]]
KILLS = 12  # per command
MOST_FAULTS = 25  # calls per command and error
HEADER = ("item", "label", "reviewer", "chosen", "note")
CALLS = ("fsync", "replace", "rename", "link", "mkdir", "fchmod", "open", "write", "ftruncate")
ERRORS = {
    "a full disk": OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    "a failing disk": OSError(errno.EIO, os.strerror(errno.EIO)),
    "no memory": MemoryError(),
}
WRITING = [name for name in QUICK if name not in ("fit a folder", "fit with gold")]


def attack_by_kill(ground: Path, place: Path, rng: np.random.Generator) -> Outcomes:
    """Kill every command (`kill -9`) at random moments: each output is whole or absent."""
    for command in [*WRITING, "phenotype", "rules"]:
        with fresh(ground, place) as folder:
            took = _time(command, folder)
            whole = {part.name: _sum_up(folder / part.name) for part in list_files(command, Out)}
            for count in range(KILLS):
                for name in whole:
                    (folder / name).unlink(missing_ok=True)
                child = os.fork()
                if child == 0:
                    run([*spell(command, folder), "--force"])
                    os._exit(0)
                # most kills in the last part, where files are written
                time.sleep(took * (0.5 + 0.6 * rng.random() if count % 3 else rng.random()))
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                bad = [n for n, told in whole.items() if _sum_up(folder / n) not in (told, None)]
                yield f"{command}: kill {count}", f"part of {', '.join(bad)}" if bad else ""
    yield from _kill_reviews(place, rng)


def _time(command: str, folder: Path) -> float:
    run([*spell(command, folder), "--force"])
    start = time.monotonic()
    run([*spell(command, folder), "--force"])
    return time.monotonic() - start


def _sum_up(path: Path) -> Any:
    """Return what tells a whole file from a part: None if it is absent."""
    if not path.exists():
        return None
    if path.suffix == ".npz":
        try:
            return type(ue.load(path)).__name__
        except ModelError:
            return type(ue.load(path, ue.Phenotyper)).__name__
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        found = json.loads(text)
        return sorted(found) if isinstance(found, dict) else list(map(sorted, found))
    return text.count("\n") if path.suffix == ".csv" else text.rstrip().endswith("</html>")


def _kill_reviews(place: Path, rng: np.random.Generator) -> Outcomes:
    """Kill a process that writes answers: what it said was saved is there, once, in order."""
    place.mkdir()
    items, path = np.array([f"i{i}" for i in range(500)], dtype=object), place / "gold.csv"
    saved = 0
    for count in range(3 * KILLS):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            with open_gold(path, items, ("no", "yes"), HEADER) as gold:
                for i in range(len(gold.answers), 10**6):
                    gold.add(Answer(i % 500, i % 2, "ann", "first", f"note {i}"))
                    os.write(write, struct.pack("q", i + 1))
        os.close(write)
        time.sleep(rng.uniform(0.005, 0.05))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with os.fdopen(read, "rb") as file:
            told = file.read()
        saved = struct.unpack("q", told[-8:])[0] if told else saved
        with open_gold(path, items, ("no", "yes"), HEADER) as gold:
            notes = [answer.note for answer in gold.answers]
        right = len(notes) - saved in (0, 1) and notes == [f"note {i}" for i in range(len(notes))]
        saved = len(notes)
        yield f"review: kill {count}", "" if right else "an answer is lost or doubled"


class _Faults:
    """Counts calls, and lets the one with the number `fails` fail."""

    def __init__(self, fails: int, error: BaseException) -> None:
        self.fails, self.error, self.calls = fails, error, 0

    def wrap(self, function: Any) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            self.calls += 1
            if self.calls == self.fails:
                raise self.error
            return function(*arguments, **named)

        return call


@contextmanager
def failing(faults: _Faults) -> Iterator[None]:
    """Let a call of the system fail: those that change files, and writing itself."""
    plain = io.open

    def open_file(file: Any, mode: str = "r", *arguments: Any, **named: Any) -> Any:
        opened = plain(file, mode, *arguments, **named)
        if not set(mode) & set("wax+") or isinstance(file, int):
            return opened
        guarded = mock.Mock(wraps=opened)
        guarded.__enter__, guarded.__exit__ = lambda _: guarded, lambda *_: opened.close()
        guarded.write, guarded.closed = faults.wrap(opened.write), False  # a Mock is true
        return guarded

    wrapped = {name: faults.wrap(getattr(os, name)) for name in CALLS}
    with mock.patch.multiple(os, **wrapped), mock.patch.object(io, "open", open_file):
        yield


def attack_by_fault(ground: Path, place: Path, rng: np.random.Generator) -> Outcomes:
    """Let one call after the other fail in every command: all outputs are old, or all new."""
    for command in WRITING:
        names = [part.name for part in list_files(command, Out)]
        for what, error in ERRORS.items():
            with fresh(ground, place) as folder:
                arguments = [*spell(command, folder), "--force"]
                _time(command, folder)
                counted = _Faults(0, error)
                for name in names:
                    (folder / name).write_text("old")
                with failing(counted):
                    run(arguments)
                n_calls = counted.calls
                chosen = np.arange(1, n_calls + 1)
                if n_calls > MOST_FAULTS:
                    chosen = np.sort(rng.choice(chosen, MOST_FAULTS, replace=False))
                for fails in chosen.tolist():
                    for name in names:
                        (folder / name).write_text("old")
                    before = look_at(folder)
                    with failing(_Faults(fails, error)):
                        result = run(arguments)
                    after = look_at(folder)
                    yield f"{command}: {what} at call {fails}", _judge(result, before, after, names)


def _judge(result: Any, before: dict[str, Any], after: dict[str, Any], names: list[str]) -> str:
    trouble = blame(result)
    if trouble:
        return trouble
    if before.keys() != after.keys():
        return f"left or removed: {sorted(Path(x).name for x in before.keys() ^ after.keys())}"
    changed = {Path(path).name for path in before if before[path] != after[path]}
    if changed - set(names):
        return f"changed: {sorted(changed - set(names))}"
    if changed and changed != set(names):
        return f"only new: {sorted(changed)}"
    return "" if changed or result.exit_code else "success without outputs"
