import os
import stat
from contextlib import suppress
from pathlib import Path

import pytest

from unelisa.outputs import remove_drafts, whole_file, whole_files


def test_a_file_appears_when_the_block_ends(tmp_path):
    target = tmp_path / "out.csv"
    with whole_file(target) as draft:
        draft.write_text("whole")
        assert not target.exists()
    assert target.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [target]


def test_after_an_error_the_old_file_stands_and_nothing_else(tmp_path):
    target = tmp_path / "out.csv"
    target.write_text("old")
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


def test_a_missing_folder_is_an_error_before_any_work(tmp_path):
    with pytest.raises(FileNotFoundError), whole_file(tmp_path / "no" / "out.csv"):
        pytest.fail("the block must not start")


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


def test_old_files_are_replaced_together(tmp_path):
    paths = [tmp_path / name for name in ("a", "b", "c")]
    for path in paths[:2]:
        path.write_text("old")
    with whole_files() as make_draft:
        for path in paths:
            make_draft(path).write_text(f"new {path.name}")
        assert paths[0].read_text() == "old"
    assert [path.read_text() for path in paths] == ["new a", "new b", "new c"]
    assert sorted(tmp_path.iterdir()) == paths


def test_open_drafts_can_be_removed_before_the_process_ends(tmp_path):
    with suppress(FileNotFoundError), whole_file(tmp_path / "out.csv") as draft:
        draft.write_text("half")
        remove_drafts()
        assert list(tmp_path.iterdir()) == []
    assert list(tmp_path.iterdir()) == []
