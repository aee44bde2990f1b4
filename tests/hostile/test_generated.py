"""Generated files: whatever the bytes, a sentence or sound votes."""

import gzip
import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from hostile.corpus import ACCEPTED, GOOD, LONG, SECRET
from unelisa.cli import app
from unelisa.errors import UnelisaWarning, VotesError
from unelisa.sources.labels import read_labels
from unelisa.sources.tables import read_votes
from unelisa.votes import Votes
from unelisa.votes.coding import encode_classes

ODD = (
    "yes",
    "no",
    "1",
    "0",
    "-1",
    "",
    "NA",
    "nan",
    "inf",
    "1e999",
    "0x1",
    " yes ",
    '"yes"',
    '"',
    "'",
)
CELLS = st.sampled_from(ODD) | st.text(max_size=6)
SEPARATORS = st.sampled_from([",", ";", "\t", "|"])
ENDS = st.sampled_from(["\n", "\r\n", "\r", "\n\n"])
ENDINGS = ["votes.csv", "votes.tsv", "votes.csv.gz", "votes.parquet", "votes.feather"]
MANY = settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@st.composite
def tables(draw):
    """A table of a few odd cells, ragged now and then."""
    width = draw(st.integers(1, 5))
    row = st.lists(CELLS, min_size=width, max_size=width)
    rows = draw(st.lists(row, min_size=1, max_size=8))
    if draw(st.booleans()):
        rows.append(draw(st.lists(CELLS, max_size=6)))
    if draw(st.booleans()):
        rows[0][:1] = ["item"]
    end, separator = draw(ENDS), draw(SEPARATORS)
    return end.join(separator.join(row) for row in rows).encode("utf-8", "surrogatepass")


@st.composite
def damaged(draw):
    """A sound file with some bytes overwritten, cut out or put in."""
    content = bytearray(draw(st.sampled_from([GOOD.encode(), LONG.encode()])))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(len(content) - 1, 0)))
        content[place : place + draw(st.integers(0, 9))] = draw(st.binary(max_size=9))
    return bytes(content)


def assert_sound(votes):
    assert isinstance(votes, Votes)
    assert votes.values.shape == (len(votes.items), len(votes.voters))
    codes = {0, *encode_classes(votes.n_classes)}
    assert set(np.unique(votes.values).tolist()) <= codes
    assert len(set(votes.voters.tolist())) == votes.n_voters
    assert len(set(votes.items.tolist())) == votes.n_items
    assert len(set(votes.classes)) == votes.n_classes >= 2


def read_or_refuse(read, path):
    """Return the votes, or None where they were refused in one sentence without quoting cells."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UnelisaWarning)
        try:
            return read(path)
        except VotesError as error:
            told = str(error)
    assert told
    assert SECRET not in told
    assert not set(told) & set("\n\r\0\x1b")
    return None


@MANY
@given(tables() | damaged())
def test_any_text_is_votes_or_a_sentence(tmp_path, content):
    path = tmp_path / "votes.csv"
    path.write_bytes(content)
    if (votes := read_or_refuse(read_votes, path)) is not None:
        assert_sound(votes)


@MANY
@given(st.binary(max_size=200) | damaged(), st.sampled_from(ENDINGS), st.booleans())
def test_any_bytes_under_any_ending(tmp_path, content, ending, packed):
    path = tmp_path / ending
    path.write_bytes(gzip.compress(content, 1) if packed else content)
    if (votes := read_or_refuse(read_votes, path)) is not None:
        assert_sound(votes)


@MANY
@given(tables() | damaged())
def test_any_text_is_labels_or_a_sentence(tmp_path, content):
    votes = Votes.of_values(
        np.ones((2, 1), np.int8), np.array(["a", "b"]), np.array(["v"]), ("no", "yes")
    )
    path = tmp_path / "truth.csv"
    path.write_bytes(content)
    known = read_or_refuse(lambda file: read_labels(file, votes), path)
    if known is not None:
        assert known.signs.shape == (2,)


@pytest.mark.parametrize("case", ["Parquet of categories", "Feather"])
def test_every_flipped_byte_of_a_binary_table(case, tmp_path):
    """Arrow believes the sizes and places that a file names; what it then finds is checked."""
    path = ACCEPTED[case](tmp_path)
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        if (votes := read_or_refuse(read_votes, path)) is not None:
            assert_sound(votes)


@settings(MANY, max_examples=60)
@given(tables() | damaged())
def test_the_command_ends_with_0_or_2_and_never_half(tmp_path, content):
    path, out = tmp_path / "votes.csv", tmp_path / "labels.csv"
    path.write_bytes(content)
    out.unlink(missing_ok=True)
    arguments = ["fit", str(path), "--method", "majority-vote", "--out", str(out)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code in (0, 2), result.output
    assert out.exists() == (result.exit_code == 0)
    assert SECRET not in result.output
    assert "Traceback" not in result.output
    if result.exit_code == 2:
        assert result.stderr.splitlines()[-1].startswith("Error: ")


OTHERS = ("names of rules", "update", "identity", "journal", "readers", "privacy")
PROGRAM = Path(__file__).parents[2] / "benchmarks" / "attacks"


@pytest.mark.skipif(sys.platform != "linux", reason="the campaign needs fork and /proc")
def test_a_few_attacks_are_counted_and_withstood(tmp_path):
    results, kinds = tmp_path / "attacks.json", ["inputs", "outputs", *OTHERS]
    asked = ["--most", "3", "--results", results, "--kinds", *kinds]
    subprocess.run([sys.executable, PROGRAM, *asked], check=True, timeout=300)
    counted = json.loads(results.read_text())["kinds"]
    assert list(counted) == kinds
    for row in counted.values():
        assert (row["attacks"], row["failures"]) == (3, [])
