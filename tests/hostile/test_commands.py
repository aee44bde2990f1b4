"""Odd outputs, models and settings of a command: exit code 2, one sentence, nothing changed."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import unelisa
from hostile.corpus import GOOD, ITEMS, SECRET
from unelisa.cli import app

SOURCE = Path(unelisa.__file__).parents[1]
EXAMPLE = Path(__file__).parents[2] / "examples" / "ra.toml"


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
STDIN_OVER_ITSELF = _command("fit", "-", "--method", "majority-vote", "--out", VOTES, "--force")

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
    "labels over a file of a folder of votes": (
        _command("fit", _at("parts"), "--out", _at("parts", "a.parquet")),
        "is an input",
    ),
    "labels into a folder of votes": (
        _command("fit", _at("parts"), "--out", _at("parts", "b.csv")),
        "is an input",
    ),
    "labels over a second name of a file in a folder of votes": (
        _command("fit", _at("parts"), "--out", _at("twin.parquet")),
        "is an input",
    ),
    "labels of a folder over the model": (
        _command("predict", _at("out", "a.parquet"), _at("parts"), "--out", _at("out")),
        "is an input",
    ),
    "labels of a folder into itself": (
        _command("predict", MODEL, _at("parts"), "--out", _at("parts", "labels"), "--force"),
        "is an input",
    ),
    "labels of a folder over somebody's table": (
        _command("predict", MODEL, _at("parts"), "--out", _at("others")),
        "not an earlier version",
    ),
    "patients over a table of the records": (
        _command("phenotype", _at("cdm"), "--config", TRUTH, "--out", _at("cdm", "person.csv")),
        "is an input",
    ),
    "patients over the log of the database": (
        _command("phenotype", VOTES, "--config", TRUTH, "--out", _at("votes.csv.wal")),
        "is an input",
    ),
    "an input, by force": (_fit("--out", VOTES, "--force"), "is an input"),
    "labels over a foreign file": (_fit("--out", _at("notes.csv")), "with --force"),
    "a report over a foreign file": (_fit("--report", _at("notes.csv")), "with --force"),
    "a model over a foreign file": (_fit("--save", _at("notes.csv")), "with --force"),
    "scores over a foreign file": (_compare("--json", _at("notes.csv")), "with --force"),
    "simulated votes over votes": (_command("simulate", "--out", _at()), "not an earlier version"),
    "the demo over votes": (_command("demo", "--out", _at()), "not an earlier version"),
    "a page over another model": (_command("report", MODEL, "--out", _at("other.npz")), "earlier"),
    "a model over labels": (_fit("--save", _at("labels.csv")), "earlier version"),
    "simulated votes and a summary of one name": (
        _command("simulate", "--out", _at("folder"), "--json", _at("folder", "votes.csv")),
        "same file name",
    ),
    "labels of a folder over another model": (
        _command("predict", MODEL, _at("parts"), "--out", _at("models")),
        "not an earlier version",
    ),
    "simulated records over a database": (
        _command("simulate", "ehr", "--out", _at("real.duckdb")),
        "not an earlier version",
    ),
    "simulated records beside another's log": (
        _command("simulate", "ehr", "--patients", 300, "--out", _at("new.duckdb")),
        "new.duckdb.wal belongs to another",
    ),
    "labels named as Parquet": (_fit("--out", _at("labels.parquet")), ".csv or .csv.gz"),
    "labels named as a zip": (_fit("--out", _at("labels.csv.zip")), ".csv or .csv.gz"),
    "a report named as gzip": (_fit("--report", _at("page.html.gz")), "not compressed"),
    "a read-only output": (_fit("--out", _at("closed.csv"), "--force"), "read-only"),
    "two outputs of one name": (
        _fit("--out", _at("new"), "--report", _at("folder", "..", "new")),
        "same file name",
    ),
    "an output in no folder": (_fit("--out", _at("none", "new.csv")), "no folder"),
    "an output below a file": (_fit("--out", _at("votes.csv", "new.csv")), "no folder"),
    "an output that is a folder": (_fit("--out", _at("folder")), "not a regular file"),
    "an output that is a device": (_fit("--out", "/dev/full"), "not a regular file"),
    "an output that is a circle of links": (_fit("--out", _at("circle")), "link to nothing"),
    "an output in a folder that takes none": (_fit("--out", "/proc/new.csv"), "cannot write"),
    "an output with too long a name": (_fit("--out", _at("x" * 260)), "too long"),
    "labels on the screen": (_fit("--out", "-", "--json", "-"), "one table"),
    "a model on the screen": (_fit("--save", "-"), "one table"),
    "votes as a model": (_command("predict", VOTES, VOTES), "not an unelisa"),
    "a folder as a model": (_command("predict", _at("folder"), VOTES), "not a regular file"),
    "a pipe as a model": (_command("predict", _at("pipe"), VOTES), "not a regular file"),
    "a device as a model": (_command("report", "/dev/zero"), "not a regular file"),
    "a pipe as gold labels": (
        _command("fit", VOTES, "--method", "dawid-skene", "--gold", _at("pipe.csv")),
        "not a regular file",
    ),
    "a pipe as a random sample": (
        _command("rate", MODEL, VOTES, "--gold", _at("pipe.csv")),
        "not a regular file",
    ),
    "rates over the votes": (_command("rate", MODEL, VOTES, "--json", VOTES), "is an input"),
    "a pipe as a configuration": (
        _command("phenotype", _at("cdm"), "--config", _at("pipe")),
        "not a regular file",
    ),
    "a device as a configuration": (
        _command("phenotype", _at("cdm"), "--config", "/dev/zero"),
        "not a regular file",
    ),
    "a pipe as reviewed charts": (
        _command("phenotype", _at("cdm"), "--config", EXAMPLE, "--gold", _at("pipe.csv")),
        "not a regular file",
    ),
    "a pipe as a model of patients": (
        _command("phenotype", _at("cdm"), "--config", EXAMPLE, "--model", _at("pipe")),
        "not a regular file",
    ),
    "a pipe in a folder of votes": (_command("fit", _at("pipes")), "not a regular file"),
    "a configuration a million brackets deep": (
        _command("phenotype", _at("cdm"), "--config", _at("deep.toml")),
        "nested too deeply",
    ),
    "a configuration of megabytes": (
        _command("phenotype", _at("cdm"), "--config", _at("large.toml")),
        "larger than a configuration",
    ),
    "a truth without a header": (_fit("--truth", _at("bare.csv")), "no header"),
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
    for part in ("parts", "out", "others", "cdm"):
        (tmp_path / part).mkdir()
    frame = pd.read_csv(tmp_path / "votes.csv")
    for part in ("parts", "others"):
        frame.to_parquet(tmp_path / part / "a.parquet")
    (tmp_path / "out" / "a.parquet").write_bytes((tmp_path / "model.npz").read_bytes())
    (tmp_path / "models").mkdir()
    for name in ("models/a.parquet", "other.npz"):
        (tmp_path / name).write_bytes((tmp_path / "model.npz").read_bytes())
    (tmp_path / "labels.csv").write_text("item,label,probability\n")
    (tmp_path / "twin.parquet").hardlink_to(tmp_path / "parts" / "a.parquet")
    (tmp_path / "notes.csv").write_text("item,label\nmine,yes\n")
    for name in ("cdm/person.csv", "real.duckdb", "new.duckdb.wal", "closed.csv"):
        (tmp_path / name).write_text("person_id\n1\n")
    (tmp_path / "closed.csv").chmod(0o444)
    (tmp_path / "pipes").mkdir()
    os.mkfifo(tmp_path / "pipes" / "a.parquet")
    (tmp_path / "deep.toml").write_text(f"a = {'[' * 100_000}{']' * 100_000}")
    (tmp_path / "large.toml").write_text("# " * 1_000_000)
    (tmp_path / "bare.csv").write_text("".join(rows))
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(tmp_path / "pipe.csv")
    return tmp_path


def look_at(folder):
    paths = folder.rglob("*")
    return {str(path): path.is_file() and path.read_bytes() for path in paths}


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


def test_stdin_from_a_file_is_an_input(folder):
    """The shell opened the file: its name is nowhere in the command."""
    with (folder / "votes.csv").open() as votes:
        done = subprocess.run(
            [sys.executable, "-m", "unelisa", *map(str, STDIN_OVER_ITSELF(folder))],
            stdin=votes,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
        )
    assert done.returncode == 2
    assert "votes.csv is an input" in done.stderr
    assert (folder / "votes.csv").read_text() == GOOD


def _again(folder, *arguments):
    """Run a command twice; return its files after either run."""
    found = []
    for _ in range(2):
        result = run(*arguments)
        assert result.exit_code == 0, result.output
        found.append(look_at(folder).keys())
    return found


OUTPUTS = ("--out", _at("new.csv"), "--report", _at("new.html"), "--save", _at("new.npz"))
OURS = {
    "fit": _fit(*OUTPUTS, "--json", _at("new.json")),
    "compressed labels": _fit("--out", _at("new.csv.gz")),
    "compare": _compare("--json", _at("new.json")),
    "predict": _command("predict", MODEL, VOTES, "--out", _at("new.csv")),
    "predict a folder": _command("predict", MODEL, _at("parts"), "--out", _at("labels")),
    "report": _command("report", MODEL, "--out", _at("new.html"), "--json", _at("new.json")),
    "simulate": _command("simulate", "--out", _at("new"), "--json", _at("new.json")),
}


@pytest.mark.parametrize("case", OURS)
def test_what_unelisa_wrote_is_replaced_without_force(case, folder):
    before = look_at(folder).keys()
    first, second = _again(folder, *OURS[case](folder))
    assert before < first
    assert first == second


def test_force_replaces_a_foreign_file(folder):
    assert run(*_fit("--out", _at("notes.csv"), "--force")(folder)).exit_code == 0
    assert (folder / "notes.csv").read_text().startswith("item,label,probability")


def test_other_simulated_votes_need_force(folder):
    simulate = ("simulate", "--out", folder / "new")
    assert run(*simulate, "--seed", 1).exit_code == 0
    before = look_at(folder)
    result = run(*simulate, "--seed", 2)
    assert result.exit_code == 2
    assert "votes.csv exists" in result.stderr
    assert look_at(folder) == before
    assert run(*simulate, "--seed", 2, "--force").exit_code == 0
    assert look_at(folder) != before


def test_labels_are_compressed_if_their_name_says_so(folder):
    names = [folder / name for name in ("new.csv", "new.csv.gz")]
    for name in names:
        assert run(*_fit("--out", name)(folder)).exit_code == 0
    assert gzip.decompress(names[1].read_bytes()) == names[0].read_bytes()


def test_an_output_may_have_a_name_that_is_no_text(folder):
    name = os.fsdecode(b"labels\xff.csv")
    result = run(*_fit("--out", _at(name))(folder))
    assert result.exit_code == 0, result.output
    assert (folder / name).exists()


def test_outputs_that_exist_are_replaced_whole(folder):
    """Documented: the new file takes the old one's name when it is complete."""
    for name in ("labels.csv", "page.html"):
        (folder / name).write_text("old" * 100_000)
    fit = _fit("--out", _at("labels.csv"), "--report", _at("page.html"), "--force")
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
