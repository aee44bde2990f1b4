"""SECURITY.md: each promise and each limit names a test that exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
PARTS = ("Promises", "Limits")
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for part in PARTS
    for line in PAGE.split(f"## {part}\n")[1].split("\n## ")[0].splitlines()[3:]
    if line.startswith("| ") and "| test |" not in line
]


def test_there_are_promises_and_limits():
    assert len(ROWS) > 40


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:40])
def test_a_promise_is_held_by_a_test(row):
    named = re.findall(r"`(?:tests/)?([\w/]+\.py)::(test_\w+)`", row[-1])
    targets = re.findall(r"`make ([\w-]+)`", row[-1])
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert named or targets
    for file, name in named:
        source = (ROOT / "tests" / file).read_text(encoding="utf-8")
        assert re.search(rf"^def {name}\(", source, re.MULTILINE), f"{file} has no {name}"
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
