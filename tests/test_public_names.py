import doctest
import importlib
import runpy
import subprocess
import sys
from pathlib import Path
from pkgutil import walk_packages

import pytest

import unelisa


def test_the_public_names_are_these():
    assert set(unelisa.__all__) <= set(dir(unelisa))


@pytest.mark.parametrize("door", ["", ".aggregators", ".ehr", ".paper", ".sources"])
def test_a_package_has_all_names_that_it_lists(door):
    package = importlib.import_module(f"unelisa{door}")
    told = {name for name in dir(package) if not name.startswith("__")}
    assert told == set(package.__all__)
    assert all(hasattr(package, name) for name in package.__all__)


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


HEAVY = {
    *("sklearn", "pandas", "numba", "scipy.stats", "scipy.optimize", "scipy.linalg", "pyarrow"),
    *("joblib", "narwhals", "asyncio", "matplotlib"),
}
USED = {"numba", "pyarrow", "scipy.linalg"}  # Numba imports the last


@pytest.mark.parametrize(
    ("code", "most"),
    [
        ("import unelisa", 40),
        ("import unelisa.aggregators, unelisa.storage, unelisa.report.findings", 560),
        ("from unelisa.cli.commands import load_command; load_command('fit')", 230),
    ],
)
def test_importing_loads_nothing_heavy(code, most):
    """The limits are what is reached."""
    loaded = list_loaded(code)
    assert not HEAVY & loaded
    assert len(loaded) <= most, len(loaded)


def list_loaded(code):
    code = f"import sys; before = set(sys.modules); {code}; print(*sys.modules.keys() - before)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(told.stdout.split())


@pytest.mark.parametrize("kind", ["long", "wide"])
def test_a_fit_loads_only_what_it_uses(kind, tmp_path):
    """A third of its time was spent in importing pandas, scipy.optimize, joblib and narwhals."""
    votes, labels = tmp_path / "votes.csv", tmp_path / "labels.csv"
    signs = [["no", "yes"][i * (s + 2) % 7 % 2] for i in range(30) for s in range(5)]
    rows = [",".join(signs[5 * i : 5 * i + 5]) for i in range(30)]
    if kind == "wide":
        lines = ["item,a,b,c,d,e", *(f"i{i},{row}" for i, row in enumerate(rows))]
    else:
        lines = ["item,voter,vote", *(f"i{k // 5},v{k % 5},{x}" for k, x in enumerate(signs))]
    votes.write_text("\n".join(lines) + "\n", encoding="utf-8")
    asked = f"app(['fit', {str(votes)!r}, '--out', {str(labels)!r}, '-q'], standalone_mode=False)"
    assert HEAVY & list_loaded(f"from unelisa.cli.commands import app; {asked}") <= USED
    assert labels.exists()


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


EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("plot_*.py"))


def test_most_examples_use_the_default_method_and_all_use_public_names_only():
    sources = [path.read_text(encoding="utf-8") for path in EXAMPLES]
    assert sum("ue.LatentIsing(" in source for source in sources) > len(sources) / 2
    for source in sources:
        assert "studies" not in source
        assert "ue.Votes(" not in source


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs(path, monkeypatch, tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    picture = tmp_path / "experts.png"  # the README's, where the example makes it
    wanted = [str(picture)] if path.stem == "plot_expert_graph" else []
    monkeypatch.setattr(sys, "argv", [str(path), *wanted])
    runpy.run_path(str(path), run_name="__main__")
    assert pyplot.get_fignums()
    assert all(figure.axes for figure in map(pyplot.figure, pyplot.get_fignums()))
    pyplot.close("all")
    assert not wanted or picture.read_bytes().startswith(b"\x89PNG")
