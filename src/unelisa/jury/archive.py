"""Inspect's archives (.eval): the log's samples one by one, without the whole log in memory."""

import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unelisa.errors import VotesError
from unelisa.jury.documents import parse_json
from unelisa.jury.fields import Record, check_object
from unelisa.memory import refuse_beyond
from unelisa.sources.files import refuse_bomb

MARK = b"PK\x03\x04"
_HEADER, _START, _SUMMARIES = "header.json", "_journal/start.json", "summaries.json"
_SAMPLE = re.compile(r"samples/[^/]*\.json")
_JOURNAL = re.compile(r"_journal/summaries/\d+\.json")
_TROUBLES = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError, KeyError)


def read_archive(path: Path) -> Iterator[Record]:
    """Yield every sample of an archive as a log with that sample alone.

    The summaries hold the scores; the samples themselves, with all their messages, are read only
    where there are none.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            packed = sum(part.compress_size for part in archive.infolist())
            refuse_bomb(path.name, packed, sum(part.file_size for part in archive.infolist()))
            yield from _read_samples(archive, names, path.name)
    except NotImplementedError:
        raise VotesError(
            f"{path.name} is compressed in a way that this Python cannot read; convert it with "
            "inspect log convert --to json"
        ) from None
    except _TROUBLES as error:
        if isinstance(error, VotesError):
            raise
        raise VotesError(f"{path.name} is damaged or truncated: it cannot be unpacked") from None


def _read_samples(archive: zipfile.ZipFile, names: list[str], file: str) -> Iterator[Record]:
    start = next((name for name in (_HEADER, _START) if name in names), None)
    if start is None:
        raise VotesError(f"{file} is a zip file but not a log of Inspect: it has no {_HEADER}")
    about = check_object(_read_part(archive, start, file), start).get("eval")
    summaries = [_SUMMARIES] if _SUMMARIES in names else list(filter(_JOURNAL.fullmatch, names))
    for name in summaries or filter(_SAMPLE.fullmatch, names):
        content = _read_part(archive, name, file)
        for sample in content if isinstance(content, list) else [content]:
            yield {"eval": about, "samples": [sample]}


def _read_part(archive: zipfile.ZipFile, name: str, file: str) -> Any:
    """Return a part; what the directory says of its size limits what is unpacked."""
    refuse_beyond(2 * archive.getinfo(name).file_size, f"{file} at {name[:60]!r}")
    with archive.open(name) as part:
        return parse_json(part.read(), f"{file} at {json.dumps(name[:60])}")
