import numpy as np

from latent.worlds import class_crowd, copied_classes, sample_of
from unelisa.latent.potts.contest import Attempt, weigh_majority
from unelisa.latent.potts.doubt import measure_class_doubt, measure_class_misfit


def attempt(values, family=None):
    sample = sample_of(values)
    n_voters = values.shape[1]
    majority = weigh_majority(sample, np.ones(n_voters), 4)
    family = np.full(n_voters, -1) if family is None else family
    return sample, Attempt(sample, np.eye(4), -np.inf).fit(family, majority), majority


def test_a_model_that_holds_leaves_nothing_unexplained():
    values, _ = class_crowd(0, n_items=1500, votes_per_item=12)
    sample, candidate, majority = attempt(values)
    found, at_most = measure_class_misfit(sample, candidate.model)
    assert found < 0.02
    assert found <= at_most < 0.05
    assert measure_class_doubt(sample, candidate.model, candidate.truth, majority).size < 0.1


def test_copies_without_their_family_are_a_misfit():
    values, _ = copied_classes(0)
    sample, alone, _ = attempt(values)
    _, tree, _ = attempt(values, np.array([-1] * 6 + [0] * 6))
    assert measure_class_misfit(sample, alone.model)[0] > 0.02
    assert measure_class_misfit(sample, tree.model)[0] < 0.02


def test_pairs_who_never_met_leave_no_doubt():
    values = np.diag(np.ones(5, dtype=np.int8))
    sample, candidate, _ = attempt(values)
    assert measure_class_misfit(sample, candidate.model) == (0.0, 0.0)


def test_the_distance_from_the_majority_counts_ties_in_part():
    values, _ = class_crowd(1)
    sample, candidate, _ = attempt(values)
    even = np.full((len(values), 4), 0.25)
    assert measure_class_doubt(sample, candidate.model, candidate.truth, even).apart == 0.75
