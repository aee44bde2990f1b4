import io

import numpy as np
import pytest
from PIL import Image

from review.reviewing import PNG
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
