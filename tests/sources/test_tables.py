import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

from unelisa.errors import VotesError
from unelisa.sources.tables import read_votes

LONG = pd.DataFrame(
    {
        "task": ["x1", "x1", "x2"],
        "worker": ["ann", "bob", "bob"],
        "label": ["yes", "yes", "no"],
    }
)
WIDE = pd.DataFrame({"item": ["x1", "x2"], "ann": ["yes", None], "bob": ["yes", "no"]})


def write_gzip(frame, path):
    with gzip.open(path, "wt") as file:
        frame.to_csv(file, index=False)


WRITERS = {
    "votes.csv": lambda frame, path: frame.to_csv(path, index=False),
    "votes.csv.gz": write_gzip,
    "votes.tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "votes.parquet": lambda frame, path: parquet.write_table(pa.Table.from_pandas(frame), path),
    "votes.feather": feather.write_feather,
    "VOTES.CSV": lambda frame, path: csv.write_csv(pa.Table.from_pandas(frame), path),
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("frame", [LONG, WIDE], ids=["long", "wide"])
def test_every_format_reads_the_same_four_votes(name, frame, tmp_path):
    WRITERS[name](frame, tmp_path / name)
    votes = read_votes(tmp_path / name)
    assert votes.values.tolist() == [[1, 1], [0, -1]]
    assert votes.items.tolist() == ["x1", "x2"]
    assert votes.voters.tolist() == ["ann", "bob"]
    assert votes.classes == ("no", "yes")


def text(tmp_path, content, name="votes.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_names_stay_text_and_cells_are_trimmed(tmp_path):
    votes = read_votes(text(tmp_path, "item,01,1\n007,1, 0\n7,0,NA\n"))
    assert votes.items.tolist() == ["007", "7"]
    assert votes.voters.tolist() == ["01", "1"]
    assert votes.values.tolist() == [[1, -1], [-1, 0]]


def test_byte_order_mark_windows_lines_and_quotes(tmp_path):
    content = b'\xef\xbb\xbfitem,"a, b",c\r\n"x ""1""",1,0\r\n"two\nlines",0,1\r\n'
    votes = read_votes(text(tmp_path, content))
    assert votes.voters.tolist() == ["a, b", "c"]
    assert votes.items.tolist() == ['x "1"', "two\nlines"]


def test_a_wide_table_without_item_names(tmp_path):
    votes = read_votes(text(tmp_path, "a,b\n1,0\n0,1\n"))
    assert votes.items.tolist() == [0, 1]
    assert votes.voters.tolist() == ["a", "b"]


def test_columns_can_be_named(tmp_path):
    path = text(tmp_path, "pic,who,said\n1,a,x\n1,b,y\n2,a,y\n")
    votes = read_votes(path, item="pic", voter="who", vote="said")
    assert votes.values.tolist() == [[-1, 1], [1, 0]]
    with pytest.raises(VotesError, match="name all three"):
        read_votes(path, voter="who")


def test_declared_codings_and_many_blocks(tmp_path):
    rng = np.random.default_rng(0)
    values = rng.integers(-1, 2, size=(30_000, 60))  # about 4.5 MB of text: two blocks
    pd.DataFrame(values).to_csv(tmp_path / "votes.csv", index=False)
    assert np.array_equal(read_votes(tmp_path / "votes.csv", coding="pm1").values, values)
    snorkel = np.array([0, -1, 1], dtype=np.int8)[values + 1]
    assert np.array_equal(read_votes(tmp_path / "votes.csv", coding="snorkel").values, snorkel)


def write_days(folder):
    """Return three files of one crowd: long text, wide text, and long Parquet."""
    (folder / "one.csv").write_text("item,voter,vote\nx2,ann,1\nx1,bob,0\n")
    (folder / "two.csv").write_text("item,bob,cem\nx2,1,\nx3,,0\n")
    table = pa.table({"item": ["x1", "x3"], "voter": ["ann", "ann"], "vote": [0, 1]})
    parquet.write_table(table, folder / "three.parquet")
    return [folder / name for name in ("one.csv", "two.csv", "three.parquet")]


def test_several_files_are_joined_by_the_names_of_items_and_voters(tmp_path):
    votes = read_votes(write_days(tmp_path))
    assert votes.items.tolist() == ["x1", "x2", "x3"]
    assert votes.voters.tolist() == ["ann", "bob", "cem"]
    assert votes.values.tolist() == [[-1, -1, 0], [1, 1, 0], [1, 0, -1]]


def test_different_votes_in_two_files_are_refused_by_row_and_file(tmp_path):
    files = write_days(tmp_path)
    files[1].write_text("item,bob,cem\nx9,1,\nx1,1,0\n")
    with pytest.raises(VotesError, match="data row 2 of one.csv and in data row 2 of two.csv"):
        read_votes(files)
    assert read_votes(files, duplicates="last").values[0].tolist() == [-1, 1, -1]
    assert read_votes(files, duplicates="first").values[0].tolist() == [-1, -1, -1]


def test_rows_without_items_cannot_be_joined(tmp_path):
    files = write_days(tmp_path)
    files[1].write_text("bob,cem\n1,0\n")
    with pytest.raises(VotesError, match=r"two.csv has no column of items"):
        read_votes(files)
    with pytest.raises(VotesError, match="no files of votes"):
        read_votes([])
