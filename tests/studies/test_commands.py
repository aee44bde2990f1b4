import pytest

from studies.commands import choose, read_seeds
from unelisa.errors import ModelError


def test_seeds_are_lists_and_ranges():
    assert read_seeds("3") == [3]
    assert read_seeds("0-2,7, 9") == [0, 1, 2, 7, 9]


@pytest.mark.parametrize("text", ["", "a", "1,1", "0-3,2", "-2", "3-1", "1-2-5"])
def test_other_seeds_are_refused(text):
    with pytest.raises(ModelError, match="distinct nonnegative integers, such as 0,1,2 or 0-19"):
        read_seeds(text)


def test_a_choice_is_one_of_its_list():
    assert choose("--part", "choosing", ("choosing", "reporting")) == "choosing"
    with pytest.raises(ModelError, match="--part must be one of choosing, reporting, found 'all'"):
        choose("--part", "all", ("choosing", "reporting"))
