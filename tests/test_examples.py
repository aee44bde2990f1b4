"""Every example of the gallery runs as it stands and draws something."""

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("plot_*.py"))


def test_there_is_an_example_for_every_kind_of_user():
    assert len(EXAMPLES) == 7


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs(path, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    assert all(figure.axes for figure in map(pyplot.figure, pyplot.get_fignums()))
    assert pyplot.get_fignums()
    pyplot.close("all")


def test_the_readme_picture_is_made_by_an_example(monkeypatch, tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    path = next(path for path in EXAMPLES if path.stem == "plot_expert_graph")
    monkeypatch.setattr(sys, "argv", [str(path), str(tmp_path / "experts.png")])
    runpy.run_path(str(path), run_name="__main__")
    pyplot.close("all")
    assert (tmp_path / "experts.png").read_bytes().startswith(b"\x89PNG")
