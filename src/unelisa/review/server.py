"""The page and what it asks for: the next item, an answer, the progress of the review.

It listens on 127.0.0.1 alone. Everything is sent as JSON and shown as text; the page itself is a
file of this package. What waits for the disk or for a lock runs in a thread, one request at a time,
so that the page itself is always answered.
"""

import asyncio
import json
import socket
import threading
from importlib.resources import files
from typing import Any

from unelisa.errors import ModelError, missing_extra
from unelisa.review.guard import Guard
from unelisa.review.pools import EVERY
from unelisa.review.session import Session

LARGEST_REQUEST = 1 << 16  # bytes
MOST_CONNECTIONS = 64  # at once; the oldest that asks for nothing gives way
HEADER_SECONDS = 5.0  # within which a connection must have asked for something
PAGE = {
    "/": ("page.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
}


class ReviewServer:
    """A server on a port of this machine, for one session."""

    def __init__(self, session: Session, port: int = 0) -> None:
        uvicorn = _require_uvicorn()
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
            Route("/text/{item}", views.show_text),
            Route("/picture/{item}", views.show_picture),
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
        """Return the number of an item, None if it is not one."""
        try:
            item = int(str(given))  # not 1.5, true or Infinity
        except ValueError:
            return None
        return item if 0 <= item < len(self._session.pool.items) else None

    def show_text(self, request: Any) -> Any:
        """Return the whole text of an item."""
        item = self._read_item(request.path_params["item"])
        if item is None:
            return self._respond.PlainTextResponse("", 404)
        text = self._session.contents.read_text(item)
        return self._respond.PlainTextResponse(text.encode("utf-8", "replace"))

    def show_picture(self, request: Any) -> Any:
        """Return an item's picture."""
        item = self._read_item(request.path_params["item"])
        picture = None if item is None else self._session.contents.read_picture(item)
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
            study = await asyncio.wrap_future(self._session.await_study())
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
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_REQUEST:
            return {}
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
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


def _require_uvicorn() -> Any:
    try:
        import starlette  # noqa: F401, PLC0415 - an extra
        import uvicorn  # noqa: PLC0415
    except ImportError:
        raise missing_extra("the review page needs starlette and uvicorn", "review") from None
    return uvicorn
