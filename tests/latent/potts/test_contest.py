import numpy as np
import pytest

from latent.worlds import class_crowd, copied_classes, sample_of
from unelisa.latent.potts.contest import find_ties, hold_contest, weigh_majority
from unelisa.latent.potts.model import ClassConsensus, start_classes

KINDS = ("plain", "ease", "families")


def contest(values, n_classes=4, kinds=KINDS):
    sample = sample_of(values)
    return hold_contest((sample, sample), np.eye(n_classes), kinds, -np.inf)


@pytest.mark.parametrize("seed", range(3))
def test_copies_are_found(seed):
    values, truth = copied_classes(seed)
    choice = contest(values)
    assert choice.best.model.family.tolist() == [-1] * 6 + [0] * 6
    assert choice.best.branches == 7
    assert np.mean(choice.best.truth.argmax(axis=1) == truth) > 0.9


@pytest.mark.parametrize("seed", range(3))
def test_independent_voters_have_no_families(seed):
    values, _ = class_crowd(seed, votes_per_item=12)
    choice = contest(values)
    assert choice.best.model.n_families == 0
    assert choice.rival is None
    assert choice.few is None


def test_one_kind_is_tried_alone():
    values, _ = copied_classes(0)
    assert contest(values, kinds=("plain",)).best.kind == "plain"
    assert contest(values, kinds=("families",)).best.kind == "families"


def test_three_copies_and_another_are_too_few_branches():
    values, _ = class_crowd(3, votes_per_item=12)
    choice = contest(values[:, [0, 1, 1, 1]])
    assert choice.few.tolist() == [-1, 0, 0, 0]
    assert contest(values[:, [0, 1, 2, 3]]).few is None


def test_the_majority_counts_repeats_once():
    values, truth = copied_classes(1)
    once = contest(values).once
    assert once[:6].min() > 0.9
    assert once[6:].max() < 0.4
    shares = weigh_majority(sample_of(values), once, 4)
    assert shares.sum(axis=1) == pytest.approx(1)
    every = weigh_majority(sample_of(values), np.ones(12), 4)
    assert np.mean(shares.argmax(axis=1) == truth) > np.mean(every.argmax(axis=1) == truth)


def test_ties_are_what_the_truth_does_not_explain():
    values, truth = copied_classes(2)
    sample, known = sample_of(values), np.eye(4)[truth]
    first = ClassConsensus.first(np.full(12, -1), np.eye(4))
    model = start_classes(sample.blocks, first, known)
    ties = find_ties(sample, known, model.chances)
    tied = set(zip(ties.first.tolist(), ties.second.tolist(), strict=True))
    assert tied >= {(6, 7), (8, 11)}
    assert all(s >= 6 and t >= 6 for s, t in tied)
