"""Readers type what the pages print: every code block runs, and shows what the page says."""

import re
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import unelisa as ue
from unelisa.cli import app
from unelisa.review.server import ReviewServer
from unelisa.sources import datasets

ROOT = Path(__file__).parents[1]
# generated pages print what their commands say; the health records' page has a test of its own
ELSEWHERE = {"health_records", "scaling"}
FENCE = re.compile(r"^```(python|sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A block of a page: its language and text; for output, whether a program stands before it."""

    language: str
    text: str
    printed: bool


def blocks(page):
    """The blocks of a page in their order."""
    text, found, end = page.read_text(encoding="utf-8"), [], 0
    for match in FENCE.finditer(text):
        follows = bool(found) and not text[end : match.start()].strip()
        found.append(Block(match[1], match[2], follows and found[-1].language == "python"))
        end = match.end()
    return found


def pages():
    """The pages with programs on them."""
    every = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    built = {"_build", "auto_examples", "generated"}
    written = [page for page in every if not built & set(page.parts)]
    runnable = [page for page in written if any(b.language == "python" for b in blocks(page))]
    return [page for page in runnable if page.stem not in ELSEWHERE]


@pytest.fixture(autouse=True)
def _reviewers_leave_at_once(monkeypatch):
    def leave(server):
        server._socket.close()
        raise KeyboardInterrupt

    monkeypatch.setattr(ReviewServer, "run", leave)


def bluebirds(folder):
    """The published set, from the copy beside the checkout, under the workers' published names."""
    ids = [39, 97, 175, 335, 866, 885, 896, 1005, 1023, *range(1721, 1728), 1730, 1731, 1733, 1734]
    ids += [1737, 1738, *range(1740, 1744), 1750, *range(1755, 1767)]
    table = pd.read_csv(folder / "votes_wide.csv.gz", dtype={"item": str}).set_index("item")
    labels = pd.read_csv(folder / "truth.csv", dtype={"item": str}).set_index("item")["label"]
    table.columns = sorted(map(str, ids))
    return known_set(table, labels[table.index].to_numpy())


def stand_in():
    """A crowd of the same size, for checkouts without the published one."""
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], 108)
    right = rng.random((108, 39)) < rng.uniform(0.35, 0.9, 39)
    table = pd.DataFrame(np.where(right, truth[:, None], -truth[:, None]))
    return known_set(table.rename(str).rename(columns=str), truth)


def known_set(table, truth):
    """What `fetch_set` returns, as far as the pages use it."""
    votes = ue.Votes.of(table.rename_axis("item").reset_index(), coding="pm1", item="item")
    return SimpleNamespace(votes=votes, signs=truth)


def run_command(line):
    words = shlex.split(line, comments=True)
    if words[:1] == ["unelisa"] and words[1] != "demo":  # that has run: it is slow
        result = CliRunner().invoke(app, words[1:])
        assert result.exit_code == 0, (line, result.output)


def run_page(page, capsys):
    """Run the blocks of a page in order; return each program's output beside what is printed."""
    names, found = {"__name__": "page"}, []
    for block in blocks(page):
        if block.language == "python":
            capsys.readouterr()
            exec(compile(block.text, page.name, "exec"), names)  # noqa: S102 - our own page
            shown = capsys.readouterr().out
        elif block.language == "sh":
            for line in block.text.replace("\\\n", " ").splitlines():
                run_command(line)
        elif block.printed:
            found.append((shown, block.text))
    return found


@pytest.mark.filterwarnings("default::unelisa.errors.UnelisaWarning")
@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_runs_and_prints_what_it_says(page, demo_folder, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(demo_folder if "demo/votes.csv" in page.read_text("utf-8") else tmp_path)
    published = Path(__file__).resolve().parents[2] / "shared" / "data" / "bluebirds"
    crowd = bluebirds(published) if published.is_dir() else stand_in()
    monkeypatch.setattr(datasets, "fetch_set", {"bluebirds": crowd}.__getitem__)
    for shown, printed in run_page(page, capsys):
        if published.is_dir() or page.stem != "tutorial":
            assert shown == printed
