"""JSON files as records, one in memory at a time: documents, lines and archives (.eval)."""

import json
import re
import struct
import zipfile
import zlib
from codecs import getincrementaldecoder
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from unelisa.errors import VotesError, missing_extra
from unelisa.memory import refuse_beyond, weigh_json
from unelisa.sources.files import reading, refuse_bomb

Record = dict[str, Any]
GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
LONGEST = 1 << 26  # characters of a record
ZSTD = 93  # the compression of Inspect's archives since version 0.3.206
_KINDS = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
_BOM = b"\xef\xbb\xbf"
_PIECE = 1 << 20
_PARTIAL = 16  # characters of a literal, a number's sign or an escape that may be cut off
_BLANK = re.compile(r"[ \t\r\n]*")
_LOCAL = struct.Struct("<26xHH")  # a member's own header: lengths of its name and its extra field
_HEADER, _START, _SUMMARIES = "header.json", "_journal/start.json", "summaries.json"
_SAMPLE = re.compile(r"samples/([^/]*?)(\.json|/sample\.json)")  # the second form is in chunks
_JOURNAL = re.compile(r"_journal/summaries/\d+\.json")
# summaries leave out what a person edited, or invalidated
_EDITED = re.compile(rb'"provenance"|"invalidation":\s*\{')
_REMOVED = "Key removed"  # what summaries say in place of a large part
_BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError)


def take_object(record: Record, key: str) -> Record:
    """Return the object under a key, empty where it is absent or null."""
    value = record.get(key)
    return {} if value is None else check_object(value, repr(key))


def take_list(record: Record, key: str) -> list[Any]:
    """Return the list under a key, empty where it is absent or null."""
    value = record.get(key)
    if value is not None and not isinstance(value, list):
        raise VotesError(f"{key!r} must be a list, found {_name_kind(value)}")
    return value or []


def take_objects(record: Record, key: str) -> list[Record]:
    """Return the list of objects under a key, empty where it is absent or null."""
    return [check_object(part, f"every part of {key!r}") for part in take_list(record, key)]


def check_object(value: Any, what: str) -> Record:
    """Return a value that must be an object, or raise `VotesError`."""
    if not isinstance(value, dict):
        raise VotesError(f"{what} must be an object, found {_name_kind(value)}")
    return value


def take_first(record: Record, keys: Sequence[str]) -> Any:
    """Return the first value that is present and not null; None if there is none."""
    return next((record[key] for key in keys if record.get(key) is not None), None)


def require(record: Record, keys: Sequence[str]) -> Any:
    """Return the first value that is present and not null, or raise `VotesError`."""
    found = take_first(record, keys)
    if found is None:
        raise VotesError(f"it has no {' or '.join(map(repr, keys))}")
    return found


def _name_kind(value: Any) -> str:
    return _KINDS.get(type(value), "a number")


class _TwinsError(ValueError):
    """One key twice in an object."""


def _refuse_twins(pairs: list[tuple[str, Any]]) -> Record:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _TwinsError
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_refuse_twins)


def is_json(start: bytes) -> bool:
    """Return whether the first bytes of a file, decompressed, begin an object or a list."""
    return start.removeprefix(_BOM).lstrip()[:1] in (b"{", b"[")


@contextmanager
def _parsing(place: str) -> Iterator[None]:
    """Replace what parsing raises by a `VotesError` that says where it is, not what it holds."""
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
    """Yield the records of a file: of its list, of its lines, or its one object."""
    import pyarrow as pa  # noqa: PLC0415 - only files need it

    with reading(path), pa.OSFile(str(path)) as raw:
        packed = raw.read(2) == GZIP
        raw.seek(0)
        file = pa.CompressedInputStream(raw, "gzip") if packed else raw
        yield from _Records(file, raw, path.name)


class _Records:
    """The objects of a list, or one on a line, parsed one by one as the file is read."""

    def __init__(self, file: IO[bytes], raw: IO[bytes], name: str) -> None:
        self._file, self._raw, self._name, self._unpacked = file, raw, name, 0
        self._decoder = getincrementaldecoder("utf-8-sig")()
        self._text, self._place = "", 0
        self._line, self._counted = 1, 0
        self._limited = False  # whether records are separate, so that none may be huge

    def __iter__(self) -> Iterator[Record]:
        with _parsing(self._name):
            self._limited = listed = self._peek() == "["
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
        self._line += self._text.count("\n", self._counted, self._place)
        self._counted = self._place
        return self._line

    def _peek(self) -> str:
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
        self._count_lines()
        left = self._text[self._place :]
        if self._limited and len(left) >= LONGEST:
            raise VotesError(f"{self._name} has a record of more than 64 MB")
        more = max(_PIECE, len(left))
        if left:
            refuse_beyond(2 * (len(left) + more), self._name)
        content = self._file.read(more)
        self._unpacked += len(content)
        refuse_bomb(self._name, self._raw.tell(), self._unpacked)
        self._text = left + self._decoder.decode(content, final=not content)
        self._place = self._counted = 0
        if left:
            refuse_beyond(weigh_json(self._text), self._name)
        return bool(content)


def read_archive(path: Path) -> Iterator[Record]:
    """Yield every sample of an archive as a log, read only where its summary is not enough."""
    try:
        with path.open("rb") as raw, zipfile.ZipFile(raw) as archive:
            packed = sum(part.compress_size for part in archive.infolist())
            refuse_bomb(path.name, packed, sum(part.file_size for part in archive.infolist()))
            yield from _Members(archive, raw, path.name).read_samples()
    except NotImplementedError:
        raise VotesError(
            f"{path.name} is compressed in a way that this Python cannot read; convert it with "
            "inspect log convert --to json"
        ) from None
    except VotesError:
        raise
    except (*_BROKEN, ValueError, KeyError):
        raise VotesError(f"{path.name} is damaged or truncated: it cannot be unpacked") from None


class _Members:
    """The parts of an archive."""

    def __init__(self, archive: zipfile.ZipFile, raw: IO[bytes], file: str) -> None:
        self._archive, self._raw, self._file = archive, raw, file
        self._names = archive.namelist()

    def read_samples(self) -> Iterator[Record]:
        start = next((name for name in (_HEADER, _START) if name in self._names), None)
        if start is None:
            raise VotesError(
                f"{self._file} is a zip file but not a log of Inspect: it has no {_HEADER}"
            )
        about = check_object(self._parse(start), start).get("eval")
        own = {found[1]: name for name in self._names if (found := _SAMPLE.fullmatch(name))}
        journal = [name for name in self._names if _JOURNAL.fullmatch(name)]
        summaries = [_SUMMARIES] if _SUMMARIES in self._names else journal
        for name in summaries:
            content = self._parse(name)
            for summary in content if isinstance(content, list) else [content]:
                yield {"eval": about, "samples": [self._complete(summary, own)]}
        for name in own.values() if not summaries else ():
            yield {"eval": about, "samples": [self._parse(name)]}

    def _complete(self, summary: Any, own: dict[str, str]) -> Any:
        """Return the sample itself where its summary does not hold all that is needed."""
        if not isinstance(summary, dict):
            return summary
        name = own.get(f"{summary.get('id')}_epoch_{summary.get('epoch')}")
        if name is None:
            return summary
        content = self._unpack(name)
        if _EDITED.search(content) or any(
            map(_lacks_panel, (summary.get("scores") or {}).values())
        ):
            return self._parse(name, content)
        return summary

    def _parse(self, name: str, content: bytes | None = None) -> Any:
        content = self._unpack(name) if content is None else content
        place = f"{self._file} at {json.dumps(name[:60])}"
        if len(content) > _PIECE:
            refuse_beyond(weigh_json(content), place)
        with _parsing(place):
            return json.loads(content.removeprefix(_BOM), object_pairs_hook=_refuse_twins)

    def _unpack(self, name: str) -> bytes:
        """Return a part; what the directory says of its size limits what is unpacked."""
        part = self._archive.getinfo(name)
        refuse_beyond(2 * part.file_size, f"{self._file} at {name[:60]!r}")
        if part.compress_type != ZSTD:
            return self._archive.read(name)
        try:
            import zstandard  # noqa: PLC0415 - an extra
        except ImportError:
            raise missing_extra(f"{self._file} is compressed with zstd and", "jury") from None
        self._raw.seek(part.header_offset)
        self._raw.seek(sum(_LOCAL.unpack(self._raw.read(_LOCAL.size))), 1)
        packed = self._raw.read(part.compress_size)
        reader = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
        try:
            found = bytes(reader.read(part.file_size + 1))
        except zstandard.ZstdError:
            raise EOFError from None
        if zlib.crc32(found) != part.CRC:
            raise EOFError
        return found


def _lacks_panel(score: Any) -> bool:
    about = score.get("metadata") if isinstance(score, dict) else None
    panel = about.get("panel") if isinstance(about, dict) else None
    return isinstance(panel, str) and panel.startswith(_REMOVED)
