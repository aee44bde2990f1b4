import numpy as np
import pytest

from latent.worlds import ballots_of, run_of
from unelisa.latent.edges.reading import EdgesReading, Hub, score_edges
from unelisa.latent.reading import Links

VALUES = np.array([[1, -1, 0], [0, 0, 0], [-1, 1, 1], [0, 0, -1]], dtype=np.int8)
PRIOR = np.array([0.0, 1.0, -2.0, 0.5])


def graph(weights, field=0.2, experts=(False, False, False)):
    """A graph's reading with these ties to the truth."""
    weights = np.array(weights)
    hub = Hub(weights, weights * 0, np.zeros(len(weights)), field, Links.none())
    silent = np.zeros(len(weights), dtype=np.int8)
    return EdgesReading(
        structure="edges",
        model=hub,
        experts=np.array(experts),
        silence=silent,
        family=np.full(len(weights), -1),
        branches=len(weights),
    )


def test_a_graph_scores_by_the_ties_to_the_truth():
    """2 (theta_0 + z / 2 + sum_s a_s f_s)."""
    reading, by_hand = (
        graph([0.5, -0.3, 1.0]),
        2 * (0.2 + PRIOR / 2 + np.array([0.8, 0, -0.5 - 0.3 + 1.0, -1.0])),
    )
    ballots = ballots_of(VALUES, PRIOR)
    assert reading.score(ballots) == pytest.approx(by_hand)
    run = run_of(VALUES, PRIOR)
    assert score_edges(run, np.array([0.5, -0.3, 1.0]), 0.2) == pytest.approx(by_hand)


def test_a_turned_graph_says_the_opposite():
    reading, ballots = graph([0.5, -0.3, 1.0]), ballots_of(VALUES)
    assert reading.turned().score(ballots) == pytest.approx(-reading.score(ballots))
    assert reading.turned().field == -0.2


def test_the_sign_comes_from_the_prior_or_else_from_most_experts():
    ballots, nothing = ballots_of(VALUES), np.zeros(4)
    reading = graph([0.5, -0.3, 1.0])
    odds = reading.score(ballots)
    assert not reading.is_upside_down(ballots, odds)
    assert reading.is_upside_down(ballots, -odds)
    assert not reading.is_upside_down(ballots, nothing)
    assert graph([-0.5, 0.3, -1.0]).is_upside_down(ballots, nothing)
    assert graph([0.5, -0.3, 1.0], experts=(False, True, False)).is_upside_down(ballots, nothing)
    assert reading.sign_is_open
