import numpy as np
import pytest

from latent.worlds import repeating_crowd
from unelisa.latent.ballots import MemoryBallots
from unelisa.latent.consensus import fit_consensus, share_votes, weigh_truth
from unelisa.latent.discount import Affinity, count_once, discount_votes, fit_discounted
from unelisa.latent.pairs import Pairs, find_pairs


def test_k_equal_voters_count_as_so_many_independent_ones():
    """k voters with residual correlation r together count k / (1 + (k - 1) r)."""
    first, second = (np.array(x, dtype=np.int32) for x in ([0, 0, 1], [1, 2, 2]))
    affinity = Affinity.tie(first, second, np.full(3, 0.5, dtype=np.float32), 4)
    values = np.array([[1, 1, 1, 1], [1, 1, 0, 1], [0, -1, 0, 0]], dtype=np.int8)
    weights = discount_votes(MemoryBallots.of(values).blocks[0], affinity).weights
    assert weights == pytest.approx([0.5, 0.5, 0.5, 1, 1 / 1.5, 1 / 1.5, 1, 1])


def test_only_clear_correlations_of_voters_who_met_often_are_acted_on():
    who = np.array([0, 0, 0], dtype=np.int32), np.array([1, 2, 3], dtype=np.int32)
    pairs = Pairs(*who, np.array([99, 400, 400], dtype=np.float32))
    affinity = Affinity.of(pairs, np.array([0.9, 0.1, 0.6], dtype=np.float32), 4)
    assert affinity.others.tolist() == [3, 0]
    assert affinity.strengths == pytest.approx(0.6 * (1 - (3 / 12) ** 2))


def test_near_duplicates_are_counted_about_once():
    values, truth = repeating_crowd(1)
    blocks = MemoryBallots.of(values)
    pairs = find_pairs(blocks.blocks[0], blocks.n_voters)
    plain = fit_consensus(blocks, share_votes, np.ones(blocks.n_voters))
    model, affinity = fit_discounted(blocks, blocks, pairs, count_once(blocks, pairs))
    weighed = blocks.rewrite(discount_votes, affinity)
    odds = weighed.concatenate(weigh_truth, model.factors)
    right = [
        np.mean((z > 0) == (truth > 0))
        for z in (blocks.concatenate(weigh_truth, plain.factors), odds)
    ]
    assert right[1] > right[0] + 0.1
    per_voter = np.bincount(weighed.blocks[0].voters, weighed.blocks[0].weights) / len(values)
    assert 0.8 < per_voter[:6].sum() < 2.2
    assert per_voter[-6:].min() > 0.8
