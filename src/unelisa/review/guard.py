"""Who may talk to the page: one tab, on this machine, that was opened with the address.

The address ends in a token behind a #, which browsers do not send. The page's script exchanges it
once for a key, and sends the key in a header with each request. A cookie would go to every port of
this machine. Requests under another host name (DNS rebinding) or from another site's page are
refused before they are looked at.
"""

import secrets
from collections.abc import Collection
from typing import Any

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src blob: data:; "
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
    "key": "This address is not valid, or was opened before. "
    "Start unelisa review again for a new one; answers are kept.",
}
KEY = "x-unelisa-key"  # the header


class Guard:
    """Wraps an ASGI application that one tab may use; everybody gets the `files` of the page."""

    def __init__(self, app: Any, port: int, files: Collection[str]) -> None:
        self._app, self._files = app, files
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.token, self._key = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self._used = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, exchange the token for the key, or refuse."""
        if scope["type"] != "http":
            return
        headers = {
            name.decode("latin-1"): text.decode("latin-1") for name, text in scope["headers"]
        }
        trouble = self._find_trouble(scope, headers)
        given = headers.get(KEY, "").encode()
        if trouble:
            await _respond(send, 403, REFUSED[trouble])
        elif scope["path"] in self._files or secrets.compare_digest(given, self._key.encode()):
            await self._app(scope, receive, _with_headers(send))
        elif self._has_token(scope, given):
            self._used = True
            await _respond(send, 200, self._key)
        else:
            await _respond(send, 403, REFUSED["key"])

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

    def _has_token(self, scope: Any, given: bytes) -> bool:
        enters = (scope["method"], scope["path"]) == ("POST", "/enter")
        return enters and not self._used and secrets.compare_digest(given, self.token.encode())


def _with_headers(send: Any) -> Any:
    async def send_guarded(message: Any) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *_encode(HEADERS)]
        await send(message)

    return send_guarded


async def _respond(send: Any, status: int, text: str) -> None:
    headers = _encode({"Content-Type": "text/plain; charset=utf-8", **HEADERS})
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})


def _encode(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), text.encode()) for name, text in headers.items()]
