"""Every example of the gallery runs as it is and draws something."""

import runpy
import sys
from pathlib import Path

import pytest

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
