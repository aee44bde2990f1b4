"""Who may talk to the page: one browser, from this machine, which knows the address.

The token in the address is exchanged for a cookie once; another browser that uses it again is
refused. Requests under another host name (DNS rebinding) or from another site's page are refused
before they are looked at.
"""

import secrets
from typing import Any
from urllib.parse import parse_qs

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
REFUSED = {
    "host": "This page answers only under its own address.",
    "origin": "Requests from other pages are refused.",
    "token": "This address is not valid, or was opened in another browser before. "
    "Start unelisa review again for a new one; answers are kept.",
}


class Guard:
    """Wraps an ASGI application that one browser may use."""

    def __init__(self, app: Any, port: int) -> None:
        self._app = app
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.token = secrets.token_urlsafe(32)
        self._cookie = f"unelisa-{port}", secrets.token_urlsafe(32)
        self._used = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, exchange the token for the cookie, or refuse."""
        if scope["type"] != "http":
            return
        headers = {
            name.decode("latin-1"): text.decode("latin-1") for name, text in scope["headers"]
        }
        trouble = self._find_trouble(scope, headers)
        if trouble:
            await _respond(send, 403, REFUSED[trouble])
        elif self._has_cookie(headers):
            await self._app(scope, receive, _with_headers(send))
        elif self._has_token(scope):
            self._used = True
            name, value = self._cookie
            cookie = f"{name}={value}; HttpOnly; SameSite=Strict; Path=/"
            await _respond(send, 303, "", {"Location": "/", "Set-Cookie": cookie})
        else:
            await _respond(send, 403, REFUSED["token"])

    def _find_trouble(self, scope: Any, headers: dict[str, str]) -> str:
        """Return why a request is refused whatever it knows: its host name or its origin."""
        host = headers.get("host", "")
        if host not in self._hosts:
            return "host"
        origin = headers.get("origin")
        foreign = origin is not None and origin != f"http://{host}"
        unnamed = origin is None and scope["method"] not in ("GET", "HEAD")
        site = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        return "origin" if foreign or unnamed or site else ""

    def _has_cookie(self, headers: dict[str, str]) -> bool:
        # a strict parser would stop at another server's cookie, which browsers send to all ports
        sent = (part.strip().encode() for part in headers.get("cookie", "").split(";"))
        own = "=".join(self._cookie).encode()
        return any(secrets.compare_digest(part, own) for part in sent)

    def _has_token(self, scope: Any) -> bool:
        if self._used or scope["method"] != "GET" or scope["path"] != "/":
            return False
        (given,) = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[:1]
        return secrets.compare_digest(given.encode(), self.token.encode())


def _with_headers(send: Any) -> Any:
    async def send_guarded(message: Any) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *_encode(HEADERS)]
        await send(message)

    return send_guarded


async def _respond(send: Any, status: int, text: str, more: dict[str, str] | None = None) -> None:
    told = {"Content-Type": "text/plain; charset=utf-8", **HEADERS, **(more or {})}
    await send({"type": "http.response.start", "status": status, "headers": _encode(told)})
    await send({"type": "http.response.body", "body": text.encode()})


def _encode(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), text.encode()) for name, text in headers.items()]
