import numpy as np
import pytest

from latent.worlds import run_of
from unelisa.latent.consensus.affinity import Affinity, discount_votes
from unelisa.latent.pairs import Pairs


def test_k_equal_voters_count_as_so_many_independent_ones():
    """k voters with residual correlation r together count k / (1 + (k - 1) r)."""
    first, second = (np.array(x, dtype=np.int32) for x in ([0, 0, 1], [1, 2, 2]))
    affinity = Affinity.tie(first, second, np.full(3, 0.5, dtype=np.float32), 4)
    values = np.array([[1, 1, 1, 1], [1, 1, 0, 1], [0, -1, 0, 0]], dtype=np.int8)
    weights = discount_votes(run_of(values), affinity).weights
    assert weights == pytest.approx([0.5, 0.5, 0.5, 1, 1 / 1.5, 1 / 1.5, 1, 1])


def test_only_clear_correlations_of_voters_who_met_often_are_acted_on():
    who = np.array([0, 0, 0], dtype=np.int32), np.array([1, 2, 3], dtype=np.int32)
    pairs = Pairs(*who, np.array([99, 400, 400], dtype=np.float32))
    affinity = Affinity.of(pairs, np.array([0.9, 0.1, 0.6], dtype=np.float32), 4)
    assert affinity.others.tolist() == [3, 0]
    assert affinity.strengths == pytest.approx(0.6 * (1 - (3 / 12) ** 2))
