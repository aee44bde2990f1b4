"""The rules of CONTRIBUTING.md that ruff and import-linter cannot check."""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "src" / "unelisa"
SOURCES = sorted(PACKAGE.rglob("*.py"))
STUDIES = sorted((TESTS.parent / "studies").rglob("*.py"))
BANNED = {"utils", "helpers", "common", "manager", "handler"}
# modules without a test file of their own name, the file that holds them to account, and why
TESTED_ELSEWHERE: dict[str, tuple[str, str]] = {}


@pytest.mark.parametrize("path", [*SOURCES, *STUDIES], ids=lambda path: path.stem)
def test_files_stay_under_500_lines(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 500


@pytest.mark.parametrize("path", [*SOURCES, *STUDIES], ids=lambda path: path.stem)
def test_bodies_stay_under_40_lines(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and "kernels" not in path.parts:
            body = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
            length = (body[-1].end_lineno or 0) - body[0].lineno + 1
            assert length <= 40, f"{path.name}: {node.name} has {length} lines"


def test_names_say_what_they_hold():
    assert not {path.stem for path in SOURCES} & BANNED


def mirror_of(path):
    """The test file of a module, as its path in tests/; `__main__` has test_main."""
    place = path.relative_to(PACKAGE)
    return place.with_name(f"test_{place.stem.strip('_')}.py").as_posix()


@pytest.mark.parametrize(
    "path",
    [path for path in SOURCES if path.name != "__init__.py"],
    ids=lambda path: path.relative_to(PACKAGE).as_posix(),
)
def test_tests_mirror_the_source(path):
    name = path.relative_to(PACKAGE).as_posix()
    mirror, why = TESTED_ELSEWHERE.get(name, (mirror_of(path), ""))
    assert (TESTS / mirror).is_file(), f"{name} has no tests/{mirror}"
    if why:
        assert not (TESTS / mirror_of(path)).exists(), f"take {name} off the list of exceptions"


def test_exceptions_are_modules():
    names = {path.relative_to(PACKAGE).as_posix() for path in SOURCES}
    assert set(TESTED_ELSEWHERE) <= names


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
