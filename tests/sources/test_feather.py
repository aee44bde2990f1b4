import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather

from unelisa.errors import VotesError
from unelisa.memory import limit_memory
from unelisa.sources.feather import measure_feather, read_feather
from unelisa.sources.tables import read_votes

TABLE = pa.table({"item": [f"x{i}" for i in range(5000)], "ann": ["yes", "no"] * 2500})


@pytest.mark.parametrize("compression", ["zstd", "lz4", "uncompressed"])
def test_sizes_come_from_the_metadata(compression, tmp_path):
    path = str(tmp_path / "votes.feather")
    feather.write_feather(TABLE, path, compression, chunksize=1000)
    rows, unpacked, columns = measure_feather(tmp_path / "votes.feather")
    assert (rows, columns) == (5000, ["item", "ann"])
    stored = sum(batch.nbytes for batch in TABLE.to_batches(1000))
    assert stored <= unpacked <= 1.2 * stored
    assert read_feather(tmp_path / "votes.feather").to_pylist() == TABLE.to_pylist()


def test_dictionaries_count_too(tmp_path):
    coded = pa.table({"item": TABLE["item"].dictionary_encode(), "ann": TABLE["ann"]})
    feather.write_feather(coded, str(tmp_path / "votes.feather"), "zstd")
    texts = sum(len(f"x{i}") for i in range(5000))
    assert measure_feather(tmp_path / "votes.feather")[1] > texts


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


def test_rows_without_bytes_are_counted(tmp_path):
    """A column of nulls takes no space in the file, whatever its length."""
    path = str(tmp_path / "votes.feather")
    feather.write_feather(pa.table({"ann": pa.nulls(300_000_000)}), path, "uncompressed")
    with pytest.raises(VotesError, match="times its size"):
        read_votes(path)


def test_a_file_beyond_the_limit_is_refused_before_it_is_unpacked(tmp_path):
    rng = np.random.default_rng(0)
    noise = pa.table({f"v{s}": rng.integers(0, 2, 2_000_000) for s in range(3)})
    feather.write_feather(noise, str(tmp_path / "votes.feather"), "zstd")
    with limit_memory("70MB"), pytest.raises(VotesError, match="more than the limit of 70 MB"):
        read_votes(tmp_path / "votes.feather")
