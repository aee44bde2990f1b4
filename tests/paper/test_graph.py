import networkx
import numpy as np
import pytest

from unelisa.errors import ModelError
from unelisa.memory import limit_memory
from unelisa.paper.ising import VoterGraph

NODEWISE = np.array([[0.0, 0.5, 0.0], [0.3, 0.0, -0.4], [0.0, 0.0, 0.0]])


def test_either_keeps_what_one_side_selects_and_both_needs_two():
    either, both = VoterGraph.of(NODEWISE, "either"), VoterGraph.of(NODEWISE, "both")
    assert either.edges == [(0, 1, 0.4), (1, 2, -0.2)]
    assert both.edges == [(0, 1, 0.4)]


def test_the_graph_is_symmetric_without_loops():
    graph = VoterGraph.of(NODEWISE + np.eye(3))
    assert np.array_equal(graph.weights, graph.weights.T)
    assert not graph.adjacency.diagonal().any()
    assert graph.degrees.tolist() == [1, 2, 1]
    assert graph.neighbors(1).tolist() == [0, 2]
    assert repr(graph) == "VoterGraph(3 voters, 2 edges)"


def test_a_graph_is_made_of_its_edges():
    graph = VoterGraph.of(NODEWISE)
    again = VoterGraph.of_edges(graph.edges, 3)
    assert np.array_equal(again.weights, graph.weights)
    assert np.array_equal(again.adjacency, graph.adjacency)


def test_matrices_beyond_the_memory_limit_are_refused():
    with limit_memory("100MB"), pytest.raises(ModelError, match="graph of 4,000 voters as matri"):
        VoterGraph.of_edges([], 4000)


def test_an_unknown_rule_is_refused():
    with pytest.raises(ModelError, match="'either' or 'both', found 'any'"):
        VoterGraph.of(NODEWISE, "any")


def test_networkx_gets_names_and_weights():
    graph = VoterGraph.of(NODEWISE).to_networkx(["ann", "bob", "eve"])
    assert isinstance(graph, networkx.Graph)
    assert graph["ann"]["bob"]["weight"] == 0.4
    assert set(graph) == {"ann", "bob", "eve"}
