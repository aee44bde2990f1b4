import pytest

from unelisa.aggregators import AGGREGATORS
from unelisa.cli.methods import DEFAULT_METHOD, build_method, find_method, find_methods
from unelisa.errors import ModelError


@pytest.mark.parametrize("name", AGGREGATORS)
def test_a_method_is_found_by_each_of_its_names(name):
    class_name = AGGREGATORS[name].__name__
    for spelled in (name, name.upper(), name.replace("-", "_"), class_name, class_name.lower()):
        assert find_method(spelled) == name


def test_the_default_is_registered():
    assert DEFAULT_METHOD in AGGREGATORS


def test_all_methods_unless_some_are_named():
    assert find_methods(None) == list(AGGREGATORS)
    assert find_methods("majority-vote, unelisa") == ["majority-vote", "unelisa"]
    with pytest.raises(ModelError, match="choose latent-ising"):
        find_methods("")


@pytest.mark.parametrize("name", AGGREGATORS)
def test_settings_reach_the_methods_that_have_them(name):
    settings = build_method(name, seed=7, jobs=2).get_params()
    assert settings.get("random_state", 7) == 7
    assert settings.get("n_jobs", 2) == 2
