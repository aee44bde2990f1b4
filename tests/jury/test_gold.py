import pytest

from unelisa.errors import VotesError
from unelisa.jury.panel import read_gold
from unelisa.jury.verdicts import Panel, Verdict


def judge(*marks):
    panel = Panel()
    for i, mark in enumerate(marks):
        panel.add(Verdict(f"i{i}", "x", mark))
    return panel.finish("auto", "long")


@pytest.mark.parametrize("words", [("1", "0"), ("true", "False"), ("pass", "FAIL"), ("1.0", "0")])
def test_gold_may_use_other_words_for_pass_and_fail(words, tmp_path):
    path = tmp_path / "gold.csv"
    path.write_text(f"item,label\ni0,{words[0]}\ni1,{words[1]}\n")
    assert read_gold(path, judge(True, False, True)).as_gold().tolist() == ["pass", "fail", None]


def test_labels_of_their_own_stay(tmp_path):
    path = tmp_path / "gold.csv"
    path.write_text("item,label\ni0,clean\n")
    jury = judge("faulty", "clean")
    assert read_gold(path, jury).as_gold().tolist() == ["clean", None]


@pytest.mark.parametrize("word", ["0.7", "splendid"])
def test_other_labels_are_refused_and_not_quoted(word, tmp_path):
    path = tmp_path / "gold.csv"
    path.write_text(f"item,label\ni0,{word}\n")
    with pytest.raises(VotesError, match="cannot be used as labels") as caught:
        read_gold(path, judge(True, False))
    assert word not in str(caught.value)
