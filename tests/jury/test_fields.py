import pytest

from unelisa.errors import VotesError
from unelisa.jury.documents import (
    check_object,
    require,
    take_first,
    take_list,
    take_object,
    take_objects,
)


def test_what_is_absent_or_null_is_empty():
    for record in ({}, {"a": None}):
        assert take_object(record, "a") == {}
        assert take_list(record, "a") == []
        assert take_objects(record, "a") == []
        assert take_first(record, ("a", "b")) is None


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: take_object({"a": [1]}, "a"), "'a' must be an object, found a list"),
        (lambda: take_list({"a": "Smith"}, "a"), "'a' must be a list, found text"),
        (lambda: take_objects({"a": [True]}, "a"), "every part of 'a' must be an object"),
        (lambda: check_object(7, "line 1"), "line 1 must be an object, found a number"),
        (lambda: require({"a": None}, ("a", "b")), "it has no 'a' or 'b'"),
    ],
)
def test_other_kinds_are_named_but_not_quoted(call, words):
    with pytest.raises(VotesError, match=words) as caught:
        call()
    assert "Smith" not in str(caught.value)
