from dataclasses import replace

import numpy as np
import pytest

import unelisa as ue
from unelisa.latent.ballots import list_ballots, take_ballots
from unelisa.latent.consensus.checks import COUNTED
from unelisa.latent.renewal import GROWTH, More, can_renew, open_ledger, renew

pytestmark = pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
N_ITEMS, N_VOTERS = 400, 8


@pytest.fixture(scope="module", params=[2, 3])
def fitted(request):
    """A reading of all votes but those on the last ten items, and all ballots."""
    votes = ue.simulate_classes(3, N_VOTERS, N_ITEMS, missing=0.2, random_state=2).votes
    if request.param == 2:
        votes = votes.one_against_rest(0)
    old = votes.take_items(np.arange(N_ITEMS - 10))
    reading = ue.LatentIsing().fit(old)._reading
    return reading, list_ballots(old.blocks), votes


def tell_more(votes, n_old):
    """Return all items from the n_old-th on as new, or those before it as they were."""
    ballots = list_ballots(votes.blocks)
    items = np.arange(n_old, len(votes))
    after = take_ballots(ballots, items)
    before = after._replace(
        starts=np.zeros(len(items) + 1, dtype=np.int64),
        voters=after.voters[:0],
        votes=after.votes[:0],
    )
    return More(before, after, votes.answers.T, votes.n_items, 0)


def test_sums_are_those_of_all_votes(fitted):
    reading, ballots, votes = fitted
    ledger = open_ledger(reading, ballots)
    found, renewed = renew(reading, ledger, tell_more(votes, N_ITEMS - 10))
    whole = open_ledger(found, list_ballots(votes.blocks))
    n_sums = 4 * np.count_nonzero(reading.pool.weights > COUNTED)
    assert len(renewed.sums) == len(whole.sums) == n_sums + 10
    # what follows counts labels, which jump
    for part, other in zip(renewed.sums[: n_sums + 1], whole.sums, strict=False):
        assert np.abs(part - other).max() < 0.05 * max(np.abs(other).max(), 1)
    assert renewed.fitted == ledger.fitted == ballots.concatenate(lambda run: run.counts).sum()


def test_nothing_new_moves_nothing_far(fitted):
    reading, ballots, votes = fitted
    ledger = open_ledger(reading, ballots)
    old = votes.take_items(np.arange(N_ITEMS - 10))
    found, _ = renew(reading, ledger, tell_more(old, N_ITEMS - 10))
    apart = found.score(ballots) - reading.score(ballots)
    assert np.abs(apart).mean() < 0.05
    assert found.answers.expected_accuracy == pytest.approx(reading.answers.expected_accuracy)


def test_much_that_is_new_is_not_renewed(fitted):
    reading, ballots, votes = fitted
    ledger = open_ledger(reading, ballots)
    few = ledger._replace(fitted=int(ledger.fitted / (1 + 2 * GROWTH)))
    assert renew(reading, few, tell_more(votes, N_ITEMS - 10)) is None


def test_a_voter_who_becomes_constant_is_not_renewed(fitted):
    reading, ballots, votes = fitted
    more = tell_more(votes, N_ITEMS - 10)
    counts = more.counts.copy()
    counts[0] = [N_ITEMS, *[0] * (counts.shape[1] - 1)]
    assert renew(reading, open_ledger(reading, ballots), more._replace(counts=counts)) is None


def test_only_a_consensus_alone_can_be_renewed(fitted):
    reading = fitted[0]
    assert can_renew(reading)
    assert not can_renew(replace(reading, others=(reading,)))
    assert not can_renew(replace(reading, name="gold"))
    assert not can_renew(replace(reading, pool=replace(reading.pool, share=1.0)))
    edges = ue.LatentIsing(structure="edges").fit(
        ue.simulate_votes(n_items=300, random_state=0).votes
    )
    assert not can_renew(edges._reading)
