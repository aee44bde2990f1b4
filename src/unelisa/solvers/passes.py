"""The passes of the working-set solver: plain functions of a block of items.

Each returns sums over the block's items as a tuple of arrays; `Rows` asks for them wherever the
blocks live. `weights` and `column` are the block's own entries, empty where the problem has none.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.blocks import Block, as_dense
from unelisa.kernels.agreement import (
    Bits,
    add_complete,
    add_incomplete,
    count_votes,
    pack_votes,
    sum_weighted,
    widen_votes,
)
from unelisa.kernels.curvature import add_curvatures, add_drift
from unelisa.kernels.l1_logistic import (
    CHUNK,
    Items,
    Regressions,
    Sums,
    add_slopes,
    fill_residuals,
)
from unelisa.kernels.threads import run_threads
from unelisa.solvers.base import Floats
from unelisa.solvers.blas import one_blas_thread

Integers = NDArray[np.int64]

PACKED = 1 << 17  # items packed into bits at once: 16 KB per voter and plane
PANEL = 32  # voters whose agreements one thread counts at once
STREAM = 2048  # items per matrix product; 1,400 voters of them in float32 are 11 MB


def items_of(block: Block, weights: Floats, column: Floats) -> Items:
    """Return the block for the kernels; votes that are not voter-contiguous int8 are copied."""
    items = Items(
        as_dense(block.votes).T,
        np.ascontiguousarray(weights, dtype=np.float64).view(),
        np.ascontiguousarray(column, dtype=np.float64).view(),
    )
    # Numba compiles anew for read-only arrays (joblib sends such): always hand it those
    for array in items:
        array.flags.writeable = False
    return items


def measure_moments(
    block: Block, weights: Floats, column: Floats, n_threads: int
) -> tuple[Floats, Integers, Floats, Floats]:
    """Return the design's sums of squares and products.

    sum_i w_i f_is f_it; the counts of votes cast and of votes +1; per voter the sums of
    `sum_weighted`; and those of 1 and the extra column among themselves.
    """
    items = items_of(block, weights, column)
    agreements, counts = _count_agreements(items, n_threads)
    firsts = np.zeros((items.votes.shape[0], 5))
    if weights.size or column.size:
        sum_weighted(items.votes, items.weights, items.column, firsts)
    else:
        cast, above = counts.T
        firsts.T[:] = cast, 2 * above - cast, np.zeros(cast.size), above, cast - above
    sums = _sum_agreements(items) if weights.size else agreements.astype(np.float64)
    total = float(weights.sum()) if weights.size else float(items.votes.shape[1])
    weighted = weights * column if weights.size and column.size else column
    mixed, square = weighted.sum(), weighted @ column if column.size else 0.0
    return sums, counts, firsts, np.array([[total, mixed], [mixed, square]])


def _count_agreements(items: Items, n_threads: int) -> tuple[Integers, Integers]:
    """Return sum_i f_is f_it (zeros where items have weights), and the counts of votes."""
    n_voters, n_items = items.votes.shape
    sums = np.zeros((n_voters, n_voters), dtype=np.int64)
    counts = np.zeros((n_voters, 2), dtype=np.int64)
    for low in range(0, n_items, PACKED):
        high = min(low + PACKED, n_items)
        above = np.empty((n_voters, -(-(high - low) // 64)), dtype=np.uint64)
        voted = np.empty_like(above)
        before = int(counts[:, 0].sum())
        pack_votes(items.votes, low, high, above, voted)
        count_votes(above, voted, counts)
        if items.weights.size:
            continue
        complete = int(counts[:, 0].sum()) - before == (high - low) * n_voters
        _add_panels(above, voted, high - low if complete else 0, sums, n_threads)
    upper = np.triu(sums, 1)
    return upper + upper.T + np.diag(np.diag(sums)), counts


def _add_panels(above: Bits, voted: Bits, n_items: int, sums: Integers, n_threads: int) -> None:
    """Add the packed items' agreements; n_items > 0 says that nobody abstained on them."""
    n_voters = len(above)

    def add(first: int) -> None:
        last = min(first + PANEL, n_voters)
        if n_items:
            add_complete(above, n_items, first, last, sums)
        else:
            add_incomplete(above, voted, first, last, sums)

    run_threads(add, range(0, n_voters, PANEL), n_threads)


def _sum_agreements(items: Items) -> Floats:
    """Return sum_i w_i f_is f_it by matrix products; float32, good for a start and Hessians."""
    n_voters, n_items = items.votes.shape
    sums = np.zeros((n_voters, n_voters))
    wide = np.empty((n_voters, min(STREAM, n_items)), dtype=np.float32)
    with one_blas_thread():
        for low in range(0, n_items, STREAM):
            high = min(low + STREAM, n_items)
            widen_votes(items.votes, low, high, wide)
            votes = wide[:, : high - low]
            sums += (votes * items.weights[low:high].astype(np.float32)) @ votes.T
    return sums


def measure_slopes(
    block: Block,
    weights: Floats,
    column: Floats,
    regressions: Regressions,
    chosen: Integers,
    precise: bool,
) -> Sums:
    """Return the members' slopes and the loss of the chosen regressions; zeros of the others."""
    n = regressions.voters.size
    sums = Sums(np.zeros(regressions.members.size), np.zeros((n, 2)), np.zeros(n))
    buffer = np.empty(CHUNK, dtype=np.float64 if precise else np.float32)
    add_slopes(items_of(block, weights, column), regressions, chosen, buffer, sums)
    return sums


class Sampling(NamedTuple):
    """Which items make a Hessian: every k-th chunk of all items, wherever the block begins."""

    strides: Integers  # k per regression
    precise: bool  # float64, otherwise float32


def measure_curvatures(
    block: Block,
    weights: Floats,
    column: Floats,
    regressions: Regressions,
    sampling: Sampling,
    floors: Floats,
) -> tuple[Floats, Floats]:
    """Return the regressions' summed curvatures, see `add_curvatures`, and their mass."""
    n = regressions.voters.size
    places = place_squares(regressions)
    out, mass = np.empty(places[-1]), np.zeros(n)
    add_curvatures(
        items_of(block, weights, column),
        regressions,
        np.arange(n, dtype=np.int64),
        np.column_stack([-(block.start // CHUNK) % sampling.strides, sampling.strides]),
        floors,
        np.empty(CHUNK, dtype=np.float64 if sampling.precise else np.float32),
        places,
        out,
        mass,
    )
    return out, mass


def place_squares(regressions: Regressions) -> Integers:
    """Return where each regression's square (members, 1, extra column) begins in one array."""
    sides = np.diff(regressions.starts) + 2
    return np.concatenate([[0], np.cumsum(sides**2)]).astype(np.int64)


def measure_all_slopes(
    block: Block, weights: Floats, column: Floats, regressions: Regressions
) -> tuple[Floats]:
    """Return sum_i r_i f_it for every regression and every voter t.

    One float32 matrix product per chunk of items, added up in float64.
    """
    items = items_of(block, weights, column)
    n_voters, n_items = items.votes.shape
    n_regressions, length = regressions.voters.size, min(STREAM, n_items)
    sums = np.zeros((n_regressions, n_voters))
    wide = np.empty((n_voters, length), dtype=np.float32)
    residuals = np.empty((n_regressions, length), dtype=np.float32)
    with one_blas_thread():
        for low in range(0, n_items, STREAM):
            high = min(low + STREAM, n_items)
            widen_votes(items.votes, low, high, wide)
            fill_residuals(items, regressions, low, high, residuals)
            sums += residuals[:, : high - low] @ wide[:, : high - low].T
    return (sums,)


def measure_drift(
    block: Block, weights: Floats, column: Floats, old: Regressions, new: Regressions
) -> tuple[Floats]:
    """Return per regression the sums of w dt^2, w dt dz, w dz^2 between two points."""
    out = np.zeros((new.voters.size, 3))
    buffers = np.empty((4, CHUNK), dtype=np.float32)
    everyone = np.arange(new.voters.size, dtype=np.int64)
    add_drift(items_of(block, weights, column), old, new, everyone, buffers, out)
    return (out,)
