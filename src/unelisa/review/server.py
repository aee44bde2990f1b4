"""The page and what it asks for: the next item, an answer, the progress of the review.

It listens on 127.0.0.1 alone, for one tab: a token behind the address's # is exchanged once for a
key in a header, as a cookie would go to every port. Other host names are refused.
"""

import asyncio
import json
import secrets
import socket
import threading
from collections.abc import Collection
from importlib.resources import files
from typing import Any

from unelisa.errors import ModelError, missing_extra
from unelisa.review.pools import EVERY
from unelisa.review.session import Session

LARGEST_REQUEST = 1 << 16  # bytes
MOST_CONNECTIONS = 64  # at once; the oldest that asks for nothing gives way
HEADER_SECONDS = 5.0  # within which a connection must have sent a request, or its body
PAGE = {
    "/": ("page.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
}
POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src blob: data:; "
    b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", POLICY),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
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
        from starlette.responses import PlainTextResponse  # noqa: PLC0415 - an extra

        async def send_guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        if scope["type"] != "http":
            return
        headers = {
            name.decode("latin-1"): text.decode("latin-1") for name, text in scope["headers"]
        }
        given, app = headers.get(KEY, "").encode(), self._app
        entering = (scope["method"], scope["path"]) == ("POST", "/enter") and not self._used
        trouble = self._find_trouble(scope, headers)
        if trouble:
            app = PlainTextResponse(REFUSED[trouble], 403)
        elif entering and secrets.compare_digest(given, self.token.encode()):
            self._used, app = True, PlainTextResponse(self._key)
        elif scope["path"] not in self._files and not secrets.compare_digest(
            given, self._key.encode()
        ):
            app = PlainTextResponse(REFUSED["key"], 403)
        await app(scope, receive, send_guarded)

    def _find_trouble(self, scope: Any, headers: dict[str, str]) -> str:
        """Return why a request is refused whatever it knows: its host name or its origin."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self._hosts:
            return "host"
        foreign = origin is not None and origin != f"http://{host}"
        unnamed = origin is None and scope["method"] not in ("GET", "HEAD")
        site = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        return "origin" if foreign or unnamed or site else ""


class ReviewServer:
    """A server on a port of this machine, for one session."""

    def __init__(self, session: Session, port: int = 0) -> None:
        try:
            import starlette  # noqa: F401, PLC0415 - an extra
            import uvicorn  # noqa: PLC0415
        except ImportError:
            raise missing_extra("the review page needs starlette and uvicorn", "review") from None
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind(("127.0.0.1", port))
            self._socket.listen()
        except OSError:
            self._socket.close()
            raise
        self.port = int(self._socket.getsockname()[1])
        self._guard = Guard(build_app(session), self.port, PAGE)
        config = uvicorn.Config(
            self._guard,
            http=limit_connections(),
            log_level="critical",  # a traceback could show what is reviewed
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)

    @property
    def address(self) -> str:
        """What to open in a browser, once."""
        return f"http://127.0.0.1:{self.port}/#{self._guard.token}"

    def run(self) -> None:
        """Serve until interrupted or stopped."""
        with self._socket:
            self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """End `run`, which is in another thread."""
        self._server.should_exit = True


def build_app(session: Session) -> Any:
    """Return the application behind the guard."""
    from starlette.applications import Starlette  # noqa: PLC0415 - an extra
    from starlette.routing import Route  # noqa: PLC0415

    views = Views(session)
    return Starlette(
        routes=[
            *(Route(path, views.show_page) for path in PAGE),
            Route("/question", views.ask),
            Route("/text/{item}", views.show_content),
            Route("/picture/{item}", views.show_content),
            Route("/answer", views.take, methods=["POST"]),
            Route("/progress", views.report),
        ],
        exception_handlers={ModelError: views.refuse},
    )


class Views:
    """What each address answers."""

    def __init__(self, session: Session) -> None:
        from starlette import responses  # noqa: PLC0415 - an extra

        self._session, self._respond = session, responses
        folder = files("unelisa.review").joinpath("templates")
        self._page = {path: folder.joinpath(name).read_bytes() for path, (name, _) in PAGE.items()}
        self._alone = threading.Lock()  # a session is for one request at a time

    def show_page(self, request: Any) -> Any:
        """Return the page, its style or its script."""
        path = request.url.path
        return self._respond.Response(self._page[path], media_type=PAGE[path][1])

    def ask(self, request: Any) -> Any:
        """Return the next item, or the one that was answered before the item `before`."""
        before = request.query_params.get("before")
        with self._alone:
            item = None
            if before is not None:
                item = self._session.find_previous(self._read_item(before))
            item = self._session.find_next() if item is None else item
            return self._respond.JSONResponse(self._describe(item))

    def _describe(self, item: int | None) -> dict[str, Any]:
        session = self._session
        return {
            "classes": list(session.pool.words),
            "reviewer": session.reviewer,
            "file": session.gold.path.name,
            "count": session.count,
            "every": EVERY,
            "total": len(session.pool.items),
            "question": None if item is None else session.describe(item),
        }

    def _read_item(self, given: Any) -> int | None:
        try:
            item = int(str(given))  # not 1.5, true or Infinity
        except ValueError:
            return None
        return item if 0 <= item < len(self._session.pool.items) else None

    def show_content(self, request: Any) -> Any:
        """Return the whole text of an item, or its picture."""
        item, contents = self._read_item(request.path_params["item"]), self._session.contents
        if item is not None and request.url.path.startswith("/text"):
            text = contents.read_text(item).encode("utf-8", "replace")
            return self._respond.PlainTextResponse(text)
        picture = None if item is None else contents.read_picture(item)
        if picture is None:
            return self._respond.PlainTextResponse("", 404)
        return self._respond.Response(picture.content, media_type=picture.kind)

    async def take(self, request: Any) -> Any:
        """Put an answer on disk; return the next item and the votes on this one."""
        given = await _read_json(request)
        item, label = self._read_item(given.get("item")), given.get("label")
        known = [None, *range(len(self._session.pool.classes))]
        if item is None or label not in known or type(label) not in (int, type(None)):
            return self._respond.JSONResponse({"error": "This is not an answer."}, 400)
        return await asyncio.to_thread(self._save, item, label, given)

    def _save(self, item: int, label: int | None, given: dict[str, Any]) -> Any:
        session, note, new = self._session, str(given.get("note", "")), not given.get("answered")
        with self._alone:
            try:
                kept = session.answer(item, label, note, given.get("seen"), new)
            except OSError as error:
                return self._respond.JSONResponse({"error": f"Not saved: {error.strerror}."}, 507)
            last = {**session.describe(item), "text": ""}
            next_one = self._describe(session.find_next())
        return self._respond.JSONResponse({**next_one, "last": last, "conflict": not kept})

    async def refuse(self, request: Any, error: Exception) -> Any:  # noqa: ARG002
        """Say that somebody else wrote into the file what this review cannot read."""
        return self._respond.JSONResponse({"error": str(error)}, 409)

    async def report(self, request: Any) -> Any:  # noqa: ARG002 - a view takes it
        """Return the progress of the review, once a study that is under way has ended."""
        try:
            study = await asyncio.wrap_future(self._session.coming)
        except Exception as error:
            words = f"The model could not be fitted: {str(error)[:300]}"
            return self._respond.JSONResponse({"error": words})
        return self._respond.JSONResponse(await asyncio.to_thread(self._sum_up, study))

    def _sum_up(self, study: Any) -> Any:
        with self._alone:
            return self._session.sum_up(study)


async def _read_json(request: Any) -> dict[str, Any]:
    """Return the body of a request, nothing if it is not a small JSON object."""
    body = b""
    try:
        async with asyncio.timeout(HEADER_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > LARGEST_REQUEST:
                    return {}
        given = json.loads(body)
    except (TimeoutError, ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {}


def limit_connections() -> Any:
    """Return uvicorn's protocol with a time limit for headers, and at most so many connections."""
    from uvicorn.protocols.http.h11_impl import H11Protocol  # noqa: PLC0415 - an extra

    class Limited(H11Protocol):
        """A connection that is dropped when it has asked for nothing for some seconds."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.since = self.loop.time()  # it asks for nothing
            self.end_if_idle()
            others: Any = self.connections
            idle = sorted((one for one in others if one.idle), key=lambda one: one.since)
            for one in idle[: max(0, len(others) - MOST_CONNECTIONS)]:
                one.transport.abort()

        def on_response_complete(self) -> None:
            self.since = self.loop.time()
            super().on_response_complete()

        @property
        def idle(self) -> bool:
            return self.cycle is None or self.cycle.response_complete

        def end_if_idle(self) -> None:
            left = self.since + HEADER_SECONDS - self.loop.time() if self.idle else HEADER_SECONDS
            if left <= 0:
                self.transport.abort()
            elif self in self.connections:
                self.loop.call_later(left, self.end_if_idle)

    return Limited
