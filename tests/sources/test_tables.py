import gzip
import os
import stat
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

import unelisa as ue
from places import crowd
from unelisa.errors import VotesError
from unelisa.kernels.l1_logistic import CHUNK
from unelisa.sources import arrow as arrow_module
from unelisa.sources.tables import read_votes
from unelisa.votes import blocks as local_module
from unelisa.votes.blocks import MappedBlocks
from unelisa.votes.columns import RowNumbers

LONG = pd.DataFrame(
    {"task": ["x1", "x1", "x2"], "worker": ["ann", "bob", "bob"], "label": ["yes", "yes", "no"]}
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


def test_names_stay_text_cells_are_trimmed_and_rows_without_names_numbered(tmp_path):
    votes = read_votes(text(tmp_path, "item,01,1\n007,1, 0\n7,0,NA\n"))
    assert votes.items.tolist() == ["007", "7"]
    assert votes.voters.tolist() == ["01", "1"]
    assert votes.values.tolist() == [[1, -1], [-1, 0]]
    content = b'\xef\xbb\xbfitem,"a, b",c\r\n"x ""1""",1,0\r\n"two\nlines",0,1\r\n'
    votes = read_votes(text(tmp_path, content))
    assert votes.voters.tolist() == ["a, b", "c"]
    assert votes.items.tolist() == ['x "1"', "two\nlines"]
    votes = read_votes(text(tmp_path, "a,b\n1,0\n0,1\n"))
    assert votes.items.tolist() == [0, 1]
    assert votes.voters.tolist() == ["a", "b"]


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


def test_several_files_are_joined_by_names_or_refused_and_need_items(tmp_path):
    votes = read_votes(write_days(tmp_path))
    assert votes.items.tolist() == ["x1", "x2", "x3"]
    assert votes.voters.tolist() == ["ann", "bob", "cem"]
    assert votes.values.tolist() == [[-1, -1, 0], [1, 1, 0], [1, 0, -1]]
    files = write_days(tmp_path)
    files[1].write_text("item,bob,cem\nx9,1,\nx1,1,0\n")
    with pytest.raises(VotesError, match="data row 2 of one.csv and in data row 2 of two.csv"):
        read_votes(files)
    assert read_votes(files, duplicates="last").values[0].tolist() == [-1, 1, -1]
    assert read_votes(files, duplicates="first").values[0].tolist() == [-1, -1, -1]
    files = write_days(tmp_path)
    files[1].write_text("bob,cem\n1,0\n")
    with pytest.raises(VotesError, match=r"two.csv has no column of items"):
        read_votes(files)
    with pytest.raises(VotesError, match="no files of votes"):
        read_votes([])


@pytest.fixture
def small_blocks(monkeypatch):
    """Several blocks of votes and several batches of rows from small tables."""
    monkeypatch.setattr(local_module.fitting_items, "__defaults__", (CHUNK * 12,))
    monkeypatch.setattr(arrow_module, "ROWS", 1500)


def as_words(votes):
    frame = pd.DataFrame(votes).replace({-1: "no", 0: None, 1: "yes"}).astype(object)
    frame.columns = [f"rater {s}" for s in range(votes.shape[1])]
    frame.insert(0, "item", [f"x{i}" for i in range(len(frame))])
    return frame


def write_folder(folder, frame, n_files=3):
    folder.mkdir()
    for k, rows in enumerate(np.array_split(np.arange(len(frame)), n_files)):
        frame.iloc[rows].to_parquet(folder / f"part-{k}.parquet")


@pytest.mark.parametrize("kind", ["csv", "parquet", "folder"])
def test_a_large_table_is_kept_in_a_file(kind, tmp_path, small_blocks):
    frame = as_words(crowd())
    path = tmp_path / f"votes.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "parquet":
        frame.to_parquet(path)
    else:
        write_folder(path, frame)
    here, there = ue.read_votes(path), ue.read_votes(path, memory="50KB")
    assert isinstance(there.blocks, MappedBlocks)
    assert len(list(there.blocks)) == 4
    assert np.array_equal(np.concatenate([part.values for part in there.parts()]), here.values)
    assert there.items.tolist() == here.items.tolist()
    assert (there.classes, there.voters.tolist()) == (here.classes, here.voters.tolist())
    model = ue.UnElisa(fit_intercept=True, random_state=0).fit(there)
    same = ue.UnElisa(fit_intercept=True, random_state=0).fit(here)
    assert model.weights_ == pytest.approx(same.weights_, abs=1e-6)
    assert model.predict(there).tolist() == same.predict(here).tolist()


def test_the_file_goes_with_the_votes_and_numbers_that_name_items_stay_numbers(
    tmp_path, small_blocks
):
    pd.DataFrame(crowd(), columns=list("abcdefghijkl")).to_parquet(tmp_path / "votes.parquet")
    votes = ue.read_votes(tmp_path / "votes.parquet", coding="pm1", memory=1000)
    file = votes.blocks.file
    assert isinstance(votes.items, RowNumbers)
    assert os.fstat(file.fileno()).st_size == crowd().size
    del votes
    assert file.closed
    frame = pd.DataFrame(crowd(), columns=list("abcdefghijkl"))
    frame["item"] = np.arange(len(frame)) + 10**10
    frame.to_parquet(tmp_path / "votes.parquet")
    votes = ue.read_votes(tmp_path / "votes.parquet", coding="pm1", memory=1000)
    assert votes.items[:2].tolist() == [10**10, 10**10 + 1]


def test_a_folder_of_long_files_is_read_as_one_table(tmp_path):
    frame = as_words(crowd(300)).melt("item", var_name="voter", value_name="vote").dropna()
    write_folder(tmp_path / "long", frame)
    votes = ue.read_votes(tmp_path / "long", memory=1000)
    frame.to_csv(tmp_path / "long.csv", index=False)
    assert np.array_equal(votes.values, ue.read_votes(tmp_path / "long.csv").values)


def test_what_cannot_be_stored_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(VotesError, match="folder without Parquet"):
        ue.read_votes(tmp_path / "empty")
    frame = as_words(crowd(400))
    write_folder(tmp_path / "mixed", frame)
    frame.rename(columns={"rater 3": "rater x"}).to_parquet(tmp_path / "mixed" / "z.parquet")
    with pytest.raises(VotesError, match="z.parquet has different columns than part-0.parquet"):
        ue.read_votes(tmp_path / "mixed", memory=1000)
    frame.loc[7, "item"] = "x3"
    frame.to_parquet(tmp_path / "twice.parquet")
    with pytest.raises(VotesError, match="data row 4 appears twice"):
        ue.read_votes(tmp_path / "twice.parquet", memory=1000)
    frame["rater 2"] = [f"words {i}" for i in range(len(frame))]
    frame.to_parquet(tmp_path / "text.parquet")
    with pytest.raises(VotesError, match="column 'rater 2' holds far more labels.*free text"):
        ue.read_votes(tmp_path / "text.parquet", memory=1000)


def test_names_are_stored_one_after_the_other(tmp_path):
    """Not in cells as wide as the longest: one name of a megabyte would take gigabytes."""
    names = [f"x{i}" for i in range(5000)]
    names[7] = "é" * 1_000_000
    votes = pd.DataFrame({"item": names, "ann": ["yes", "no"] * 2500, "bob": ["no", "yes"] * 2500})
    votes.to_csv(tmp_path / "votes.csv", index=False)
    stored = ue.read_votes(tmp_path / "votes.csv", memory=1000).items
    assert stored.tolist() == names
    assert stored[7] == names[7]
    assert stored[-1] == names[-1]
    assert stored[[5, 6]].tolist() == names[5:7]
    assert stored[np.arange(5000) < 3].tolist() == names[:3]
    assert np.asarray(stored[10:12]).tolist() == names[10:12]
    assert len(stored) == 5000


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs a list of open files")
def test_nothing_of_it_has_a_name_or_is_open_to_others(tmp_path, monkeypatch):
    """Items may be patients: what a killed process leaves behind must not hold them."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    as_words(crowd()).to_parquet(tmp_path / "votes.parquet")
    votes = ue.read_votes(tmp_path / "votes.parquet", memory=1000)
    assert list((tmp_path / "tmp").iterdir()) == []
    assert stat.S_IMODE(os.fstat(votes.blocks.file.fileno()).st_mode) == 0o600
    assert votes.items[:2].tolist() == ["x0", "x1"]
