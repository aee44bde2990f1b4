import pyarrow as pa
import pytest

from unelisa.errors import VotesError
from unelisa.sources.files import MAX_UNPACKED, check_readable, reading, refuse_bomb


def test_only_files_and_folders_are_read(tmp_path):
    check_readable(tmp_path)
    with pytest.raises(VotesError, match=r"there is no file none\.csv"):
        check_readable(tmp_path / "none.csv")


def test_a_small_file_must_not_fill_the_memory():
    refuse_bomb("votes.csv.gz", 100, MAX_UNPACKED)
    refuse_bomb("votes.csv.gz", MAX_UNPACKED, 2 * MAX_UNPACKED)
    with pytest.raises(VotesError, match="more than 500 times its size"):
        refuse_bomb("votes.csv.gz", 100, MAX_UNPACKED + 1)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (pa.ArrowInvalid("CSV parse error: Expected 3 columns, got 2: Smith"), "fewer cells"),
        (PermissionError(13, "Smith"), "permission denied"),
        (UnicodeDecodeError("utf-8", b"Smith", 0, 1, "Smith"), "not UTF-8"),
        (OSError("Smith"), "damaged or not in the format of its file extension"),
    ],
)
def test_cells_are_not_quoted(tmp_path, error, words):
    with pytest.raises(VotesError, match=words) as caught, reading(tmp_path / "votes.csv"):
        raise error
    assert str(caught.value).startswith("votes.csv ")
    assert "Smith" not in str(caught.value)
