import math

import pytest

from unelisa.errors import VotesError
from unelisa.jury.grades import Letter, Range, name_grades, read_grade
from unelisa.votes.coding import Declared


@pytest.mark.parametrize(
    ("mark", "grade"),
    [
        (True, True),
        (False, False),
        (1, 1.0),
        (0.0, 0.0),
        (" 1.0 ", 1.0),
        ("good", "good"),
        ("", None),
        ("NA", None),
        (None, None),
        (math.nan, None),
        ("0.7", 0.7),
        ("1_0", "1_0"),
    ],
)
def test_marks_are_read(mark, grade):
    assert read_grade(mark) is grade or read_grade(mark) == grade


@pytest.mark.parametrize("mark", [math.inf, -math.inf, "inf", "-Infinity", 10**400])
def test_infinite_scores_are_refused(mark):
    with pytest.raises(VotesError, match="infinite"):
        read_grade(mark)


@pytest.mark.parametrize("mark", [[1], {"Smith": 1}, b"x"])
def test_a_mark_is_one_value(mark):
    with pytest.raises(VotesError, match="single value") as caught:
        read_grade(mark)
    assert "Smith" not in str(caught.value)


def test_words_and_labels_of_their_own():
    found = name_grades([True, False, "Correct", "failed", 1.0])
    assert found.labels == ["pass", "fail", "pass", "fail", "pass"]
    assert found.coding == ("fail", "pass")
    partial = Declared(("fail", "partial", "pass"), True)
    assert name_grades(["pass", "partial"]).coding == partial
    assert name_grades([1.0, 0.5, 0.0]).coding == partial
    assert name_grades(["good", "pass"])[:2] == (["good", "pass"], "auto")
    with pytest.raises(VotesError, match="read them separately"):
        name_grades([True, "good"])
    assert name_grades(["pass", "fail"], ("pass", "fail")).coding == ("pass", "fail")
    with pytest.raises(VotesError, match="need no declaration"):
        name_grades([True], ("no", "yes"))


@pytest.mark.parametrize(
    ("grades", "labels"),
    [
        (["pass", "error", "fail", "unknown"], ["pass", None, "fail", None]),
        ([True, "N/A"], ["pass", None]),
        (["A", "PARSE_ERROR", "B"], ["A", None, "B"]),
        (["safe", "unknown", "unsafe"], ["safe", "unknown", "unsafe"]),
        (["valid", "invalid"], ["valid", "invalid"]),
    ],
)
def test_words_for_no_verdict_are_set_aside_and_said(grades, labels):
    found = name_grades(grades)
    assert found.labels == labels
    assert ("are read as no verdict" in found.note) == (None in labels)


def test_letters_of_inspect_in_other_records_are_declared():
    with pytest.raises(VotesError, match="C or I, in Inspect.*labels='I,C'|labels=\\('I', 'C'\\)"):
        name_grades(["C", "I"])
    assert name_grades(["C", "I"], ("I", "C")).labels == ["C", "I"]


def test_a_single_score_is_a_scale():
    with pytest.raises(VotesError, match="seen from 5 to 5"):
        name_grades([5.0, 5.0])


def test_whole_scores_are_classes_and_mixed_ones_refused():
    found = name_grades([5.0, 1.0, 3.0, 2.5])
    assert found.coding == Declared(("1", "2.5", "3", "5"), ordered=True)
    assert "4 ordered classes" in found.note
    for scores, cut in (([0.1, 0.7], "0.5"), ([3.0, 88.0, 41.5], "50.0"), ([1.2, 4.9], "3.0")):
        with pytest.raises(VotesError, match="scores on a scale") as caught:
            name_grades(scores)
        assert str(caught.value).endswith(f"pass cut={cut}")
        assert caught.value.about["scores"]
    with pytest.raises(VotesError, match="read them separately"):
        name_grades([3.0, "good"])
    ranges = {"ann": Range(1, 5, 40), "bob": Range(10, 98, 40)}
    with pytest.raises(VotesError, match="different scales, 'ann' from 1 to 5 and 'bob'"):
        name_grades([3.0, 88.0], cut=50, ranges=ranges)
    assert name_grades([3.0, 5.0], cut=4, ranges={"ann": ranges["ann"]}).labels == ["fail", "pass"]


def test_letters_are_those_of_inspect_and_school_grades_have_no_order():
    letters = [Letter(x) for x in "CIPN"]
    assert name_grades(letters).labels == ["pass", "fail", "partial", None]
    with pytest.raises(VotesError, match=r"other letters; .*labels=\('C', 'D'\)"):
        name_grades([Letter("C"), "D"])
    assert name_grades([Letter("C"), "D"], ("C", "D")).labels == ["C", "D"]
    with pytest.raises(VotesError, match="positive and negative"):
        name_grades(letters[2:])
    assert name_grades(letters[2:], ("N", "P")).labels == ["P", "N"]
    assert "declare the order" in name_grades(["A", "B", "C"]).note
    assert name_grades(["A", "B"]).note == ""
