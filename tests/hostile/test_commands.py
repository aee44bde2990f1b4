"""Odd outputs, models and settings of a command: exit code 2, one sentence, nothing changed."""

import gzip
import json
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


def split(command):
    """Return the arguments of a command; its names of files are those of the folder."""
    long = command.replace("FIT", "fit votes.csv --method majority-vote")
    long = long.replace("COMPARE", "compare votes.csv --truth truth.csv --methods majority-vote")
    return long.split(" ")


# a part of the sentence -> commands; the names of the files say what they are
REFUSED = {
    "is an input": [
        "FIT --out votes.csv",
        "FIT --out link.csv",
        "FIT --out twin.csv",
        "FIT --truth truth.csv --report truth.csv",
        "COMPARE --json votes.csv",
        "COMPARE --json truth.csv",
        "report model.npz votes.csv --truth truth.csv --out truth.csv",
        "report model.npz --out model.npz",
        "predict model.npz votes.csv --out model.npz",
        "fit parts --out parts/a.parquet",
        "fit parts --out parts/b.csv",
        "fit parts --out twin.parquet",
        "predict out/a.parquet parts --out out",
        "predict model.npz parts --out parts/labels --force",
        "phenotype cdm --config truth.csv --out cdm/person.csv",
        "phenotype votes.csv --config truth.csv --out votes.csv.wal",
        "FIT --out votes.csv --force",
        "rate model.npz votes.csv --json votes.csv",
    ],
    "not an earlier version": [
        "predict model.npz parts --out others",
        "simulate --out .",
        "demo --out .",
        "predict model.npz parts --out models",
        "simulate ehr --out real.duckdb",
    ],
    "with --force": [
        "FIT --out notes.csv",
        "FIT --report notes.csv",
        "FIT --save notes.csv",
        "COMPARE --json notes.csv",
    ],
    "earlier": ["report model.npz --out other.npz"],
    "earlier version": ["FIT --save labels.csv"],
    "same file name": [
        "simulate --out folder --json folder/votes.csv",
        "FIT --out new --report folder/../new",
    ],
    "new.duckdb.wal belongs to another": ["simulate ehr --patients 300 --out new.duckdb"],
    ".csv or .csv.gz": ["FIT --out labels.parquet", "FIT --out labels.csv.zip"],
    "not compressed": ["FIT --report page.html.gz"],
    "read-only": ["FIT --out closed.csv --force"],
    "no folder": ["FIT --out none/new.csv", "FIT --out votes.csv/new.csv"],
    "not a regular file": [
        "FIT --out folder",
        "FIT --out /dev/full",
        "predict folder votes.csv",
        "predict pipe votes.csv",
        "report /dev/zero",
        "fit votes.csv --method dawid-skene --gold pipe.csv",
        "rate model.npz votes.csv --gold pipe.csv",
        "phenotype cdm --config pipe",
        "phenotype cdm --config /dev/zero",
        f"phenotype cdm --config {EXAMPLE} --gold pipe.csv",
        f"phenotype cdm --config {EXAMPLE} --model pipe",
        "fit pipes",
        "FIT --truth pipe.csv",
    ],
    "link to nothing": ["FIT --out circle"],
    "cannot write": ["FIT --out /proc/new.csv"],
    "too long": [f"FIT --out {'x' * 260}"],
    "one table": ["FIT --out - --json -", "FIT --save -"],
    "not an unelisa": ["predict votes.csv votes.csv"],
    "nested too deeply": ["phenotype cdm --config deep.toml"],
    "larger than a configuration": ["phenotype cdm --config large.toml"],
    "no header": ["FIT --truth bare.csv"],
    "unknown file extension": ["FIT --truth model.npz"],
    "three different": ["FIT --item ann --voter ann --vote ann"],
    "no column 'mrn'": ["FIT --item mrn"],
    "number of bytes": [f"FIT --memory {'9' * 400}", "FIT --memory 0"],
    "two labels": ["FIT --labels yes"],
    "no setting": ["FIT --set __class__=1"],
    "no method": ["fit votes.csv --method \x1b[2J"],
}
CASES = [(command, sentence) for sentence, some in REFUSED.items() for command in some]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "votes.csv").write_text(GOOD)
    rows = [f"{item},{'yes' if i % 2 else 'no'}\n" for i, item in enumerate(ITEMS)]
    (tmp_path / "truth.csv").write_text("item,label\n" + "".join(rows))
    assert run(*split("FIT --save model.npz")).exit_code == 0
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


@pytest.mark.parametrize(("command", "sentence"), CASES, ids=lambda text: ascii(text)[:60])
def test_it_is_refused_in_one_sentence_and_nothing_changes(command, sentence, folder):
    before = look_at(folder)
    result = run(*split(command))
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
            [
                sys.executable,
                "-m",
                "unelisa",
                *split("fit - --method majority-vote --out votes.csv --force"),
            ],
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


OURS = {
    "fit": "FIT --out new.csv --report new.html --save new.npz --json new.json",
    "compressed labels": "FIT --out new.csv.gz",
    "compare": "COMPARE --json new.json",
    "predict": "predict model.npz votes.csv --out new.csv",
    "predict a folder": "predict model.npz parts --out labels",
    "report": "report model.npz --out new.html --json new.json",
    "simulate": "simulate --out new --json new.json",
}


@pytest.mark.parametrize("case", OURS)
def test_what_unelisa_wrote_is_replaced_without_force(case, folder):
    before = look_at(folder).keys()
    first, second = _again(folder, *split(OURS[case]))
    assert before < first
    assert first == second


def test_force_replaces_a_foreign_file(folder):
    assert run(*split("FIT --out notes.csv --force")).exit_code == 0
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
        assert run(*split(f"FIT --out {name.name}")).exit_code == 0
    assert gzip.decompress(names[1].read_bytes()) == names[0].read_bytes()


def test_an_output_may_have_a_name_that_is_no_text(folder):
    name = os.fsdecode(b"labels\xff.csv")
    result = run(*split(f"FIT --out {name}"))
    assert result.exit_code == 0, result.output
    assert (folder / name).exists()


def test_outputs_that_exist_are_replaced_whole(folder):
    """Documented: the new file takes the old one's name when it is complete."""
    for name in ("labels.csv", "page.html"):
        (folder / name).write_text("old" * 100_000)
    fit = split("FIT --out labels.csv --report page.html --force")
    assert run(*fit).exit_code == 0
    assert (folder / "labels.csv").read_text().count("\n") == 25
    assert (folder / "page.html").read_text().rstrip().endswith("</html>")
    (folder / "votes.csv").write_text("item,ann\n")
    before = look_at(folder)
    assert run(*fit).exit_code == 2
    assert look_at(folder) == before


def test_coefficients_that_one_gold_label_leaves_open_are_null(folder):
    """NaN is no JSON: it ended the command as a bug."""
    rows = [{"item": item, "judge": f"j{s}", "label": "no"} for item in ITEMS for s in range(3)]
    rows += [{"item": item, "judge": "eve", "label": "yes"} for item in ITEMS]
    (folder / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "gold.csv").write_text(f"item,label\n{ITEMS[0]},no\n")
    result = run(*split("jury log.jsonl --gold gold.csv --json new.json"))
    assert result.exit_code == 0, result.output
    assert json.loads((folder / "new.json").read_text())["human_kappa"]["j0"]["kappa"] is None


def test_a_damaged_file_among_many_is_named_and_gets_no_labels(folder):
    (folder / "folder" / "a.parquet").write_bytes(b"PAR1")
    out = folder / "labels"
    result = run("predict", folder / "model.npz", folder / "folder", "--out", out)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("Error: a.parquet cannot be read")
    assert result.stderr.count("\n") == 1
    assert not out.exists()
