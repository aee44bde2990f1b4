"""The E-step of a consensus, beside enumeration over every hidden node."""

from itertools import product

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp

from unelisa.kernels.ballots import list_votes
from unelisa.kernels.branches import collect_branches, infer_branches

ALONE = np.full(5, -1)
FAMILIES = np.array([0, 0, -1, 1, 1])


def lists_of(values):
    table = np.asfortranarray(values, dtype=np.int8).view()
    table.flags.writeable = False
    return list_votes(table, 0, len(table))


def draw_model(seed, family, n_states, n_items):
    """Log priors per item, the family of each voter and random tables."""
    rng = np.random.default_rng(seed)
    n_voters, n_families = len(family), int(family.max(initial=-1)) + 1
    tables = log_softmax(rng.normal(0, 1.5, (n_voters + n_families, 2, n_states)), axis=1)
    members = log_softmax(rng.normal(0, 1.5, (n_voters, 2, 2)), axis=1)
    priors = log_softmax(rng.normal(0, 1.5, (n_items, n_states)), axis=1)
    return priors, family.astype(np.int32), tables, members, np.exp(tables[n_voters:])


def draw_values(seed, n_items=30, n_voters=5):
    values = np.random.default_rng(seed).choice(
        np.array([-1, 0, 1], dtype=np.int8), (n_items, n_voters), p=[0.3, 0.4, 0.3]
    )
    values[3] = 0
    values[4, :2] = 0  # a family that says nothing beside voters who speak
    return values


def enumerate_states(row, prior, family, tables, members):
    """P(state, every family's opinion, votes of one item): a table over states and opinions."""
    n_voters, n_families = len(family), int(family.max(initial=-1)) + 1
    shape = (len(prior), *[2] * n_families)
    joint = np.zeros(shape)
    for k, *opinions in product(*map(range, shape)):
        total = prior[k] + sum(tables[n_voters + c, g, k] for c, g in enumerate(opinions))
        for s in np.flatnonzero(row):
            said, c = int(row[s] > 0), family[s]
            total += tables[s, said, k] if c < 0 else members[s, said, opinions[c]]
        joint[k, *opinions] = total
    return joint


def infer_naively(values, priors, family, tables, members, _opinions):
    n_families = int(family.max(initial=-1)) + 1
    posterior, evidence = np.zeros(priors.shape), np.zeros(len(values))
    leans = np.full((len(values), n_families), -1.0)
    for i, row in enumerate(values):
        joint = enumerate_states(row, priors[i], family, tables, members)
        evidence[i] = logsumexp(joint)
        chances = np.exp(joint - evidence[i])
        posterior[i] = chances.reshape(len(joint), -1).sum(axis=1)
        for c in range(n_families):
            if row[family == c].any():
                leans[i, c] = np.moveaxis(chances, c + 1, 0)[1].sum()
    return posterior, leans, evidence


def collect_naively(values, priors, family, tables, members, _opinions):
    n_voters, n_families, n_states = len(family), int(family.max(initial=-1)) + 1, priors.shape[1]
    said = np.zeros((n_voters + n_families, 2, n_states))
    repeated, states, evidence = np.zeros((n_voters, 2, 2)), np.zeros(n_states), 0.0
    for i, row in enumerate(values):
        if not row.any():
            continue
        joint = enumerate_states(row, priors[i], family, tables, members)
        evidence += logsumexp(joint)
        chances = np.exp(joint - logsumexp(joint))
        posterior = chances.reshape(n_states, -1).sum(axis=1)
        states += posterior
        opinions = [
            np.moveaxis(chances, c + 1, 0).reshape(2, n_states, -1).sum(axis=2)
            for c in range(n_families)
        ]
        for c in range(n_families):
            if row[family == c].any():
                said[n_voters + c] += opinions[c]
        for s in np.flatnonzero(row):
            if family[s] < 0:
                said[s, int(row[s] > 0)] += posterior
            else:
                repeated[s, int(row[s] > 0)] += opinions[family[s]].sum(axis=1)
    return said, repeated, states, evidence


def assert_equal_sums(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert np.allclose(one, other, rtol=0, atol=1e-10)


@pytest.mark.parametrize("n_states", [2, 4, 10, 20], ids=["plain", "tilt", "ease", "both"])
@pytest.mark.parametrize("family", [ALONE, FAMILIES, np.zeros(5, int)], ids=["alone", "two", "one"])
def test_the_e_step_is_the_sum_over_every_hidden_node(family, n_states):
    for seed in range(3):
        values = draw_values(seed)
        model = draw_model(seed, family, n_states, len(values))
        found = infer_branches(*lists_of(values), *model)
        assert_equal_sums(found, infer_naively(values, *model))
        found = collect_branches(*lists_of(values), *model)
        assert_equal_sums(found, collect_naively(values, *model))


def test_an_item_without_votes_keeps_its_prior():
    values = draw_values(0)
    model = draw_model(0, FAMILIES, 2, len(values))
    posterior, leans, evidence = infer_branches(*lists_of(values), *model)
    assert posterior[3] == pytest.approx(np.exp(model[0][3]))
    assert evidence[3] == pytest.approx(0)
    assert leans[3].tolist() == [-1, -1]
    assert leans[4, 0] == -1


def test_one_row_of_priors_serves_all_items():
    values = draw_values(0)
    priors, *model = draw_model(0, FAMILIES, 4, len(values))
    tiled = np.tile(priors[:1], (len(values), 1))
    for step in (infer_branches, collect_branches):
        found = step(*lists_of(values), priors[:1], *model)
        assert_equal_sums(found, step(*lists_of(values), tiled, *model))


def test_counts_are_those_of_the_posteriors():
    """Every vote is counted once, in all states together, and every opinion that was heard."""
    values = draw_values(1)
    model = draw_model(1, FAMILIES, 4, len(values))
    said, repeated, states, evidence = collect_branches(*lists_of(values), *model)
    posterior, leans, each = infer_branches(*lists_of(values), *model)
    heard = values.any(axis=1)
    assert states == pytest.approx(posterior[heard].sum(axis=0))
    assert evidence == pytest.approx(each[heard].sum())
    lone = FAMILIES < 0
    yes, no = (values > 0).sum(axis=0), (values < 0).sum(axis=0)
    assert said[:5].sum(axis=2) == pytest.approx(np.where(lone, [no, yes], 0).T)
    assert repeated.sum(axis=2) == pytest.approx(np.where(lone, 0, [no, yes]).T)
    spoke = leans >= 0
    assert said[5:, 1].sum(axis=1) == pytest.approx(np.where(spoke, leans, 0).sum(axis=0))
    assert said[5:].sum(axis=(1, 2)) == pytest.approx(spoke.sum(axis=0))


def test_items_and_voters_in_another_order_give_the_same():
    rng, values = np.random.default_rng(2), draw_values(2)
    priors, family, tables, members, opinions = draw_model(2, FAMILIES, 4, len(values))
    items, voters = rng.permutation(len(values)), rng.permutation(5)
    mixed = (
        *(priors[items], family[voters], tables[np.append(voters, [5, 6])], members[voters]),
        opinions,
    )
    there = lists_of(values[items][:, voters])
    here = lists_of(values)
    model = priors, family, tables, members, opinions
    posterior, leans, evidence = infer_branches(*here, *model)
    assert_equal_sums(
        infer_branches(*there, *mixed), (posterior[items], leans[items], evidence[items])
    )
    said, repeated, states, total = collect_branches(*here, *model)
    expected = said[np.append(voters, [5, 6])], repeated[voters], states, total
    assert_equal_sums(collect_branches(*there, *mixed), expected)


def test_families_in_another_order_give_the_same():
    values = draw_values(3)
    priors, family, tables, members, opinions = draw_model(3, FAMILIES, 4, len(values))
    swapped = np.array([1, 1, -1, 0, 0], dtype=np.int32)
    model = priors, swapped, tables[[0, 1, 2, 3, 4, 6, 5]], members, opinions[::-1].copy()
    posterior, leans, evidence = infer_branches(
        *lists_of(values), priors, family, tables, members, opinions
    )
    found = infer_branches(*lists_of(values), *model)
    assert_equal_sums(found, (posterior, leans[:, ::-1], evidence))


def test_a_thousand_families_and_voters_do_not_underflow():
    """Of families of two who surely repeat it, each is one factor: sums of logs are exact."""
    n_families = 1000
    family = np.repeat(np.arange(n_families), 2).astype(np.int32)
    tables = np.full((3 * n_families, 2, 2), np.log(0.5))
    tables[2 * n_families :] = np.log([[0.99, 0.01], [0.01, 0.99]])  # said, state: no, yes
    members = np.tile(np.log([[1 - 1e-9, 1e-9], [1e-9, 1 - 1e-9]]), (2 * n_families, 1, 1))
    n_yes = np.array([0, 400, 500, 501, 1000])
    values = np.where(np.arange(n_families) < n_yes[:, None], 1, -1).repeat(2, axis=1)
    priors = np.log(np.full((len(values), 2), 0.5))
    model = priors, family, tables, members, np.exp(tables[2 * n_families :])
    posterior, leans, evidence = infer_branches(*lists_of(values), *model)
    rows = np.log([[0.99, 0.01], [0.01, 0.99]])
    joint = np.log(0.5) + (n_families - n_yes)[:, None] * rows[0] + n_yes[:, None] * rows[1]
    assert posterior == pytest.approx(np.exp(joint - logsumexp(joint, axis=1)[:, None]), abs=1e-6)
    assert evidence == pytest.approx(logsumexp(joint, axis=1), rel=1e-6)
    assert np.array_equal(leans > 0.5, values[:, ::2] > 0)
    sums = collect_branches(*lists_of(values), *model)
    assert all(np.all(np.isfinite(one)) for one in sums)
    assert sums[3] == pytest.approx(evidence.sum())


def test_many_lone_voters_do_not_underflow():
    values = np.ones((1, 5000), dtype=np.int8)
    values[0, :2500] = -1
    tables = np.tile(np.log([[1e-6, 1 - 1e-6], [1 - 1e-6, 1e-6]]), (5000, 1, 1))
    nobody = np.full(5000, -1, dtype=np.int32)
    model = np.log([[0.25, 0.75]]), nobody, tables, np.zeros((5000, 2, 2)), np.empty((0, 2, 2))
    posterior, _, evidence = infer_branches(*lists_of(values), *model)
    assert posterior[0] == pytest.approx([0.25, 0.75])
    assert evidence[0] == pytest.approx(2500 * (np.log(1e-6) + np.log1p(-1e-6)))
