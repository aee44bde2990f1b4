from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import naive
import naive_solver
from unelisa.aggregators.confusions import start_from
from unelisa.kernels import tally
from unelisa.paper.solvers.base import pack_bits
from unelisa.votes.ballots import list_ballots, list_votes
from unelisa.votes.blocks import SparseVotes, WholeTable, compare_voters

VOTES = hnp.arrays(
    np.int8,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=8),
    elements=st.sampled_from([-1, 0, 1]),
)


@given(VOTES, st.integers(0, 2**32 - 1))
def test_weighing_and_tallying_equal_the_naive_sums(values, seed):
    rng = np.random.default_rng(seed)
    signed, observed = rng.normal(size=(2, values.shape[1]))
    fast = tally.weigh_votes(np.asfortranarray(values), signed, observed)
    assert fast == pytest.approx(naive.weigh_votes(values, signed, observed), abs=1e-12)
    x = np.random.default_rng(seed).normal(size=values.shape[0])
    fast = tally.tally_votes(np.asfortranarray(values), x)
    slow = naive.tally_votes(values, x)
    assert fast[0] == pytest.approx(slow[0], abs=1e-12)
    assert fast[1] == pytest.approx(slow[1], abs=1e-12)


def test_strided_views_and_single_bits_are_counted():
    values = np.zeros((6, 8), dtype=np.int8)
    values[:, ::2] = 1
    assert tally.weigh_votes(values[::2, ::2], np.ones(4), np.zeros(4)) == pytest.approx([4.0] * 3)
    assert tally.count_ones(np.uint64(0b1011)) == 3
    assert tally.count_ones(np.uint64(2**64 - 1)) == 64


@given(VOTES)
def test_voters_are_compared_as_counted_one_by_one(values):
    counts, met = tally.compare_voters(np.asfortranarray(values))
    yes, no = (values > 0).sum(axis=1), (values < 0).sum(axis=1)
    assert met == np.count_nonzero(yes + no > 1)
    for s, vote in enumerate(values.T):
        expected = [
            np.count_nonzero(vote < 0),
            np.count_nonzero(vote > 0),
            np.count_nonzero((vote != 0) & (yes + no > 1)),
            np.count_nonzero(((vote > 0) & (no > 0)) | ((vote < 0) & (yes > 0))),
        ]
        assert counts[s].tolist() == expected


@given(VOTES, st.integers(0, 2**32 - 1))
def test_sparse_sums_have_the_bits_of_the_tables(values, seed):
    rng = np.random.default_rng(seed)
    table, sparse = np.asfortranarray(values), SparseVotes.of(sp.csr_array(values))
    parts = sparse.starts, sparse.items, sparse.votes
    signed, observed = rng.normal(size=(2, values.shape[1]))
    x = rng.normal(size=len(values))
    weighed = tally.weigh_sparse(*parts, len(values), signed, observed)
    assert np.array_equal(weighed, tally.weigh_votes(table, signed, observed))
    assert np.allclose(
        tally.tally_sparse(*parts, x), tally.tally_votes(table, x), rtol=0, atol=1e-14
    )


@given(
    hnp.arrays(
        np.uint8,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=8),
        elements=st.sampled_from([0, 1, 2, 3, 130]),
    )
)
def test_classes_are_compared_as_the_naive_counts_say(codes):
    counts, met = compare_voters(np.asfortranarray(codes).view(np.int8), 130)
    voted = codes > 0
    for s in range(codes.shape[1]):
        own = codes[voted[:, s]]
        others = np.delete(own, s, axis=1)
        assert counts[s, :130].tolist() == [(own[:, s] == k).sum() for k in range(1, 131)]
        assert counts[s, 130] == (others > 0).any(axis=1).sum()
        assert counts[s, 131] == ((others > 0) & (others != own[:, [s]])).any(axis=1).sum()
    assert met == (voted.sum(axis=1) > 1).sum()
    sparse = SparseVotes.of(sp.csc_array(codes.view(np.int8)))
    again = compare_voters(sparse, 130)
    assert np.array_equal(again[0], counts)
    assert again[1] == met


def votes_of(n_items, n_voters, abstain, seed=0):
    rng = np.random.default_rng(seed)
    votes = rng.choice([-1, 1], size=(n_items, n_voters)).astype(np.int8)
    votes[rng.random(votes.shape) < abstain] = 0
    return np.ascontiguousarray(votes.T)


def packed(votes, low=0, high=None):
    part = votes[:, low:high]
    return pack_bits(part > 0), pack_bits(part != 0)


@pytest.mark.parametrize("n_items", [1, 63, 64, 65, 300])
def test_packed_bits_are_the_votes(n_items):
    votes = votes_of(n_items, 5, 0.3)
    for plane, expected in zip(packed(votes), (votes > 0, votes != 0), strict=True):
        bits = np.unpackbits(plane.view(np.uint8), axis=1, bitorder="little")
        assert np.array_equal(bits[:, :n_items], expected)
        assert not bits[:, n_items:].any()


def test_a_part_of_the_items_is_packed_or_widened_alone():
    votes = votes_of(200, 3, 0.2)
    part = packed(np.ascontiguousarray(votes[:, 70:190]))
    for one, other in zip(packed(votes, 70, 190), part, strict=True):
        assert np.array_equal(one, other)
    votes = votes_of(100, 3, 0.2)
    out = np.full((2, 50), np.nan, np.float32)
    tally.widen_votes(votes, np.array([2, 0]), 20, 60, out)
    assert np.array_equal(out[:, :40], votes[[2, 0], 20:60])
    assert np.isnan(out[:, 40:]).all()


@pytest.mark.parametrize("n_items", [1, 64, 1000])
@pytest.mark.parametrize("n_voters", [1, 3, 4, 9])
def test_agreements_equal_the_matrix_product(n_items, n_voters):
    votes = votes_of(n_items, n_voters, 0.0)
    above, voted = packed(votes)
    expected = np.triu(naive_solver.agreements(votes.T))
    sums = np.zeros((n_voters, n_voters), np.int64)
    for first in range(0, n_voters, 4):
        tally.add_complete(above, n_items, first, min(first + 4, n_voters), sums)
    assert np.array_equal(np.triu(sums), expected)
    again = np.zeros_like(sums)
    tally.add_incomplete(above, voted, 0, n_voters, again)
    assert np.array_equal(np.triu(again), expected)


def test_agreements_count_only_items_on_which_both_voted():
    votes = votes_of(500, 7, 0.4)
    above, voted = packed(votes)
    sums = np.zeros((7, 7), np.int64)
    tally.add_incomplete(above, voted, 0, 7, sums)
    assert np.array_equal(np.triu(sums), np.triu(naive_solver.agreements(votes.T)))


def lists_of(values, first=0, last=None):
    """The lists of a table, as the product asks for them: Fortran order, read-only."""
    table = np.asfortranarray(values, dtype=np.int8).view()
    table.flags.writeable = False
    return list_votes(table, first, len(table) if last is None else last)


def run_of(values):
    return next(iter(list_ballots(WholeTable(np.asfortranarray(values, dtype=np.int8)))))


def draw_table(n_items=40, n_voters=5, seed=0):
    return np.random.default_rng(seed).choice(
        np.array([-1, 0, 1], dtype=np.int8), (n_items, n_voters), p=[0.3, 0.4, 0.3]
    )


def test_lists_are_the_votes_item_by_item_with_voters_rising():
    values = [[0, 1, -1], [0, 0, 0], [1, 0, 1], [-1, 0, 0]]
    starts, voters, votes = lists_of(values)
    assert starts.tolist() == [0, 2, 2, 4, 5]
    assert voters.tolist() == [1, 2, 0, 2, 0]
    assert votes.tolist() == [1, -1, 1, 1, -1]
    assert (starts.dtype, voters.dtype, votes.dtype) == (np.int64, np.int32, np.int8)
    starts, voters, votes = lists_of(values, 1, 3)
    assert (starts.tolist(), voters.tolist(), votes.tolist()) == ([0, 0, 2], [0, 2], [1, 1])
    starts, voters, votes = lists_of(values, 2, 2)
    assert (starts.tolist(), voters.size, votes.size) == ([0], 0, 0)


def test_sums_over_lists_are_those_over_the_table():
    values, weights = draw_table(), np.random.default_rng(1).normal(size=5)
    values[3] = 0
    found = tally.weigh_ballots(run_of(values)[:3], weights, 0 * weights)
    assert np.allclose(found, values @ weights, rtol=0, atol=1e-12)
    assert found[3] == 0
    values, x = draw_table(), np.random.default_rng(2).random(40)
    values[:, 2] = 0
    signed, observed = tally.tally_ballots(run_of(values)[:3], x, 5)
    assert np.allclose(signed, values.T @ x, rtol=0, atol=1e-12)
    assert np.allclose(observed, np.abs(values).T @ x, rtol=0, atol=1e-12)
    assert observed[2] == 0


NONE = np.empty(0, dtype=np.uint8)


def draw(seed, n_classes=3, n_items=12, n_voters=4):
    """Ballots with their codes, and tables and shares that are not related to them."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes + 1, (n_items, n_voters)).astype(np.uint8)
    run = next(iter(list_ballots(WholeTable(np.asfortranarray(codes.view(np.int8))))))
    tables = rng.dirichlet(np.ones(n_classes), (n_voters, n_classes))  # [s, meant, said]
    shares = rng.dirichlet(np.ones(n_classes))
    return codes, (run.starts, run.voters, run.votes.view(np.uint8)), tables, shares


def posterior_by_enumeration(codes, tables, shares):
    """P(truth | votes) of one item: the joint probability of every class and the votes, summed."""
    joint = np.array(
        [
            share * np.prod([tables[s, k, c - 1] for s, c in enumerate(codes) if c])
            for k, share in enumerate(shares)
        ]
    )
    return joint / joint.sum(), np.log(joint.sum())


@given(seed=st.integers(0, 199), n_classes=st.integers(2, 6))
def test_the_posterior_is_that_of_the_enumeration(seed, n_classes):
    codes, run, tables, shares = draw(seed, n_classes)
    logs = np.ascontiguousarray(np.log(tables).transpose(0, 2, 1)), np.log(shares)
    found = np.exp(tally.join_classes(run, *logs))
    expected = [posterior_by_enumeration(row, tables, shares)[0] for row in codes]
    assert found == pytest.approx(np.array(expected), abs=1e-12)


@given(seed=st.integers(0, 199))
def test_the_expected_votes_are_those_of_the_enumeration(seed):
    codes, run, tables, shares = draw(seed)
    gold = np.random.default_rng(seed).integers(0, 4, len(codes)).astype(np.uint8)
    logs = np.ascontiguousarray(np.log(tables).transpose(0, 2, 1)), np.log(shares)
    for known in (NONE, gold):
        counts, mass, likelihood = np.zeros((4, 3, 3)), np.zeros(3), 0.0
        for i, row in enumerate(codes):
            if not row.any():
                continue
            posterior, evidence = posterior_by_enumeration(row, tables, shares)
            if known.size and known[i]:
                evidence += np.log(posterior[known[i] - 1])
                posterior = np.eye(3)[known[i] - 1]
            likelihood, mass = likelihood + evidence, mass + posterior
            for s, k in product(range(4), range(3)):
                if row[s]:
                    counts[s, row[s] - 1, k] += posterior[k]
        found = tally.expect_classes(run, known, *logs)
        assert found[0] == pytest.approx(counts, abs=1e-12)
        assert found[1] == pytest.approx(mass, abs=1e-12)
        assert found[2] == pytest.approx(likelihood, abs=1e-9)


def test_em_starts_from_the_votes_and_gold_labels():
    codes = np.array([[1, 1, 3], [2, 0, 0], [0, 0, 0], [3, 3, 3]], dtype=np.int8, order="F")
    ballots = list_ballots(WholeTable(codes))
    counts, mass = start_from(ballots, np.ones(3), 3)
    assert mass == pytest.approx([2 / 3, 1, 4 / 3])
    assert pytest.approx(np.array([[2 / 3, 0, 0], [0, 1, 0], [1 / 3, 0, 1]])) == counts[0].T
    gold = np.array([2, 0, 1, 0], dtype=np.uint8)
    counts, mass = start_from(ballots, np.ones(3), 3, gold)
    assert mass == pytest.approx([0, 2, 1])
    assert counts[2, 2] == pytest.approx([0, 1, 1])
    counts, mass = start_from(ballots, np.ones(3), 3, gold, only_gold=True)
    assert mass.tolist() == [0, 1, 0]
    assert counts.sum() == 3


def test_a_negative_weight_is_spread_over_the_other_classes():
    ballots = list_ballots(WholeTable(np.array([[1, 2]], dtype=np.int8, order="F")))
    mass = start_from(ballots, np.array([1.0, -1.0]), 3).mass
    assert mass == pytest.approx([0.75, 0, 0.25])
    assert start_from(ballots, np.zeros(2), 3).mass == pytest.approx([1 / 3] * 3)


@given(seed=st.integers(0, 199))
def test_two_classes_have_the_posterior_of_the_enumeration(seed):
    codes, run, tables, shares = draw(seed, 2, n_items=600)
    votes = np.array([0, -1, 1], dtype=np.int8)[run[2]]
    logs = np.log(tables)
    odds = np.ascontiguousarray(logs[:, 1] - logs[:, 0])
    counts, mass, likelihood, heard = tally.expect_two(
        (*run[:2], votes), odds, np.log(shares[1] / shares[0])
    )
    general = np.ascontiguousarray(logs.transpose(0, 2, 1)), np.log(shares)
    expected = tally.expect_classes(run, NONE, *general)
    assert counts == pytest.approx(expected[0][:, :, 1], abs=1e-9)
    assert (mass, heard) == (pytest.approx(expected[1][1]), (codes != 0).any(axis=1).sum())
    of_no = sum(logs[s, 0, c - 1] for row in codes for s, c in enumerate(row) if c)
    assert likelihood + of_no + heard * np.log(shares[0]) == pytest.approx(expected[2])
