import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from unelisa.errors import VotesError
from unelisa.memory import limit_memory
from unelisa.sources import parquet as module
from unelisa.sources.parquet import (
    list_parquet,
    list_texts,
    measure_parquet,
    read_columns,
    read_frames,
    read_table,
    stream_wide,
)
from unelisa.sources.tables import read_votes

FIRST = pd.DataFrame({"item": ["x1", "x2"], "ann": ["yes", "no"], "bob": ["no", None]})


@pytest.fixture
def folder(tmp_path):
    FIRST.to_parquet(tmp_path / "a.parquet")
    later = FIRST.assign(item=["x3", "x4"])[["bob", "item", "ann"]]
    later.to_parquet(tmp_path / "b.parquet")
    return tmp_path


@pytest.mark.parametrize("memory", ["1GB", "1"])
def test_a_folder_is_one_table_whatever_the_order_of_its_columns(folder, memory):
    votes = read_votes(folder, memory=memory)
    assert votes.items.tolist() == ["x1", "x2", "x3", "x4"]
    assert votes.voters.tolist() == ["ann", "bob"]
    assert next(iter(votes.parts())).values.tolist() == [[1, -1], [-1, 0]] * 2


def test_text_stays_a_list_of_labels_and_places(folder):
    files = sorted(folder.iterdir())
    assert list_texts(files[0]) == ["item", "ann", "bob"]
    assert all(pa.types.is_dictionary(kind) for kind in read_table(files).schema.types)
    for frame in read_frames(files):
        assert all(pa.types.is_dictionary(kind) for kind in frame.to_native().schema.types)


def test_what_is_wrong_with_which_file(folder):
    files = sorted(folder.iterdir())
    FIRST.rename(columns={"bob": "cat"}).to_parquet(files[1])
    with pytest.raises(VotesError, match=r"b\.parquet has different columns than a\.parquet"):
        read_columns(files)
    FIRST.assign(bob=[1.0, 0.0]).to_parquet(files[1])
    with pytest.raises(VotesError, match="different types in different files"):
        read_table(files)
    for content, words in ((b"", "is empty"), (b"PAR1PAR1PAR1", "damaged")):
        files[1].write_bytes(content)
        with pytest.raises(VotesError, match=rf"b\.parquet .*{words}"):
            list(read_frames(files))


def test_places_beyond_the_labels_are_refused(tmp_path):
    """As the pages of a damaged file may hold them."""
    wrong = pa.DictionaryArray.from_arrays(pa.array([0, 7]), ["yes", "no"], safe=False)
    with pa.OSFile(str(tmp_path / "votes.feather"), "wb") as file:
        table = pa.table({"item": ["x1", "x2"], "ann": wrong})
        with pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    with pytest.raises(VotesError, match="damaged or not in the format"):
        read_votes(tmp_path / "votes.feather")


def test_bytes_are_read_as_the_text_they_spell(tmp_path):
    said = {"item": [b"x1", b"x2"], "ann": [b"yes", b"no"], "bob": ["no", "yes"]}
    parquet.write_table(pa.table(said), tmp_path / "votes.parquet")
    votes = read_votes(tmp_path / "votes.parquet")
    assert (votes.items.tolist(), votes.classes) == (["x1", "x2"], ("no", "yes"))


def test_a_folder_s_files_are_listed_by_name_at_any_depth(folder):
    (folder / "a").mkdir()
    FIRST.to_parquet(folder / "a" / "z.parquet")
    (folder / "notes.txt").write_text("no votes")
    (folder / "c.parquet").mkdir()  # a folder, although it ends like a file
    names = [file.relative_to(folder).as_posix() for file in list_parquet(folder)]
    assert names == ["a/z.parquet", "a.parquet", "b.parquet"]
    assert list_parquet(folder / "a.parquet") == [folder / "a.parquet"]


def test_a_folder_without_files_is_refused(tmp_path):
    with pytest.raises(VotesError, match="is a folder without Parquet files"):
        list_parquet(tmp_path)


def test_sizes_come_from_the_files_own_tables_of_contents(folder):
    files = sorted(folder.iterdir())
    assert measure_parquet(files).n_rows == 4
    narrow = folder / "narrow.parquet"
    runs = pa.DictionaryArray.from_arrays(np.zeros(50_000, np.int32), [1])
    parquet.write_table(pa.table({"ann": pa.array([1, -1, 1] * 50_000, pa.int8())}), narrow)
    # a byte as stored, three of votes; two per cell, more than the packed runs take
    assert measure_parquet([narrow]) == (150_000, 300_000, 150_000 * (1 + 3))
    parquet.write_table(pa.table({"ann": runs, "bob": ["yes"] * 50_000}), narrow)
    assert measure_parquet([narrow]) == (50_000, 200_000, 50_000 * (8 + 3 + 16 + 3))


def test_a_long_text_counts_in_full(tmp_path):
    text = {"ann": ["x" * 100_000] * 2}
    parquet.write_table(pa.table(text), tmp_path / "a.parquet", use_dictionary=False)
    assert measure_parquet([tmp_path / "a.parquet"]).unpacked > 200_000


def test_rows_come_in_batches_across_files(folder, monkeypatch):
    monkeypatch.setattr(module, "ROWS", 1)
    monkeypatch.setattr(module, "LEAST_ROWS", 1)
    stream = stream_wide(sorted(folder.iterdir()), "item", 4)
    assert (stream.voters, stream.n_rows) == (["ann", "bob"], 4)
    batches = list(stream.open())
    assert [batch.n_rows for batch in batches] == [1, 1, 1, 1]
    assert [batch.names.tolist() for batch in batches] == [["x1"], ["x2"], ["x3"], ["x4"]]
    code = {"yes": 1, "no": -1}
    said = [[column.encode(code).tolist() for column in batch.columns] for batch in batches]
    assert said == [[[1], [-1]], [[-1], [0]]] * 2


def test_a_pipe_among_the_files_is_refused_at_once(folder):
    os.mkfifo(folder / "c.parquet")
    with pytest.raises(VotesError, match=r"c\.parquet is not a regular file"):
        list_parquet(folder)


def test_wide_rows_come_in_smaller_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LEAST_ROWS", 1)
    table = pa.table({f"v{s}": [1, 0] * 1000 for s in range(50)})
    parquet.write_table(table, tmp_path / "votes.parquet")
    with limit_memory("1MB"):
        lengths = [len(frame) for frame in read_frames([tmp_path / "votes.parquet"])]
    assert sum(lengths) == 2000
    assert max(lengths) == 1_000_000 // 8 // (50 * (8 + 3))
