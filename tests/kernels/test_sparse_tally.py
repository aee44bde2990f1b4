import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from unelisa.blocks import SparseVotes
from unelisa.kernels.sparse_tally import tally_sparse, weigh_sparse
from unelisa.kernels.tally import tally_votes, weigh_votes

VOTES = hnp.arrays(
    np.int8,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=8),
    elements=st.sampled_from([-1, 0, 0, 1]),
)


@given(VOTES, st.integers(0, 2**32 - 1))
def test_sparse_sums_have_the_bits_of_the_tables(values, seed):
    rng = np.random.default_rng(seed)
    table, sparse = np.asfortranarray(values), SparseVotes.of(sp.csr_array(values))
    parts = sparse.starts, sparse.items, sparse.votes
    signed, observed = rng.normal(size=(2, values.shape[1]))
    x = rng.normal(size=len(values))
    weighed = weigh_sparse(*parts, len(values), signed, observed)
    assert np.array_equal(weighed, weigh_votes(table, signed, observed))
    assert np.allclose(tally_sparse(*parts, x), tally_votes(table, x), rtol=0, atol=1e-14)
