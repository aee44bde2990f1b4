import gzip
from pathlib import Path

import pyarrow as pa
import pytest

from unelisa.errors import VotesError
from unelisa.sources import files
from unelisa.sources.tables import read_votes


@pytest.mark.parametrize(
    ("line", "usual", "mark"),
    [
        ("item,ann,bob", ",", ","),
        ("item,ann;bob", ",", ","),
        ("item;ann;bob", ",", ";"),
        ('item;"Smith, A";bob', ",", ";"),
        ('item,"a;b"', ",", ","),
        ("item\tann, bob", "\t", "\t"),
        ("item,ann", "\t", ","),
        ("item|ann", ",", "|"),
        ("item", ",", ","),
    ],
)
def test_what_parts_the_cells(line, usual, mark, tmp_path):
    for name, pack in (("votes.csv", bytes), ("votes.csv.gz", gzip.compress)):
        (tmp_path / name).write_bytes(pack(f"\n{line}\r\nx;,|\t\n".encode()))
        assert files.find_delimiter(files.read_beginning(tmp_path / name), usual) == mark


def test_names_are_stripped_and_must_differ():
    assert files.check_names(["\ufeff item ", " ann\u00a0"], "votes.csv") == ["item", "ann"]
    with pytest.raises(VotesError, match="columns 2 and 3 of votes.csv have the same name"):
        files.check_names(["item", "ann", "ann "], "votes.csv")
    # comparing each with all before it would take hours
    names = [f"v{s}" for s in range(300_000)]
    assert files.check_names(names, "votes.csv") == names
    with pytest.raises(VotesError, match="columns 1 and 300001"):
        files.check_names([*names, "v0"], "votes.csv")


def test_voters_named_like_votes_do_not_mean_a_missing_header(tmp_path):
    """pandas numbers the columns of a bare array 0, 1, ..., and votes are 0 and 1."""
    (tmp_path / "votes.csv").write_text("0,1\n0,1\n1,1\n1,0\n")
    assert read_votes(tmp_path / "votes.csv").voters.tolist() == ["0", "1"]
    (tmp_path / "votes.csv").write_text("mrn,0,1\na,0,1\nb,1,1\nc,1,0\n")
    assert read_votes(tmp_path / "votes.csv", item="mrn").items.tolist() == ["a", "b", "c"]
    with pytest.raises(VotesError, match="seems to have no header"):
        read_votes(tmp_path / "votes.csv")


def test_cells_are_text_and_columns_called_by_position(tmp_path):
    (tmp_path / "votes.csv").write_text(" item ;ann;bob\n007;1;\n8;0;NA\n")
    table = files.TextTable(tmp_path / "votes.csv")
    assert table.header == ["item", "ann", "bob"]
    (batch,) = table.batches(["item", "bob"])
    assert [column.to_pylist() for column in batch.columns] == [["007", "8"], ["", "NA"]]
    (tmp_path / "votes.csv").write_text("Smith,yes,no\nJones,no,yes\n")
    table = files.TextTable(tmp_path / "votes.csv")
    assert table.call_columns(["yes", "Smith"]) == ["2", "1"]
    assert files.TextTable(tmp_path / "votes.csv", named=["Smith"]).call_columns(["yes"]) == [
        "'yes'"
    ]
    (tmp_path / "votes.csv").write_text("item,ann\nJones,yes\n")
    assert files.TextTable(tmp_path / "votes.csv").call_columns(["ann"]) == ["'ann'"]


def test_only_files_and_folders_are_read(tmp_path):
    files.check_readable(tmp_path)
    with pytest.raises(VotesError, match=r"there is no file none\.csv"):
        files.check_readable(tmp_path / "none.csv")


def test_a_small_file_must_not_fill_the_memory(tmp_path):
    files.refuse_bomb("votes.csv.gz", 100, files.MAX_UNPACKED)
    files.refuse_bomb("votes.csv.gz", files.MAX_UNPACKED, 2 * files.MAX_UNPACKED)
    with pytest.raises(VotesError, match="more than 500 times its size"):
        files.refuse_bomb("votes.csv.gz", 100, files.MAX_UNPACKED + 1)
    text = b"item,ann\n" + b"x,yes\n" * 1000
    (tmp_path / "votes.csv.gz").write_bytes(gzip.compress(text))
    (tmp_path / "votes.csv").write_bytes(text)
    assert (
        files.TextTable(tmp_path / "votes.csv.gz").size
        == files.TextTable(tmp_path / "votes.csv").size
    )
    assert files.TextTable(Path("stdin.csv"), text).size == len(text)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (pa.ArrowInvalid("CSV parse error: Expected 3 columns, got 2: Smith"), "fewer cells"),
        (PermissionError(13, "Smith"), "permission denied"),
        (UnicodeDecodeError("utf-8", b"Smith", 0, 1, "Smith"), "not UTF-8"),
        (OSError("Smith"), "damaged or not in the format of its file extension"),
    ],
)
def test_cells_are_not_quoted(tmp_path, error, words):
    with pytest.raises(VotesError, match=words) as caught, files.reading(tmp_path / "votes.csv"):
        raise error
    assert str(caught.value).startswith("votes.csv ")
    assert "Smith" not in str(caught.value)
