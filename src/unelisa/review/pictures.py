"""Pictures of items: what is shown as one, by its first bytes and its stated size.

Nothing is decoded here. A browser would decode whatever it is sent: a PNG file of 50 kB can take
2 GB there.
"""

from collections.abc import Iterator
from pathlib import Path
from struct import unpack_from
from typing import NamedTuple

ENDINGS = {".png", ".jpg", ".jpeg", ".gif", ".webp"}
LARGEST_PICTURE = 20_000_000  # bytes
MOST_PIXELS = 100_000_000  # which take 400 MB in a browser
_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}  # markers of JPEG that state the size


class Picture(NamedTuple):
    """A file that a browser shows, and its media type."""

    content: bytes
    kind: str


def read_picture(path: Path) -> Picture | None:
    """Return the picture in a file; None if it is not one, or too large to be shown."""
    with path.open("rb") as file:
        content = file.read(LARGEST_PICTURE + 1)
    kind, width, height = next(_measure(content), ("", 0, 0))
    shown = len(content) <= LARGEST_PICTURE and 0 < width * height <= MOST_PIXELS
    return Picture(content, kind) if shown else None


def _measure(content: bytes) -> Iterator[tuple[str, int, int]]:
    """Yield the media type, the width and the height that a picture states, if it is one."""
    start = content[:32].ljust(32, b"\0")
    if start.startswith(b"\x89PNG\r\n\x1a\n") and start[12:16] == b"IHDR":
        yield "image/png", *unpack_from(">II", start, 16)
    elif start[:6] in (b"GIF87a", b"GIF89a"):
        yield "image/gif", *unpack_from("<HH", start, 6)
    elif start.startswith(b"\xff\xd8"):
        for height, width in _find_frames(content):
            yield "image/jpeg", width, height
    elif start[:4] + start[8:12] == b"RIFFWEBP":
        yield "image/webp", *_measure_webp(start)


def _find_frames(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield the sizes that the segments of a JPEG file state."""
    place = 2
    while place + 9 <= len(content) and content[place] == 0xFF:
        mark, length = unpack_from(">BH", content, place + 1)
        if mark in _FRAMES:
            yield unpack_from(">HH", content, place + 5)
        place += 1 if mark == 0xFF else 2 + length  # a marker may be padded


def _measure_webp(start: bytes) -> tuple[int, int]:
    kind, packed = start[12:16], int.from_bytes(start[21:25], "little")
    if kind == b"VP8X":
        width, height = (int.from_bytes(start[k : k + 3], "little") for k in (24, 27))
        return width + 1, height + 1
    if kind == b"VP8L":
        return (packed & 0x3FFF) + 1, (packed >> 14 & 0x3FFF) + 1
    width, height = unpack_from("<HH", start, 26)
    return width & 0x3FFF, height & 0x3FFF
