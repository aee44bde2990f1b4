import csv
import gzip

import pytest

from studies.sets import LIST, RealSet, list_sets, read_set
from unelisa.errors import ModelError

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


def test_sets_are_listed_with_their_sources(data):
    assert list_sets(data) == [
        RealSet("coins", "two", "mint", "crowd", 2),
        RealSet("marks", "more", "school", "llm judges", 3, ("0", "1", "2")),
    ]


def test_items_without_votes_follow_and_unknown_truth_is_none(data):
    coins, marks = list_sets(data)
    votes, truth = read_set(data, coins)
    # all votes are 1: the codes come from the truth
    assert votes.values.tolist() == [[1, 1], [0, 1], [1, 0], [0, 0]]
    assert votes.items.tolist() == ["a", "b", "c", "d"]
    assert truth.tolist() == [1, -1, None, -1]
    votes, truth = read_set(data, marks)
    assert votes.ordered
    assert truth.tolist() == [None, 2]


def test_a_folder_without_list_and_a_set_without_votes_are_refused(data, tmp_path):
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
