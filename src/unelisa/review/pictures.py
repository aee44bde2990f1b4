"""Pictures of items: what is shown as one, by its first bytes and the sizes of all its frames.

Nothing is decoded here: in a browser, a PNG file of 50 kB can take 2 GB.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from struct import error as StructError  # noqa: N812 - it is an exception
from struct import unpack_from
from typing import NamedTuple

ENDINGS = {".png", ".jpg", ".jpeg", ".gif", ".webp"}
LARGEST_PICTURE = 20_000_000  # bytes
MOST_PIXELS = 100_000_000  # which take 400 MB for each copy that a browser makes
_SIZES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}  # markers of JPEG that state a size
_MARKER = re.compile(rb"\xff([^\xff\x00\xd0-\xd7])")  # that begins a segment, or ends the picture
Size = tuple[int, int]


class Picture(NamedTuple):
    """A file that a browser shows, and its media type."""

    content: bytes
    kind: str


def read_picture(path: Path) -> Picture | None:
    """Return the picture in a file; None if it is not one, or too large to be shown."""
    with path.open("rb") as file:
        content = file.read(LARGEST_PICTURE + 1)
    kind, sizes = _measure(content)
    areas = [width * height for width, height in sizes]
    shown = len(content) <= LARGEST_PICTURE and areas and 0 < min(areas) <= max(areas)
    return Picture(content, kind) if shown and max(areas) <= MOST_PIXELS else None


def _measure(content: bytes) -> tuple[str, list[Size]]:
    """Return the media type of a picture, and the size that it and each of its frames state."""
    kinds = {
        "image/png": (content[:8] + content[12:16] == b"\x89PNG\r\n\x1a\nIHDR", _measure_png),
        "image/gif": (content[:6] in (b"GIF87a", b"GIF89a"), _measure_gif),
        "image/jpeg": (content[:2] == b"\xff\xd8", _measure_jpeg),
        "image/webp": (content[:4] + content[8:12] == b"RIFFWEBP", _measure_webp),
    }
    found = [(kind, measure) for kind, (fits, measure) in kinds.items() if fits]
    sizes: list[Size] = []
    with suppress(StructError, IndexError):
        for _, measure in found:
            sizes.extend(measure(content))
    return found[0][0] if found else "", sizes


def _measure_png(content: bytes) -> Iterator[Size]:
    yield unpack_from(">II", content, 16)


def _measure_gif(content: bytes) -> Iterator[Size]:
    """Yield the screen and how far each frame reaches: browsers enlarge the screen for it."""
    yield unpack_from("<HH", content, 6)
    place = 13 + _skip_colors(content[10])
    while content[place] in (0x21, 0x2C):
        if content[place] == 0x2C:
            left, top, width, height, flags = unpack_from("<HHHHB", content, place + 1)
            yield left + width, top + height
            place += 11 + _skip_colors(flags)
        else:
            place += 2
        while content[place]:  # blocks of data, each with its length; the last has none
            place += 1 + content[place]
        place += 1


def _skip_colors(flags: int) -> int:
    return 3 * 2 ** ((flags & 7) + 1) if flags & 0x80 else 0


def _measure_jpeg(content: bytes) -> Iterator[Size]:
    """Yield the sizes that the segments state, also those behind the data of a scan."""
    found = _MARKER.search(content, 2)
    while found is not None and found[1] != b"\xd9":  # the end of the picture
        place = found.end()
        if found[1][0] in _SIZES:
            height, width = unpack_from(">HH", content, place + 3)
            yield width, height
        found = _MARKER.search(content, place + unpack_from(">H", content, place)[0])


def _measure_webp(content: bytes) -> Iterator[Size]:
    """Yield the canvas and the size of every frame, whether or not they fit each other."""
    place = 12
    while place + 8 <= len(content):
        kind, length = unpack_from("<4sI", content, place)
        place += 8
        if kind == b"VP8X":
            yield _read_24(content, place + 4), _read_24(content, place + 7)
        elif kind == b"VP8L":
            (packed,) = unpack_from("<I", content, place + 1)
            yield (packed & 0x3FFF) + 1, (packed >> 14 & 0x3FFF) + 1
        elif kind == b"VP8 ":
            width, height = unpack_from("<HH", content, place + 6)
            yield width & 0x3FFF, height & 0x3FFF
        elif kind == b"ANMF":
            yield _read_24(content, place + 6), _read_24(content, place + 9)
            length = 16  # what follows are the chunks of the frame
        place += length + length % 2


def _read_24(content: bytes, place: int) -> int:
    low, high = unpack_from("<HB", content, place)
    return int(low + (high << 16) + 1)
