import sys

import pytest

from unelisa.errors import ModelError


@pytest.fixture
def forgotten(monkeypatch):
    """The door as it is before anybody has opened it."""
    for name in [*sys.modules]:
        if name == "unelisa.cli.reproduce" or name.split(".")[0] == "studies":
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
        __import__("unelisa.cli.reproduce")
    assert not isinstance(caught.value, ModelError)
