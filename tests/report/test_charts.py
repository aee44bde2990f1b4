import numpy as np
import pytest

from unelisa.report import charts


def test_bars_stand_in_the_frame_and_a_single_item_is_seen():
    histogram = {"kind": "probability", "counts": [1, 0, 10_000], "edges": [0, 0.05, 0.95, 1]}
    low, none, high = charts.draw_bars(histogram)
    panel = charts.PANEL
    assert low["height"] > 1
    assert none["height"] == 0
    assert high["y"] == panel.top
    assert high["y"] + high["height"] == panel.height - panel.bottom
    assert [bar["sure"] for bar in (low, none, high)] == [True, False, True]


def test_the_left_margin_holds_a_long_count():
    histogram = {"kind": "score", "counts": [36_638, 1], "edges": [-1.0, 0.0, 1.0]}
    panel = charts.fit_panel("36,638")
    assert panel.left > charts.PANEL.left == charts.fit_panel("12").left
    assert charts.draw_bars(histogram, panel)[0]["x"] > panel.left


def test_scores_are_never_called_sure():
    histogram = {"kind": "score", "counts": [1, 1], "edges": [-1.0, 0.0, 1.0]}
    assert not any(bar["sure"] for bar in charts.draw_bars(histogram))
    assert charts.draw_bars(None) == []


def test_calibration_points_lie_within_their_whiskers():
    bins = [{"n": 5, "mean": 0.3, "share": 0.4, "low": 0.1, "high": 0.8}]
    point = charts.draw_calibration(bins)[0]
    assert point["high"] < point["y"] < point["low"]  # y points down


def test_a_graph_shows_strength_side_and_role():
    graph = {
        "places": [[0, -100], [100, 0], [0, 200]],
        "ties": [2.0, -1.0, 0.0],
        "counted": [True, True, False],
        "links": [[0, 1, -0.5], [1, 2, 0.1]],
    }
    drawn = charts.draw_graph(graph)
    assert [node[3] for node in drawn["nodes"]] == ["expert", "contrarian", "pruned"]
    assert drawn["nodes"][0][2] > drawn["nodes"][1][2] > drawn["nodes"][2][2]
    assert drawn["ties"] == [[0, 7.0, 1], [1, pytest.approx(4.2, abs=0.1), -1]]
    assert drawn["links"][0][2] > drawn["links"][1][2]
    assert [link[3] for link in drawn["links"]] == [-1, 1]
    x, y, width, height = map(float, charts.frame_graph(drawn["nodes"]).split())
    assert x < -100
    assert y + height > 200
    assert width == height


def test_many_links_are_drawn_thinner():
    def widest(n):
        links = [[0, 1, 1.0]] * n
        graph = {"places": [[0, 9], [9, 0]], "ties": [1, 1], "counted": [True] * 2, "links": links}
        return charts.draw_graph(graph)["links"][0][2]

    assert widest(10) > widest(500) > widest(1500) > 0.5


def test_a_crowd_without_weights_is_drawn_too():
    graph = {"places": [[0.0, 9.0]], "ties": [0.0], "counted": [False], "links": []}
    assert charts.draw_graph(graph)["nodes"] == [[0.0, 9.0, charts.PRUNED_SIZE, "pruned"]]
    assert np.isfinite([float(x) for x in charts.frame_graph([]).split()]).all()
