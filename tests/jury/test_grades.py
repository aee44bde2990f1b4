import math

import pytest

from unelisa.errors import VotesError
from unelisa.jury.grades import name_grades, read_grade
from unelisa.votes.coding import Declared


@pytest.mark.parametrize(
    ("mark", "grade"),
    [
        (True, True),
        (False, False),
        (1, True),
        (0.0, False),
        (" 1.0 ", True),
        ("good", "good"),
        ("", None),
        ("NA", None),
        (None, None),
        (math.nan, None),
        ("inf", "inf"),
        ("1_0", "1_0"),
    ],
)
def test_marks_are_read(mark, grade):
    assert read_grade(mark) is grade or read_grade(mark) == grade


@pytest.mark.parametrize("mark", [0.5, 2, -1, "0.5", math.inf])
def test_scores_need_a_cut(mark):
    with pytest.raises(VotesError, match=r"scores other than 0 and 1.*cut=0\.5"):
        read_grade(mark)
    assert read_grade(mark, cut=0.5) is (float(mark) >= 0.5)


@pytest.mark.parametrize("mark", [[1], {"Smith": 1}, b"x"])
def test_a_mark_is_one_value(mark):
    with pytest.raises(VotesError, match="single value") as caught:
        read_grade(mark)
    assert "Smith" not in str(caught.value)


def test_words_for_pass_and_fail_become_these_two():
    words, coding = name_grades([True, False, "Correct", "failed"])
    assert words == {True: "pass", False: "fail", "Correct": "pass", "failed": "fail"}
    assert coding == ("fail", "pass")
    assert name_grades(["pass", "partial"])[1] == Declared(("fail", "partial", "pass"), True)


def test_labels_of_their_own_stay_unless_they_mix_with_pass_and_fail():
    assert name_grades(["good", "pass"]) == ({"good": "good", "pass": "pass"}, "auto")
    with pytest.raises(VotesError, match="read them separately"):
        name_grades([True, "good"])
    assert name_grades(["pass", "fail"], ("pass", "fail"))[1] == ("pass", "fail")
    with pytest.raises(VotesError, match="need no declaration"):
        name_grades([True], ("no", "yes"))
