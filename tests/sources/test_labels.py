import numpy as np
import pandas as pd
import pytest

from unelisa.errors import VotesError
from unelisa.memory import limit_memory
from unelisa.sources.labels import SampleTable, read_labels, settle_answers
from unelisa.votes import Votes


@pytest.fixture
def votes():
    values = np.array([[1, 1], [-1, 1], [0, -1]], dtype=np.int8)
    return Votes.of_values(values, np.array(["a", "b", "7"]), np.array(["v", "w"]), ("no", "yes"))


@pytest.fixture
def write(tmp_path):
    def text(content, name="truth.csv"):
        (tmp_path / name).write_text(content)
        return tmp_path / name

    return text


def test_labels_are_matched_by_item_also_without_votes(votes, write):
    known = read_labels(write("item,label\nb,yes\na,no\n"), votes)
    assert known.signs.tolist() == [-1, 1, 0]
    assert known.as_gold().tolist() == ["no", "yes", None]
    assert known.scored_votes() is votes
    assert known.scored_signs().tolist() == [-1, 1, 0]
    known = read_labels(write("item,label\nb,yes\nz,no\ny,\n"), votes)
    assert known.scored_signs().tolist() == [0, 1, 0, -1]
    scored = known.scored_votes()
    assert scored.values.tolist() == [[1, 1], [-1, 1], [0, -1], [0, 0]]
    assert scored.items.tolist() == ["a", "b", "7", "z"]
    assert scored.values.flags.f_contiguous


@pytest.mark.parametrize(
    "content",
    [
        "item,label\na,yes\n",
        "label,note,Item\nyes,x,a\n",
        "patient,sick\na,yes\n",
        "id,truth\na,yes\n",
    ],
)
def test_columns_go_by_their_names_or_their_number(votes, write, content):
    assert read_labels(write(content), votes).signs.tolist() == [1, 0, 0]


def test_numbers_as_names_and_as_labels(votes, tmp_path, write):
    pd.DataFrame({"item": [7], "label": ["no"], "more": [1]}).to_parquet(tmp_path / "truth.parquet")
    assert read_labels(tmp_path / "truth.parquet", votes).signs.tolist() == [0, 0, -1]
    votes = Votes.of(np.array([[1, -1], [-1, -1]]))
    assert read_labels(write("item,label\n0,-1\n1,1.0\n"), votes).signs.tolist() == [-1, 1]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("item,label\na,maybe\n", "other than the two"),
        ("item,label\na,1\n", "other than the two"),
        ("item,label\na,yes\na,no\n", "twice"),
        ("item,label\nzz,yes\n", "none of the items"),
        ("one,two,three\na,yes,1\n", "a column named item"),
        ("item,label\n", "0 items"),
        ("", "is empty"),
    ],
)
def test_what_does_not_fit_the_votes_is_refused(votes, write, content, sentence):
    with pytest.raises(VotesError, match=sentence) as caught:
        read_labels(write(content), votes)
    assert str(caught.value).startswith("truth.csv ")
    assert "maybe" not in str(caught.value)


def test_labels_of_more_than_two_classes(tmp_path):
    votes = Votes.of(
        pd.DataFrame({"item": list("xyz"), "ann": ["poor", "good", "fair"]}),
        order=["poor", "fair", "good"],
    )
    path = tmp_path / "truth.csv"
    path.write_text("item,label\nz,good\nx,fair\nw,poor\n")
    known = read_labels(path, votes)
    assert known.as_gold().tolist() == ["fair", None, "good"]
    assert known.scored_signs().tolist() == [2, 0, 3, 1]
    assert known.scored_votes().ordered
    path.write_text("item,label\nz,good\nx,bad\n")
    with pytest.raises(VotesError, match=r"nobody ever voted, in data row 2, column 'label'"):
        read_labels(path, votes)


HEADER = "item,label,reviewer,chosen,note\n"


@pytest.fixture
def reviewed_votes():
    names = np.array(["a", "b", "c"]), np.array(["v"])
    return Votes.of_values(np.ones((3, 1), dtype=np.int8), *names, ("no", "yes"))


def read(tmp_path, reviewed_votes, rows, **more):
    path = tmp_path / "gold.csv"
    path.write_text(HEADER + rows)
    return read_labels(path, reviewed_votes, **more).as_gold().tolist()


def test_the_last_answer_of_a_reviewer_counts_and_disagreement_does_not(tmp_path, reviewed_votes):
    rows = "a,no,ann,useful,\nb,yes,ann,useful,\na,yes,ann,useful,\nb,,ann,useful,\n"
    assert read(tmp_path, reviewed_votes, rows) == ["yes", None, None]
    rows = "a,no,ann,useful,\na,yes,bob,useful,\nb,yes,ann,useful,\nb,yes,bob,useful,\n"
    assert read(tmp_path, reviewed_votes, rows) == [None, "yes", None]
    assert read(tmp_path, reviewed_votes, rows + "a,yes,eve,useful,\n")[0] == "yes"  # two of three
    assert settle_answers([("a", "x", "ann"), ("a", None, "bob")]) == {"a": "x"}


def test_a_sample_leaves_out_items_that_were_chosen(tmp_path, reviewed_votes):
    rows = "a,no,ann,useful,\nb,yes,ann,random,\na,no,ann,random,\nc,no,ann,useful,\n"
    assert read(tmp_path, reviewed_votes, rows, table_class=SampleTable) == ["no", "yes", None]
    with pytest.raises(VotesError, match="not drawn at random"):
        read(tmp_path, reviewed_votes, "a,no,ann,useful,\n", table_class=SampleTable)
    path = tmp_path / "gold.csv"
    path.write_text("item,label\na,no\n")
    assert read_labels(path, reviewed_votes, SampleTable).as_gold().tolist() == ["no", None, None]


def test_long_notes_count_as_memory(tmp_path, reviewed_votes):
    """Rows of megabytes, each within the limit of a line."""
    rows = "".join(f"a,no,ann,useful,{'x' * 3_000_000}\n" for _ in range(15))
    with limit_memory("20MB"), pytest.raises(VotesError, match=r"gold\.csv needs about"):
        read(tmp_path, reviewed_votes, rows)
