import errno
import json

import pytest

from unelisa import __version__
from unelisa.cli.files import check_outputs, output_files
from unelisa.errors import ModelError


def test_files_appear_together_or_not_at_all(tmp_path):
    with output_files() as files:
        files.write_text(tmp_path / "a.txt", "a")
        files.write_json(tmp_path / "b.json", {"b": [1.5, None]})
        files.write_csv(tmp_path / "c.csv", ("name", "vote"), [("=x", -1)])
        assert not (tmp_path / "a.txt").exists()
    assert (tmp_path / "a.txt").read_text() == "a"
    assert json.loads((tmp_path / "b.json").read_text()) == {
        "unelisa": __version__,
        "b": [1.5, None],
    }
    assert (tmp_path / "c.csv").read_text() == "name,vote\n'=x,-1\n"
    check_outputs(tmp_path / "new.csv", None)
    for path in (tmp_path / "none" / "new.csv", tmp_path):
        with pytest.raises(ModelError, match="cannot write"):
            check_outputs(path)
    with pytest.raises(ModelError, match="same file name"):
        check_outputs(tmp_path / "new.csv", tmp_path / "new.csv")


def test_after_a_failure_no_file_is_there_and_the_failing_one_is_named(tmp_path):
    with pytest.raises(OSError, match=r"second\.txt") as caught, output_files() as files:
        files.write_text(tmp_path / "first.txt", "a")
        files.draft(tmp_path / "second.txt")
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []


def test_labels_with_another_set_of_columns_are_labels_too(tmp_path):
    labels = tmp_path / "labels.csv"
    labels.write_text("item,label,probability,ease\na,1,0.9,1\n")
    with output_files() as files:
        files.write_csv(labels, ("item", "label", "probability"), [("a", 1, "0.9")])
    assert labels.read_text().startswith("item,label,probability\n")
