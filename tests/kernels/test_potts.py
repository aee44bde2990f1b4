"""The E-step over K classes equals enumeration, and the binary kernel at K = 2."""

from itertools import product

import numpy as np
import pytest

from unelisa.kernels.branches import collect_branches, infer_branches
from unelisa.kernels.potts import collect_classes, expect_answers, infer_classes


def draw_case(seed: int, n_classes: int, n_states: int):
    """Four voters, of whom the last two are a family; six items with missing votes."""
    rng = np.random.default_rng(seed)
    family = np.array([-1, -1, 0, 0], dtype=np.int32)
    votes = rng.integers(0, n_classes, (6, 4))
    cast = rng.random((6, 4)) < 0.7
    starts = np.append(0, np.cumsum(cast.sum(axis=1)))
    voters = np.nonzero(cast)[1].astype(np.int32)
    answers = votes[cast].astype(np.uint8)
    tables = np.log(rng.dirichlet(np.ones(n_classes), (5, n_states))).transpose(0, 2, 1).copy()
    members = np.log(rng.dirichlet(np.ones(n_classes), (4, n_classes))).transpose(0, 2, 1).copy()
    priors = np.log(rng.dirichlet(np.ones(n_states), 6))
    return starts, voters, answers, priors, family, tables, members, np.exp(tables[4:])


def enumerate_item(i, starts, voters, answers, priors, family, tables, members, opinions):
    """P(state, opinion, votes) of one item, by the definition."""
    joint = np.zeros((priors.shape[1], members.shape[2]))
    for k, g in product(*map(range, joint.shape)):
        joint[k, g] = np.exp(priors[i, k]) * opinions[0, g, k]
        for j in range(starts[i], starts[i + 1]):
            s, v = voters[j], answers[j]
            joint[k, g] *= np.exp(tables[s, v, k] if family[s] < 0 else members[s, v, g])
    return joint


@pytest.mark.parametrize(("n_classes", "n_states"), [(3, 3), (4, 8), (2, 2)])
def test_the_posterior_is_that_of_enumeration(n_classes, n_states):
    case = draw_case(1, n_classes, n_states)
    posterior, evidence = infer_classes(*case)
    for i in range(6):
        joint = enumerate_item(i, *case).sum(axis=1)
        assert posterior[i] == pytest.approx(joint / joint.sum(), abs=1e-12)
        # opinions of a family that did not vote add up to 1
        assert evidence[i] == pytest.approx(np.log(joint.sum()), abs=1e-12)


def test_the_counts_are_those_of_enumeration():
    case = starts, voters, answers, _, family, *_ = draw_case(2, 3, 6)
    said, repeated, states, evidence = collect_classes(*case)
    wanted_said, wanted_repeated = np.zeros_like(said), np.zeros_like(repeated)
    wanted_states, total = np.zeros(6), 0.0
    for i in range(6):
        own = range(starts[i], starts[i + 1])
        if not own:
            continue
        joint = enumerate_item(i, *case)
        total += np.log(joint.sum())
        joint /= joint.sum()
        wanted_states += joint.sum(axis=1)
        if any(family[voters[j]] == 0 for j in own):
            wanted_said[4] += joint.T
        for j in own:
            s, v = voters[j], answers[j]
            if family[s] < 0:
                wanted_said[s, v] += joint.sum(axis=1)
            else:
                wanted_repeated[s, v] += joint.sum(axis=0)
    assert said == pytest.approx(wanted_said, abs=1e-12)
    assert repeated == pytest.approx(wanted_repeated, abs=1e-12)
    assert states == pytest.approx(wanted_states, abs=1e-12)
    assert evidence == pytest.approx(total, abs=1e-12)


def test_two_classes_are_the_binary_kernel():
    starts, voters, answers, *rest = draw_case(3, 2, 4)
    signs = (2 * answers.astype(np.int8) - 1).astype(np.int8)
    posterior, _, evidence = infer_branches(starts, voters, signs, *rest)
    found = infer_classes(starts, voters, answers, *rest)
    assert found[0] == pytest.approx(posterior, abs=1e-12)
    assert found[1] == pytest.approx(evidence, abs=1e-12)
    binary = collect_branches(starts, voters, signs, *rest)
    for one, other in zip(collect_classes(starts, voters, answers, *rest), binary, strict=True):
        assert one == pytest.approx(other, abs=1e-12)


def test_expected_answers_sum_the_states_out():
    starts, voters, _, _, _, tables, _, _ = draw_case(4, 3, 3)
    chances = np.exp(tables[:4])
    posterior = np.random.default_rng(0).dirichlet(np.ones(3), 6)
    expected = expect_answers(starts, voters, posterior, chances)
    items = np.repeat(np.arange(6), np.diff(starts))
    wanted = np.einsum("vck,vk->vc", chances[voters], posterior[items])
    assert expected == pytest.approx(wanted, abs=1e-12)
