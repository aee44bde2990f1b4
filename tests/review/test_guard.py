import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from unelisa.review.guard import KEY, Guard

PORT = 8765
OWN = f"http://127.0.0.1:{PORT}"


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


def test_every_response_has_the_policy(guard):
    for headers in (ask(guard)[1], enter(guard)[1], ask(guard, "/")[1]):
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
