"""Files of other tools are answered with at most one option, which the error named."""

import pytest

from benchmarks.newcomer.__main__ import ask
from benchmarks.newcomer.files import CASES

ADVISED = {
    "mturk": "--vote Answer.contains_bird",
    "snorkel": "--coding snorkel",
    "european_excel": "--drop=Minuten",
    "header_free": "--header item,voter,vote",
}


@pytest.mark.parametrize("name", CASES)
def test_a_file_is_answered_as_well_as_by_counting_votes(name, tmp_path):
    found = ask(name, tmp_path)
    assert found.message == ""
    assert found.option == ADVISED.get(name, "")
    assert found.right > found.majority - 0.05
