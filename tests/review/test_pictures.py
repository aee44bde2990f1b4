import io
import struct

import numpy as np
import pytest
from PIL import Image

from review.reviewing import PNG
from unelisa.review import pictures
from unelisa.review.pictures import LARGEST_PICTURE, MOST_PIXELS, read_picture


@pytest.mark.parametrize("form", ["png", "gif", "jpeg", "webp", "webp-lossless", "webp-alpha"])
def test_sizes_of_real_pictures_are_found(tmp_path, form, monkeypatch):
    """What Pillow writes is shown, and a pixel beyond the limit is not."""
    kind, _, how = form.partition("-")
    mode = "RGBA" if how else "RGB"
    image = Image.fromarray(np.full((301, 517, len(mode)), 128, dtype=np.uint8), mode)
    stream = io.BytesIO()
    image.save(stream, kind, **({"lossless": how == "lossless"} if how else {}))
    path = tmp_path / "p.jpg"  # its first bytes count
    path.write_bytes(stream.getvalue())
    assert read_picture(path) == (stream.getvalue(), f"image/{kind}")
    monkeypatch.setattr("unelisa.review.pictures.MOST_PIXELS", 301 * 517)
    assert read_picture(path) is not None
    monkeypatch.setattr("unelisa.review.pictures.MOST_PIXELS", 301 * 517 - 1)
    assert read_picture(path) is None


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xd8", b"\xff\xd8" + b"\xff" * 99, b"\xff\xd8\xff\xe0\0\0" * 9, b"RIFF", b"GIF89a",
     b"RIFF\0\0\0\0WEBPVP8 ", b"<html><script>", b"<svg xmlns=", b"%PDF-1.4", PNG[:20], b"BM" * 40],
)  # fmt: skip
def test_what_is_not_a_picture_is_not_shown(tmp_path, content):
    path = tmp_path / "p.png"
    path.write_bytes(content)
    assert read_picture(path) is None


def test_bombs_are_not_sent_to_the_browser(tmp_path):
    path = tmp_path / "p.png"
    side = int(MOST_PIXELS**0.5)
    for width, shown in ((side, True), (side + 1, False), (2**32 - 1, False)):
        path.write_bytes(PNG[:16] + width.to_bytes(4, "big") + side.to_bytes(4, "big"))
        assert (read_picture(path) is not None) == shown
    with path.open("wb") as file:
        file.write(PNG)
        file.truncate(LARGEST_PICTURE)
    assert read_picture(path) is not None
    with path.open("r+b") as file:
        file.truncate(2**31)
    assert read_picture(path) is None


def gif(screen, *frames, tail=b";"):
    place = struct.Struct("<HHHH")
    images = [b"," + place.pack(*frame) + b"\0\2\2\x44\1\0" for frame in frames]
    start = b"GIF89a" + struct.pack("<HH", *screen) + b"\x80\0\0" + bytes(6)
    return start + b"!\xf9\4" + bytes(5) + b"".join(images) + tail


def jpeg(*sizes, padding=b""):
    frames = [
        padding + b"\xff\xc0\0\x11\x08" + struct.pack(">HH", h, w) + b"\3" + bytes(9)
        for w, h in sizes
    ]
    scan = b"\xff\xda\0\x08\1\1\0\0\x3f\0data\xff\0more\xff\xd0data"
    return b"\xff\xd8\xff\xe0\0\4\0\0" + scan.join(frames) + b"\xff\xd9"


def webp(*chunks):
    body = b"".join(kind + struct.pack("<I", len(data)) + data for kind, data in chunks)
    return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WEBP" + body


def canvas(width, height):
    return b"VP8X", bytes(4) + sides_of(width, height)


def sides_of(width, height):
    return (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")


def lossy(width, height):
    return b"VP8 ", b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height)


def frame(width, height, inside):
    kind, data = inside
    chunk = kind + struct.pack("<I", len(data)) + data
    return b"ANMF", bytes(6) + sides_of(width, height) + bytes(4) + chunk


SMALL, HUGE = (9, 9), (16_000, 16_000)


@pytest.mark.parametrize(
    ("plain", "bomb"),
    [
        (gif(SMALL, (0, 0, 9, 9)), gif(SMALL, (0, 0, *HUGE))),
        (gif(SMALL, (0, 0, 9, 9), (1, 1, 8, 8)), gif(SMALL, (0, 0, 9, 9), (15_000, 15_000, 9, 9))),
        (jpeg(SMALL), jpeg(SMALL, HUGE)),  # behind the data of a scan
        (jpeg(SMALL, padding=b"\xff\xff"), jpeg(HUGE, padding=b"\xff\xff")),
        (webp(canvas(9, 9), lossy(9, 9)), webp(canvas(9, 9), lossy(*HUGE))),
        (
            webp(canvas(9, 9), (b"ANIM", bytes(6)), frame(9, 9, lossy(9, 9))),
            webp(canvas(9, 9), (b"ANIM", bytes(6)), frame(9, 9, lossy(*HUGE))),
        ),
        (webp(canvas(9, 9), (b"ICCP", b"odd")), webp((b"ICCP", b"odd"), canvas(*HUGE))),
    ],
)
def test_every_frame_counts_not_only_what_the_header_states(tmp_path, plain, bomb):
    path = tmp_path / "p"
    for content, shown in ((plain, True), (bomb, False), (plain[:-9], None)):
        path.write_bytes(content)
        assert shown is None or (read_picture(path) is not None) == shown
        read_picture(path)  # a torn file is no error


def test_a_file_that_never_ends_its_padding_is_read_once(tmp_path, monkeypatch):
    """The marks of 5 MB of padding are passed over in one go, not one by one."""
    path, found = tmp_path / "p", []
    path.write_bytes(b"\xff\xd8" + b"\xff" * 5_000_000)
    search = pictures._MARKER.search

    class Counting:
        def search(self, *where):
            found.append(where[1])
            return search(*where)

    monkeypatch.setattr(pictures, "_MARKER", Counting())
    assert read_picture(path) is None
    assert found == [2]
