import numpy as np
import pytest
from scipy.spatial.distance import pdist

from unelisa.report import drawing
from unelisa.report.drawing import DARKEST, draw_confusion, draw_shares, place_voters, share_rings
from unelisa.report.voters import Network


def test_bars_stand_in_the_frame_and_points_within_whiskers():
    histogram = {"kind": "probability", "counts": [1, 0, 10_000], "edges": [0, 0.05, 0.95, 1]}
    low, none, high = drawing.draw_bars(histogram)
    panel = drawing.PANEL
    assert low["height"] > 1
    assert none["height"] == 0
    assert high["y"] == panel.top
    assert high["y"] + high["height"] == panel.height - panel.bottom
    assert [bar["sure"] for bar in (low, none, high)] == [True, False, True]
    wide = drawing.fit_panel("36,638")  # the left margin holds a long count
    assert wide.left > panel.left == drawing.fit_panel("12").left
    assert drawing.draw_bars(histogram, wide)[0]["x"] > wide.left
    bins = [{"n": 5, "mean": 0.3, "share": 0.4, "low": 0.1, "high": 0.8}]
    point = drawing.draw_calibration(bins)[0]
    assert point["high"] < point["y"] < point["low"]  # y points down


@pytest.mark.parametrize(
    ("kind", "edges", "sure"),
    [
        ("score", [-1.0, 0.0, 0.5, 1.0], [False, False, False]),
        ("ease", [0.0, 0.4, 0.5, 1.6], [False, False, True]),
        ("confidence", [0.0, 0.9, 0.95, 1.0], [False, False, True]),
    ],
)
def test_decided_items_are_marked_and_so_are_those_that_are_not_hard(kind, edges, sure):
    bars = drawing.draw_bars({"kind": kind, "counts": [1, 2, 3], "edges": edges})
    assert [bar["sure"] for bar in bars] == sure


def test_graphs_show_strength_side_and_role_also_of_many():
    graph = {
        "places": [[0, -100], [100, 0], [0, 200]],
        "ties": [2.0, -1.0, 0.0],
        "roles": ["expert", "contrarian", "pruned"],
        "families": [],
        "alone": [],
        "links": [[0, 1, -0.5], [1, 2, 0.1]],
    }
    drawn = drawing.draw_graph(graph)
    assert [node[3] for node in drawn["nodes"]] == ["expert", "contrarian", "pruned"]
    assert drawn["nodes"][0][2] > drawn["nodes"][1][2] > drawn["nodes"][2][2]
    assert drawn["ties"] == [[0, 7.0, 1], [1, pytest.approx(4.2, abs=0.1), -1]]
    assert drawn["links"][0][2] > drawn["links"][1][2]
    assert [link[3] for link in drawn["links"]] == [-1, 1]
    x, y, width, height = map(float, drawing.frame_graph(drawn["nodes"]).split())
    assert x < -100
    assert y + height > 200
    assert width == height

    def widest(n):
        links = [[0, 1, 1.0]] * n
        roles = {"roles": ["expert"] * 2, "families": [], "alone": []}
        graph = {"places": [[0, 9], [9, 0]], "ties": [1, 1], **roles, "links": links}
        return drawing.draw_graph(graph)["links"][0][2]

    assert widest(10) > widest(500) > widest(1500) > 0.5
    graph = {"places": [[0.0, 9.0]], "ties": [0.0], "roles": ["pruned"]}
    graph |= {"links": [], "families": [], "alone": []}
    assert drawing.draw_graph(graph)["nodes"] == [[0.0, 9.0, drawing.PRUNED_SIZE, "pruned"]]
    assert np.isfinite([float(x) for x in drawing.frame_graph([]).split()]).all()


def _network(n, n_experts, n_links=0, seed=0):
    rng = np.random.default_rng(seed)
    counted = np.arange(n) < n_experts
    weights = np.where(counted, rng.normal(size=n), 0.0)
    pairs = rng.integers(0, n, (n_links, 2))
    links = [(int(s), int(t), 1.0) for s, t in pairs if s != t]
    return Network([f"v{s}" for s in range(n)], weights, _roles(weights), links)


def _roles(weights):
    words = {-1: "contrarian", 0: "pruned", 1: "expert"}
    return [words[int(np.sign(weight))] for weight in weights]


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
    places = place_voters(_network(n, n // 5, n))
    assert np.abs(places).max() < (350 if n == 10 else 800)
    assert np.array_equal(places, place_voters(_network(n, n // 5, n)))  # always the same


def test_experts_go_around_by_weight_with_pruned_voters_beside_them():
    weights = np.array([0.5, -1.0, 2.0, -3.0, 1.0])
    places = place_voters(Network(list("abcde"), weights, _roles(weights), []))
    clockwise = np.mod(np.arctan2(places[:, 0], -places[:, 1]), 2 * np.pi)
    assert np.argsort(clockwise).tolist() == [2, 4, 0, 3, 1]
    weights = np.array([2.0, 1.5, 1.0, 0.5, 0.0, 0.0])
    links = [(4, 0, 1.0), (5, 2, 1.0)]
    places = place_voters(Network(list("abcdef"), weights, _roles(weights), links))
    near = [np.linalg.norm(places[:4] - places[s], axis=1).argmin() for s in (4, 5)]
    assert near == [0, 2]
    places = place_voters(_network(75, 75, 400))
    angles = np.sort(np.arctan2(*places.T))
    assert np.diff(angles).min() >= 0.49 * 2 * np.pi / 75


@pytest.mark.parametrize("n", [0, 1, 8, 40, 299])
def test_rings_hold_everybody(n):
    rings = share_rings(n, 100, 50, 60, 1.5)
    assert sum(size for _, size in rings) == n
    for radius, size in rings:
        assert 2 * np.pi * radius / size > 50


def _family_network(sizes, alone, seed=0):
    rng = np.random.default_rng(seed)
    families, first = [], 0
    for size in sizes:
        families.append(list(range(first, first + size)))
        first += size
    n = first + alone
    weights = rng.uniform(0.2, 1.0, n)
    for kin in families:
        kin.sort(key=lambda s: -weights[s])
    roles = ["counted"] * n
    return Network([f"v{s}" for s in range(n)], weights, roles, [], families)


def _draw(network):
    return drawing.draw_graph(drawing.describe_graph(network, range(len(network.names))))


@pytest.mark.parametrize("sizes", [[2], [6, 4, 3], [2] * 12, [40, 2]])
def test_a_family_stands_together_behind_its_arc(sizes):
    network = _family_network(sizes, 6)
    places, drawn = place_voters(network), _draw(network)
    assert pdist(places).min() > 24
    clockwise = np.mod(np.arctan2(places[:, 0], -places[:, 1]), 2 * np.pi).argsort().tolist()
    assert len(drawn["families"]) == len(sizes)
    for kin, family in zip(network.families, drawn["families"], strict=True):
        seats = sorted(clockwise.index(s) for s in kin)
        assert seats == list(range(seats[0], seats[0] + len(kin)))
        radius = np.hypot(*family["hub"])
        assert radius < np.hypot(*places[kin].T).min() - 30
        assert radius > drawing.TRUTH_SIZE / 2 + drawing.HUB_SIZE
        assert np.hypot(*np.array(family["arc"]).T) == pytest.approx(radius, abs=0.2)
        for s, x, y in family["stems"]:  # each stem points from the truth to its voter
            far = np.hypot(*places[s])
            assert np.array([x, y]) == pytest.approx(places[s] * radius / far, abs=0.5)
    tied = {voter for voter, *_ in drawn["ties"]}
    assert tied == set(range(sum(sizes), sum(sizes) + 6))


def test_arcs_of_families_do_not_meet():
    drawn = _draw(_family_network([5, 5, 3, 2], 4))
    arcs = [np.array(family["arc"]) for family in drawn["families"]]
    for k, arc in enumerate(arcs):
        for other in arcs[:k]:
            assert np.linalg.norm(arc[:, None] - other[None], axis=2).min() > 10


def test_many_voters_on_their_own_are_one_node_and_others_stay():
    network = _family_network([8], 192)
    places, drawn = place_voters(network), _draw(network)
    assert len(np.unique(places[8:], axis=0)) == 1
    assert pdist(places[:9]).min() > 24
    assert [k for k, node in enumerate(drawn["nodes"]) if node is not None] == list(range(8))
    assert drawn["ties"] == []
    assert drawn["rest"]["label"] == "192 voters on their own"
    assert drawn["rest"]["place"] == places[8].tolist()
    few = _family_network([8], 12)
    assert _draw(few)["rest"] is None
    assert len(_draw(few)["ties"]) == 12
    network = _network(60, 50)._replace(links=[(0, 1, 1.0), (2, 55, 1.0)])
    apart = np.flatnonzero(~network.alone)
    assert set(apart) == {0, 1, 2, *np.flatnonzero(network.weights <= 0)}
    network = _family_network([3], 4)
    roles = ["uninformative"] * 3 + ["counted"] * 4
    network = network._replace(roles=roles, weights=np.where(np.arange(7) < 3, 0.0, 1.0))
    far = np.hypot(*place_voters(network).T)
    assert far[:3].min() > far[3:].max() + 50
    assert _draw(network)["families"] == []


def test_bars_and_cells_of_classes_show_their_shares():
    shares = [
        {"label": "cat", "labeled": 30, "prevalence": 0.4},
        {"label": "dog", "labeled": 10, "prevalence": 0.6},
    ]
    drawn = draw_shares(shares, 40)
    first, second = drawn["bars"]
    assert first["width"] == pytest.approx(3 * second["width"], abs=0.2)
    assert first["mark"] - drawn["left"] == pytest.approx(0.4 / 0.75 * first["width"], abs=0.2)
    assert drawn["left"] + first["width"] <= drawn["width"]
    alone = draw_shares([{**one, "labeled": None} for one in shares], None)["bars"]
    assert [bar["share"] for bar in alone] == [0.4, 0.6]
    drawn = draw_confusion(
        [[0.5, 0.5, 0], [0, 1, 0], [0, 0, 0]], ["a", "b", "a long name of a class"]
    )
    cells = drawn["cells"]
    assert len({(cell["x"], cell["y"]) for cell in cells}) == 9
    assert max(cell["x"] + drawn["size"] for cell in cells) <= drawn["side"]
    assert [cell["wrong"] for cell in cells[:4]] == [False, True, True, True]
    assert [cell["shade"] for cell in cells[3:6]] == [0, DARKEST, 0]
    assert [cell["share"] for cell in cells[6:]] == [0, 0, 0]
    many = draw_confusion(np.eye(24).tolist(), list(range(24)))
    assert not many["written"]
