import numpy as np
import pytest

from latent.worlds import ballots_of, class_crowd, copied_classes, name_class, sample_of
from unelisa.latent.consensus import NO_DOUBT
from unelisa.latent.potts import read_classes
from unelisa.latent.potts.checks import find_class_reasons
from unelisa.latent.potts.contest import hold_contest, weigh_majority
from unelisa.latent.reading import NOTHING_FOUND


def reasons_of(values, n_classes=4):
    reading = read_classes(ballots_of(values), n_classes, ordered=False, structure="auto")
    return reading, [reason.text for reason in reading.reasons]


@pytest.mark.parametrize("seed", range(3))
def test_nothing_speaks_against_a_good_crowd(seed):
    assert reasons_of(class_crowd(seed)[0])[1] == []
    assert reasons_of(copied_classes(seed)[0])[1] == []


def test_voters_who_guess_are_uninformative():
    values = np.random.default_rng(0).integers(1, 5, (500, 6)).astype(np.int8)
    assert NOTHING_FOUND in reasons_of(values)[1]


def test_two_voters_are_too_few():
    values, _ = class_crowd(1, n_voters=2, votes_per_item=2)
    reading, reasons = reasons_of(values)
    assert any("the votes tie only" in reason for reason in reasons)
    assert reading.branches == 2
    assert np.isnan(reading.answering(ballots_of(values)).answers.confusions).all()


def test_copies_of_one_voter_are_told_and_nobody_is_an_expert():
    values, _ = class_crowd(2, votes_per_item=12)
    reading, reasons = reasons_of(values[:, [0, 1, 1, 1]])
    assert any("leaves 2 independent voters" in reason for reason in reasons)
    assert reading.family.tolist() == [-1, 0, 0, 0]
    assert not reading.experts.any()


def test_labels_of_one_voter_are_told():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 4, 600)
    values = np.array([truth, *(name_class(rng, truth, 0.6, 4) for _ in range(6))]).T + 1
    reading, reasons = reasons_of(values.astype(np.int8))
    told = [reason for reason in reading.reasons if "those of one voter" in reason.text]
    assert [reason.voters for reason in told] == [(0,)]
    assert len(reasons) == len(told)


def test_a_class_that_vanishes_is_told():
    values, _ = class_crowd(4, n_classes=3)
    sample = sample_of(values)
    choice = hold_contest((sample, sample), np.eye(3), ("plain",), -np.inf)
    majority = weigh_majority(sample, np.ones(12), 3)
    votes = np.count_nonzero(values, axis=0).astype(np.float64)
    totals, voters = np.array([600.0, 600.0, 500.0]), np.stack([votes / 2, votes])
    for labels, lost in (([200.0, 200.0, 200.0], 0), ([300.0, 290.0, 10.0], 1)):
        sums = totals, np.empty(0), np.array(labels), np.empty(0), np.empty(0), voters
        found = list(find_class_reasons(sample, choice, sums, majority, NO_DOUBT))
        assert sum("one class all but vanishes: 1.7%" in one.text for one in found) == lost
