import errno
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from studies import records
from studies.fingerprints import hash_data
from studies.records import (
    find_commit,
    flatten_row,
    format_archive,
    list_rows,
    make_archive,
    merge_sets,
    open_results,
    read_archive,
    read_lines,
    run_sets,
)
from unelisa.errors import ModelError


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A clone with one commit whose studies are those that are run."""
    monkeypatch.setattr(records, "__file__", str(tmp_path / "studies" / "records.py"))
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "records.py").write_text("")
    author = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    for told in (("init",), ("add", "."), (*author, "commit", "-m", "one")):
        subprocess.run(["git", "-C", tmp_path, *told], check=True, capture_output=True)
    find_commit.cache_clear()
    yield tmp_path
    find_commit.cache_clear()


def test_the_commit_is_that_of_the_code(clone):
    (clone / "README.md").write_text("not code")
    commit = find_commit()
    assert re.fullmatch("[0-9a-f]{12}", commit)
    (clone / "studies" / "records.py").write_text("changed")
    find_commit.cache_clear()
    assert find_commit() == f"{commit}+"


def test_without_a_clone_the_commit_is_unknown(clone):
    shutil.rmtree(clone / ".git")
    assert find_commit() == "unknown"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rows.jsonl"


def test_lines_read_back_and_a_torn_last_one_is_dropped(path):
    assert read_lines(path) == []
    with open_results(path) as file:
        file.append({"a": 1})
    path.write_bytes(path.read_bytes() + b'{"a": ')  # a kill in the middle of a line
    assert read_lines(path) == [{"a": 1}]
    with open_results(path) as file:
        file.append({"a": 2})
    assert read_lines(path) == [{"a": 1}, {"a": 2}]


def test_a_line_that_is_not_json_is_refused_with_its_number(path):
    path.write_text('{"a": 1}\nnonsense\n')
    with pytest.raises(ModelError, match="line 2 of rows.jsonl is not JSON"):
        read_lines(path)


@pytest.mark.parametrize("written", [0, 10])
def test_a_full_disk_leaves_the_file_as_it_was(path, monkeypatch, written):
    with open_results(path) as file:
        file.append({"a": 1})
    before, write = path.read_bytes(), os.write

    def full(handle, line):
        if not written:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(handle, line[:written])

    with open_results(path) as file, monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left") as caught:
            file.append({"a": "a longer row"})
    assert caught.value.filename == str(path)
    assert path.read_bytes() == before


@pytest.mark.skipif(sys.platform == "win32", reason="no flock")
def test_two_runs_at_once_are_refused(path):
    with (
        open_results(path),
        pytest.raises(ModelError, match="another run is writing"),
        open_results(path),
    ):
        pass
    with open_results(path):  # the end of the first run releases the file
        pass


def test_an_archive_reads_back_with_one_row_a_line(tmp_path):
    archive, path = make_archive(rows=[{"set": 1}, {"set": 2}]), tmp_path / "rows.json"
    path.write_text(format_archive(archive, "set"))
    assert read_archive(path, "rows", "a command") == archive
    assert path.read_text().count("\n") == 3


@pytest.mark.parametrize(
    "content", [None, "", "[]", "{}", json.dumps({"format": 99, "rows": []}), '{"format": 1}']
)
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "rows.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ModelError, match="rows.json is not an archive of this study: create it"):
        read_archive(path, "rows", "a command")


def test_sets_are_run_again_by_other_code_only(path, known):
    told = []

    def run(known, name):
        return {"set": name, "items": known.votes.n_items}

    def note(*done):
        told.append(done)

    run_sets({"b": lambda: known}, run, path, lambda _: "old", note)
    run_sets({"b": lambda: 1 / 0, "a": lambda: known}, run, path, lambda _: "old", note)
    assert [(row["set"], row["code"]) for row in read_lines(path)] == [("b", "old"), ("a", "old")]
    assert told == [("b", 1), ("b", 1), ("a", 1)]
    run_sets({"b": lambda: known}, run, path, lambda _: "new", note)
    rows = merge_sets([{"set": "c"}], read_lines(path))
    codes = [(row["set"], row.get("code")) for row in rows]
    assert codes == [("a", "old"), ("b", "new"), ("c", None)]
    assert rows[0]["data"] == rows[1]["data"] == hash_data(known)


def test_rows_are_flat_in_a_table():
    row = {"set": "a", "figures": {"auc": [0.9, 0.8]}, "curve": [[1, 2]]}
    assert flatten_row(row) == {
        "set": "a",
        "figures.auc.0": 0.9,
        "figures.auc.1": 0.8,
        "curve.0.0": 1,
        "curve.0.1": 2,
    }
    assert list_rows({"panels": {"rows": [row]}}, "panels.rows") == [row]
    assert list_rows({}, "panels.rows") == []
