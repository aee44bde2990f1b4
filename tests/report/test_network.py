import numpy as np

from unelisa.aggregators import MajorityVote, UnElisa
from unelisa.report.network import Network
from unelisa.simulation import figure_2_1


def test_a_fitted_model_gives_ties_of_experts_and_links_of_all(crowd):
    model = UnElisa(random_state=0).fit(crowd[0])
    network = Network.of_model(model)
    assert np.flatnonzero(network.counted).tolist() == model.experts_.tolist()
    assert (network.weights[~network.counted] == 0).all()
    assert len(network.links) == len(model.graph_.edges)
    sizes = [abs(weight) for _, _, weight in network.links]
    assert sizes == sorted(sizes, reverse=True)


def test_a_method_without_a_graph_has_no_links(crowd):
    assert Network.of_model(MajorityVote().fit(crowd[0])).links == []


def test_neighbors_are_mutual():
    neighbors = Network.of_ising(figure_2_1()).neighbors()
    assert {t for t, _ in neighbors[0]} == {5, 6}
    for s, near in enumerate(neighbors):
        assert all(s in {back for back, _ in neighbors[t]} for t, _ in near)
