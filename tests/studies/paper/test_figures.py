import builtins

import numpy as np
import pytest

from studies.drawing import drawing, save_figure
from studies.paper import figures
from studies.paper.cells import CELLS
from studies.paper.figures import draw_all, draw_example
from studies.paper.trials import read_results, results_path
from unelisa.errors import MissingExtraError
from unelisa.paper.conditions import project
from unelisa.paper.ising import Ising


@pytest.fixture
def coarse(monkeypatch):
    """Figure 3.1 on a grid of four points instead of 25, one level instead of three."""
    monkeypatch.setattr(figures, "_GRID", 4)
    monkeypatch.setattr(figures, "LEVELS", ("low",))


def test_every_figure_is_drawn_as_svg_and_png(folder, tmp_path, coarse):
    study = read_results(results_path(folder, "paper", "half"))
    series = read_results(results_path(folder, "mixed", "half", series=True))
    with drawing():
        paths = draw_all(study, series, tmp_path, "paper-half")
    names = {"figure-2-1", "figure-3-1", "sizes-paper-half", "accuracy-low-paper-half"}
    assert {path.name for path in paths} == {
        f"{n}.{kind}" for n in names for kind in ("svg", "png")
    }
    assert all(path.stat().st_size > 1000 for path in paths)
    assert set(tmp_path.iterdir()) == set(paths)


def test_the_same_figure_has_the_same_bytes(tmp_path):
    with drawing():
        files = [save_figure(draw_example(), tmp_path, name) for name in ("a", "b")]
    for first, second in zip(*files, strict=True):
        assert first.read_bytes() == second.read_bytes()
    assert b"<dc:date>" not in files[0][0].read_bytes()


def test_the_example_shows_every_edge_and_node():
    with drawing():
        axes = draw_example().axes[0]
    assert len(axes.lines) == 21
    assert [len(group.get_offsets()) for group in axes.collections] == [1, 5, 13]


def test_the_lemma_is_exact_for_two_experts_and_too_large_for_more():
    grid = np.linspace(0.0, 2.0, 4)
    lemma = figures._lemma_surface(grid)
    assert np.allclose(figures._projection_surface(grid, 2), lemma, atol=1e-8)
    assert np.all(figures._projection_surface(grid, 4)[1:, 1:] < lemma[1:, 1:])


def test_reversing_an_expert_reverses_theta():
    """Why the second row of Figure 3.1 need not be computed."""
    star = np.zeros((5, 5))
    star[0, 1:] = star[1:, 0] = [1.5, 0.5, 1.0, 1.0]
    turned = star.copy()
    turned[0, 2] = turned[2, 0] = -0.5
    same, opposite = (project(Ising(0.0, edges))[0, 1] for edges in (star, turned))
    assert same == pytest.approx(-opposite)


def test_boxes_show_the_published_means(folder):
    study = read_results(results_path(folder, "paper", "half"))
    with drawing():
        figure = figures.draw_accuracies(study, "high")
    assert len(figure.axes) == 9
    marks = [line for line in figure.axes[0].lines if line.get_label() == "published mean"]
    assert marks[0].get_xdata().tolist() == [0.942, 0.946, 0.647, 0.581, 0.513, 0.607]
    assert CELLS[0].n_experts == 4


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    load = builtins.__import__

    def refuse(name, *arguments):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return load(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtraError, match=r"unelisa\[report\]"), drawing():
        pass
