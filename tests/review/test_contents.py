import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from review.reviewing import PNG
from unelisa.errors import VotesError
from unelisa.memory import limit_memory
from unelisa.review.contents import LONGEST_FACT, LONGEST_TEXT, Contents

ITEMS = np.array(["a", "b", "c", 7], dtype=object)


def test_texts_and_facts_are_found_by_name(tmp_path):
    path = tmp_path / "texts.csv"
    path.write_text("age,item,Text\n63,b, hello \n,7,seven\n5,z,unknown\n")
    contents = Contents(ITEMS, path)
    assert contents.show(1)["text"].strip() == "hello"
    assert contents.show(1)["facts"] == [["age", "63"]]
    assert contents.show(3)["facts"] == []
    assert contents.show(0) == Contents(ITEMS).show(0)  # no row: a name alone


def test_parquet_and_long_texts(tmp_path):
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
