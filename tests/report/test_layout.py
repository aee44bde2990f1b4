import numpy as np
import pytest
from scipy.spatial.distance import pdist

from unelisa.report.layout import place_voters, share_rings
from unelisa.report.network import Network


def _network(n, n_experts, n_links=0, seed=0):
    rng = np.random.default_rng(seed)
    counted = np.arange(n) < n_experts
    weights = np.where(counted, rng.normal(size=n), 0.0)
    pairs = rng.integers(0, n, (n_links, 2))
    links = [(int(s), int(t), 1.0) for s, t in pairs if s != t]
    return Network([f"v{s}" for s in range(n)], weights, counted, links)


@pytest.mark.parametrize(("n", "d0"), [(1, 0), (1, 1), (10, 5), (25, 7), (80, 21), (300, 75)])
def test_nobody_covers_anybody_and_experts_are_nearer_to_the_truth(n, d0):
    network = _network(n, d0, 2 * n)
    places = place_voters(network)
    if n > 1:
        assert pdist(places).min() > 24
    far = np.hypot(*places.T)
    assert far.min() > 100
    if 0 < d0 < n:
        assert far[:d0].max() < far[d0:].min() - 50


@pytest.mark.parametrize("n", [10, 300])
def test_the_picture_fits_a_screen_in_pixels_of_its_own(n):
    reach = np.abs(place_voters(_network(n, n // 5, n))).max()
    assert reach < (350 if n == 10 else 800)


def test_the_same_crowd_has_the_same_picture():
    assert (place_voters(_network(60, 9, 90)) == place_voters(_network(60, 9, 90))).all()


def test_ties_to_the_truth_do_not_run_through_voters():
    places = place_voters(_network(75, 75))
    angles = np.sort(np.arctan2(*places.T))
    assert np.diff(angles).min() >= 0.49 * 2 * np.pi / 75


def test_experts_go_around_by_weight_and_contrarians_stand_together():
    weights = np.array([0.5, -1.0, 2.0, -3.0, 1.0])
    places = place_voters(Network(list("abcde"), weights, weights != 0, []))
    clockwise = np.mod(np.arctan2(places[:, 0], -places[:, 1]), 2 * np.pi)
    assert np.argsort(clockwise).tolist() == [2, 4, 0, 3, 1]


def test_a_pruned_voter_stands_by_its_expert():
    weights = np.array([2.0, 1.5, 1.0, 0.5, 0.0, 0.0])
    links = [(4, 0, 1.0), (5, 2, 1.0)]
    places = place_voters(Network(list("abcdef"), weights, weights != 0, links))
    near = [np.linalg.norm(places[:4] - places[s], axis=1).argmin() for s in (4, 5)]
    assert near == [0, 2]


@pytest.mark.parametrize("n", [0, 1, 8, 40, 299])
def test_rings_hold_everybody(n):
    rings = share_rings(n, 100, 50, 60, 1.5)
    assert sum(size for _, size in rings) == n
    for radius, size in rings:
        assert 2 * np.pi * radius / size > 50
