import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from unelisa.errors import VotesError
from unelisa.memory import limit_memory
from unelisa.sources import arrow
from unelisa.sources import arrow as module
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
    assert arrow.list_texts(files[0]) == ["item", "ann", "bob"]
    for frame in arrow.read_frames(files):
        assert all(pa.types.is_dictionary(kind) for kind in frame.to_native().schema.types)


def test_what_is_wrong_with_which_file(folder):
    files = sorted(folder.iterdir())
    FIRST.rename(columns={"bob": "cat"}).to_parquet(files[1])
    with pytest.raises(VotesError, match=r"b\.parquet has different columns than a\.parquet"):
        arrow.read_columns(files)
    FIRST.assign(bob=[1.0, 0.0]).to_parquet(files[1])
    with pytest.raises(VotesError, match="different types in different files"):
        read_votes(folder)
    for content, words in ((b"", "is empty"), (b"PAR1PAR1PAR1", "damaged")):
        files[1].write_bytes(content)
        with pytest.raises(VotesError, match=rf"b\.parquet .*{words}"):
            list(arrow.read_frames(files))


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
    names = [file.relative_to(folder).as_posix() for file in arrow.list_parquet(folder)]
    assert names == ["a/z.parquet", "a.parquet", "b.parquet"]
    assert arrow.list_parquet(folder / "a.parquet") == [folder / "a.parquet"]


def test_sizes_come_from_the_files_own_tables_of_contents(folder, tmp_path):
    files = sorted(folder.iterdir())
    assert arrow.measure_parquet(files).n_rows == 4
    narrow = folder / "narrow.parquet"
    runs = pa.DictionaryArray.from_arrays(np.zeros(50_000, np.int32), [1])
    parquet.write_table(pa.table({"ann": pa.array([1, -1, 1] * 50_000, pa.int8())}), narrow)
    # a byte as stored, three of votes; two per cell, more than the packed runs take
    assert arrow.measure_parquet([narrow]) == (150_000, 300_000, 150_000 * (1 + 3))
    parquet.write_table(pa.table({"ann": runs, "bob": ["yes"] * 50_000}), narrow)
    assert arrow.measure_parquet([narrow]) == (50_000, 200_000, 50_000 * (8 + 3 + 16 + 3))
    text = {"ann": ["x" * 100_000] * 2}
    parquet.write_table(pa.table(text), tmp_path / "a.parquet", use_dictionary=False)
    assert arrow.measure_parquet([tmp_path / "a.parquet"]).unpacked > 200_000


def test_rows_come_in_batches_across_files_and_wide_ones_in_smaller_ones(
    folder, monkeypatch, tmp_path
):
    monkeypatch.setattr(module, "ROWS", 1)
    monkeypatch.setattr(module, "LEAST_ROWS", 1)
    table = arrow.ArrowTable(folder)
    assert (table.header, table.n_rows) == (["item", "ann", "bob"], 4)
    batches = [batch.to_pylist() for batch in table.batches(["bob", "item"])]
    said = [("no", "x1"), (None, "x2"), ("no", "x3"), (None, "x4")]
    assert batches == [[{"bob": bob, "item": item}] for bob, item in said]
    monkeypatch.undo()  # also what the fixtures of all tests set
    monkeypatch.setattr(module, "LEAST_ROWS", 1)
    table = pa.table({f"v{s}": [1, 0] * 1000 for s in range(50)})
    parquet.write_table(table, tmp_path / "votes.parquet")
    with limit_memory("1MB"):
        lengths = [len(frame) for frame in arrow.read_frames([tmp_path / "votes.parquet"])]
    assert sum(lengths) == 2000
    assert max(lengths) == 1_000_000 // 8 // (50 * (8 + 3))


TABLE = pa.table({"item": [f"x{i}" for i in range(5000)], "ann": ["yes", "no"] * 2500})


@pytest.mark.parametrize("compression", ["zstd", "lz4", "uncompressed"])
def test_sizes_come_from_the_metadata(compression, tmp_path):
    path = str(tmp_path / "votes.feather")
    feather.write_feather(TABLE, path, compression, chunksize=1000)
    rows, unpacked, columns = arrow.measure_feather(tmp_path / "votes.feather")
    assert (rows, columns) == (5000, ["item", "ann"])
    stored = sum(batch.nbytes for batch in TABLE.to_batches(1000))
    assert stored <= unpacked <= 1.2 * stored
    assert arrow.read_feather(tmp_path / "votes.feather").to_pylist() == TABLE.to_pylist()


def test_what_takes_no_bytes_in_the_file_is_counted(tmp_path):
    coded = pa.table({"item": TABLE["item"].dictionary_encode(), "ann": TABLE["ann"]})
    feather.write_feather(coded, str(tmp_path / "votes.feather"), "zstd")
    texts = sum(len(f"x{i}") for i in range(5000))
    assert arrow.measure_feather(tmp_path / "votes.feather")[1] > texts
    # a column of nulls takes no space in the file, whatever its length
    path = str(tmp_path / "votes.feather")
    feather.write_feather(pa.table({"ann": pa.nulls(300_000_000)}), path, "uncompressed")
    with pytest.raises(VotesError, match="times its size"):
        read_votes(path)


@pytest.mark.parametrize("kind", [pa.string_view(), pa.large_string(), pa.binary()])
def test_every_kind_of_text_is_read_as_its_distinct_values(kind, tmp_path):
    feather.write_feather(
        pa.table({name: TABLE[name].cast(kind) for name in TABLE.column_names}),
        str(tmp_path / "votes.feather"),
        "uncompressed",
    )
    votes = read_votes(tmp_path / "votes.feather")
    assert (votes.n_items, votes.classes) == (5000, ("no", "yes"))


def test_views_that_overlap_are_refused(tmp_path):
    """Each cell shows the same 100 kB from another start: 2 GB of text in a 400 kB file."""
    text = b"x" * 100_000
    views = np.zeros((20_000, 4), np.int32)
    views[:, 0] = 99_000
    views[:, 3] = np.arange(20_000) % 1000
    views[:, 1] = int.from_bytes(text[:4], "little")
    buffers = [None, pa.py_buffer(views.tobytes()), pa.py_buffer(text)]
    column = pa.Array.from_buffers(pa.string_view(), len(views), buffers)
    path = tmp_path / "votes.feather"
    with (
        pa.OSFile(str(path), "wb") as file,
        pa.ipc.new_file(file, pa.schema([("item", column.type)])) as writer,
    ):
        writer.write_batch(pa.record_batch([column], ["item"]))
    with pytest.raises(VotesError, match="needs about 2.0 GB"):
        read_votes(path)


def test_a_file_beyond_the_limit_is_refused_before_it_is_unpacked(tmp_path):
    rng = np.random.default_rng(0)
    noise = pa.table({f"v{s}": rng.integers(0, 2, 2_000_000) for s in range(3)})
    feather.write_feather(noise, str(tmp_path / "votes.feather"), "zstd")
    with limit_memory("70MB"), pytest.raises(VotesError, match="more than the limit of 70 MB"):
        read_votes(tmp_path / "votes.feather")
