import gzip

import numpy as np
import pytest

from studies.classes.sets import find_class_sets
from studies.real.sets import VARIABLE, choose_sets, describe_set, find_panels, find_sets
from unelisa.errors import ModelError
from unelisa.sources.datasets import DATASETS

LONG = "item,voter,vote\na,x,1\na,y,1\nb,x,1\nb,y,-1\nc,x,1\n"
TRUTH = "item,label\na,1\nb,-1\nd,1\n"


@pytest.fixture
def folder(tmp_path):
    for name in ("long", "wide", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "long" / "votes.csv").write_text(LONG)
    (tmp_path / "long" / "truth.csv").write_text(TRUTH)
    (tmp_path / "wide" / "votes_wide.csv.gz").write_bytes(
        gzip.compress(b"item,x,y\na,1,1\nb,1,-1\nc,1,\n")
    )
    (tmp_path / "wide" / "truth.csv.gz").write_bytes(gzip.compress(TRUTH.encode()))
    (tmp_path / "other" / "features.csv").write_text("a\n")
    (tmp_path / "notes.txt").write_text("not a set")
    return tmp_path


def test_a_set_is_a_folder_with_votes_and_truth(folder):
    sets = find_sets(folder)
    assert list(sets) == ["long", "wide"]
    long, wide = (read() for read in sets.values())
    assert np.array_equal(long.votes.values, wide.votes.values)
    assert long.scored_signs().tolist() == wide.scored_signs().tolist() == [1, -1, 0, 1]


def test_facts_by_hand(folder):
    facts = describe_set("long", find_sets(folder)["long"]())
    assert facts == {
        "set": "long",
        "items": 3,
        "labelled": 3,
        "voters": 2,
        "missing": pytest.approx(1 / 6),
        "base_rate": pytest.approx(2 / 3),
        "unvoted": pytest.approx(1 / 3),
        "one_sided": pytest.approx(3 / 5),
    }


def test_a_folder_without_sets_is_refused(tmp_path):
    with pytest.raises(ModelError, match="no folder in"):
        find_sets(tmp_path)
    with pytest.raises(ModelError, match="is not a folder"):
        find_sets(tmp_path / "nowhere")


def test_a_named_folder_then_the_shared_one_then_downloads(folder, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(folder))
    assert list(choose_sets(None)) == ["long", "wide"]
    monkeypatch.setenv(VARIABLE, str(folder / "nowhere"))
    with pytest.raises(ModelError, match=f"{VARIABLE} names"):
        choose_sets(None)
    monkeypatch.delenv(VARIABLE)
    (folder / "clone").mkdir()
    monkeypatch.chdir(folder / "clone")
    assert list(choose_sets(None)) == list(DATASETS)
    (folder / "shared" / "data").mkdir(parents=True)
    (folder / "long").rename(folder / "shared" / "data" / "long")
    assert list(choose_sets(None)) == ["long"]


def test_a_panel_has_two_labels_of_any_name(tmp_path, monkeypatch):
    def write(name, labels):
        place = tmp_path / "data_k" / name
        place.mkdir(parents=True)
        votes = "".join(f"{i},{voter},{x}\n" for i, x in enumerate(labels) for voter in "xy")
        (place / "votes.csv.gz").write_bytes(gzip.compress(f"item,voter,vote\n{votes}".encode()))
        truth = "".join(f"{i},{x}\n" for i, x in enumerate(labels))
        (place / "truth.csv").write_text(f"item,label\n{truth}")

    write("judges", ["true", "false", "false"])
    write("zeros", ["0", "1", "1"])
    write("dogs", ["pug", "husky", "beagle"])
    panels = find_panels(tmp_path / "data_k")
    assert list(panels) == ["judges", "zeros"]
    assert panels["judges"]().scored_signs().tolist() == [1, -1, -1]
    assert panels["zeros"]().votes.values.tolist() == [[-1, -1], [1, 1], [1, 1]]
    (tmp_path / "data").mkdir()
    monkeypatch.setenv(VARIABLE, str(tmp_path / "data"))
    assert list(find_panels(None)) == ["judges", "zeros"]
    assert find_panels(tmp_path / "nowhere") == {}


def test_listed_sets_are_found_by_the_number_of_their_classes(folder, monkeypatch):
    header = "set,folder,source,kind,classes,ordered,with_truth"
    rows = "long,.,here,crowd,2,no,3\npets,.,here,crowd,3,no,3"
    (folder / "sources.csv").write_text(f"{header}\n{rows}\n")
    assert list(find_sets(folder)) == ["long"]
    assert list(find_class_sets(folder)) == ["pets"]
    assert find_sets(folder)["long"]().scored_signs().tolist() == [1, -1, 0, 1]
    monkeypatch.setenv(VARIABLE, str(folder))
    assert find_panels(None) == {}


@pytest.mark.shared
def test_the_shared_data_hold_sixteen_sets(shared_data):
    sets = find_sets(shared_data)
    assert len(sets) == 16
    facts = describe_set("youtube_spam", sets["youtube_spam"]())
    assert facts["labelled"] == 1956
    assert facts["one_sided"] == 1.0
