import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import naive
from unelisa.kernels.tally import tally_votes, weigh_votes

VOTES = hnp.arrays(
    np.int8,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=8),
    elements=st.sampled_from([-1, 0, 1]),
)


@given(VOTES, st.integers(0, 2**32 - 1))
def test_weighing_equals_the_naive_sum(values, seed):
    rng = np.random.default_rng(seed)
    signed, observed = rng.normal(size=(2, values.shape[1]))
    fast = weigh_votes(np.asfortranarray(values), signed, observed)
    assert fast == pytest.approx(naive.weigh_votes(values, signed, observed), abs=1e-12)


@given(VOTES, st.integers(0, 2**32 - 1))
def test_tallying_equals_the_naive_sum(values, seed):
    x = np.random.default_rng(seed).normal(size=values.shape[0])
    fast = tally_votes(np.asfortranarray(values), x)
    slow = naive.tally_votes(values, x)
    assert fast[0] == pytest.approx(slow[0], abs=1e-12)
    assert fast[1] == pytest.approx(slow[1], abs=1e-12)


def test_the_input_may_be_a_strided_view():
    values = np.zeros((6, 8), dtype=np.int8)
    values[:, ::2] = 1
    assert weigh_votes(values[::2, ::2], np.ones(4), np.zeros(4)) == pytest.approx([4.0] * 3)
