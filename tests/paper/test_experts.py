from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import naive
from unelisa.paper.experts import ExpertSelector, select_experts, split_polarity
from unelisa.paper.ising import VoterGraph
from unelisa.simulation.designs import figure_2_1, simulate_votes
from unelisa.votes import Votes


@pytest.fixture(scope="module")
def simulated():
    return simulate_votes(n_voters=25, n_experts=5, snr="high", random_state=1)


@pytest.fixture(scope="module")
def selector(simulated):
    return ExpertSelector(random_state=0).fit(simulated.votes)


def test_the_models_experts_are_kept_in_any_table(simulated, selector):
    assert selector.experts_.tolist() == simulated.experts.tolist()
    true = np.sign(simulated.model.edges[0, 1:])
    assert np.array_equal(selector.polarity_, true)
    kept = selector.transform(simulated.votes)
    assert isinstance(kept, Votes)
    assert np.array_equal(kept.values, simulated.votes.values[:, simulated.experts])
    assert np.array_equal(selector.transform(simulated.votes.values), kept.values)
    assert selector.get_support(indices=True).tolist() == simulated.experts.tolist()
    named = Votes.of_values(
        simulated.votes.values[:50],
        np.array([f"i{i:02d}" for i in range(50)], dtype=object),
        np.array([f"w{s:02d}" for s in range(25)], dtype=object),
    )
    fitted = ExpertSelector(random_state=0).fit(
        Votes.of_values(simulated.votes.values, simulated.votes.items, named.voters)
    )
    wide = pd.DataFrame(named.values, index=named.items, columns=named.voters)
    long = wide.reset_index(names="item").melt("item", var_name="voter", value_name="vote")
    kept = fitted.transform(long)
    assert isinstance(kept, Votes)
    assert kept.voters.tolist() == named.voters[fitted.experts_].tolist()
    assert np.array_equal(kept.values, named.values[:, fitted.experts_])


SQUARES = hnp.arrays(
    np.float64, st.integers(1, 9).map(lambda p: (p, p)), elements=st.sampled_from([0.0, 0.0, 1.0])
)


def graph_of(neighborhoods):
    weights = np.zeros((len(neighborhoods), len(neighborhoods)))
    for s, mine in enumerate(neighborhoods):
        weights[s, list(mine)] = 1.0
    return VoterGraph.of(weights)


def test_an_empty_neighborhood_is_no_knot():
    model = figure_2_1()
    selection = select_experts(graph_of(model.effective_neighborhoods))
    assert selection.experts.tolist() == [0, 1, 2, 3, 4]
    selection = select_experts(VoterGraph.of(np.zeros((4, 4))))
    assert len(selection.experts) == 0
    assert not selection.knots.any()


@given(SQUARES, st.integers(0, 1000))
def test_theorem_3_3_with_sets(nodewise, seed):
    graph = VoterGraph.of(nodewise)
    voters = np.random.default_rng(seed).permutation(graph.n_voters)
    selection = select_experts(graph, voters)
    neighborhoods = [set(graph.neighbors(s).tolist()) for s in range(graph.n_voters)]
    assert np.flatnonzero(selection.knots).tolist() == naive.knots(neighborhoods)
    order = np.argsort(selection.ranks).tolist()
    assert selection.experts.tolist() == naive.experts(neighborhoods, order)


def pairs_of_strength(*strengths):
    """Separate pairs: every voter is a knot of degree 1, so ranks 1 and 2 are kept."""
    return VoterGraph.of(np.kron(np.diag(strengths), np.array([[0.0, 1.0], [1.0, 0.0]])))


def test_ties_are_broken_by_the_neighbors_then_by_the_strength_of_the_edges():
    # two weak triangles that share voter 2, and a strong one
    bowtie = np.zeros((8, 8))
    for voters, edge in (([0, 1, 2], 0.2), ([2, 3, 4], 0.3), ([5, 6, 7], 0.9)):
        bowtie[np.ix_(voters, voters)] = edge
    found = select_experts(VoterGraph.of(bowtie - np.diag(np.diag(bowtie))))
    assert np.argsort(found.ranks).tolist() == [2, 3, 4, 0, 1, 5, 6, 7]
    assert found.experts.tolist() == [2, 3, 4]
    graph = pairs_of_strength(0.3, 0.5, -0.9, 0.2)
    assert select_experts(graph).experts.tolist() == [4, 5]
    assert select_experts(graph, reverse=True).experts.tolist() == [6, 7]


def test_equal_strengths_follow_the_given_order_and_penalties_follow_voters(simulated):
    graph = pairs_of_strength(0.5, 0.5, 0.5)
    assert select_experts(graph, np.array([3, 5, 0, 1, 2, 4])).experts.tolist() == [3, 5]
    assert select_experts(graph).experts.tolist() == [0, 1]
    assert select_experts(graph, reverse=True).experts.tolist() == [4, 5]
    penalties = np.linspace(0.1, 0.3, 25)
    found = ExpertSelector(penalty=penalties).fit(simulated.votes).neighborhoods_
    assert found.penalties.tolist() == penalties.tolist()


@given(SQUARES, st.randoms(use_true_random=False))
def test_permuting_voters_permutes_knots(nodewise, random):
    order = list(range(len(nodewise)))
    random.shuffle(order)
    straight = select_experts(VoterGraph.of(nodewise)).knots
    permuted = select_experts(VoterGraph.of(nodewise[np.ix_(order, order)])).knots
    assert np.array_equal(permuted, straight[order])


@given(st.lists(st.sampled_from([-1, 1]), min_size=2, max_size=9))
def test_polarity_recovers_consistent_signs_with_the_larger_group_positive(signs):
    signs = np.array(signs)
    weights = np.outer(signs, signs).astype(float) - np.eye(len(signs))
    found = split_polarity(VoterGraph.of(weights), np.arange(len(signs)))
    assert abs(int(found @ signs)) == len(signs)
    assert found.sum() >= 0


def test_parts_without_an_edge_between_them_are_split_each_by_itself():
    """The leading eigenvector of all is zero outside one part: rounding must not choose signs."""
    strong, weak = np.array([1, 1, -1]), np.array([-1, 1, 1, 1])
    weights = np.zeros((7, 7))
    weights[:3, :3] = np.outer(strong, strong) - np.eye(3)
    weights[3:, 3:] = 0.1 * (np.outer(weak, weak) - np.eye(4))
    order = np.array([4, 0, 3, 6, 1, 5, 2])
    found = split_polarity(VoterGraph.of(weights[np.ix_(order, order)]), np.arange(7))
    assert found.tolist() == np.concatenate([strong, weak])[order].tolist()


def test_groups_of_equal_weight_are_split_by_the_majority():
    graph = VoterGraph.of(np.array([[0.0, -1.0], [-1.0, 0.0]]))
    for leans in ([5.0, -3.0], [-3.0, 5.0]):
        found = split_polarity(graph, np.arange(2), partial(np.array, leans))
        assert found.tolist() == np.sign(leans).tolist()
    graph = VoterGraph.of(np.zeros((3, 3)))
    assert split_polarity(graph, np.array([], dtype=np.intp)).tolist() == []
    assert split_polarity(graph, np.array([1])).tolist() == [1]


def test_voters_who_discern_nothing_have_no_part_in_the_graph(simulated, selector):
    values = np.insert(simulated.votes.values, 3, 1, axis=1)
    wider = ExpertSelector().fit(Votes.of(np.insert(values, 0, 0, axis=1), coding="pm1"))
    others = [s for s in range(27) if s not in (0, 4)]
    assert np.array_equal(
        wider.neighborhoods_.weights[np.ix_(others, others)], selector.neighborhoods_.weights
    )
    assert wider.graph_.degrees[[0, 4]].tolist() == [0, 0]
    assert [others.index(s) for s in wider.experts_] == selector.experts_.tolist()
