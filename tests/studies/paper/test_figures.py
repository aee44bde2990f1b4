"""The paper's figures, and the simulation of Theorem 3.2."""

import numpy as np
import pytest

from studies.drawing import drawing, save_figure
from studies.paper import figures
from studies.paper.cells import CELLS
from studies.paper.figures import draw_all, draw_example
from studies.paper.theorem import Case, bound, example_model, run_case, run_theorem, show_theorem
from studies.paper.trials import read_results, results_path
from unelisa.paper.conditions import project


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


def test_figures_have_the_same_bytes_and_the_published_means(tmp_path, folder):
    with drawing():
        files = [save_figure(draw_example(), tmp_path, name) for name in ("a", "b")]
    for first, second in zip(*files, strict=True):
        assert first.read_bytes() == second.read_bytes()
    assert b"<dc:date>" not in files[0][0].read_bytes()
    study = read_results(results_path(folder, "paper", "half"))
    with drawing():
        figure = figures.draw_accuracies(study, "high")
    assert len(figure.axes) == 9
    marks = [line for line in figure.axes[0].lines if line.get_label() == "published mean"]
    assert marks[0].get_xdata().tolist() == [0.942, 0.946, 0.647, 0.581, 0.513, 0.607]
    assert CELLS[0].n_experts == 4


def test_the_lemma_is_exact_for_two_experts_and_too_large_for_more():
    grid = np.linspace(0.0, 2.0, 4)
    lemma = figures._lemma_surface(grid)
    assert np.allclose(figures._projection_surface(grid, 2), lemma, atol=1e-8)
    assert np.all(figures._projection_surface(grid, 4)[1:, 1:] < lemma[1:, 1:])


def test_the_theorems_penalty_and_bound_are_shown():
    alpha = 0.6
    limit = 16 * (2 - alpha) / alpha
    # t = 4 sqrt(log p / n), so that exp(-n t^2 / 8) = p^-2
    assert bound(alpha, Case("Q", limit))["bound"] == 1  # 2 * 56 / 8^2 is more than that
    assert bound(alpha, Case("Q", 2 * limit))["bound"] == pytest.approx(2 * 56 * 8.0**-8)
    assert bound(alpha, Case("Q", 2.0))["bound"] == 1
    page = show_theorem({"theorem": run_theorem(1, (500,))})
    assert page.count("| Q |") == 4
    assert "alpha" in page
    assert show_theorem({}) == ""
    edges = project(example_model())
    true = np.where(np.abs(edges) > 1e-6, np.sign(edges), 0.0)
    pairs = np.array(np.unravel_index(np.arange(256), (2,) * 8)).T * 2 - 1
    chances = np.exp(0.5 * np.einsum("is,st,it->i", pairs, edges, pairs))
    case = Case("Q", 40.0)
    few, many = (run_case(case, n, chances, true, 3) for n in (500, 4_000_000))
    assert few["neighborhoods"] == 0
    assert few["signs"] == 0
    assert many["neighborhoods"] == 1
    assert many["signs"] == 1
