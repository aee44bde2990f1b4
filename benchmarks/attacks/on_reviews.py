"""The gold file of a review: what was confirmed is in it, whatever happens to it."""

import csv
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from unelisa.errors import ModelError
from unelisa.review.gold_file import Answer, open_gold

Outcomes = Iterator[tuple[str, str]]
ITEMS = np.array([f"i{k}" for k in range(60)], dtype=object)
CLASSES = ("no", "yes")
HEADER = ("item", "label", "reviewer", "chosen", "note")
ROWS = b"item,label,reviewer,chosen,note\ni1,yes,ann,useful,\ni2,no,ann,useful,\n"
# what a file may be when it is opened; True: a review may go on with it
STARTS: dict[str, bytes] = {
    "no line feed at the end": ROWS + b"i3,yes,ann,useful,",
    "a torn row": ROWS + b"i3,ye",
    "CRLF": ROWS.replace(b"\n", b"\r\n"),
    "a byte order mark": b"\xef\xbb\xbf" + ROWS,
    "quotes everywhere": ROWS.replace(b"i1,yes,ann,useful,", b'"i1","yes","ann","useful",""'),
    "cells of a spreadsheet": ROWS + b",,,,\n",
    "a blank line": ROWS + b"\n",
    "a null byte": ROWS + b"\0\n",
    "Latin-1": ROWS + b"i3,yes,ann,useful,\xe9\n",
    "a column too many": ROWS + b"i3,yes,ann,useful,,x\n",
    "a column too few": ROWS + b"i3,yes,ann,useful\n",
    "a blank before an item": ROWS + b" i3,yes,ann,useful,\n",
    "a label in capitals": ROWS + b"i3,YES,ann,useful,\n",
    "a label of another task": ROWS + b"i3,maybe,ann,useful,\n",
    "an item of another task": ROWS + b"elsewhere,yes,ann,useful,\n",
    "half a header": ROWS[:17],
    "another header": b"a,b\n1,2\n",
    "an open quote": ROWS + b'i3,yes,ann,useful,"why\n',
    "a long note": ROWS + b"i3,yes,ann,useful," + b"x" * 100_000 + b"\n",
    "nothing": b"",
}


def attack_journal(ground: Path, place: Path, rng: np.random.Generator) -> Outcomes:  # noqa: ARG001
    """Damage, fill, replace and share a gold file, and kill who writes it."""
    place.mkdir()
    file = place / "gold.csv"
    for name, content in STARTS.items():
        yield f"opened with {name}", _start(file, content)
    for size in range(0, 300, 3):
        yield f"a disk that is full at {size} bytes", _fill(file, size)
    for name, change in CHANGES.items():
        for asked in range(3):
            yield f"{name} after {asked} answers", _change(file, change, asked)
    for number in range(12):
        pause = float(rng.uniform(0.02, 0.6))
        yield f"killed while it writes, {number}", _kill(file, pause)
    for number in range(4):
        yield f"four reviewers at once, {number}", _share(file)


def _answer(item: int, note: str = "") -> Answer:
    return Answer(item, item % 2, "ann", "useful", note)


def _read(file: Path) -> list[list[str]]:
    with file.open(encoding="utf-8", newline="") as rows:
        return list(csv.reader(rows))[1:]


def _start(file: Path, content: bytes) -> str:
    """What is a whole row stays, and a file of something else stays as it is."""
    file.write_bytes(content)
    try:
        with open_gold(file, ITEMS, CLASSES, HEADER) as gold, gold.turn():
            gold.add(_answer(5))
    except ModelError as error:
        if "\n" in str(error):
            return "more than one line"
        return "" if file.read_bytes() == content else "refused, and changed"
    found = file.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if not found.startswith(whole):
        return "rows were lost"
    return "" if found.count(b"i5,yes,ann,useful,") == 1 else "the answer is not in it"


def _fill(file: Path, size: int) -> str:
    """Return what is wrong after answers to a disk that takes so many bytes."""
    file.unlink(missing_ok=True)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    confirmed = 0
    try:
        with open_gold(file, ITEMS, CLASSES, HEADER) as gold:
            for item in range(8):
                with gold.turn():
                    try:
                        gold.add(_answer(item, "seventeen letters"))
                        confirmed += 1
                    except OSError:
                        pass
    except ModelError:
        pass
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    rows = _read(file) if file.exists() and file.stat().st_size else []
    if len(rows) != confirmed or any(len(row) != len(HEADER) for row in rows):
        return f"{confirmed} confirmed, {len(rows)} rows"
    return ""


def _replace(file: Path) -> None:
    file.with_suffix(".new").write_bytes(ROWS)
    file.with_suffix(".new").replace(file)


def _append(file: Path) -> None:
    with file.open("ab") as end:
        end.write(b"i40,yes")


CHANGES: dict[str, Callable[[Path], object]] = {
    "replaced": _replace,
    "deleted": Path.unlink,
    "moved away": lambda file: file.rename(file.with_suffix(".old")),
    "emptied": lambda file: file.write_bytes(b""),
    "cut": lambda file: os.truncate(file, file.stat().st_size // 2),
    "edited in place": lambda file: file.write_bytes(file.read_bytes().replace(b"ann", b"bob")),
    "given half a row": _append,
    "replaced by a folder": lambda file: (file.unlink(), file.mkdir()),
    "replaced by a link": lambda file: (file.unlink(), file.symlink_to("/dev/null")),
}


def _change(file: Path, change: Callable[[Path], object], asked: int) -> str:
    """An answer after the change is refused, or it is in the file that has the name."""
    _clear(file)
    try:
        with open_gold(file, ITEMS, CLASSES, HEADER) as gold:
            for item in range(asked):
                with gold.turn():
                    gold.add(_answer(item))
            change(file)
            with gold.turn():
                gold.add(_answer(50))
    except (ModelError, OSError) as error:
        return "" if "\n" not in str(error) else "more than one line"
    finally:
        kept = file.is_file() and b"i50,no" in file.read_bytes()
        _clear(file)
    return "" if kept else "an answer was confirmed into nothing"


def _clear(file: Path) -> None:
    if file.is_dir() and not file.is_symlink():
        file.rmdir()
    file.unlink(missing_ok=True)


WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from on_reviews import CLASSES, HEADER, ITEMS, open_gold, Answer
with open_gold(Path(sys.argv[1]), ITEMS, CLASSES, HEADER) as gold:
    for item in range(len(ITEMS)):
        with gold.turn():
            if not gold.claim(item):
                continue
            gold.add(Answer(item, 1, sys.argv[3], "useful", "a note"))
        print(item, flush=True)
"""


def _write(file: Path, name: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(file), str(Path(__file__).parent), name]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _kill(file: Path, pause: float) -> str:
    """What a killed process confirmed is in the file, whole."""
    _clear(file)
    child = _write(file, "ann")
    assert child.stdout is not None  # noqa: S101
    first = child.stdout.readline()
    time.sleep(pause / 50)
    child.kill()
    confirmed = len([first, *child.stdout.read().split("\n")]) - 1
    with open_gold(file, ITEMS, CLASSES, HEADER) as gold, gold.turn():
        found = len(gold.answers)
    return "" if found >= confirmed else f"{confirmed} confirmed, {found} in the file"


def _share(file: Path) -> str:
    """Each item has one answer, from one of them, in a whole row."""
    _clear(file)
    children = [_write(file, f"reviewer {k}") for k in range(4)]
    said = [child.communicate()[0].split() for child in children]
    rows = _read(file)
    if any(len(row) != len(HEADER) for row in rows):
        return "rows ran into each other"
    missing = len(ITEMS) - len({row[0] for row in rows})
    return f"{missing} items without an answer" if missing or not any(said) else ""
