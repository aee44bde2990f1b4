import itertools
import tracemalloc

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_sampling
from small_models import SEEDS, random_ising, star, with_edges
from unelisa.errors import ModelError, VotesError
from unelisa.memory import limit_memory
from unelisa.paper.ising import MAX_NODES, Ising, VoterGraph


def all_votes(p):
    return np.array(list(itertools.product((-1, 1), repeat=p)), dtype=np.int8)


def cell(votes):
    """The index of a state in a tensor of probabilities."""
    return tuple((np.asarray(votes) + 1) // 2)


# --- the distribution -------------------------------------------------------------------------


@given(st.integers(1, 5), SEEDS)
@settings(deadline=None, max_examples=30)
def test_joint_equals_the_naive_enumeration(p, seed):
    model = random_ising(p, seed)
    joint = model.joint()
    for state, chance in naive_sampling.joint(model.fields, model.edges).items():
        assert joint[cell(state)] == pytest.approx(chance, abs=1e-13)


@given(st.integers(1, 6), SEEDS)
@settings(deadline=None, max_examples=30)
def test_marginal_and_partition_follow_from_the_joint(p, seed):
    model = random_ising(p, seed)
    np.testing.assert_allclose(model.marginal(), model.joint().sum(axis=0), atol=1e-14)
    state = np.ones(p + 1)
    log_chance = naive_sampling.energy(state, model.fields, model.edges) - model.log_partition()
    assert np.log(model.joint()[cell(state.astype(int))]) == pytest.approx(log_chance, abs=1e-10)


def test_strong_edges_do_not_overflow_and_too_many_voters_are_refused():
    joint = star(3, weight=400.0).joint()
    assert joint[0, 0, 0, 0] == pytest.approx(0.5)
    assert joint.sum() == pytest.approx(1.0)
    big = Ising(0.0, np.zeros((MAX_NODES + 2, MAX_NODES + 2)))
    for call in (big.joint, big.marginal):
        with pytest.raises(ModelError, match="limited to 22 nodes, found"):
            call()
    edges = np.zeros((201, 201))
    edges[0, 1:] = edges[1:, 0] = 1.0
    chances = Ising(0.0, edges).conditional(np.ones((1, 200), dtype=np.int8), 0)
    assert chances == pytest.approx(1 / (1 + np.exp(-2.0)))


@given(st.integers(1, 5), SEEDS)
@settings(deadline=None, max_examples=40)
def test_conditional_equals_the_enumeration(p, seed):
    model = random_ising(p, seed)
    marginal, votes = model.marginal(), all_votes(p)
    for s in range(p):
        up, down = votes.copy(), votes.copy()
        up[:, s], down[:, s] = 1, -1
        ups = np.array([marginal[cell(row)] for row in up])
        downs = np.array([marginal[cell(row)] for row in down])
        np.testing.assert_allclose(
            model.conditional(votes, s), ups / (ups + downs), rtol=0, atol=1e-12
        )


def test_conditionals_are_the_printed_ones_of_the_other_votes():
    model = with_edges(5, {(0, 1): 1.0, (0, 2): -0.7, (1, 3): 0.5, (3, 4): -0.4}, field=0.3)
    votes = all_votes(4).astype(float)
    odds = model.conditional(votes, 2) / (1 - model.conditional(votes, 2))
    np.testing.assert_allclose(odds, np.exp(2 * (0.5 * votes[:, 0] - 0.4 * votes[:, 3])))  # (3.1)
    odds = model.conditional(votes, 0) / (1 - model.conditional(votes, 0))
    rest = 0.3 - 0.7 * votes[:, 1]
    printed = np.exp(2 * 0.5 * votes[:, 2]) * np.cosh(1.0 + rest) / np.cosh(rest - 1.0)  # (3.2)
    np.testing.assert_allclose(odds, printed)
    model = random_ising(4, 1)
    votes = all_votes(4)
    silent = votes.copy()
    silent[:, 2] = 0
    np.testing.assert_array_equal(model.conditional(votes, 2), model.conditional(silent, 2))
    with pytest.raises(VotesError, match="found missing ones"):
        model.conditional(silent, 1)
    with pytest.raises(ModelError, match=r"in 0\.\.3, found 4"):
        model.conditional(votes, 4)


# --- the Bayes rule ---------------------------------------------------------------------------


@given(st.integers(1, 5), SEEDS)
@settings(deadline=None, max_examples=30)
def test_posterior_is_exact_whatever_the_edges(p, seed):
    model = random_ising(p, seed)
    joint, votes = model.joint(), all_votes(p)
    up = np.array([joint[(1, *cell(row))] for row in votes])
    down = np.array([joint[(0, *cell(row))] for row in votes])
    np.testing.assert_allclose(model.posterior(votes), up / (up + down), atol=1e-12)
    np.testing.assert_array_equal(model.decision(votes), np.where(up >= down, 1, -1))


@given(st.integers(2, 8), SEEDS)
@settings(deadline=None, max_examples=30)
def test_flipping_all_votes_and_the_field_flips_the_posterior(p, seed):
    model = random_ising(p, seed)
    votes = np.random.default_rng(seed).integers(-1, 2, (20, p)).astype(np.int8)
    mirrored = Ising(-model.fields, model.edges)
    np.testing.assert_allclose(mirrored.posterior(-votes), 1 - model.posterior(votes), atol=1e-12)


def marginal_posterior(model, votes):
    """P(f_0 = +1 | the votes cast), the abstained summed out."""
    joint = model.joint()
    spots = tuple(slice(None) if f == 0 else (f + 1) // 2 for f in votes)
    return joint[(1, *spots)].sum() / (joint[(0, *spots)].sum() + joint[(1, *spots)].sum())


def test_abstaining_adds_nothing_which_is_bayes_only_without_edges_through_the_abstainer():
    lone = star(3, 0.8, field=0.2)
    assert lone.posterior([[1, 0, -1]])[0] == pytest.approx(marginal_posterior(lone, (1, 0, -1)))
    joined = with_edges(4, {(0, 1): 0.8, (0, 2): 0.8, (2, 3): 0.8})
    exact = marginal_posterior(joined, (1, 0, -1))
    assert abs(joined.posterior([[1, 0, -1]])[0] - exact) > 0.1


def test_a_tie_is_decided_positive():
    assert star(2).decision([[1, -1], [0, 0]]).tolist() == [1, 1]
    assert star(2).decision([[1, -1]]).dtype == np.int8


def test_deciding_makes_no_wide_copy_of_the_votes():
    votes = np.ones((200_000, 50), dtype=np.int8, order="F")
    model = star(50)
    tracemalloc.start()
    try:
        model.posterior(votes)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * votes.nbytes  # a float64 copy would be 8 times the votes


@pytest.mark.parametrize(
    "votes", [[[1, 2]], [[1.0, np.nan]], [[0.5, 1]], [["1", "1"]], [[1, 1, 1]], [1, 1]]
)
def test_what_are_not_votes_is_rejected(votes):
    with pytest.raises(VotesError, match="votes must be"):
        star(2).posterior(votes)


def test_prevalence_is_the_sigmoid_of_the_field_only_without_voter_fields():
    edges = {(0, 1): 1.0, (0, 2): -0.7, (1, 2): 0.6, (2, 3): 0.5}
    plain = with_edges(4, edges, field=0.4)
    assert plain.joint()[1].sum() == pytest.approx(1 / (1 + np.exp(-0.8)))
    tilted = with_edges(4, edges, field=[0.4, 0.5, 0.5, 0.5])
    assert abs(tilted.joint()[1].sum() - 1 / (1 + np.exp(-0.8))) > 0.02


def test_pair_moments_are_hyperbolic_tangents_on_trees_only():
    tree = {(0, 1): 0.9, (1, 2): 0.7, (1, 3): -0.5, (3, 4): 1.1}
    for (r, t), weight in tree.items():
        moments = naive_sampling.pair_moments(np.zeros(5), with_edges(5, tree).edges)[0]
        assert moments[r, t] == pytest.approx(np.tanh(weight))
    triangle = with_edges(3, {(0, 1): 0.9, (1, 2): 0.7, (0, 2): 0.5})
    moments = naive_sampling.pair_moments(np.zeros(3), triangle.edges)[0]
    assert moments[0, 1] - np.tanh(0.9) > 0.05


def test_leaving_non_experts_out_couples_the_experts():
    """(G3) promises independence of the experts given the truth; it holds given the others too."""
    model = with_edges(4, {(0, 1): 1.0, (0, 2): 1.0, (1, 3): 0.8, (2, 3): 0.8})
    given_truth = model.joint()[1] / model.joint()[1].sum()
    experts = given_truth.sum(axis=2)
    product = np.outer(experts.sum(axis=1), experts.sum(axis=0))
    assert experts[0, 0] > 3 * product[0, 0]  # both wrong together: .016 against .004
    both = given_truth[:, :, 1] / given_truth[:, :, 1].sum()
    np.testing.assert_allclose(both, np.outer(both.sum(axis=1), both.sum(axis=0)), atol=1e-12)


# --- the graph --------------------------------------------------------------------------------


def test_neighborhoods_and_violated_conditions_are_named():
    model = with_edges(5, {(0, 1): 1, (0, 3): -1, (1, 2): 0.5, (2, 4): 0.5})
    assert model.n_voters == 4
    assert [hood.tolist() for hood in model.neighborhoods] == [[1, 3], [0, 2], [1, 4], [0], [2]]
    assert model.degrees.tolist() == [2, 2, 2, 1, 1]
    assert model.experts.tolist() == [0, 2]
    hoods = [hood.tolist() for hood in model.effective_neighborhoods]
    assert hoods == [[1, 2], [0, 3], [0], [1]]
    assert star(3, field=0.7).fields.tolist() == [0.7, 0, 0, 0]
    model = with_edges(5, {(0, 1): 1, (0, 2): 1, (0, 3): 1, (1, 2): 0.5, (3, 4): 0.5})
    result = model.identifiable()
    assert not result
    assert [(v.condition, v.node) for v in result.violations] == [
        ("G1", 1),
        ("G1", 2),
        ("G1", 3),
        ("G3", 1),
    ]
    assert result.violations[0].sentence == "f_1 has degree 2, (G1) allows at most d_0 - 2 = 1."
    assert "f_1 and f_2 are both experts" in result.violations[-1].sentence


@pytest.mark.parametrize("d0", [2, 3, 4])
def test_a_star_is_identifiable_from_three_experts_on(d0):
    assert bool(star(d0).identifiable()) == (d0 >= 3)


@given(st.integers(2, 6), SEEDS)
@settings(deadline=None, max_examples=20)
def test_non_experts_say_nothing_once_the_experts_have_spoken(p, seed):
    """(G2) holds for every model of the class, so it is never among the violations."""
    model = random_ising(p, seed)
    votes, others = all_votes(p), np.setdiff1d(np.arange(p), model.experts)
    turned = votes.copy()
    turned[:, others] *= -1
    np.testing.assert_array_equal(model.posterior(votes), model.posterior(turned))
    assert "G2" not in {v.condition for v in model.identifiable().violations}


@given(st.integers(2, 8), SEEDS)
@settings(deadline=None, max_examples=30)
def test_permuting_voters_permutes_experts(p, seed):
    model = random_ising(p, seed)
    order = np.random.default_rng(seed).permutation(p)
    nodes = np.concatenate([[0], order + 1])
    permuted = Ising(model.fields[nodes], model.edges[np.ix_(nodes, nodes)])
    assert set(order[permuted.experts]) == set(model.experts)
    assert bool(permuted.identifiable()) == bool(model.identifiable())


# --- the border -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "edges", "message"),
    [
        (0.0, np.zeros((2, 3)), "found shape"),
        (0.0, np.zeros(4), "found shape"),
        (0.0, np.zeros((1, 1)), "found shape"),
        (0.0, [[0, 1], [2, 0]], "symmetric"),
        (0.0, [[1, 0], [0, 0]], "zero diagonal"),
        (0.0, [[0, np.nan], [np.nan, 0]], "finite"),
        (0.0, [[0, np.inf], [np.inf, 0]], "finite"),
        (np.nan, np.zeros((3, 3)), "one finite number"),
        ([0.0, 1.0], np.zeros((3, 3)), "each of 3 nodes"),
    ],
)
def test_contradictory_models_are_rejected(field, edges, message):
    with pytest.raises(ModelError, match=message):
        Ising(field, edges)


def test_a_model_cannot_be_changed():
    given_edges = np.zeros((3, 3))
    model = Ising(0.0, given_edges)
    given_edges[0, 1] = 1.0
    assert not model.edges.any()
    with pytest.raises(ValueError, match="read-only"):
        model.edges[0, 1] = 1.0
    with pytest.raises(AttributeError):
        model.fields = np.zeros(3)


NODEWISE = np.array([[0.0, 0.5, 0.0], [0.3, 0.0, -0.4], [0.0, 0.0, 0.0]])


def test_either_keeps_what_one_side_selects_and_both_needs_two():
    either, both = VoterGraph.of(NODEWISE, "either"), VoterGraph.of(NODEWISE, "both")
    assert either.edges == [(0, 1, 0.4), (1, 2, -0.2)]
    assert both.edges == [(0, 1, 0.4)]


def test_a_graph_is_symmetric_made_of_its_edges_and_bounded_by_memory():
    graph = VoterGraph.of(NODEWISE + np.eye(3))
    assert np.array_equal(graph.weights, graph.weights.T)
    assert not graph.adjacency.diagonal().any()
    assert graph.degrees.tolist() == [1, 2, 1]
    assert graph.neighbors(1).tolist() == [0, 2]
    assert repr(graph) == "VoterGraph(3 voters, 2 edges)"
    graph = VoterGraph.of(NODEWISE)
    again = VoterGraph.of_edges(graph.edges, 3)
    assert np.array_equal(again.weights, graph.weights)
    assert np.array_equal(again.adjacency, graph.adjacency)
    with limit_memory("100MB"), pytest.raises(ModelError, match="graph of 4,000 voters as matri"):
        VoterGraph.of_edges([], 4000)
    graph = VoterGraph.of(NODEWISE).to_networkx(["ann", "bob", "eve"])
    assert isinstance(graph, networkx.Graph)
    assert graph["ann"]["bob"]["weight"] == 0.4
    assert set(graph) == {"ann", "bob", "eve"}
