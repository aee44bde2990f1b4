"""Coordinate descent over pairs of voters: one edge, two regressions.

Voter s owns a row of coefficients: its edges to its partners, its bias, its weight. An edge W_st
stands in the rows of s and of t, and moves in both at once.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.kernels import kernel
from unelisa.kernels.lasso import shrink

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Singles = NDArray[np.float32]


class Layout(NamedTuple):
    """Where coefficients lie: row s is rows[s]:rows[s + 1], its bias and weight at the end."""

    rows: Integers
    squares: Integers  # row s's Hessian is hessians[squares[s]:squares[s + 1]]
    first: Integers  # per pair: voter s
    second: Integers  # voter t
    place_first: Integers  # of the edge in row s
    place_second: Integers  # of the edge in row t

    @classmethod
    def of(cls, pairs: NDArray[np.bool_]) -> "Layout":
        """Return the layout of a symmetric mask of pairs."""
        first, second = np.nonzero(np.triu(pairs, 1))
        sides = pairs.sum(axis=1) + 2
        places = np.cumsum(pairs, axis=1) - 1
        return cls(
            np.append(0, np.cumsum(sides)),
            np.append(0, np.cumsum(sides**2)),
            first,
            second,
            places[first, second],
            places[second, first],
        )


class Penalty(NamedTuple):
    """l1 |W| + precision (W - center)^2 / 2 in nats; for the weights the same without l1."""

    l1: Floats
    precision: Floats
    center: Floats
    weight_precision: Floats
    weight_center: Floats


@kernel
def _shift(hessians: Singles, first: int, step: float, moved: Floats) -> None:
    """Add step times the Hessian's column that begins at `first` to a row's gradient."""
    for u in range(moved.size):
        moved[u] += step * hessians[first + u]


@kernel
def descend_pairs(
    layout: Layout,
    hessians: Singles,
    gradient: Floats,
    penalty: Penalty,
    start: tuple[Floats, Floats, Floats],
    free: tuple[bool, bool],
    max_sweeps: int,
    tol: float,
) -> tuple[Floats, Floats, Floats]:
    """Return edges (per pair), biases and weights that minimize the quadratic model.

    The model is sum_s g_s' d_s + d_s' H_s d_s / 2 plus the penalty (per pair), with d the step from
    the start; `free` says whether biases and weights move.
    """
    rows, squares = layout.rows, layout.squares
    edges, biases, weights = start[0].copy(), start[1].copy(), start[2].copy()
    small = 0.1 * tol
    current = gradient.copy()  # after all steps so far
    for _ in range(max_sweeps):
        largest = 0.0
        for s in range(biases.size):
            low, high = rows[s], rows[s + 1]
            side, row = high - low, current[low:high]
            if free[0]:
                step = -row[side - 2] / hessians[squares[s] + (side - 2) * (side + 1)]
                biases[s] += step
                largest = max(largest, abs(step))
                _shift(hessians, squares[s] + (side - 2) * side, step, row)
            if free[1]:
                precision = penalty.weight_precision[s]
                curvature = hessians[squares[s] + (side - 1) * (side + 1)] + precision
                pull = precision * (weights[s] - penalty.weight_center[s])
                step = -(row[side - 1] + pull) / curvature
                weights[s] += step
                largest = max(largest, abs(step))
                _shift(hessians, squares[s] + (side - 1) * side, step, row)
        for e in range(edges.size):
            s, t = layout.first[e], layout.second[e]
            row_s, row_t = current[rows[s] : rows[s + 1]], current[rows[t] : rows[t + 1]]
            k, m = layout.place_first[e], layout.place_second[e]
            column_s, column_t = squares[s] + k * row_s.size, squares[t] + m * row_t.size
            curvature = hessians[column_s + k] + hessians[column_t + m] + penalty.precision[e]
            pull = row_s[k] + row_t[m] + penalty.precision[e] * (edges[e] - penalty.center[e])
            edge = shrink(edges[e] - pull / curvature, penalty.l1[e] / curvature)
            step = edge - edges[e]
            if abs(step) > small:
                edges[e] = edge
                largest = max(largest, abs(step))
                _shift(hessians, column_s, step, row_s)
                _shift(hessians, column_t, step, row_t)
        if largest < tol:
            break
    return edges, biases, weights
