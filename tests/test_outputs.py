import csv
import os
import re
import stat
import struct
from contextlib import suppress
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unelisa.outputs import defuse_cell, remove_drafts, whole_file, whole_files, write_table

ACL = "system.posix_acl_access"


def test_a_file_appears_when_the_block_ends(tmp_path):
    target = tmp_path / "out.csv"
    with whole_file(target) as draft:
        draft.write_text("whole")
        assert not target.exists()
    assert target.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [target]
    with pytest.raises(FileNotFoundError), whole_file(tmp_path / "no" / "out.csv"):
        pytest.fail("the block must not start")


def test_after_an_error_the_old_file_stands_and_nothing_else(target, tmp_path):
    with pytest.raises(RuntimeError), whole_file(target) as draft:
        draft.write_text("half")
        raise RuntimeError
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_only_ordinary_files_are_replaced(make, tmp_path):
    make(tmp_path / "out.csv")
    with pytest.raises(FileExistsError), whole_file(tmp_path / "out.csv"):
        pytest.fail("the block must not start")
    assert len(list(tmp_path.iterdir())) == 1


def test_permissions_follow_the_umask(tmp_path):
    mask = os.umask(0o027)
    try:
        with whole_file(tmp_path / "out.csv") as draft:
            draft.write_text("x")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "out.csv").stat().st_mode) == 0o640


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")
    return path


def replace_file(path):
    with whole_file(path) as draft:
        draft.write_text("new")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_a_file_that_is_replaced_keeps_its_mode(mode, target):
    target.chmod(mode)
    replace_file(target)
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_that_is_replaced_keeps_its_owner_and_group(target):
    os.chown(target, 12_345, 23_456)
    replace_file(target)
    assert (target.stat().st_uid, target.stat().st_gid) == (12_345, 23_456)


def test_another_group_gets_no_access(target, monkeypatch):
    """Where the old group cannot be kept, its rights must not pass to the writer's own group."""

    def refuse(*_):
        raise PermissionError

    if os.geteuid() == 0:
        os.chown(target, 12_345, 23_456)
    else:
        pytest.skip("only root can give files away")
    target.chmod(0o664)
    monkeypatch.setattr(os, "fchown", refuse)
    replace_file(target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o604


def _set_access_list(path):
    """Let user 12345 read a file, as setfacl -m u:12345:r does; owner rw, group and others none."""
    entries = [(1, 6, -1), (2, 4, 12_345), (4, 0, -1), (16, 4, -1), (32, 0, -1)]
    packed = b"".join(struct.pack("<HHi", *entry) for entry in entries)
    os.setxattr(path, ACL, struct.pack("<I", 2) + packed)


def test_a_file_that_is_replaced_keeps_its_access_list(target):
    try:
        _set_access_list(target)
    except (OSError, AttributeError):
        pytest.skip("no access lists on this file system")
    before = os.getxattr(target, ACL)
    replace_file(target)
    assert os.getxattr(target, ACL) == before


def test_a_read_only_file_is_refused_even_to_root(target, tmp_path):
    target.chmod(0o444)
    with pytest.raises(PermissionError, match="read-only"):
        replace_file(target)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_link_is_followed_and_stays(tmp_path):
    (tmp_path / "data").mkdir()
    target, link = tmp_path / "data" / "labels.csv", tmp_path / "out.csv"
    target.write_text("old")
    link.symlink_to(target)
    replace_file(link)
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert list((tmp_path / "data").iterdir()) == [target]
    target.unlink()
    with pytest.raises(FileExistsError, match="link to nothing"):
        replace_file(link)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "out.csv"]


def test_a_draft_is_closed_to_others_and_holds_what_its_writer_leaves(tmp_path):
    with whole_file(tmp_path / "ra.duckdb") as draft:
        draft.write_text("whole")
        draft.with_name(f"{draft.name}.wal").write_text("left behind")
        assert stat.S_IMODE(draft.parent.stat().st_mode) == 0o700
    assert [path.name for path in tmp_path.iterdir()] == ["ra.duckdb"]


def test_the_folder_is_flushed_after_the_move(monkeypatch, tmp_path):
    """A rename survives a power failure only when the folder is on disk too."""
    order, fsync, replace = [], os.fsync, os.replace

    def sync(handle):
        order.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        fsync(handle)

    def move(source, target):
        order.append("move")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", move)
    with whole_file(tmp_path / "out.csv") as draft:
        draft.write_text("x")
    assert order == ["file", "move", "folder"]


def test_several_files_move_together_or_not_at_all(tmp_path):
    """The second move fails: the first file is put back, a new one is taken away again."""
    old, new, blocked = (tmp_path / name for name in ("old.csv", "new.csv", "blocked"))
    old.write_text("old")
    with pytest.raises(OSError, match="blocked"), whole_files() as make_draft:
        for path in (old, new, blocked):
            make_draft(path).write_text("draft")
        blocked.mkdir()
    assert old.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["blocked", "old.csv"]


def test_open_drafts_can_be_removed_before_the_process_ends(tmp_path):
    with suppress(FileNotFoundError), whole_file(tmp_path / "out.csv") as draft:
        draft.write_text("half")
        remove_drafts()
        assert list(tmp_path.iterdir()) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "cell", ["=1+1", "+cmd", "-cmd", "@SUM(A1)", "\tx", "\rx", "\nx", " =1", "=", "-1+2", "\uff1d1"]
)
def test_formulas_become_text(cell):
    assert defuse_cell(cell) == f"'{cell}"


@pytest.mark.parametrize(
    "cell", ["-1", "+1", "-.5", "-1.5e-3", "ward 3", "", "a=b", "a;b", "a\nb", -1, None]
)
def test_numbers_and_plain_text_are_left_alone(cell):
    assert defuse_cell(cell) == cell


@pytest.mark.parametrize("mark", [";", "\t", "\n", "\r", "\r\n", "; "])
def test_a_formula_after_what_may_separate_cells_becomes_text(mark):
    """A spreadsheet set to semicolons begins a cell there, quotes or not."""
    defused = defuse_cell(f"a{mark}=1+1")
    assert not re.search(r"[;\t\r\n]\s*=", defused)
    assert defused.replace("'", "") == f"a{mark}=1+1"


class _Shown:
    """An item of a class of its own."""

    def __str__(self):
        return "=1+1"


def test_headers_and_objects_that_are_shown_as_a_formula_are_defused_too():
    assert defuse_cell(_Shown()) == "'=1+1"
    file = StringIO()
    write_table(file, ("item", "=voter"), [(1, None)])
    assert file.getvalue() == "item,'=voter\n1,\n"


CELLS = (
    st.text(st.sampled_from("ab=+-@,;\"'\r\n\t\0 \uff1d"), max_size=8) | st.integers() | st.none()
)


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=5))
def test_any_cells_come_back_and_no_cell_is_a_formula(rows):
    """What Python and what pandas read: the same cells, whatever they contain."""
    file = StringIO()
    write_table(file, ("a", "b", "c"), rows)
    text = file.getvalue()
    expected = [[str("" if c is None else defuse_cell(c)) for c in row] for row in rows]
    assert list(csv.reader(StringIO(text, newline="")))[1:] == expected
    for line in re.split(r"[\r\n]", text):
        for cell in line.split(";"):
            assert not re.match(r"\s*[=+@\uff1d]", cell)
