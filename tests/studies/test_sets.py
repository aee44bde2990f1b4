"""Sets of votes with known truth: found, listed, read, described."""

import csv
import gzip

import numpy as np
import pytest

from studies.classes.sets import describe_set as describe_classes
from studies.classes.sets import find_class_sets
from studies.real.sets import VARIABLE, choose_sets, describe_set, find_panels, find_sets
from studies.sets import LIST, RealSet, list_sets, read_set
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


def test_sets_of_two_classes_or_more_are_found_in_lists(folder, monkeypatch):
    sets = find_sets(folder)
    assert list(sets) == ["long", "wide"]
    long, wide = (read() for read in sets.values())
    assert np.array_equal(long.votes.values, wide.votes.values)
    assert long.scored_signs().tolist() == wide.scored_signs().tolist() == [1, -1, 0, 1]
    header = "set,folder,source,kind,classes,ordered,with_truth"
    rows = "long,.,here,crowd,2,no,3\npets,.,here,crowd,3,no,3"
    (folder / "sources.csv").write_text(f"{header}\n{rows}\n")
    assert list(find_sets(folder)) == ["long"]
    assert list(find_class_sets(folder)) == ["pets"]
    assert find_sets(folder)["long"]().scored_signs().tolist() == [1, -1, 0, 1]
    monkeypatch.setenv(VARIABLE, str(folder))
    assert find_panels(None) == {}


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


@pytest.mark.shared
def test_the_shared_data_hold_sixteen_sets(shared_data):
    sets = find_sets(shared_data)
    assert len(sets) == 16
    facts = describe_set("youtube_spam", sets["youtube_spam"]())
    assert facts["labelled"] == 1956
    assert facts["one_sided"] == 1.0


@pytest.fixture
def class_folder(tmp_path):
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


def test_class_sets_are_found_and_other_folders_refused(class_folder, tmp_path):
    sets = find_class_sets(class_folder)
    assert list(sets) == ["adult2", "pets"]
    assert sets["adult2"]().votes.ordered
    assert sets["adult2"]().signs.tolist() == [1, 2, 3, 4]
    assert not sets["pets"]().votes.ordered
    assert describe_classes("pets", sets["pets"]()) == {
        "set": "pets",
        "classes": 3,
        "ordered": False,
        "items": 3,
        "labeled": 3,
        "voters": 3,
        "votes": 9,
    }
    with pytest.raises(ModelError, match="is not a folder"):
        find_class_sets(tmp_path / "nowhere")
    with pytest.raises(ModelError, match="three classes"):
        find_class_sets(class_folder / "pets")


HEADER = "set,folder,source,kind,classes,ordered,with_truth\n"


@pytest.fixture
def data(tmp_path):
    """Two sets: wide signs with an item that nobody voted on, and three ordered classes."""
    listed = "coins,two,mint,crowd,2,no,3\nmarks,more,school,llm judges,3,0<1<2,2\n"
    (tmp_path / LIST).write_text(HEADER + listed)
    coins, marks = tmp_path / "two" / "coins", tmp_path / "more" / "marks"
    for place in (coins, marks):
        place.mkdir(parents=True)
    (coins / "votes_wide.csv").write_text("item,x,y\na,1,1\nb,,1\nc,1,\n")
    (coins / "truth.csv.gz").write_bytes(gzip.compress(b"item,label\na,1\nb,-1\nd,-1\n"))
    votes = b"item,voter,vote\np,x,0\np,y,1\nq,x,2\n"
    (marks / "votes.csv.gz").write_bytes(gzip.compress(votes))
    (marks / "truth.csv").write_text("item,label\nq,2\n")
    return tmp_path


def test_sets_are_listed_with_their_sources_and_read_with_unknown_truth(data, tmp_path):
    assert list_sets(data) == [
        RealSet("coins", "two", "mint", "crowd", 2),
        RealSet("marks", "more", "school", "llm judges", 3, ("0", "1", "2")),
    ]
    coins, marks = list_sets(data)
    votes, truth = read_set(data, coins)
    # all votes are 1: the codes come from the truth
    assert votes.values.tolist() == [[1, 1], [0, 1], [1, 0], [0, 0]]
    assert votes.items.tolist() == ["a", "b", "c", "d"]
    assert truth.tolist() == [1, -1, None, -1]
    votes, truth = read_set(data, marks)
    assert votes.ordered
    assert truth.tolist() == [None, 2]
    with pytest.raises(ModelError, match=r"holds no sources\.csv"):
        list_sets(tmp_path / "two")
    (data / "more" / "marks" / "votes.csv.gz").unlink()
    with pytest.raises(ModelError, match="holds none of"):
        read_set(data, list_sets(data)[1])


@pytest.mark.shared
def test_all_shared_sets_are_read_with_the_stated_truth(shared_data):
    data = shared_data.parent
    if not (data / LIST).is_file():
        pytest.skip("the list of sources is not beside this checkout")
    with (data / LIST).open(newline="") as file:
        stated = {row["set"]: int(row["with_truth"]) for row in csv.DictReader(file)}
    sets = list_sets(data)
    assert len(sets) == 56
    assert len({one.source for one in sets}) == 33
    for one in sets:
        votes, truth = read_set(data, one)
        assert len(truth) == votes.n_items
        assert sum(label is not None for label in truth) == stated[one.name]
        assert (votes.n_classes, votes.ordered) == (one.classes, bool(one.ordered))
