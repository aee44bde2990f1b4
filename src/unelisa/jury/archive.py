"""Inspect's archives (.eval): the log's samples one by one, without the whole log in memory."""

import json
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from unelisa.errors import VotesError, missing_extra
from unelisa.jury.documents import parse_json
from unelisa.jury.fields import Record, check_object
from unelisa.memory import refuse_beyond
from unelisa.sources.files import refuse_bomb

MARK = b"PK\x03\x04"
ZSTD = 93  # the compression of Inspect's archives since version 0.3.206
_LOCAL = struct.Struct("<26xHH")  # a member's own header: lengths of its name and its extra field
_HEADER, _START, _SUMMARIES = "header.json", "_journal/start.json", "summaries.json"
_SAMPLE = re.compile(r"samples/([^/]*\.json|[^/]*/sample\.json)")  # the second form is in chunks
_JOURNAL = re.compile(r"_journal/summaries/\d+\.json")
_EDITED = b'"provenance"'  # summaries leave out what a person edited
_REMOVED = "Key removed"  # what summaries say in place of a large part
_TROUBLES = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
    KeyError,
)


def read_archive(path: Path) -> Iterator[Record]:
    """Yield every sample of an archive as a log with that sample alone.

    The summaries hold the scores. The samples themselves, with all their messages, are read only
    where there are none, where a person edited a score, or where a summary leaves out a panel.
    """
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
    except _TROUBLES as error:
        if isinstance(error, VotesError):
            raise
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
        own = {_name_sample(name): name for name in self._names if _SAMPLE.fullmatch(name)}
        summaries = [_SUMMARIES] if _SUMMARIES in self._names else self._list_journal()
        for name in summaries:
            content = self._parse(name)
            for summary in content if isinstance(content, list) else [content]:
                yield {"eval": about, "samples": [self._complete(summary, own)]}
        for name in own.values() if not summaries else ():
            yield {"eval": about, "samples": [self._parse(name)]}

    def _list_journal(self) -> list[str]:
        return [name for name in self._names if _JOURNAL.fullmatch(name)]

    def _complete(self, summary: Any, own: dict[str, str]) -> Any:
        """Return the sample itself where its summary does not hold all that is needed."""
        if not isinstance(summary, dict):
            return summary
        name = own.get(f"{summary.get('id')}_epoch_{summary.get('epoch')}")
        if name is None:
            return summary
        content = self._unpack(name)
        scores = summary.get("scores")
        if _EDITED in content or any(map(_lacks_panel, (scores or {}).values())):
            return self._parse(name, content)
        return summary

    def _parse(self, name: str, content: bytes | None = None) -> Any:
        place = f"{self._file} at {json.dumps(name[:60])}"
        return parse_json(self._unpack(name) if content is None else content, place)

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
        skipped = sum(_LOCAL.unpack(self._raw.read(_LOCAL.size)))
        self._raw.seek(skipped, 1)
        packed = self._raw.read(part.compress_size)
        reader = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
        try:
            found = bytes(reader.read(part.file_size + 1))
        except zstandard.ZstdError:
            raise EOFError from None
        if zlib.crc32(found) != part.CRC:
            raise EOFError
        return found


def _name_sample(name: str) -> str:
    """Return the id and the epoch in a part's name, in either form."""
    return name.removeprefix("samples/").removesuffix("/sample.json").removesuffix(".json")


def _lacks_panel(score: Any) -> bool:
    about = score.get("metadata") if isinstance(score, dict) else None
    panel = about.get("panel") if isinstance(about, dict) else None
    return isinstance(panel, str) and panel.startswith(_REMOVED)
