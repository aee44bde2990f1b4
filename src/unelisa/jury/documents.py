"""JSON documents and JSON Lines as a stream of records."""

import gzip
import json
import re
import zlib
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from unelisa.errors import VotesError
from unelisa.jury.fields import Record, check_object
from unelisa.memory import refuse_beyond, weigh_json
from unelisa.sources.files import refuse_bomb

GZIP = b"\x1f\x8b"
LONGEST = 1 << 26  # characters of a record
_BOM = b"\xef\xbb\xbf"
_PIECE = 1 << 20
_PARTIAL = 16  # characters of a literal, a number's sign or an escape that may be cut off
_BLANK = re.compile(r"[ \t\r\n]*")


class _TwinsError(ValueError):
    """One key twice in an object."""


def _refuse_twins(pairs: list[tuple[str, Any]]) -> Record:
    """Return an object; raise an error if it has one key twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _TwinsError
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_refuse_twins)


def is_json(start: bytes) -> bool:
    """Return whether the first bytes of a file, decompressed, begin an object or a list."""
    return start.removeprefix(_BOM).lstrip()[:1] in (b"{", b"[")


def parse_json(content: bytes, place: str) -> Any:
    """Return what JSON holds, or raise `VotesError` that says where it is, not what it holds."""
    if len(content) > _PIECE:
        refuse_beyond(weigh_json(content), place)
    with _parsing(place):
        return json.loads(content.removeprefix(_BOM), object_pairs_hook=_refuse_twins)


@contextmanager
def _parsing(place: str) -> Iterator[None]:
    try:
        yield
    except VotesError:
        raise
    except _TwinsError:
        raise VotesError(f"{place} holds an object with one key twice; keep one of them") from None
    except RecursionError:
        raise VotesError(f"{place} is JSON nested too deeply") from None
    except ValueError:
        raise VotesError(f"{place} is not valid JSON; the file may be truncated") from None


def read_documents(path: Path) -> Iterator[Record]:
    """Yield the records of a file: of its list, of its lines, or its one object.

    Only one record is in memory at a time.
    """
    with _open_bytes(path) as file:
        yield from _Records(file, path.name)


class _Records:
    """The objects of a list, or one on a line, parsed one by one as the file is read."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, self._name = file, name
        self._decoder = getincrementaldecoder("utf-8-sig")()
        self._text, self._place = "", 0
        self._line, self._counted = 1, 0
        self._limited = False  # whether records are separate, so that none may be huge

    def __iter__(self) -> Iterator[Record]:
        with _parsing(self._name):
            listed = self._peek() == "["
        self._limited = listed
        self._place += listed
        yield from self._read_list() if listed else self._read_lines()
        with _parsing(self._name):
            if self._peek():
                raise ValueError

    def _read_list(self) -> Iterator[Record]:
        number, mark = 0, ","
        while mark == ",":
            with _parsing(self._name):
                if self._peek() == "]" and number == 0:
                    break
                found = self._read_value()
                mark = self._peek()
                if mark not in ("]", ","):
                    raise ValueError
                self._place += mark == ","
            number += 1
            yield check_object(found, f"{self._name}, record {number},")
        self._place += 1

    def _read_lines(self) -> Iterator[Record]:
        end = 0
        while self._peek():
            start = self._count_lines()
            place = f"{self._name}, line {start},"
            with _parsing(place):
                if start == end:  # two values on one line
                    raise ValueError
                found = self._read_value()
            end, self._limited = self._count_lines(), True
            yield check_object(found, place)

    def _count_lines(self) -> int:
        """Return the number of the present line."""
        self._line += self._text.count("\n", self._counted, self._place)
        self._counted = self._place
        return self._line

    def _peek(self) -> str:
        """Return the next character that is not blank; nothing at the end."""
        while True:
            rest = _BLANK.match(self._text, self._place)
            self._place = rest.end() if rest else self._place
            if self._place < len(self._text):
                return self._text[self._place]
            if not self._read_more():
                return ""

    def _read_value(self) -> Any:
        while True:
            try:
                found, self._place = _DECODER.raw_decode(self._text, self._place)
                return found
            except json.JSONDecodeError as error:
                # a value that is cut off fails at its end, or in a text that does not end
                cut = error.msg.startswith("Unterminated") or error.pos > len(self._text) - _PARTIAL
                if not cut or not self._read_more():
                    raise

    def _read_more(self) -> bool:
        """Add at least as much as is left; return whether there was more."""
        self._count_lines()
        left = self._text[self._place :]
        if self._limited and len(left) >= LONGEST:
            raise VotesError(f"{self._name} has a record of more than 64 MB")
        more = max(_PIECE, len(left))
        if left:
            refuse_beyond(2 * (len(left) + more), self._name)
        content = self._file.read(more)
        self._text = left + self._decoder.decode(content, final=not content)
        self._place = self._counted = 0
        if left:
            refuse_beyond(weigh_json(self._text), self._name)
        return bool(content)


@contextmanager
def _open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """Give the bytes of a file, decompressed if it is gzipped; refuse a bomb as it unfolds."""
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == GZIP
            raw.seek(0)
            if not packed:
                yield raw
                return
            with gzip.GzipFile(fileobj=raw) as file:
                yield _Watched(file, raw, path.name)  # type: ignore[misc]
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise VotesError(f"{path.name} is damaged or truncated: it cannot be unpacked") from None
    except OSError as error:
        why = "permission denied" if isinstance(error, PermissionError) else "the system failed"
        raise VotesError(f"{path.name} cannot be read: {why}") from None


class _Watched:
    """A gzipped file that is refused once it unfolds far more than votes do."""

    def __init__(self, file: gzip.GzipFile, raw: IO[bytes], name: str) -> None:
        self._file, self._raw, self._name, self._unpacked = file, raw, name, 0

    def read(self, size: int) -> bytes:
        content = self._file.read(size)
        self._unpacked += len(content)
        refuse_bomb(self._name, self._raw.tell(), self._unpacked)
        return content
