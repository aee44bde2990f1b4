from dataclasses import replace

import numpy as np
import pytest

from latent.worlds import ballots_of, plain_crowd, repeating_crowd, sample_of
from unelisa.latent.consensus.affinity import Affinity
from unelisa.latent.consensus.candidate import propose_plain, share_agreement


@pytest.fixture
def plain():
    values, _ = plain_crowd(1)
    (candidate,) = propose_plain(sample_of(values), [])
    return candidate, sample_of(values).ballots


def test_plain_is_admissible_and_costs_nothing(plain):
    candidate, ballots = plain
    odds = candidate.score(ballots)
    assert (candidate.name, candidate.kind, candidate.cost) == ("plain", "plain", 0)
    assert candidate.is_admissible(ballots, odds, odds)
    assert not candidate.is_other_axis(odds, odds)
    assert candidate.is_other_axis(odds, -odds)


def test_a_vanishing_class_and_uninformative_voters_leave_no_truth(plain):
    candidate, ballots = plain
    odds = candidate.score(ballots)
    assert not candidate.is_admissible(ballots, odds + 100, odds)
    model = replace(candidate.model, center=-candidate.model.center)
    assert not replace(candidate, model=model).is_admissible(ballots, odds, odds)


def test_votes_are_weighted_by_the_affinity_in_runs_and_in_views():
    values, _ = repeating_crowd(0)
    (candidate,) = propose_plain(sample_of(values), [])
    ends = np.array([0], dtype=np.int32), np.array([1], dtype=np.int32)
    affinity = Affinity.tie(*ends, np.array([1.0], dtype=np.float32), values.shape[1])
    weighted = replace(candidate, affinity=affinity)
    ballots = ballots_of(values)
    (run,) = weighted.view(ballots)
    assert np.array_equal(run.weights, weighted.weigh(sample_of(values).ballots).weights)
    assert run.weights.min() == 0.5
    (full,) = candidate.view(ballots)
    assert full.weights.size == 0


def test_fitting_all_items_goes_on_from_the_sample():
    values, _ = plain_crowd(1, n_items=2000)
    (candidate,) = propose_plain(sample_of(values[:1000]), [])
    whole = candidate.fit_all(ballots_of(values), sample_of(values[:1000]))
    (direct,) = propose_plain(sample_of(values), [])
    assert whole.model.weights == pytest.approx(direct.model.weights, abs=5e-3)


def test_agreement_is_a_share_of_items():
    assert share_agreement(np.array([1.0, -1, 2, 3]), np.array([1.0, 1, 1, -1])) == 0.5
