import doctest
import importlib
import subprocess
import sys
from pkgutil import walk_packages

import pytest

import unelisa


def test_the_public_names_are_these():
    assert set(unelisa._HOMES) <= set(unelisa.__all__) <= set(dir(unelisa))


@pytest.mark.parametrize("name", unelisa.__all__)
def test_every_public_name_is_documented_with_an_example(name):
    value = getattr(unelisa, name)
    if isinstance(value, dict):
        return
    assert value.__doc__
    if name != "Neighborhoods":  # a result, shown in the example of the function that returns it
        finder = doctest.DocTestFinder(recurse=False)
        assert any(test.examples for test in finder.find(value, name)), f"{name} has no example"


def test_strangers_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        unelisa.nothing  # noqa: B018


HEAVY = ("sklearn", "pandas", "numba", "scipy.stats", "scipy.optimize", "pyarrow")


@pytest.mark.parametrize(
    ("code", "most"),
    [
        ("import unelisa", 40),
        ("import unelisa.aggregators, unelisa.storage, unelisa.report.findings", 900),
        ("from unelisa.cli.commands import load_command; load_command('fit')", 950),
    ],
)
def test_importing_loads_nothing_heavy(code, most):
    """The limits are what is reached."""
    code = f"import sys; before = set(sys.modules); {code}; print(*sys.modules.keys() - before)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = told.stdout.split()
    assert not set(HEAVY) & set(loaded)
    assert len(loaded) <= most, len(loaded)


def modules():
    return [module.name for module in walk_packages(unelisa.__path__, "unelisa.")]


@pytest.mark.parametrize("name", [name for name in modules() if "__main__" not in name])
def test_examples_in_docstrings_run(name):
    if ".torch_" in name:
        pytest.importorskip("torch", reason="torch is not installed: make test-gpu")
    if name.endswith(".inspect_plugin"):
        pytest.importorskip("inspect_ai", reason="inspect-ai is not installed")
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
