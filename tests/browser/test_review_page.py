"""The review in a real browser: by keyboard, killed and resumed, in two tabs, hostile texts."""

import re
import subprocess
import sys
from contextlib import contextmanager
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image

from browser.conftest import BROKEN_WORDS
from review.reviewing import review, serving, small_crowd
from unelisa.aggregators import DawidSkene
from unelisa.review.contents import Contents
from unelisa.review.gold_file import open_gold
from unelisa.review.pools import ChartsPool, VotesPool
from unelisa.review.session import Session
from unelisa.votes import Votes

pytestmark = pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
HOSTILE = [
    "<script>document.title = 'run'</script><img src=x onerror=\"document.title='run'\">",
    "x" * 2**20,
    "\u202eevil \u05e9\u05dc\u05d5\u05dd \u2066",
    "</div></body>{{ 7 * 7 }}\n\n\tline",
]


@pytest.fixture
def open_tab(browser):
    """Open pages in one browser; afterwards nothing may have gone wrong or elsewhere."""
    opened = []

    def visit(address, width=1280, allowed=None, **looks):
        size = {"width": width, "height": 900}
        place = browser.new_context(viewport=size, **looks)
        page, told = place.new_page(), []
        page.set_default_timeout(60_000)
        page.on("console", lambda message: told.append(message.text))
        page.on("pageerror", lambda error: told.append(str(error)))
        page.on("dialog", lambda dialog: told.append(dialog.message))
        page.on("request", lambda request: told.extend(_find_foreign(request.url, address)))
        opened.append((place, told, allowed))
        page.goto(address)
        return page

    yield visit
    for place, told, allowed in opened:
        place.close()
        assert [one for one in told if not allowed or allowed not in one] == []


def _find_foreign(url, address):
    return (
        []
        if url.startswith(("data:", "blob:")) or urlsplit(url)[:2] == urlsplit(address)[:2]
        else [url]
    )


def press(page, key):
    """Press a key that answers; return when the next item shows."""
    page.evaluate("() => { shown = { ...shown, old: true }; }")
    page.keyboard.press(key)
    page.wait_for_function("() => !busy && !(shown && shown.old)")


def answer_fifteen(page):
    """Answer fifteen items by keyboard, one of them with a note; return what was said."""
    page.wait_for_selector("#answers button")
    assert "#" not in page.url  # nor in the history
    said = []
    for number in range(15):
        said.append((page.evaluate("() => shown.name"), "ham" if number % 2 else "spam"))
        if number == 3:
            page.keyboard.press("n")
            page.keyboard.type("12 s b")  # the letters of a note are no answers
            page.keyboard.press("Enter")
        press(page, "1" if number % 2 else "2")
    assert page.inner_text("#last-words") == f"{said[-1][0]}: {said[-1][1]}"
    page.wait_for_selector("#progress:not([aria-busy]) .outlook")  # it asks for nothing more
    return said


@contextmanager
def started(folder):
    """The command itself, in a process of its own; gives its address."""
    command = [sys.executable, "-m", "unelisa", "review", "votes.csv", "--gold", "gold.csv"]
    command += ["--reviewer", "ann"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        lines = iter(process.stdout.readline, "")
        yield process, next(line.strip() for line in lines if line.startswith("http"))
    finally:
        process.kill()
        process.communicate()


def test_thirty_items_by_keyboard_with_a_kill_in_between(open_tab, tmp_path):
    votes, _, _ = small_crowd()
    frame = pd.DataFrame(np.array(["ham", "", "spam"])[votes.values + 1], columns=votes.voters)
    frame.insert(0, "item", votes.items)
    frame.to_csv(tmp_path / "votes.csv", index=False)
    with started(tmp_path) as (process, address):
        said = answer_fifteen(open_tab(address))
        process.kill()
        process.wait()
    with (tmp_path / "gold.csv").open("a") as file:
        file.write("item 1,ha")  # what a kill in the middle of a write leaves
    with review(tmp_path / "gold.csv") as session, serving(session) as server:
        said += answer_fifteen(open_tab(server.address))
    rows = pd.read_csv(tmp_path / "gold.csv")
    assert list(zip(rows["item"], rows["label"], strict=True)) == said
    assert len(rows) == rows["item"].nunique() == 30
    assert rows["note"].dropna().tolist() == ["12 s b", "12 s b"]


def test_two_tabs_skip_and_back(open_tab, tmp_path):
    with review(tmp_path / "gold.csv") as session, serving(session) as server:
        first = open_tab(server.address)
        first.wait_for_selector("#answers button")
        with first.expect_popup() as opened:  # a copy of the tab, with its key
            first.evaluate("() => { window.open('/'); }")
        second = opened.value
        second.wait_for_selector("#answers button")
        shown = second.inner_text("#name")
        assert shown == first.inner_text("#name")
        press(first, "1")
        second.click("#answers button >> nth=1")
        second.wait_for_function("() => document.getElementById('status').textContent")
        assert "another tab" in second.inner_text("#status")
        assert len(session.gold.answers) == 1
        press(second, "s")
        second.keyboard.press("b")
        second.wait_for_selector("#forward:visible")
        second.keyboard.press("b")
        second.wait_for_function(f"() => shown.name === '{shown}'")
        assert second.get_attribute("#answers button >> nth=0", "aria-pressed") == "true"
        assert second.locator("#own-votes li").count() > 0
        press(second, "2")
        assert [x.label for x in session.gold.answers] == [0, None, 1]
        second.uncheck("#shortcuts")
        second.focus("#name")
        second.keyboard.press("1")
        assert len(session.gold.answers) == 3
        kept = second.evaluate("() => [localStorage.length, Object.keys(sessionStorage)]")
        assert kept == [0, ["key"]]  # which ends with the tab
        assert second.context.cookies() == []
        second.reload()
        second.wait_for_selector("#answers button")
        stranger = first.context.new_page()
        stranger.goto(server.address)  # again
        stranger.wait_for_selector("#status.bad")
        assert "was opened before" in stranger.inner_text("#name")
        assert "start unelisa review again" in stranger.inner_text("#status").lower()


def test_hostile_texts_are_shown_as_text_and_nobody_is_shut_out(open_tab, tmp_path):
    with review(tmp_path / "gold.csv") as session:
        first = session.pool.items[session._study.ranking[: len(HOSTILE)]]
        table = pd.DataFrame({"item": first, "text": HOSTILE, "<b>fact</b>": HOSTILE[0]})
        table.to_parquet(tmp_path / "texts.parquet")
        session.contents = Contents(session.pool.items, tmp_path / "texts.parquet")
        with serving(session) as server:
            page = open_tab(server.address)
            for text in HOSTILE:
                page.wait_for_selector("#answers button")
                if page.is_visible("#more"):
                    page.click("#more")
                    page.wait_for_selector("#more", state="hidden")
                found = page.evaluate("() => document.getElementById('text').textContent")
                assert found == text
                if text != HOSTILE[-1]:
                    press(page, "1")
            assert page.title() == "unelisa review"
            assert page.locator("#card script, #card img[src]").count() == 0
            page.wait_for_selector(".outlook")
            found = Axe().run(page).response["violations"]
            assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
            page.set_viewport_size({"width": 400, "height": 900})
            page.emulate_media(color_scheme="dark")
            assert page.evaluate("() => document.documentElement.scrollWidth") <= 400
            found = Axe().run(page).response["violations"]
            assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []


LONG = ("cannot be determined", "rheumatoid arthritis", "Autoimmunerkrankung", "uninformative" * 9)
WORDS = "button, label, td, thead th, dt, .figure, h2, h3"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_no_word_of_a_button_breaks(open_tab, tmp_path, width, scheme):
    rng = np.random.default_rng(0)
    votes = Votes.of(np.array(LONG)[rng.integers(0, 4, (60, 1)).repeat(5, axis=1)])
    pool = VotesPool(DawidSkene().fit(votes), votes)
    with (
        open_gold(tmp_path / "gold.csv", pool.items, pool.classes, pool.header) as gold,
        serving(Session(pool, gold, Contents(pool.items), "ann")) as server,
    ):
        page = open_tab(server.address, width=width, color_scheme=scheme)
        page.wait_for_selector(".outlook")
        press(page, "1")
        assert set(page.evaluate(BROKEN_WORDS, WORDS)) <= {
            LONG[-1]
        }  # 117 letters must break somewhere
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
        page.screenshot(path=tmp_path / "page.png", full_page=True)
        assert (tmp_path / "page.png").stat().st_size > 10_000


def test_an_answer_that_cannot_be_saved_stays_on_the_page(open_tab, tmp_path):
    gold = tmp_path / "gold.csv"
    Image.new("RGB", (1, 1)).save(tmp_path / "p.png")
    with review(gold) as session:
        table = [f"{name},p.png" for name in session.pool.items]
        (tmp_path / "items.csv").write_text("\n".join(["item,image", *table, ""]))
        session.contents = Contents(session.pool.items, tmp_path / "items.csv")
        with serving(session) as server:
            page = open_tab(server.address, allowed="409")
            page.wait_for_function("() => document.getElementById('picture').naturalWidth === 1")
            shown = page.inner_text("#name")
            (tmp_path / "new.csv").write_bytes(gold.read_bytes())
            (tmp_path / "new.csv").replace(gold)
            page.fill("#note", "a long thought")
            page.click("#answers button >> nth=1")
            page.wait_for_selector("#status.bad")
            assert "gold.csv was replaced" in page.inner_text("#status")
            assert page.inner_text("#name") == shown
            assert page.input_value("#note") == "a long thought"
            assert len(gold.read_text().splitlines()) == 1


def test_the_first_of_a_million_items(open_tab, tmp_path):
    n = 10**6
    names, chances = np.arange(n), np.linspace(0, 1, n)
    pd.DataFrame({"item": names, "score": chances}).to_parquet(tmp_path / "scores.parquet")
    pool = ChartsPool(names, chances, ["0.5"] * n)
    contents = Contents(names, tmp_path / "scores.parquet")
    with (
        open_gold(tmp_path / "gold.csv", names, pool.classes, pool.header) as gold,
        serving(Session(pool, gold, contents, "ann")) as server,
    ):
        page = open_tab(server.address)
        page.wait_for_selector("#answers button")
        assert re.fullmatch(r"score\s+0\.\d+", page.inner_text("#facts tbody").strip())
        assert "of 1,000,000 items" in page.inner_text("#where")
        press(page, "2")
    assert len((tmp_path / "gold.csv").read_text().splitlines()) == 2


def test_another_site_cannot_reach_it(browser, tmp_path):
    """A page of another origin sends what a browser lets it send; nothing of it is heard."""
    with review(tmp_path / "gold.csv") as session, serving(session) as server:
        context = browser.new_context()
        own = context.new_page()
        own.goto(server.address)
        own.wait_for_selector("#answers button")
        page = context.new_page()
        page.goto(server.address.replace("127.0.0.1", "localhost").partition("#")[0] + "nothing")
        statuses = []
        page.on("response", lambda response: statuses.append(response.status))
        send = """u => fetch(u, {method: "POST", mode: "no-cors", body: '{"item": 0, "label": 1}'})
            .catch(() => 0)"""
        page.evaluate(send, f"http://127.0.0.1:{server.port}/answer")
        assert 200 not in statuses
        assert session.gold.answers == []
        context.close()
