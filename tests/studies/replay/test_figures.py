import pytest

from studies.replay.figures import draw_curves, mean_curve
from studies.replay.policies import POLICIES


def row(policy, seed):
    curve = [[100, 0.6, 0.5], [200, 0.7 + 0.1 * seed, 0.4]]
    at_end = {"items": 100, "voters": 5, "whole": [500, 0.9, 0.1]}
    return {"set": "toy", "policy": policy, "seed": seed, "curve": curve, **at_end}


def test_curves_are_means_over_the_seeds():
    votes, heights = mean_curve([row("ours", 0), row("ours", 1)])
    assert votes == [1.0, 2.0]
    assert heights == pytest.approx([0.6, 0.75])


def test_every_policy_has_a_line_with_a_name():
    pytest.importorskip("matplotlib")
    figure = draw_curves([row(policy, 0) for policy in POLICIES])
    lines = [line.get_label() for line in figure.axes[0].get_lines()]
    assert lines[: len(POLICIES)] == list(POLICIES)
