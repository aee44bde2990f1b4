"""Take the pictures of the review: `python docs/take_review_images.py` (needs chromium).

The votes are simulated: eight people and a bot on 600 messages. The truth answers.
"""

import shutil
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from playwright.sync_api import Page, sync_playwright

from unelisa.aggregators import LatentIsing
from unelisa.errors import UnelisaWarning
from unelisa.review.contents import Contents
from unelisa.review.gold_file import open_gold
from unelisa.review.pools import VotesPool
from unelisa.review.server import ReviewServer
from unelisa.review.session import Session
from unelisa.votes import Votes

IMAGES = Path(__file__).parent / "images"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
TEXTS = {
    "ham": [
        "Meeting moved to three, see you in room 4.",
        "Can you send me the slides from Tuesday? I promised Jo she would get them this week.",
        "Dinner at eight? Bring the photos if you find them.",
    ],
    "spam": [
        "Your parcel could not be delivered. Confirm your details within 24 hours to avoid a fee.",
        "You have WON a voucher! Reply YES to claim it now.",
        "Final notice: your account is suspended. Log in here to unlock it.",
    ],
}
ANSWERS = 32


class Shot(NamedTuple):
    """One picture: its name, the window's size, and the colors."""

    name: str
    width: int
    height: int
    scheme: Literal["light", "dark"]


SHOTS = (
    Shot("review-1280.png", 1280, 800, "light"),
    Shot("review-1280-dark.png", 1280, 800, "dark"),
    Shot("review-400.png", 400, 1330, "light"),
    Shot("review-400-dark.png", 400, 1330, "dark"),
)


def simulate(folder: Path) -> tuple[Votes, dict[str, str]]:
    """Return votes and the truth; write the messages."""
    rng = np.random.default_rng(7)
    truth = rng.choice(["ham", "spam"], 600, p=[0.65, 0.35])
    other = np.where(truth == "ham", "spam", "ham")
    right = {"ann": 0.9, "bob": 0.85, "cem": 0.8, "dia": 0.8, "eli": 0.75, "fay": 0.7, "gus": 0.65}
    table = {who: np.where(rng.random(600) < p, truth, other) for who, p in right.items()}
    table["bot"] = np.where(rng.random(600) < 0.95, table["gus"], truth)
    names = [f"message {i + 1}" for i in range(600)]
    frame = pd.DataFrame(table).mask(rng.random((600, len(table))) < 0.5)
    frame.insert(0, "item", names)
    hours = [f"2026-03-{d:02d} {h:02d}:15" for d, h in rng.integers((1, 6), (28, 23), (600, 2))]
    told = [TEXTS[label][k] for label, k in zip(truth, rng.integers(3, size=600), strict=True)]
    texts = pd.DataFrame({"item": names, "text": told, "received": hours})
    texts.to_csv(folder / "texts.csv", index=False)
    return Votes.of(frame, item="item"), dict(zip(names, truth.tolist(), strict=True))


@contextmanager
def serving(session: Session) -> Iterator[ReviewServer]:
    """Serve a session in a thread."""
    server = ReviewServer(session)
    thread = threading.Thread(target=server.run)
    thread.start()
    yield server
    server.stop()
    thread.join()


def answer(page: Page, truth: dict[str, str], n: int) -> None:
    """Answer some items with the truth, by keyboard."""
    for _ in range(n):
        page.wait_for_selector("#answers button")
        name = page.evaluate("() => shown.name")
        page.keyboard.press("1" if truth[name] == "ham" else "2")
        page.wait_for_function("name => !busy && shown.name !== name", arg=name)
    page.wait_for_function("() => !document.getElementById('progress').hasAttribute('aria-busy')")


def main() -> None:
    """Review some items, and take all pictures of the page."""
    warnings.simplefilter("ignore", UnelisaWarning)
    with tempfile.TemporaryDirectory() as place, sync_playwright() as driver:
        folder = Path(place)
        votes, truth = simulate(folder)
        pool = VotesPool(LatentIsing().fit(votes), votes)
        contents = Contents(pool.items, folder / "texts.csv")
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        with open_gold(folder / "gold.csv", pool.items, pool.classes, pool.header) as gold:
            session = Session(pool, gold, contents, "ann")
            with serving(session) as server:
                context = browser.new_context()
                page = context.new_page()
                page.goto(server.address)
                answer(page, truth, ANSWERS)
                for shot in SHOTS:
                    page.set_viewport_size({"width": shot.width, "height": shot.height})
                    page.emulate_media(color_scheme=shot.scheme)
                    page.wait_for_timeout(300)
                    page.screenshot(path=IMAGES / shot.name)
                context.close()
        browser.close()


if __name__ == "__main__":
    main()
