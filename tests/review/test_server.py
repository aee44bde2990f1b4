import os
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest

from review.reviewing import PNG, Browser, answer_to, review, serving, small_crowd
from unelisa.review import gold_file
from unelisa.review import server as serve
from unelisa.review.contents import Contents
from unelisa.review.server import LARGEST_REQUEST, ReviewServer

pytestmark = pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("review")


@pytest.fixture(scope="module")
def session(folder):
    votes, _, _ = small_crowd()
    (folder / "p.png").write_bytes(PNG)
    table = [f"{name},text of {name},p.png" for name in votes.items]
    (folder / "texts.csv").write_text("\n".join(["item,text,image", *table, ""]))
    with review(folder / "gold.csv") as opened:
        opened.contents = Contents(opened.pool.items, folder / "texts.csv")
        yield opened


@pytest.fixture(scope="module")
def server(session):
    with serving(session) as started:
        yield started


@pytest.fixture(scope="module")
def browser(server):
    return Browser(server)


def test_it_listens_on_this_machine_only(server, session):
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", server.port), timeout=5)
    with pytest.raises(OSError, match="use"):
        ReviewServer(session, server.port)


def test_the_page_is_a_file_of_the_package(browser):
    for path, kind in (("/", "html"), ("/page.css", "css"), ("/page.js", "javascript")):
        status, headers, content = browser.ask(path)
        assert status == 200
        assert kind in headers["content-type"]
        assert b"http://" not in content
        assert b"https://" not in content
    assert browser.ask("/page.html")[0] == 404


def test_an_answer_is_on_disk_before_the_next_item_and_votes_come_after_it(
    browser, session, folder
):
    status, told = browser.json("/question")
    shown = told["question"]
    assert (status, shown["votes"], told["classes"]) == (200, None, ["ham", "spam"])
    assert shown["text"] == f"text of {shown['name']}"
    before = len(session.gold.answers)
    status, after = browser.json("/answer", answer_to(shown, 1, note="two\nlines"))
    assert status == 200
    assert after["last"]["votes"]["opinions"]
    assert after["question"]["votes"] is None
    assert after["question"]["item"] != shown["item"]
    assert (
        (folder / "gold.csv").read_text().endswith(f"{shown['name']},spam,ann,useful,two lines\n")
    )
    status, again = browser.json("/answer", answer_to(shown, 0))  # from another tab
    assert again["conflict"]
    assert not after["conflict"]
    assert len(session.gold.answers) == before + 1
    status, back = browser.json(f"/question?before={after['question']['item']}")
    assert back["question"]["item"] == shown["item"]
    assert back["question"]["note"] == "two lines"


@pytest.mark.parametrize(
    "body",
    [b"", b"nonsense", b"[]", b"[" * 60_000, b" " * 100_000, {"item": -1}, {"item": 10**9},
     {"item": 0, "label": 2}, {"item": 0, "label": True}, {"item": 0, "label": 1.0},
     {"item": 0, "label": "spam"}, {"label": 1}, {"item": 0, "label": [1]},
     *(b'{"label": 0, "item": %s}' % item
       for item in (b"1e999", b"NaN", b"true", b"1.5", b"9" * 5000, b"{}"))],
)  # fmt: skip
def test_what_is_not_an_answer_is_refused(browser, session, body):
    before = len(session.gold.answers)
    assert browser.ask("/answer", body)[0] == 400
    assert len(session.gold.answers) == before


def test_strangers_are_refused(browser, server):
    token = server.address.partition("#")[2]
    assert browser.ask("/enter", b"", x_unelisa_key=token)[0] == 403  # used once
    for path in ("/question", "/text/0", "/picture/0", "/progress"):
        for key in ("", "wrong", token):
            status, _, content = browser.ask(path, x_unelisa_key=key)
            assert (status, b"text of" in content) == (403, False)
    assert browser.ask("/question", cookie=f"unelisa={browser.key}", x_unelisa_key="")[0] == 403
    assert browser.ask("/question", host="evil.example")[0] == 403
    assert browser.ask("/answer", {}, Origin="http://evil.example")[0] == 403
    assert "set-cookie" not in browser.ask("/question")[1]


def test_pictures_and_texts(browser):
    status, headers, content = browser.ask("/picture/0")
    assert (status, headers["content-type"], content) == (200, "image/png", PNG)
    assert browser.ask("/text/0")[2] == b"text of item 0"
    assert browser.ask("/picture/99999")[0] == browser.ask("/text/99999")[0] == 404


def test_where_it_stands(browser, session):
    told = browser.json("/progress")[1]
    assert 0.5 < told["expected"]["share"] <= 1
    assert [row["class"] for row in told["rates"]] == ["ham", "spam"]
    assert told["labeled"] == session.collect().n_labels


def test_a_row_that_cannot_be_read_is_told_of_once(browser, session):
    with session.gold.path.open("a") as file:
        file.write("no such item,spam,bob,useful,\n")
    status, told = browser.json("/question")
    assert status == 409
    assert "of gold.csv has an item or a label that these votes do not have" in told["error"]
    assert browser.json("/question")[0] == 200


def test_a_disk_that_takes_nothing_is_told_of(browser, session, monkeypatch):
    shown = browser.json("/question")[1]["question"]
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda handle, line: 0)
        status, told = browser.json("/answer", answer_to(shown, 1))
    assert status == 507
    assert told["error"].startswith("Not saved")
    assert browser.json("/answer", answer_to(shown, 1))[0] == 200
    assert np.count_nonzero(session.collect().labels >= 0) == len(session.gold.answers)


def test_half_characters_and_long_numbers_are_answered(browser, folder):
    shown = browser.json("/question")[1]["question"]
    assert browser.ask("/answer", answer_to(shown, 0, note="a\ud800"))[0] == 200
    assert (folder / "gold.csv").read_text(encoding="utf-8").endswith(",a\n")
    assert browser.ask("/text/" + "9" * 5000)[0] == 404
    assert browser.ask("/answer", answer_to(shown, 1, note="x" * LARGEST_REQUEST))[0] == 400


def test_an_answer_into_a_file_that_was_replaced_is_refused_and_said(tmp_path):
    with review(tmp_path / "gold.csv") as session, serving(session) as started:
        browser = Browser(started)
        shown = browser.json("/question")[1]["question"]
        assert browser.json("/answer", answer_to(shown, 1))[0] == 200
        saved = (tmp_path / "gold.csv").read_bytes()
        (tmp_path / "new").write_bytes(saved)
        (tmp_path / "new").replace(tmp_path / "gold.csv")
        for path, body in (("/answer", answer_to(shown, 0)), ("/question", None)):
            status, told = browser.json(path, body)
            assert (status, "gold.csv was replaced" in told["error"]) == (409, True)
        assert (tmp_path / "gold.csv").read_bytes() == saved


def test_a_foreign_lock_holds_up_an_answer_but_not_the_page(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    monkeypatch.setattr(gold_file, "PATIENCE", 1.0)
    with review(tmp_path / "gold.csv") as session, serving(session) as started:
        browser = Browser(started)
        with (tmp_path / "gold.csv").open() as held, ThreadPoolExecutor(1) as other:
            fcntl.flock(held, fcntl.LOCK_SH)
            waiting = other.submit(browser.json, "/question")
            assert browser.ask("/page.css")[0] == 200
            assert not waiting.done()
            status, told = waiting.result()
        assert (status, "is locked by another program" in told["error"]) == (409, True)
        assert browser.json("/question")[0] == 200


def test_half_sent_requests_end_and_do_not_shut_the_reviewer_out(tmp_path, monkeypatch):
    monkeypatch.setattr(serve, "HEADER_SECONDS", 0.5)
    monkeypatch.setattr(serve, "MOST_CONNECTIONS", 8)
    with review(tmp_path / "gold.csv") as session, serving(session) as started:
        browser = Browser(started)
        hogs = [socket.create_connection(("127.0.0.1", started.port), 30) for _ in range(40)]
        for hog in hogs:
            with suppress(OSError):  # those that gave way
                hog.sendall(b"GET / HTTP/1.1\r\nHo")
        assert browser.json("/question")[0] == 200
        for hog in hogs:
            with suppress(ConnectionError):
                assert hog.recv(1) == b""  # ended from the other side
            hog.close()
        assert browser.json("/question")[0] == 200
