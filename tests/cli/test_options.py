import pytest

from unelisa.cli.options import VotesForm
from unelisa.errors import VotesError


def test_a_form_reads_votes_as_declared(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("who,what,said\nann,x,0\nbob,x,2\n")
    form = VotesForm(labels="2, 0", item="what", voter="who", vote="said")
    votes = form.read(path)
    assert votes.classes == (2, 0)
    assert votes.values.tolist() == [[1, -1]]


def test_the_usual_coding_serves_where_none_is_given(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("item,ann,bob\nx,-1,0\ny,1,1\n")
    assert VotesForm().read(path, usual="pm1").values.tolist() == [[-1, 0], [1, 1]]
    assert VotesForm(coding="snorkel").read(path, usual="pm1").values.tolist() == [[0, -1], [1, 1]]


@pytest.mark.parametrize("labels", ["yes", "a,b,c", ",yes", ""])
def test_labels_are_two(tmp_path, labels):
    with pytest.raises(VotesError, match="two labels"):
        VotesForm(labels=labels).read(tmp_path / "votes.csv")
