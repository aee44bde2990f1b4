"""Take the pictures of the report: `python docs/take_report_images.py` (needs chromium).

The report is that of `unelisa demo`: a simulated crowd whose truth is known; that on families is of
its breast cancer rules.
"""

import shutil
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Browser, sync_playwright

from unelisa.aggregators import LatentIsing
from unelisa.cli.demo import breast_cancer_votes, demo

IMAGES = Path(__file__).parent / "images"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
# what is folded opens
SHOW = """(where) => {
  const found = document.querySelector(where);
  if (found.tagName === "DETAILS") found.open = true;
  found.scrollIntoView();
}"""


class Shot(NamedTuple):
    """One picture: its name, the window's size, and how the page is looked at."""

    name: str
    width: int
    height: int
    looks: dict[str, Any]
    scroll_to: str = "h1"
    page: str = "report.html"


SHOTS = (
    Shot("report-1280.png", 1280, 1190, {}),
    Shot("report-1280-dark.png", 1280, 1190, {"color_scheme": "dark"}),
    Shot("report-1280-labels.png", 1280, 1150, {}, "#labels-title"),
    Shot("report-families.png", 1280, 800, {}, "#graph-section", "families.html"),
    Shot("report-400.png", 400, 1180, {"has_touch": True, "is_mobile": True}),
    Shot(
        "report-400-dark.png",
        400,
        1180,
        {"has_touch": True, "is_mobile": True, "color_scheme": "dark"},
    ),
)


def take(browser: Browser, page_file: Path, shot: Shot) -> None:
    """Take one picture."""
    size = {"width": shot.width, "height": shot.height}
    context = browser.new_context(viewport=size, **shot.looks)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(page_file.as_uri())
    page.evaluate(SHOW, shot.scroll_to)
    page.wait_for_timeout(500)
    page.screenshot(path=IMAGES / shot.name)
    context.close()


def main() -> None:
    """Make the demo's report and take all pictures of it."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        demo(out=Path(folder))
        rules = breast_cancer_votes().votes
        LatentIsing().fit(rules).report(Path(folder) / "families.html", rules)
        chromium = shutil.which("chromium")
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        for shot in SHOTS:
            take(browser, Path(folder) / shot.page, shot)
        browser.close()


if __name__ == "__main__":
    main()
