import io
import struct

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from review.reviewing import PNG
from unelisa.errors import VotesError
from unelisa.memory import limit_memory
from unelisa.review import pictures
from unelisa.review.contents import LONGEST_FACT, LONGEST_TEXT, Contents
from unelisa.review.pictures import LARGEST_PICTURE, MOST_PIXELS, read_picture

ITEMS = np.array(["a", "b", "c", 7], dtype=object)


def test_texts_and_facts_are_found_by_name_in_any_table(tmp_path):
    path = tmp_path / "texts.csv"
    path.write_text("age,item,Text\n63,b, hello \n,7,seven\n5,z,unknown\n")
    contents = Contents(ITEMS, path)
    assert contents.show(1)["text"].strip() == "hello"
    assert contents.show(1)["facts"] == [["age", "63"]]
    assert contents.show(3)["facts"] == []
    assert contents.show(0) == Contents(ITEMS).show(0)  # no row: a name alone
    path = tmp_path / "texts.parquet"
    frame = pd.DataFrame({"item": ["a"], "text": ["x" * 10**6], "n": [3], "list": [[1, 2]]})
    frame.assign(long="y" * 5000).to_parquet(path)
    shown = Contents(ITEMS, path).show(0)
    assert (len(shown["text"]), shown["length"]) == (LONGEST_TEXT, 10**6)
    assert shown["facts"] == [["n", "3"], ["list", "[1, 2]"], ["long", "y" * LONGEST_FACT]]
    assert len(Contents(ITEMS, path).read_text(0)) == 10**6


@pytest.mark.parametrize(
    ("name", "found"),
    [("p.png", True), ("sub/q.JPG", True), ("../out.png", False), ("/etc/passwd", False),
     ("p.svg", False), ("nothing.png", False), ("x\0.png", False), ("link.png", False),
     ("loop.png", False)],
)  # fmt: skip
def test_pictures_lie_beside_the_table(tmp_path, name, found):
    folder = tmp_path / "items"
    (folder / "sub").mkdir(parents=True)
    for file in ("p.png", "sub/q.JPG", "p.svg", "../out.png"):
        (folder / file).write_bytes(PNG)
    (folder / "link.png").symlink_to(tmp_path / "out.png")
    (folder / "loop.png").symlink_to(folder / "loop.png")
    table = folder / "texts.parquet"
    pd.DataFrame({"item": ["a"], "image": [name]}).to_parquet(table)
    contents = Contents(ITEMS, table)
    assert (contents.read_picture(0) is not None) == found == contents.show(0)["picture"]
    assert contents.show(0)["path"] == name


def test_hostile_tables_are_refused_or_shown_without_the_cell(tmp_path):
    path, names = tmp_path / "texts.parquet", pa.array(["a", "b"])
    far = pa.array([2**62] * 2).cast(pa.timestamp("us"))
    pq.write_table(pa.table({"item": names, "when": far}), path)
    assert Contents(ITEMS, path).show(0)["facts"] == []
    broken = pa.array([b"\xff", b"\xfe"], pa.binary())
    text = pa.Array.from_buffers(pa.string(), 2, broken.buffers())
    pq.write_table(pa.table({"item": names, "text": text}), path)
    with pytest.raises(VotesError, match="UTF-8"):
        Contents(ITEMS, path)
    pq.write_table(pa.table({"item": [["a"], ["b"]]}), path)
    with pytest.raises(VotesError, match="lists or records"):
        Contents(ITEMS, path)


def test_a_text_that_many_rows_repeat_is_held_once(tmp_path):
    path, n = tmp_path / "bomb.parquet", 20_000
    text = pa.DictionaryArray.from_arrays(np.zeros(n, dtype=np.int32), ["x" * 100_000])
    table = pa.table({"item": [str(i) for i in range(n)], "text": text})
    pq.write_table(table.cast(table.schema), path, store_schema=False)  # 2 GB of text
    before = pa.total_allocated_bytes()
    contents = Contents(ITEMS, path)
    assert pa.total_allocated_bytes() - before < 10**8
    assert contents.show(3)["length"] == 100_000


def test_runs_of_one_value_are_counted_before_they_are_read(tmp_path):
    path, n = tmp_path / "bomb.parquet", 5_000_000
    same = pa.DictionaryArray.from_arrays(np.zeros(n, dtype=np.int32), ["a"])
    pq.write_table(pa.table({"item": same, "text": same}), path, write_statistics=False)
    assert path.stat().st_size < 50_000
    with limit_memory("20MB"), pytest.raises(VotesError, match=r"bomb\.parquet needs about"):
        Contents(ITEMS, path)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("item,text\na,one\nb,two\na,three\n", "several rows for one item"),
        ("item,Text,TEXT\na,one,two\n", "two columns named text"),
        ("item,text\nx,y\n", "texts.csv has none of the items"),
        ("name,text\nx,y\n", "texts.csv needs a column named item"),
    ],
)
def test_other_tables_and_those_that_could_be_shown_in_two_ways_are_refused(tmp_path, table, told):
    (tmp_path / "texts.csv").write_text(table)
    with pytest.raises(VotesError, match=told):
        Contents(ITEMS, tmp_path / "texts.csv")


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
