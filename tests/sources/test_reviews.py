import numpy as np
import pytest

from unelisa.errors import VotesError
from unelisa.memory import limit_memory
from unelisa.sources.labels import SampleTable, read_labels, settle_answers
from unelisa.votes import Votes

HEADER = "item,label,reviewer,chosen,note\n"


@pytest.fixture
def votes():
    names = np.array(["a", "b", "c"]), np.array(["v"])
    return Votes.of_values(np.ones((3, 1), dtype=np.int8), *names, ("no", "yes"))


def read(tmp_path, votes, rows, **more):
    path = tmp_path / "gold.csv"
    path.write_text(HEADER + rows)
    return read_labels(path, votes, **more).as_gold().tolist()


def test_the_last_answer_of_a_reviewer_counts(tmp_path, votes):
    rows = "a,no,ann,useful,\nb,yes,ann,useful,\na,yes,ann,useful,\nb,,ann,useful,\n"
    assert read(tmp_path, votes, rows) == ["yes", None, None]


def test_reviewers_who_disagree_leave_a_label_unknown(tmp_path, votes):
    rows = "a,no,ann,useful,\na,yes,bob,useful,\nb,yes,ann,useful,\nb,yes,bob,useful,\n"
    assert read(tmp_path, votes, rows) == [None, "yes", None]
    assert read(tmp_path, votes, rows + "a,yes,eve,useful,\n")[0] == "yes"  # two of three


def test_skipping_is_no_vote():
    assert settle_answers([("a", "x", "ann"), ("a", None, "bob")]) == {"a": "x"}


def test_a_sample_leaves_out_items_that_were_chosen(tmp_path, votes):
    rows = "a,no,ann,useful,\nb,yes,ann,random,\na,no,ann,random,\nc,no,ann,useful,\n"
    assert read(tmp_path, votes, rows, table_class=SampleTable) == ["no", "yes", None]
    with pytest.raises(VotesError, match="not drawn at random"):
        read(tmp_path, votes, "a,no,ann,useful,\n", table_class=SampleTable)


def test_a_plain_file_of_labels_is_a_sample(tmp_path, votes):
    path = tmp_path / "gold.csv"
    path.write_text("item,label\na,no\n")
    assert read_labels(path, votes, SampleTable).as_gold().tolist() == ["no", None, None]


def test_long_notes_count_as_memory(tmp_path, votes):
    """Rows of megabytes, each within the limit of a line."""
    rows = "".join(f"a,no,ann,useful,{'x' * 3_000_000}\n" for _ in range(15))
    with limit_memory("20MB"), pytest.raises(VotesError, match=r"gold\.csv needs about"):
        read(tmp_path, votes, rows)
