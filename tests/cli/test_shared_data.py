import pytest

from unelisa.cli.shared_data import BESIDE, VARIABLE, find_shared_data
from unelisa.errors import ModelError


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout's folder without anything beside it."""
    monkeypatch.delenv(VARIABLE, raising=False)
    (tmp_path / "checkout").mkdir()
    monkeypatch.chdir(tmp_path / "checkout")
    return tmp_path


def test_none_where_there_is_no_folder(checkout):
    assert find_shared_data() is None


def test_the_folder_beside_a_checkout_is_found(checkout):
    (checkout / "shared" / "data").mkdir(parents=True)
    assert find_shared_data() == BESIDE


def test_the_variable_goes_before(checkout, monkeypatch):
    (checkout / "shared" / "data").mkdir(parents=True)
    monkeypatch.setenv(VARIABLE, str(checkout))
    assert find_shared_data() == checkout


def test_a_variable_that_leads_nowhere_is_refused(checkout, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(checkout / "nowhere"))
    with pytest.raises(ModelError, match=f"{VARIABLE} names"):
        find_shared_data()
