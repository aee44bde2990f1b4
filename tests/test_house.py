"""The rules of CONTRIBUTING.md that ruff and import-linter cannot check."""

import ast
import re
import runpy
from pathlib import Path

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "src" / "unelisa"
SOURCES = sorted(PACKAGE.rglob("*.py"))
STUDIES = sorted((TESTS.parent / "studies").rglob("*.py"))
LONGEST_WAY = 28  # modules; compiled kernels are not seen
BANNED = {"utils", "helpers", "common", "manager", "handler"}


def test_files_and_bodies_stay_short():
    long = [
        path.name
        for path in (*SOURCES, *STUDIES)
        if len(path.read_text(encoding="utf-8").splitlines()) > 500
    ]
    assert not long
    for path in (*SOURCES, *STUDIES):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and "kernels" not in path.parts:
                has_words = ast.get_docstring(node) and len(node.body) > 1
                body = node.body[1:] if has_words else node.body
                length = (body[-1].end_lineno or 0) - body[0].lineno + 1
                assert length <= 40, f"{path.name}: {node.name} has {length} lines"
    assert not {path.stem for path in SOURCES} & BANNED


def test_every_room_has_its_tests():
    """One test file per idea, in the folder of its room; coverage says what no test reaches."""
    for room in PACKAGE.glob("*/__init__.py"):
        assert list((TESTS / room.parent.name).rglob("test_*.py")), room.parent.name


def test_every_room_is_on_the_map():
    """CONTRIBUTING.md names every package and module of the folder, and nothing that is gone."""
    page = (TESTS.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rooms = page.split("```\nsrc/unelisa/\n")[1].split("```")[0]
    there = {path.name for path in PACKAGE.glob("*.py")}
    there |= {f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")}
    assert there <= set(re.findall(r"\w+(?:\.py|/)", rooms))
    lines = re.findall(r"^  (\w[\w.]+/?(?:, [\w.]+)*)", rooms, re.MULTILINE)  # what begins a line
    assert {name for line in lines for name in line.split(", ")} <= there


def test_no_assert_in_the_package_and_warnings_point_to_the_caller():
    for path in SOURCES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert not any(isinstance(node, ast.Assert) for node in ast.walk(tree)), path.name
        called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        assert path.name == "errors.py" or "warnings.warn" not in called, path.name


def test_the_way_of_a_fit_stays_short():
    """`make counts` lists the modules."""
    counts = runpy.run_path(str(TESTS.parent / "benchmarks" / "counts.py"))
    assert len(counts["list_modules_of_a_fit"]()) <= LONGEST_WAY
