import gzip

import pytest

from studies.classes.sets import describe_set, find_class_sets
from unelisa.errors import ModelError


@pytest.fixture
def folder(tmp_path):
    """Three sets: of three classes, of four ordered ones, and of two."""
    for name, labels in (("pets", "abc"), ("adult2", "0123"), ("coins", "ht")):
        place = tmp_path / name
        place.mkdir()
        rows = [f"i{k},v{s},{label}" for k, label in enumerate(labels) for s in range(3)]
        with gzip.open(place / "votes.csv.gz", "wt") as file:
            file.write("\n".join(["item,voter,vote", *rows, ""]))
        truth = [f"i{k},{label}" for k, label in enumerate(labels)]
        (place / "truth.csv").write_text("\n".join(["item,label", *truth, ""]))
    return tmp_path


def test_sets_of_more_than_two_classes_are_found_and_ordered_ones_read_so(folder):
    sets = find_class_sets(folder)
    assert list(sets) == ["adult2", "pets"]
    assert sets["adult2"]().votes.ordered
    assert sets["adult2"]().signs.tolist() == [1, 2, 3, 4]
    assert not sets["pets"]().votes.ordered
    assert describe_set("pets", sets["pets"]()) == {
        "set": "pets",
        "classes": 3,
        "ordered": False,
        "items": 3,
        "labeled": 3,
        "voters": 3,
        "votes": 9,
    }


def test_folders_without_sets_are_refused(folder, tmp_path):
    with pytest.raises(ModelError, match="is not a folder"):
        find_class_sets(tmp_path / "nowhere")
    with pytest.raises(ModelError, match="three classes"):
        find_class_sets(folder / "pets")
