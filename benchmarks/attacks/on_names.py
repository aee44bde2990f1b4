"""Names of items, voters, labels, judges and rules that are no names."""

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from ground import PAYLOADS, QUICK, RECORDS, Out, blame, fresh, list_files, run, spell

Outcomes = Iterator[tuple[str, str]]
NAMES = [*PAYLOADS["names"], "a" * 300, "\U0001f600" * 70]
NAMED = [name for name in QUICK if name not in ("fit a folder", "pattern tables", "update")]
_FORMULA = re.compile(r"[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)


def attack_names(ground: Path, place: Path, rng: np.random.Generator) -> Outcomes:
    """Give each hostile name to an item, a voter and a label, in some commands at random."""
    for name in NAMES:
        for what, old in (("item", "i7"), ("voter", "w2"), ("label", "yes")):
            with fresh(ground, place) as folder:
                for path in folder.glob("*.csv"):
                    _rename_cells(path, old, name)
                log = (folder / "log.jsonl").read_text()
                log = log.replace(json.dumps(old), json.dumps(name))
                (folder / "log.jsonl").write_text(log)
                fit = ["fit", str(folder / "votes.csv"), "--save", str(folder / "model.npz")]
                result = run([*fit, "--method", "dawid-skene", "--force"])
                trouble = blame(result)
                yield f"fit: {name!r} as {what}", trouble
                ways = NAMED if result.exit_code == 0 else ["fit", "jury"]
                for command in rng.choice(ways, 2, replace=False).tolist():
                    yield f"{command}: {name!r} as {what}", _try(command, folder, name)


def attack_rules(ground: Path, place: Path, rng: np.random.Generator) -> Outcomes:
    """Give each hostile name to a rule, in tables of patterns and in a configuration."""
    for name in NAMES:
        with fresh(ground, place) as folder:
            _rename_cells(folder / "site.csv", "a", name)
            _rename_cells(folder / "other.csv", "a", name)
            yield f"pattern tables: {name!r} as a rule", _try("pattern tables", folder, name)
            told = json.dumps(name).replace("\x7f", "\\u007f")
            text = f'title = {told}\n[rules]\n{told} = "ICD:714.0"\n{RECORDS}'
            (folder / "rules.toml").write_text(text, encoding="utf-8")
            if rng.random() < 0.4:  # it takes a second
                yield f"rules: {name!r} as a rule and the title", _try("rules", folder, name)


def _try(command: str, folder: Path, name: str) -> str:
    items = ["--show-items"] if command in ("fit", "report", "jury") else []
    result = run([*spell(command, folder), *items, "--force"])
    trouble = blame(result)
    if not trouble and result.exit_code == 0:
        trouble = "; ".join(filter(None, _judge(command, folder, name)))
    return trouble


def _judge(command: str, folder: Path, name: str) -> Iterator[str]:
    """Yield what is wrong with the outputs of a command."""
    for part in list_files(command, Out):
        path = folder / part.name
        if path.suffix == ".csv":
            yield _judge_table(path.read_text(encoding="utf-8"))
        elif path.suffix == ".json":
            json.loads(path.read_text(encoding="utf-8"))
        elif path.suffix == ".html" and "<" in name and name in path.read_text(encoding="utf-8"):
            yield "a name is markup in the report"


def _judge_table(text: str) -> str:
    rows = list(csv.reader(io.StringIO(text, newline="")))
    if len({len(row) for row in rows}) != 1:
        return "a broken row in a table"
    cells = [cell for row in rows for cell in row]
    pieces = [piece for cell in cells for piece in re.split(r"[;\r\n\t]", cell)]
    bad = [
        x
        for x in pieces
        if _FORMULA.match(x.lstrip()) and not _NUMBER.fullmatch(x.strip()) and x.strip() != "-"
    ]
    return f"a formula in a table: {bad[0]!r}" if bad else ""


def _rename_cells(path: Path, old: str, new: str) -> None:
    with path.open(newline="", encoding="utf-8") as file:
        rows: list[Any] = list(csv.reader(file))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerows([new if cell == old else cell for cell in row] for row in rows)
