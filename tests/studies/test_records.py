import errno
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from studies import records
from studies.records import (
    find_commit,
    format_archive,
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


def test_sets_that_are_there_are_not_read_again(path):
    told = []

    def run(known, name):
        return {"set": name, "known": known}

    def note(*done):
        told.append(done)

    run_sets({"b": lambda: 1}, run, path, note)
    run_sets({"b": lambda: 1 / 0, "a": lambda: 2}, run, path, note)
    assert read_lines(path) == [{"set": "b", "known": 1}, {"set": "a", "known": 2}]
    assert told == [("b", 1), ("b", 1), ("a", 1)]
    old = [{"set": "b", "known": 0}, {"set": "c", "known": 3}]
    assert [row["known"] for row in merge_sets(old, read_lines(path))] == [2, 1, 3]
