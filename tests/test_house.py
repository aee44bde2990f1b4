"""The rules of CONTRIBUTING.md that ruff and import-linter cannot check."""

import ast
from pathlib import Path

import pytest

SOURCES = sorted((Path(__file__).parents[1] / "src" / "unelisa").rglob("*.py"))
BANNED = {"utils", "helpers", "common", "manager", "handler"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_files_stay_under_400_lines(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_bodies_stay_under_40_lines(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and "kernels" not in path.parts:
            body = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
            length = (body[-1].end_lineno or 0) - body[0].lineno + 1
            assert length <= 40, f"{path.name}: {node.name} has {length} lines"


def test_names_say_what_they_hold():
    assert not {path.stem for path in SOURCES} & BANNED
