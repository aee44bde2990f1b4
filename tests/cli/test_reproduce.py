import sys

import pytest

from unelisa.cli.commands import load_command
from unelisa.errors import ModelError


@pytest.fixture
def forgotten(monkeypatch):
    """The door as it is before anybody has opened it."""
    for name in [*sys.modules]:
        if name.split(".")[0] == "studies":
            monkeypatch.delitem(sys.modules, name)


def test_where_the_studies_are_missing_one_sentence_says_so(forgotten, monkeypatch, refused):
    monkeypatch.setitem(sys.modules, "studies", None)
    sentence = refused("reproduce", "tables")
    assert "run it from a clone of the repository" in sentence


def test_a_package_missing_from_the_environment_is_not_taken_for_the_studies(
    forgotten, monkeypatch
):
    monkeypatch.setitem(sys.modules, "rich.table", None)
    with pytest.raises(ModuleNotFoundError, match="rich") as caught:
        load_command("reproduce")
    assert not isinstance(caught.value, ModelError)
