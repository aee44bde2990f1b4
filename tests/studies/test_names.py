import pytest

from studies.names import pick_names
from unelisa.errors import ModelError

KNOWN = ("a", "b", "c")


def test_names_come_once_and_in_their_fixed_order():
    assert pick_names("c,a, c", KNOWN, "there is no") == ("a", "c")
    assert pick_names(None, KNOWN, "there is no") == KNOWN


def test_an_unknown_name_is_refused_with_those_there_are():
    with pytest.raises(ModelError, match="there is no 'd'; choose from a, b, c"):
        pick_names("a,d", KNOWN, "there is no")
