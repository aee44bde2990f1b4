import asyncio
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
from unelisa.review.server import KEY, LARGEST_REQUEST, Guard, ReviewServer

pytestmark = pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
PORT = 8765
OWN = f"http://127.0.0.1:{PORT}"


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


def test_it_listens_on_this_machine_only(server, session, browser):
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", server.port), timeout=5)
    with pytest.raises(OSError, match="use"):
        ReviewServer(session, server.port)
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
    told = browser.json("/progress")[1]
    assert 0.5 < told["expected"]["share"] <= 1
    assert [row["class"] for row in told["rates"]] == ["ham", "spam"]
    assert told["labeled"] == session.collect().n_labels


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


def test_pictures_and_texts(browser):
    status, headers, content = browser.ask("/picture/0")
    assert (status, headers["content-type"], content) == (200, "image/png", PNG)
    assert browser.ask("/text/0")[2] == b"text of item 0"
    assert browser.ask("/picture/99999")[0] == browser.ask("/text/99999")[0] == 404
    for path in ("/question", "/text/0", "/picture/0", "/progress"):
        status, _, content = browser.ask(path, x_unelisa_key="wrong")
        assert (status, b"text of" in content) == (403, False)


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


@pytest.mark.parametrize("trouble", ["was replaced", "has an item or a label that these votes"])
def test_an_answer_into_a_file_that_cannot_be_used_is_refused_each_time(tmp_path, trouble):
    with review(tmp_path / "gold.csv") as session, serving(session) as started:
        browser, file = Browser(started), tmp_path / "gold.csv"
        shown = browser.json("/question")[1]["question"]
        assert browser.json("/answer", answer_to(shown, 1))[0] == 200
        saved = file.read_bytes()
        if trouble == "was replaced":
            (tmp_path / "new").write_bytes(saved)
            (tmp_path / "new").replace(file)
        else:
            saved += b"no such item,spam,bob,useful,\nitem 3,spam,bob,useful,\n"
            file.write_bytes(saved)
        for path, body in (
            ("/answer", answer_to(shown, 0)),
            ("/question", None),
            ("/question", None),
        ):
            status, told = browser.json(path, body)
            assert (status, trouble in told["error"]) == (409, True)
        assert file.read_bytes() == saved


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
        half = (
            f"POST /answer HTTP/1.1\r\nHost: 127.0.0.1:{started.port}\r\n{KEY}: {browser.key}\r\n"
        )
        half += f"Origin: http://127.0.0.1:{started.port}\r\nContent-Length: 9\r\n\r\n"
        for k, hog in enumerate(hogs):
            with suppress(OSError):  # those that gave way
                hog.sendall(half.encode() if k == 39 else b"GET / HTTP/1.1\r\nHo")
        assert browser.json("/question")[0] == 200
        for hog in hogs:
            with suppress(ConnectionError):
                told = hog.recv(99)  # ended from the other side
                assert told == b"" or told.startswith(b"HTTP/1.1 400")
            hog.close()
        assert browser.json("/question")[0] == 200


async def application(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"inside"})


@pytest.fixture
def guard():
    return Guard(application, PORT, ["/"])


def ask(guard, path="/question", method="GET", key=None, **headers):
    """Return the status, the headers and the text of a response."""
    sent = []

    async def send(message):
        sent.append(message)

    given = {"host": f"127.0.0.1:{PORT}", KEY: key, **headers}
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": b"",
        "headers": [(k.replace("_", "-").encode(), v.encode()) for k, v in given.items() if v],
    }
    # a browser of other tests may have an event loop in this thread
    with ThreadPoolExecutor(1) as other:
        other.submit(asyncio.run, guard(scope, None, send)).result()
    found = {k.decode(): v.decode() for k, v in sent[0]["headers"]}
    return sent[0]["status"], found, sent[1]["body"].decode()


def enter(guard, token=None):
    return ask(guard, "/enter", "POST", token or guard.token, origin=OWN)


def test_the_token_is_exchanged_once_for_a_key_and_never_for_a_cookie(guard):
    status, headers, key = enter(guard)
    assert (status, "set-cookie" in headers) == (200, False)
    assert enter(guard)[0] == 403  # another browser
    assert ask(guard, key=key)[::2] == (200, "inside")
    for wrong in (None, "", "wrong", guard.token, key + "x", key[:-1], "\xff"):
        assert ask(guard, key=wrong)[0] == 403
    assert ask(guard, cookie=f"key={key}; {KEY}={key}")[0] == 403


def test_the_page_itself_holds_no_secret_and_is_for_everybody(guard):
    assert ask(guard, "/")[0] == 200
    assert ask(guard, "/", host="evil.example:8765")[0] == 403
    assert ask(guard, "//")[0] == ask(guard, "/question/../")[0] == 403
    for headers in (ask(guard)[1], enter(guard)[1], ask(guard, "/")[1]):
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize("token", ["wrong", "\xff", " "])
def test_a_wrong_token_is_refused(guard, token):
    assert enter(guard, token)[0] == 403
    assert ask(guard, "/enter", "GET", guard.token)[0] == 403
    assert ask(guard, "/answer", "POST", guard.token, origin=OWN)[0] == 403
    assert enter(guard)[0] == 200


@pytest.mark.parametrize("host", ["evil.example:8765", "127.0.0.1", "127.0.0.1:1", None])
def test_another_host_name_is_refused(guard, host):
    assert ask(guard, key=enter(guard)[2], host=host)[0] == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
    ],
)
def test_other_origins_are_refused(guard, headers):
    assert ask(guard, "/enter", "POST", guard.token, **{"origin": OWN, **headers})[0] == 403
    key = enter(guard)[2]
    assert ask(guard, key=key, **headers)[0] == 403
    assert ask(guard, "/answer", "POST", key, **{"origin": OWN, **headers})[0] == 403
    assert ask(guard, "/answer", "POST", key)[0] == 403  # it does not say where it is from
    assert ask(guard, "/answer", "POST", key, origin=OWN)[0] == 200
