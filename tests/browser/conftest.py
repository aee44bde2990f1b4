"""A real browser: Debian's chromium, driven by playwright; without either these tests skip."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from unelisa.cli import app
from unelisa.simulation.designs import simulate_votes
from unelisa.votes import Votes

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
# without these it looks for its maker's servers at every start
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A headless chromium for all tests of a process."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not Path(CHROMIUM).exists():
        pytest.skip("chromium is not installed; .ci/install-chromium brings it on Debian")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    """What the command line makes of 25 voters on 400 items: labels.csv and report.html."""
    path = tmp_path_factory.mktemp("report")
    drawn = simulate_votes(25, 7, "high", 400, expert_edges=4, random_state=2)
    names = [f"worker {s}" for s in range(25)]
    table = [",".join(["item", *names])]
    words = {-1: "no", 1: "yes"}
    truth = ["item,label"]
    for i, row in enumerate(drawn.votes.values):
        item = "=1+1" if i == 0 else f"patient {i}"
        table.append(",".join([item, *(words[int(vote)] for vote in row)]))
        truth.append(f"{item},{words[int(drawn.truth[i])]}")
    (path / "votes.csv").write_text("\n".join([*table, ""]))
    (path / "truth.csv").write_text("\n".join([*truth, ""]))
    arguments = ["fit", "votes.csv", "--truth", "truth.csv", "--out", "labels.csv"]
    arguments += ["--report", "report.html", "--show-items"]
    told = [str(path / part) if "." in part else part for part in arguments]
    result = CliRunner().invoke(app, told)
    assert result.exit_code == 0, result.output
    return path


# the words of some elements that stand on two lines
BROKEN_WORDS = """(names) => [...document.querySelectorAll(names)].flatMap((cell) => {
  const head = cell.closest("thead");
  if (head && getComputedStyle(head).position === "absolute") return [];  // for ears only
  const broken = [], walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode())
    for (const word of text.data.matchAll(/[\\p{L}\\p{N}.,%]+/gu)) {
      const range = document.createRange();
      range.setStart(text, word.index); range.setEnd(text, word.index + word[0].length);
      const lines = [...range.getClientRects()].map((box) => Math.round(box.top));
      if (new Set(lines).size > 1) broken.push(word[0]);
    }
  return broken;
})"""

# what a reader opens by a click: the graph and the table of the voters, and so on
UNFOLD = "document.querySelectorAll('section > details').forEach((one) => { one.open = true; })"


class OpenPage:
    """A page that was opened from file://, and what it asked for and complained of."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog {dialog.message}"))

    def graph(self, expression: str) -> Any:
        """Evaluate an expression over the graph, `cy`."""
        found = "const cy = document.getElementById('graph')._cyreg.cy"
        return self.page.evaluate(f"() => {{ {found}; return {expression} }}")


@pytest.fixture
def visit(browser):
    """Open a file; afterwards nothing may have left the machine, nor anything gone wrong."""
    visits = []

    def open_page(path: Path, width: int = 1280, unfold: bool = True, **looks: Any) -> OpenPage:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, accept_downloads=True, **looks
        )
        opened = OpenPage(context.new_page())
        visits.append((context, opened, path.as_uri()))
        opened.page.set_default_timeout(60_000)  # a busy machine is not a failure
        opened.page.goto(path.as_uri())
        if unfold:
            opened.page.evaluate(UNFOLD)
            if opened.page.locator("#graph").count() and looks.get("java_script_enabled", True):
                opened.page.wait_for_selector("#graph canvas >> nth=0", state="attached")
        return opened

    yield open_page
    for context, opened, address in visits:
        asked = [url for url in opened.requests if not url.startswith(("blob:", "data:"))]
        context.close()
        assert set(asked) == {address}
        assert opened.complaints == []


@pytest.fixture(scope="session")
def crowd_of_300() -> Votes:
    """Three hundred voters, sixty of whom know anything."""
    rng = np.random.default_rng(0)
    truth = rng.choice(np.array([-1, 1], dtype=np.int8), 1500)
    accuracy = np.where(np.arange(300) < 60, 0.7, 0.5)
    right = rng.random((1500, 300)) < accuracy
    return Votes.of(np.where(right, truth[:, None], -truth[:, None]), coding="pm1")
