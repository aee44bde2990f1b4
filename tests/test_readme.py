"""A newcomer types what the first pages print, one line after the other."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from unelisa.cli import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "docs" / "index.md"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder in which the demo has run."""
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(app, ["demo"]).exit_code == 0
    return tmp_path


def _blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_the_page_prints_runs_after_the_demo(page, folder, capsys):
    (lines,) = _blocks(page, "python")
    exec(compile(lines, page.name, "exec"), {})  # noqa: S102 - our own page
    shown = capsys.readouterr().out
    assert {"voter", "verdict", "weight", "reason"} <= set(shown.splitlines()[0].split())
    assert "contradicts the truth" in shown
    commands = [
        shlex.split(line, comments=True)[1:]
        for block in _blocks(page, "sh")
        for line in block.splitlines()
        if line.startswith("unelisa ")
    ]
    assert len(commands) >= 3
    for command in commands:
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, (command, result.output)
    assert (folder / "report.html").exists()
