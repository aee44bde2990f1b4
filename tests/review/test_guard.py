import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from unelisa.review.guard import Guard

PORT = 8765


async def application(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"inside"})


@pytest.fixture
def guard():
    return Guard(application, PORT)


def ask(guard, path="/", method="GET", query="", **headers):
    """Return the status and the headers of a response."""
    sent = []

    async def send(message):
        sent.append(message)

    given = {"host": f"127.0.0.1:{PORT}", **{k.replace("_", "-"): v for k, v in headers.items()}}
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(k.encode(), v.encode()) for k, v in given.items() if v is not None],
    }
    # a browser of other tests may have an event loop in this thread
    with ThreadPoolExecutor(1) as other:
        other.submit(asyncio.run, guard(scope, None, send)).result()
    return sent[0]["status"], {k.decode(): v.decode() for k, v in sent[0]["headers"]}


def enter(guard):
    status, headers = ask(guard, query=f"token={guard.token}")
    assert status == 303
    return headers["set-cookie"].split(";")[0]


def test_the_token_is_exchanged_once_for_a_cookie(guard):
    status, headers = ask(guard, query=f"token={guard.token}")
    assert (status, headers["location"]) == (303, "/")
    assert "HttpOnly; SameSite=Strict" in headers["set-cookie"]
    assert "max-age" not in headers["set-cookie"].lower()  # gone with the browser
    assert ask(guard, query=f"token={guard.token}")[0] == 403  # another browser
    cookie = headers["set-cookie"].split(";")[0]
    assert ask(guard, cookie=cookie)[0] == 200
    assert ask(guard, query=f"token={guard.token}", cookie=cookie)[0] == 200  # a second tab


@pytest.mark.parametrize("query", ["", "token=", "token=wrong", "token=%ff"])
def test_a_wrong_token_is_refused(guard, query):
    assert ask(guard, query=query)[0] == 403
    assert ask(guard, cookie="unelisa-8765=wrong")[0] == 403
    assert ask(guard, cookie='"')[0] == 403
    assert ask(guard, path="/answer", query=f"token={guard.token}")[0] == 403
    enter(guard)


@pytest.mark.parametrize("host", ["evil.example:8765", "127.0.0.1", "127.0.0.1:1", None])
def test_another_host_name_is_refused(guard, host):
    assert ask(guard, cookie=enter(guard), host=host)[0] == 403


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
    cookie = enter(guard)
    assert ask(guard, cookie=cookie, **headers)[0] == 403
    assert ask(guard, method="POST", cookie=cookie, **headers)[0] == 403
    assert ask(guard, method="POST", cookie=cookie)[0] == 403  # it does not say where it is from
    own = f"http://127.0.0.1:{PORT}"
    assert ask(guard, method="POST", cookie=cookie, origin=own)[0] == 200


def test_every_response_has_the_policy(guard):
    for headers in (ask(guard)[1], ask(guard, cookie=enter(guard))[1]):
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "foreign", ["a[0]=1", "x=a b", '{"a":1}', 'q="', "expires=Thu, 01 Jan", ""]
)
def test_cookies_of_other_servers_do_not_lock_the_reviewer_out(guard, foreign):
    _, headers = ask(guard, query=f"token={guard.token}")
    own = headers["set-cookie"].partition(";")[0]
    assert ask(guard, cookie=f"{foreign}; {own}")[0] == 200
    assert ask(guard, cookie=f"{foreign}; {own}x")[0] == 403
