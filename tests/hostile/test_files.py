"""Every file of the corpus: exit code 2 and one sentence, or the documented result."""

import base64
import csv
import gzip
import io
import re
import resource
import zipfile
import zlib

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from hostile.corpus import ACCEPTED, ITEMS, REFUSED, SECRET, long_names
from unelisa.aggregators import MajorityVote
from unelisa.cli import app
from unelisa.errors import ModelError, VotesError
from unelisa.memory import limit_memory
from unelisa.sources.labels import read_labels
from unelisa.sources.tables import read_votes
from unelisa.storage import _seal, load
from unelisa.votes.blocks import MappedBlocks


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


BOMBS = [case for case in REFUSED if "bomb" in case]  # they take seconds


@pytest.mark.parametrize("case", [case for case in REFUSED if case not in BOMBS])
def test_a_bad_file_is_refused_in_one_sentence(case, tmp_path):
    make, sentence = REFUSED[case]
    path = make(tmp_path)
    before = sorted(tmp_path.iterdir())
    outputs = [tmp_path / name for name in ("labels.csv", "page.html", "model.npz", "found.json")]
    options = zip(("--out", "--report", "--save", "--json"), outputs, strict=True)
    result = run("fit", path, *(part for pair in options for part in pair))
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert len(result.stderr) < 400
    assert SECRET not in result.stderr
    assert re.search(sentence, result.stderr)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("case", ACCEPTED)
def test_an_odd_file_is_read_as_it_is_meant(case, tmp_path):
    path = ACCEPTED[case](tmp_path)
    out = tmp_path / "labels.csv"
    result = run("fit", path, "--method", "majority-vote", "--out", out)
    assert result.exit_code == 0, result.output
    labels = pd.read_csv(out).set_index("item").label
    assert sorted(labels.index) == sorted(ITEMS)
    assert labels[ITEMS].tolist() == ["yes", "no", "no", "yes"] * 6
    assert SECRET not in result.output


@pytest.mark.parametrize("case", BOMBS)
def test_reading_a_bomb_takes_little_memory(case, tmp_path):
    make, sentence = REFUSED[case]
    path = make(tmp_path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(VotesError, match=sentence):
        read_votes(path)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 150_000  # kB; the files unpack to 300 MB and more


def test_a_model_bomb_is_refused_before_it_is_unpacked(tmp_path):
    """300 MB of zeros in 300 kB, with a checksum that is right."""
    archive = io.BytesIO()
    with (
        zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed,
        packed.open("a.npy", "w") as file,
    ):
        for _ in range(3):
            file.write(bytes(100_000_000))
    (tmp_path / "model.npz").write_bytes(_seal(archive.getvalue()))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with limit_memory("200MB"), pytest.raises(ModelError, match=r"model\.npz needs about 300 MB"):
        load(tmp_path / "model.npz")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000


def test_long_names_are_not_repeated_for_every_vote(tmp_path):
    path = long_names(tmp_path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    votes = read_votes(path)
    assert votes.shape == (100_000, 2)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000


def test_long_labels_are_not_repeated_for_every_item():
    labels = ("n" * 150, "y" * 150)
    frame = pd.DataFrame({name: np.resize(labels, 1000) for name in "abc"})
    model = MajorityVote().fit(frame)
    assert model.predict(frame).tolist() == frame["a"].tolist()
    assert model.predict(frame).nbytes == 8 * 1000


def test_a_long_table_beyond_the_limit_is_refused(tmp_path):
    rows = "".join(f"i{i},v{i % 7},{i % 2}\n" for i in range(1_500_000))
    (tmp_path / "votes.csv").write_text(f"item,voter,vote\n{rows}")
    with pytest.raises(VotesError, match=r"votes\.csv needs about .* raise it with UNELISA_MEMORY"):
        read_votes(tmp_path / "votes.csv", memory="70MB")
    result = run("fit", tmp_path / "votes.csv", "--memory", "70MB", "--method", "majority-vote")
    assert result.exit_code == 2
    assert "--memory" in result.stderr


def test_a_gzipped_table_beyond_the_limit_is_kept_in_a_file(tmp_path):
    """Its own size is far below the limit; what it holds is not."""
    rows = "".join(f"i{i},yes,no,yes\n" if i % 3 else f"i{i},no,no,yes\n" for i in range(5000))
    with gzip.open(tmp_path / "votes.csv.gz", "wt") as file:
        file.write(f"item,a,b,c\n{rows}")
    size = (tmp_path / "votes.csv.gz").stat().st_size
    votes = read_votes(tmp_path / "votes.csv.gz", memory=2 * size)
    assert isinstance(votes.blocks, MappedBlocks)
    assert votes.items[4999] == "i4999"


def test_dates_as_items_stay_as_they_are_written(tmp_path):
    """A spreadsheet turns some ids into dates; what it wrote is what the items are called."""
    (tmp_path / "votes.csv").write_text("item,a,b\n2-Mar,1,0\n1.23457E+11,0,1\n2026-03-02,1,1\n")
    votes = read_votes(tmp_path / "votes.csv")
    assert votes.items.tolist() == ["2-Mar", "1.23457E+11", "2026-03-02"]
    frame = pd.DataFrame({"item": pd.to_datetime(["2026-03-02", "2026-03-03"]), "a": [0, 1]})
    frame.assign(b=[1, 0]).to_parquet(tmp_path / "votes.parquet")
    items = read_votes(tmp_path / "votes.parquet").items
    assert [str(item)[:10] for item in items] == ["2026-03-02", "2026-03-03"]


@pytest.mark.parametrize("name", ["fit", "compare", "predict", "report"])
def test_a_bad_file_is_refused_by_every_command(name, tmp_path):
    model, good = tmp_path / "model.npz", tmp_path / "good.csv"
    good.write_text(ACCEPTED["plain"](tmp_path).read_text(encoding="utf-8"))
    run("fit", good, "--method", "majority-vote", "--save", model)
    bad = REFUSED["zero bytes"][0](tmp_path)
    arguments = {
        "fit": (good, "--truth", bad),
        "compare": (good, "--truth", bad),
        "predict": (model, bad),
        "report": (model, bad, "--out", tmp_path / "page.html"),
    }[name]
    result = run(name, *arguments)
    assert result.exit_code == 2, result.output
    assert "null bytes" in result.stderr
    assert not (tmp_path / "page.html").exists()


def test_a_file_of_labels_comes_back_as_truth(tmp_path):
    """Items and labels that look like formulas are shielded in labels.csv, and known again."""
    items = ["=1+1", "@x", "-name", "'quoted", *(f"i{i}" for i in range(20))]
    said = np.array(["+", "-"])[np.arange(24) % 2]
    frame = pd.DataFrame({"item": items, "ann": said, "bob": said, "cat": said[::-1]})
    frame.to_csv(tmp_path / "votes.csv", index=False)
    labels, scores = tmp_path / "labels.csv", tmp_path / "scores.json"
    assert run("fit", tmp_path / "votes.csv", "--method", "wawa", "--out", labels).exit_code == 0
    text = labels.read_text()
    assert "'=1+1," in text
    assert "'+," in text
    arguments = ("--truth", labels, "--methods", "wawa", "--json", scores)
    result = run("compare", tmp_path / "votes.csv", *arguments)
    assert result.exit_code == 0, result.output
    assert "24 items with a known label" in result.stdout
    assert pd.read_json(scores).accuracy.item() == 1


@pytest.mark.parametrize("name", ["a\rb", "a\r=1+1", "a\r\n=1+1", "a;=1+1", 'a"\r"', "\u2028=1"])
def test_names_with_line_breaks_come_back_in_every_table(name, tmp_path):
    """In labels.csv, and in the tables that a report can save: one row per item and per voter."""
    items = [f"{name}{i}" for i in range(24)]
    said = np.array(["yes", "no"])[np.arange(24) % 2]
    frame = pd.DataFrame({"item": items, f"v{name}": said, "bob": said, "cat": said[::-1]})
    votes, labels, page = (tmp_path / part for part in ("votes.parquet", "labels.csv", "page.html"))
    frame.to_parquet(votes, index=False)
    outputs = ("--out", labels, "--report", page, "--show-items")
    result = run("fit", votes, "--method", "wawa", *outputs)
    assert result.exit_code == 0, result.output
    files = re.findall(r'<script[^>]* class="file"[^>]*>([^<]*)<', page.read_text(encoding="utf-8"))
    assert len(files) == 2
    saved, voters = (zlib.decompress(base64.b64decode(file)).decode() for file in files)
    with labels.open(encoding="utf-8", newline="") as file:
        assert file.read() == saved
    for text, header, rows in ((saved, 4, 24), (voters, None, 3)):
        table = list(csv.reader(io.StringIO(text, newline="")))
        assert len(table) == rows + 1
        assert {len(row) for row in table} == {header or len(table[0])}
        assert not re.search(r"(^|[\r\n;])[=+@]", text)
    again = read_labels(labels, read_votes(votes))
    assert again.signs.tolist() == np.where(said == "yes", 1, -1).tolist()


def test_an_item_named_twice_in_a_truth_is_refused(tmp_path):
    votes = ACCEPTED["plain"](tmp_path)
    truth = tmp_path / "truth.csv"
    truth.write_text(f"item,label\n{ITEMS[0]},yes\n'{ITEMS[0]},no\n")
    result = run("compare", votes, "--truth", truth)
    assert result.exit_code == 2
    assert "contains an item twice" in result.stderr
