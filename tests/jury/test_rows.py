import gzip

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

ROWS = {
    "item": ["a", "a", "b", "b"],
    "text": ["Xylophon7"] * 4,
    "annotator": ["x", "y", "x", "y"],
    "label": ["good", "bad", "bad", None],
}
VOTES = {("a", "x"): "good", ("a", "y"): "bad", ("b", "x"): "bad"}


@pytest.fixture
def table():
    """A table as the library datasets has it, with a column of messages."""
    messages = [[{"role": "user", "content": "Xylophon7"}]] * 4
    return pa.table({**ROWS, "messages": messages})


def test_parquet_with_nested_columns_that_nobody_needs(table, tmp_path, said):
    pq.write_table(table, tmp_path / "train.parquet")
    assert said(tmp_path / "train.parquet") == VOTES


def test_arrow_as_a_file_and_as_a_stream_in_a_folder(table, tmp_path, said):
    plain = table.drop_columns(["messages"])
    feather.write_feather(plain, tmp_path / "panel.feather")
    assert said(tmp_path / "panel.feather") == VOTES
    folder = tmp_path / "saved"
    folder.mkdir()
    (folder / "state.json").write_text("{}")
    with pa.ipc.new_stream(folder / "data-00000-of-00001.arrow", plain.schema) as stream:
        stream.write_table(plain)
    assert said(folder) == VOTES


def test_text_tables_and_frames(table, tmp_path, said):
    frame = pd.DataFrame(ROWS)
    frame.to_csv(tmp_path / "panel.csv", index=False)
    assert said(tmp_path / "panel.csv") == VOTES
    (tmp_path / "panel.csv.gz").write_bytes(gzip.compress((tmp_path / "panel.csv").read_bytes()))
    assert said(tmp_path / "panel.csv.gz") == VOTES
    assert said(frame) == VOTES
    assert said(pl.DataFrame(ROWS)) == VOTES
    assert said(table) == VOTES


def test_other_tables_are_refused_in_a_sentence(table, tmp_path, refuse):
    assert "unelisa fit" in refuse("item,x,y\nXylophon7,good,bad\n", "wide.csv")
    assert "only one line" in refuse("hello", "x.csv")
    pq.write_table(table, tmp_path / "whole.parquet")
    whole = (tmp_path / "whole.parquet").read_bytes()
    assert "damaged" in refuse(whole[:-100], "half.parquet")
    assert "damaged" in refuse(b"ARROW1\0\0" + bytes(50), "half.arrow")
    assert "damaged" in refuse(b"\xff\xff\xff\xff" + bytes(50), "half.arrow")
    nested = pa.table({"item": ["a"], "judge": ["x"], "label": [{"a": "Xylophon7"}]})
    pq.write_table(nested, tmp_path / "nested.parquet")
    assert "lists or records" in refuse((tmp_path / "nested.parquet").read_bytes(), "n.parquet")
