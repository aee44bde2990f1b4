"""Odd outputs, models and settings of a command: exit code 2, one sentence, nothing changed."""

import os

import pytest
from typer.testing import CliRunner

from hostile.corpus import GOOD, ITEMS, SECRET
from unelisa.cli import app


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def _command(*parts):
    """Return a function from a folder to a command's arguments; some are places in the folder."""
    return lambda folder: [part(folder) if callable(part) else part for part in parts]


def _at(*parts):
    return lambda folder: folder.joinpath(*parts)


def _fit(*more):
    return _command("fit", VOTES, "--method", "majority-vote", *more)


def _compare(*more):
    return _command("compare", VOTES, "--truth", TRUTH, "--methods", "majority-vote", *more)


VOTES, TRUTH, MODEL = _at("votes.csv"), _at("truth.csv"), _at("model.npz")

# name of the case -> (arguments, given a folder; a part of the sentence)
REFUSED = {
    "labels over votes": (_fit("--out", VOTES), "is an input"),
    "labels over a link to the votes": (_fit("--out", _at("link.csv")), "is an input"),
    "labels over a second name of the votes": (_fit("--out", _at("twin.csv")), "is an input"),
    "a report over the truth": (_fit("--truth", TRUTH, "--report", TRUTH), "is an input"),
    "scores over votes": (_compare("--json", VOTES), "is an input"),
    "scores over the truth": (_compare("--json", TRUTH), "is an input"),
    "a page over the truth": (
        _command("report", MODEL, VOTES, "--truth", TRUTH, "--out", TRUTH),
        "is an input",
    ),
    "a page over the model": (_command("report", MODEL, "--out", MODEL), "is an input"),
    "labels over the model": (_command("predict", MODEL, VOTES, "--out", MODEL), "is an input"),
    "two outputs of one name": (
        _fit("--out", _at("new"), "--report", _at("folder", "..", "new")),
        "same file name",
    ),
    "an output in no folder": (_fit("--out", _at("none", "new.csv")), "no folder"),
    "an output below a file": (_fit("--out", _at("votes.csv", "new.csv")), "no folder"),
    "an output that is a folder": (_fit("--out", _at("folder")), "not a plain file"),
    "an output that is a device": (_fit("--out", "/dev/full"), "not a plain file"),
    "an output that is a circle of links": (_fit("--out", _at("circle")), "not a plain file"),
    "an output in a folder that takes none": (_fit("--out", "/proc/new.csv"), "cannot write"),
    "an output with too long a name": (_fit("--out", _at("x" * 260)), "too long"),
    "labels on the screen": (_fit("--out", "-"), "only --json"),
    "a model on the screen": (_fit("--save", "-"), "only --json"),
    "votes as a model": (_command("predict", VOTES, VOTES), "not an unelisa"),
    "a folder as a model": (_command("predict", _at("folder"), VOTES), "not a regular file"),
    "a pipe as a model": (_command("predict", _at("pipe"), VOTES), "not a regular file"),
    "a device as a model": (_command("report", "/dev/zero"), "not a regular file"),
    "a pipe as the truth": (_fit("--truth", _at("pipe.csv")), "not a regular file"),
    "a model as votes": (_fit("--truth", MODEL), "unknown file extension"),
    "one column for all": (
        _fit("--item", "ann", "--voter", "ann", "--vote", "ann"),
        "three different",
    ),
    "a column that is not there": (_fit("--item", "mrn"), "no column 'mrn'"),
    "a memory beyond all": (_fit("--memory", "9" * 400), "number of bytes"),
    "no memory": (_fit("--memory", "0"), "number of bytes"),
    "one label": (_fit("--labels", "yes"), "two labels"),
    "a setting that is none": (_fit("--set", "__class__=1"), "no setting"),
    "a method that moves the cursor": (
        _command("fit", VOTES, "--method", "\x1b[2J"),
        "no method",
    ),
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "votes.csv").write_text(GOOD)
    rows = [f"{item},{'yes' if i % 2 else 'no'}\n" for i, item in enumerate(ITEMS)]
    (tmp_path / "truth.csv").write_text("item,label\n" + "".join(rows))
    assert run(*_fit("--save", MODEL)(tmp_path)).exit_code == 0
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.csv").symlink_to(tmp_path / "votes.csv")
    (tmp_path / "twin.csv").hardlink_to(tmp_path / "votes.csv")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(tmp_path / "pipe.csv")
    return tmp_path


def look_at(folder):
    return {path.name: path.is_file() and path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused_in_one_sentence_and_nothing_changes(case, folder, monkeypatch):
    monkeypatch.chdir(folder)
    arguments, sentence = REFUSED[case]
    before = look_at(folder)
    result = run(*arguments(folder))
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert sentence in result.stderr
    assert SECRET not in result.stderr
    assert "\x1b" not in result.stderr
    assert look_at(folder) == before


def test_an_output_may_have_a_name_that_is_no_text(folder):
    name = os.fsdecode(b"labels\xff.csv")
    result = run(*_fit("--out", _at(name))(folder))
    assert result.exit_code == 0, result.output
    assert (folder / name).exists()


def test_outputs_that_exist_are_replaced_whole(folder):
    """Documented: the new file takes the old one's name when it is complete."""
    for name in ("labels.csv", "page.html"):
        (folder / name).write_text("old" * 100_000)
    fit = _fit("--out", _at("labels.csv"), "--report", _at("page.html"))
    assert run(*fit(folder)).exit_code == 0
    assert (folder / "labels.csv").read_text().count("\n") == 25
    assert (folder / "page.html").read_text().rstrip().endswith("</html>")
    (folder / "votes.csv").write_text("item,ann\n")
    before = look_at(folder)
    assert run(*fit(folder)).exit_code == 2
    assert look_at(folder) == before


def test_a_damaged_file_among_many_is_named_and_gets_no_labels(folder):
    (folder / "folder" / "a.parquet").write_bytes(b"PAR1")
    out = folder / "labels"
    result = run("predict", folder / "model.npz", folder / "folder", "--out", out)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("Error: a.parquet cannot be read")
    assert result.stderr.count("\n") == 1
    assert not out.exists()
