import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex

from unelisa.paper.ising import Ising
from unelisa.report.axes import FAMILIES, SKY, color_family, draw_network, label_text
from unelisa.report.voters import Network


@pytest.fixture
def axes():
    figure, drawn = pyplot.subplots()
    yield drawn
    pyplot.close(figure)


def test_wider_lines_are_stronger_ties(axes):
    edges = np.zeros((4, 4))
    edges[0, 1:] = edges[1:, 0] = [0.2, 1.0, 0.6]
    draw_network(axes, Network.of_ising(Ising(0.0, edges)))
    widths = [line.get_linewidth() for line in axes.lines]
    assert np.argsort(widths).tolist() == [0, 2, 1]


def test_many_voters_on_their_own_are_one_dot(axes):
    names = [f"v{s}" for s in range(50)]
    network = Network(names, np.full(50, 0.5), ["counted"] * 50, [], [[0, 1, 2]])
    draw_network(axes, network)
    shown = [text.get_text() for text in axes.texts]
    assert shown == ["v0", "v1", "v2", "47 voters on their own", "truth"]
    ties = [line for line in axes.lines if line.get_xydata()[0].tolist() == [0, 0]]
    assert len(ties) == 2  # of the family and of the rest
    assert sum(to_hex(dots.get_facecolor()[0]) == SKY for dots in axes.collections) == 4


def test_colors_of_families_come_again_and_names_are_no_formulas():
    assert color_family(len(FAMILIES)) == color_family(0)
    assert label_text("$x") == r"\$x"
