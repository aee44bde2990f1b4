import numpy as np
import pytest

from latent.worlds import ballots_of
from unelisa.latent.edges import EdgesReading, Hub
from unelisa.latent.reading import Correction, Links

VALUES = np.array([[1, -1, 0], [0, 0, 0], [-1, 1, 1], [0, 0, -1]], dtype=np.int8)
PRIOR = np.array([0.0, 1.0, -2.0, 0.5])
NONE = Links(np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32), np.empty(0))


def graph(weights, field=0.2, experts=(False, False, False)):
    """A graph's reading with these ties to the truth."""
    weights = np.array(weights)
    n_voters = len(weights)
    return EdgesReading(
        structure="edges",
        model=Hub(weights, weights * 0, np.zeros(n_voters), field, NONE),
        experts=np.array(experts),
        heads=np.arange(n_voters, dtype=np.int32),
        family=np.full(n_voters, -1, dtype=np.int32),
        correction=Correction.none(2, n_voters),
    )


def test_a_graph_scores_by_the_ties_to_the_truth():
    """2 (theta_0 + z / 2 + sum_s a_s f_s)."""
    said = np.array([0.8, 0, -0.5 - 0.3 + 1.0, -1.0])
    found = graph([0.5, -0.3, 1.0]).score(ballots_of(VALUES, PRIOR))
    assert found == pytest.approx(2 * (0.2 + PRIOR / 2 + said))


def test_a_turned_graph_says_the_opposite():
    reading, ballots = graph([0.5, -0.3, 1.0]), ballots_of(VALUES)
    assert reading.turned().score(ballots) == pytest.approx(-reading.score(ballots))
    assert reading.turned().field == -0.2


def test_most_experts_say_which_side_is_up():
    assert not graph([0.5, -0.3, 1.0]).needs_turning()
    assert graph([-0.5, 0.3, -1.0]).needs_turning()
    assert graph([0.5, -0.3, 1.0], experts=(False, True, False)).needs_turning()
    assert graph([0.5, -0.3, 1.0]).sign_is_open
