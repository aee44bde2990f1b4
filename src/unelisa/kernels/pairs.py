"""Coordinate descent over pairs of voters: one edge, two regressions.

Voter s owns a row of coefficients: its edges to its members, its field, its weight. An edge W_st
stands in the rows of s and of t, and moves in both at once.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.kernels import kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Singles = NDArray[np.float32]


class Layout(NamedTuple):
    """Where coefficients lie: row s is rows[s]:rows[s + 1], its field and weight at the end."""

    rows: Integers
    squares: Integers  # row s's Hessian is hessians[squares[s]:squares[s + 1]]
    first: Integers  # per pair: voter s
    second: Integers  # voter t
    place_first: Integers  # of the edge in row s
    place_second: Integers  # of the edge in row t


class Prior(NamedTuple):
    """Per pair l1 |W| + precision (W - centre)^2 / 2; per voter the same for its weight, no l1."""

    l1: Floats
    precision: Floats
    centre: Floats
    weight_precision: Floats
    weight_centre: Floats


@kernel
def _shift(hessians: Singles, first: int, step: float, moved: Floats) -> None:
    """Add step times the column of a row's Hessian that begins at `first` to its slopes."""
    for u in range(moved.size):
        moved[u] += step * hessians[first + u]


@kernel
def _shrink(z: float, threshold: float) -> float:
    """Return z drawn to zero by the threshold."""
    if z > threshold:
        return z - threshold
    return z + threshold if z < -threshold else 0.0


@kernel
def descend_pairs(
    layout: Layout,
    hessians: Singles,
    slopes: Floats,
    prior: Prior,
    edges: Floats,
    fields: Floats,
    weights: Floats,
    moves: tuple[bool, bool],
    max_sweeps: int,
    tol: float,
) -> None:
    """Move edges (per pair), fields and weights to the minimum of the quadratic model, in place.

    The model is sum_s slopes_s d_s + d_s' H_s d_s / 2 plus the prior; `moves` says whether fields
    and weights are free.
    """
    rows, squares = layout.rows, layout.squares
    small = 0.1 * tol
    moved = slopes.copy()  # the slopes after all steps so far
    for _ in range(max_sweeps):
        largest = 0.0
        for s in range(fields.size):
            low, high = rows[s], rows[s + 1]
            side, row = high - low, moved[low:high]
            if moves[0]:
                step = -row[side - 2] / hessians[squares[s] + (side - 2) * (side + 1)]
                fields[s] += step
                largest = max(largest, abs(step))
                _shift(hessians, squares[s] + (side - 2) * side, step, row)
            if moves[1]:
                tight = prior.weight_precision[s]
                bend = hessians[squares[s] + (side - 1) * (side + 1)] + tight
                step = -(row[side - 1] + tight * (weights[s] - prior.weight_centre[s])) / bend
                weights[s] += step
                largest = max(largest, abs(step))
                _shift(hessians, squares[s] + (side - 1) * side, step, row)
        for e in range(edges.size):
            s, t = layout.first[e], layout.second[e]
            row_s, row_t = moved[rows[s] : rows[s + 1]], moved[rows[t] : rows[t + 1]]
            k, m = layout.place_first[e], layout.place_second[e]
            column_s, column_t = squares[s] + k * row_s.size, squares[t] + m * row_t.size
            bend = hessians[column_s + k] + hessians[column_t + m] + prior.precision[e]
            pull = row_s[k] + row_t[m] + prior.precision[e] * (edges[e] - prior.centre[e])
            edge = _shrink(edges[e] - pull / bend, prior.l1[e] / bend)
            step = edge - edges[e]
            if abs(step) > small:
                edges[e] = edge
                largest = max(largest, abs(step))
                _shift(hessians, column_s, step, row_s)
                _shift(hessians, column_t, step, row_t)
        if largest < tol:
            return
