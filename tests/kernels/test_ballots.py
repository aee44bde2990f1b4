"""Sums over listed votes, beside the same sums over the table that the lists came from."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unelisa.kernels import tally
from unelisa.votes.ballots import list_ballots
from unelisa.votes.blocks import WholeTable


def lists_of(values, first=0, last=None):
    """The lists of a table, as the product asks for them: Fortran order, read-only."""
    table = np.asfortranarray(values, dtype=np.int8).view()
    table.flags.writeable = False
    return tally.list_votes(table, first, len(table) if last is None else last)


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
    values = [[0, 1, -1], [0, 0, 0], [1, 0, 1], [-1, 0, 0]]
    starts, voters, votes = lists_of(values, 1, 3)
    assert (starts.tolist(), voters.tolist(), votes.tolist()) == ([0, 0, 2], [0, 2], [1, 1])
    starts, voters, votes = lists_of(values, 2, 2)
    assert (starts.tolist(), voters.size, votes.size) == ([0], 0, 0)


def test_sums_over_lists_are_those_over_the_table():
    values, weights = draw_table(), np.random.default_rng(1).normal(size=5)
    values[3] = 0
    found = tally.weigh_ballots(lists_of(values), weights, 0 * weights)
    assert np.allclose(found, values @ weights, rtol=0, atol=1e-12)
    assert found[3] == 0
    values, x = draw_table(), np.random.default_rng(2).random(40)
    values[:, 2] = 0
    signed, observed = tally.tally_ballots(lists_of(values), x, 5)
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
    run = next(iter(list_ballots(WholeTable(codes))))
    listed = run.starts, run.voters, run.votes.view(np.uint8)
    counts, mass = tally.split_votes(listed, NONE, np.ones(3), 3, False)
    assert mass == pytest.approx([2 / 3, 1, 4 / 3])
    assert pytest.approx(np.array([[2 / 3, 0, 0], [0, 1, 0], [1 / 3, 0, 1]])) == counts[0].T
    gold = np.array([2, 0, 1, 0], dtype=np.uint8)
    counts, mass = tally.split_votes(listed, gold, np.ones(3), 3, False)
    assert mass == pytest.approx([0, 2, 1])
    assert counts[2, 2] == pytest.approx([0, 1, 1])
    counts, mass = tally.split_votes(listed, gold, np.ones(3), 3, True)
    assert mass.tolist() == [0, 1, 0]
    assert counts.sum() == 3


def test_a_negative_weight_is_spread_over_the_other_classes():
    codes = np.array([[1, 2]], dtype=np.int8, order="F")
    run = next(iter(list_ballots(WholeTable(codes))))
    listed = run.starts, run.voters, run.votes.view(np.uint8)
    _, mass = tally.split_votes(listed, NONE, np.array([1.0, -1.0]), 3, False)
    assert mass == pytest.approx([0.75, 0, 0.25])
    assert tally.split_votes(listed, NONE, np.zeros(2), 3, False)[1] == pytest.approx([1 / 3] * 3)


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
