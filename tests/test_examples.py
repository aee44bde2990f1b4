"""Every example of the gallery runs as it stands and draws something."""

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("plot_*.py"))


def test_most_examples_use_the_default_method_and_all_use_public_names_only():
    sources = [path.read_text(encoding="utf-8") for path in EXAMPLES]
    assert sum("ue.LatentIsing(" in source for source in sources) > len(sources) / 2
    for source in sources:
        assert "unelisa.study" not in source
        assert "ue.Votes(" not in source


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
