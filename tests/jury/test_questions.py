import pytest

from unelisa.errors import VotesError
from unelisa.jury.questions import Question


def test_the_only_question_is_read_and_a_second_one_refused():
    asked = Question(None)
    assert asked.includes("tone")
    assert asked.includes("tone")
    with pytest.raises(VotesError, match="more than one question"):
        asked.includes("facts")


def test_a_declared_question_leaves_the_others_out():
    asked = Question("facts")
    assert [asked.includes(name) for name in ("tone", "facts")] == [False, True]
