"""Logs of judges that mean something else than they seem to, and secrets in every input."""

import json
import logging
import shutil
import signal
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from ground import PAYLOADS, QUICK, In, TooLongError, fresh, list_files, run, spell

import unelisa as ue
from unelisa.errors import UnelisaError

Outcomes = Iterator[tuple[str, str]]
LOGS = Path(__file__).parents[2] / "tests" / "jury" / "fixtures"
DEADLINE = 20  # seconds for a log of some kilobytes
SECRET = "Xylophon5patient"  # noqa: S105 - the name of a patient
VALUES: list[Any] = [
    *(None, True, 0, -1, 1e400, float("nan"), 10**400, "", " ", "\ud83d", "a\0b", "x" * 10_000),
    *([], {}, [1], {"a": 1}, "Infinity", "__invalid__", "1_0", "\u0661", [["[" * 50]]),
]


def attack_readers(ground: Path, place: Path, rng: np.random.Generator) -> Outcomes:  # noqa: ARG001
    """Change logs of every format: an error of ours, or votes that mean the same."""
    place.mkdir()
    for name, (records, wanted) in MEANT.items():
        path = place / "meant.jsonl"
        path.write_text("\n".join(map(json.dumps, records)))
        found, trouble = _read(path)
        yield f"meaning: {name}", trouble or _count(found, wanted)
    for log in sorted(LOGS.iterdir()):
        for name, twist in WHOLE.items():
            yield f"{log.name}: {name}", _judge(place / log.name, log, twist)
    texts = [log for log in sorted(LOGS.iterdir()) if log.suffix in (".json", ".jsonl")]
    for number in range(400):
        log = texts[int(rng.integers(len(texts)))]
        yield f"{log.name}: change {number}", _read(_mutate(place / log.name, log, rng))[1]


def _read(path: Path) -> tuple[Any, str]:
    """Return the votes of a log, None if it was refused, and what is wrong."""
    signal.alarm(DEADLINE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ue.read_jury(path), ""
    except UnelisaError as error:
        return None, "more than one line" if "\n" in str(error) else ""
    except TooLongError:
        return None, f"more than {DEADLINE} s"
    except Exception as error:  # what breaks is counted
        return None, repr(error)[:200]
    finally:
        signal.alarm(0)


def _tabulate(votes: Any) -> dict[tuple[str, str], str]:
    codes = votes.values
    return {
        (str(votes.items[i]), str(votes.voters[s])): str(votes.name_codes(codes[i : i + 1, s])[0])
        for i, s in np.argwhere(codes != 0).tolist()
    }


def _judge(path: Path, log: Path, twist: Callable[[Path], Any]) -> str:
    """A log that was changed as a whole is refused, or has the votes of the original."""
    plain, trouble = _read(log)
    if trouble or plain is None:
        return trouble  # a table of labels, which `read_votes` reads
    folder = path.with_suffix(".d")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    shutil.copy(log, folder / log.name)
    twist(folder / log.name)
    found, trouble = _read(folder)
    if trouble or found is None:
        return trouble
    return "" if _tabulate(found) == _tabulate(plain) else "other votes, without an error"


def _rewrite(path: Path, change: Callable[[str], str]) -> None:
    if path.suffix == ".jsonl":
        path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")


def _turn(text: str) -> str:
    lines = text.splitlines()
    return "\n".join(lines if '"spec"' in lines[0] else lines[::-1]) + "\n"


WHOLE: dict[str, Callable[[Path], Any]] = {
    "alone in a folder": lambda _: None,
    "twice": lambda path: shutil.copy(path, path.with_stem(f"{path.stem}-copy")),
    "beside a hidden file": lambda path: (path.parent / f".{path.name}").write_text("x"),
    "without its last line feed": lambda path: _rewrite(path, lambda text: text.rstrip("\n")),
    "with CRLF": lambda path: _rewrite(path, lambda text: text.replace("\n", "\r\n")),
    "with blank lines": lambda path: _rewrite(path, lambda text: text.replace("\n", "\n\n")),
    "with a byte order mark": lambda path: _rewrite(path, lambda text: f"\ufeff{text}"),
    "backward": lambda path: _rewrite(path, _turn),
    "with each line twice": lambda path: _rewrite(
        path, lambda text: "".join(f"{line}\n{line}\n" for line in text.splitlines())
    ),
}


def _mutate(path: Path, log: Path, rng: np.random.Generator) -> Path:
    """Write a log of which one value, deep inside, is something else, or one key is gone."""
    text = log.read_text(encoding="utf-8")
    lines = text.splitlines() if log.suffix == ".jsonl" else [text]
    k = int(rng.integers(len(lines)))
    record = json.loads(lines[k])
    here: Any = record
    while True:
        keys = list(here) if isinstance(here, dict) else list(range(len(here)))
        key = keys[int(rng.integers(len(keys)))]
        if not isinstance(here[key], dict | list) or not here[key] or rng.random() < 0.2:
            break
        here = here[key]
    if isinstance(here, dict) and rng.random() < 0.3:
        del here[key]
    else:
        here[key] = VALUES[int(rng.integers(len(VALUES)))]
    lines[k] = json.dumps(record)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _say(*labels: Any, key: str = "label", **more: Any) -> list[dict[str, Any]]:
    return [
        {"item": f"q{i}", "judge": judge, key: label, **more}
        for i, label in enumerate(labels)
        for judge in ("a", "b")
    ]


FEEDBACK = [
    {"key": key, "run_id": f"r{i}", "score": None if i % 2 else 1, "comment": "Evaluator error"}
    for i in range(10)
    for key in ("x", "y")
]
# records, and how many votes they are at most: 0 where they should be refused
MEANT: dict[str, tuple[list[dict[str, Any]], int]] = {
    "null labels": (_say("pass", None, "fail", None), 4),
    "a label and a verdict": (_say("pass", "fail", verdict="pass"), 0),
    "a label in two spellings": (_say("pass", "fail", Label="fail"), 0),
    "infinite scores": (_say(float("inf"), float("-inf"), 0.5, key="score"), 0),
    "feedback without scores": (FEEDBACK, 10),
    "one judge, two answers": ([*_say("pass", "fail"), *_say("fail", "fail")], 0),
    "the same records twice": (_say("pass", "fail") * 2, 4),
    "Y and N": (_say("Y", "N", "Y", "N"), 8),
    "P and N": (_say("P", "N", "P", "N"), 8),
}


def _count(votes: Any, wanted: int) -> str:
    cast = 0 if votes is None else int(np.count_nonzero(votes.values))
    return "" if cast <= wanted else f"{cast} votes, at most {wanted} wanted"


def attack_privacy(ground: Path, place: Path, rng: np.random.Generator) -> Outcomes:
    """Name items after a secret, and break every input: no message, log or error tells it."""
    heard = _Listener()
    logging.getLogger().addHandler(heard)
    logging.getLogger().setLevel(logging.DEBUG)
    for command in QUICK:
        for part in list_files(command, In):
            for name, damage in DAMAGES.items():
                with fresh(ground, place) as folder:
                    _make_secret(folder)
                    target = folder / part.name
                    if target.suffix not in (".csv", ".jsonl") or part.name == "costs.csv":
                        continue  # a table of costs names voters only
                    damage(target, rng)
                    result = run([*spell(command, folder), "--force"])
                    said = f"{result.stderr} {result.exception!r} {heard.take()}"
                    trouble = "told" if SECRET in said or "Traceback" in said else ""
                    yield f"{command}: {name} in {part.name}", trouble


class _Listener(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self._said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self._said.append(record.getMessage())

    def take(self) -> str:
        said, self._said = "\n".join(self._said), []
        return said


def _make_secret(folder: Path) -> None:
    for path in [*folder.glob("*.csv"), folder / "log.jsonl"]:
        text = path.read_text()
        for i in range(60):
            for left, right in (("\n", ","), ('"item": "', '"')):
                text = text.replace(f"{left}i{i}{right}", f"{left}{SECRET}{i}{right}")
        path.write_text(text)
    model = ue.LatentIsing().fit(ue.read_votes(folder / "votes.csv"))
    ue.save(model, folder / "model.npz")


def _edit(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable[[Path, Any], None]:
    def damage(path: Path, _: Any) -> None:
        if path.suffix == ".csv":
            change(pd.read_csv(path, dtype=str)).to_csv(path, index=False)

    return damage


def _put(value: str) -> Callable[[Path, Any], None]:
    """Put a value in the place of some cell."""

    def damage(path: Path, rng: np.random.Generator) -> None:
        if path.suffix == ".csv":
            table = pd.read_csv(path, dtype=str)
            table.iloc[int(rng.integers(len(table))), int(rng.integers(table.shape[1]))] = value
            table.to_csv(path, index=False)
        else:
            lines = path.read_text().splitlines()
            record = json.loads(lines[3])
            record[str(rng.choice(list(record)))] = value
            path.write_text("\n".join([*lines[:3], json.dumps(record), *lines[4:]]))

    return damage


DAMAGES: dict[str, Callable[[Path, Any], None]] = {
    "no header": lambda path, _: path.write_text(path.read_text().split("\n", 1)[1]),
    "a row twice": _edit(lambda table: pd.concat([table, table[:1]])),
    "a row with other answers": _edit(
        lambda table: pd.concat([table, table[:1].assign(**{table.columns[-1]: "else"})])
    ),
    "one column": _edit(lambda table: table[table.columns[:1]]),
    "columns in another order": _edit(lambda table: table[table.columns[::-1]]),
    "two columns of one name": _edit(
        lambda table: table.set_axis(["item"] * table.shape[1], axis=1)
    ),
    "an open quote": lambda path, _: path.write_text(path.read_text().replace("\n", '\n"', 3)),
    "half of it": lambda path, _: path.write_text(path.read_text()[: path.stat().st_size // 2]),
    "a secret as label": _put(f"{SECRET}label"),
    **{f"{name!r} in a cell": _put(name) for name in PAYLOADS["names"][:20]},
}
