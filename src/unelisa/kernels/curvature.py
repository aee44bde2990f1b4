"""Sums of the loss's curvature over the items: Hessians of working sets.

Where all members' rare votes are listed, only these are visited: sum_i h_i f_ik f_im =
u_k u_m (sum h - 2 sum h x_k - 2 sum h x_m + 4 sum h x_k x_m).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.kernels import kernel
from unelisa.kernels.l1_logistic import (
    CHUNK,
    Items,
    Regressions,
    add_products,
    add_values,
    fill_logits,
    squash,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Buffer = NDArray[Any]


@kernel
def _fill_curvatures(items: Items, low: int, s: int, floor: float, t: Buffer) -> None:
    """Replace t with f^2 (1 - t^2), at least the floor where t is wrong; t^2 if floor < 0."""
    real = t.dtype.type
    if floor < 0.0:
        for i in range(t.size):
            t[i] = t[i] * t[i]
        return
    answers = items.votes[s, low : low + t.size]
    for i in range(t.size):
        f = real(answers[i])
        least = real(floor) if f * t[i] < real(0) else real(0)
        t[i] = f * f * max((real(1) - t[i]) * (real(1) + t[i]), least)


@kernel
def _sum_mass(items: Items, low: int, s: int, n: int) -> float:
    """Return the number of votes of s on n items from `low`."""
    total = 0.0
    for vote in items.votes[s, low : low + n]:
        total += vote != 0
    return total


@kernel
def _add_products(
    items: Items, low: int, members: Integers, h: Buffer, weighted: Buffer, out: Floats
) -> None:
    """Add sum_i h_i d_i d_i' over the items of h, d_i the members' votes, then 1."""
    real, last = h.dtype.type, members.size
    for k in range(last):
        f = items.votes[members[k], low : low + h.size]
        for i in range(h.size):
            weighted[i] = h[i] * real(f[i])
        add_products(items.votes, low, members[: k + 1], weighted[: h.size], out[k])
        out[k, last] = add_values(out[k, last], weighted[: h.size])


@kernel
def _add_rare(
    items: Items, low: int, members: Integers, h: Buffer, who: NDArray[np.int32], out: Floats
) -> None:
    """Add sum_i h_i x_ik x_im for m < k, and in the last column sum_i h_i x_ik."""
    last, found = members.size, np.zeros(h.size, np.int32)
    _, starts, places = items.rare
    c = low // CHUNK
    for k in range(last):
        total = 0.0
        for j in range(starts[members[k], c], starts[members[k], c + 1]):
            i = places[j]
            who[found[i], i] = k
            found[i] += 1
            total += h[i]
        out[k, last] += total
    for i in range(h.size):
        value = np.float64(h[i])
        for a in range(1, found[i]):
            row = out[who[a, i]]
            for b in range(a):
                row[who[b, i]] += value


@kernel
def _finish_rare(usual: NDArray[np.int8], out: Floats) -> None:
    """Turn the sums over rare votes into those over all."""
    last = usual.size
    total = out[last, last]
    for k in range(last):
        for m in range(k):
            both = total - 2.0 * (out[k, last] + out[m, last]) + 4.0 * out[k, m]
            out[k, m] = usual[k] * usual[m] * both
        out[k, k] = total
    for k in range(last):
        out[k, last] = usual[k] * (total - 2.0 * out[k, last])


@kernel
def _add_curvature(
    items: Items, batch: Regressions, q: int, steps: Integers, floor: float, h: Buffer, out: Floats
) -> float:
    """Add to `out` the curvature of regression q over chunks first, first + stride, ...; below."""
    n_items, s = items.votes.shape[1], batch.voters[q]
    members = batch.members[batch.starts[q] : batch.starts[q + 1]]
    usual = items.rare.usual
    listed = usual.size > 0 and bool(np.all(usual[members] != 0))
    weighted, who = np.empty_like(h), np.empty((members.size if listed else 0, CHUNK), np.int32)
    mass = 0.0
    for low in range(CHUNK * steps[0], n_items, CHUNK * steps[1]):
        chunk = h[: min(CHUNK, n_items - low)]
        fill_logits(items, low, batch, q, chunk)
        squash(chunk)
        _fill_curvatures(items, low, s, floor, chunk)
        mass += np.float64(chunk.size) if floor < 0.0 else _sum_mass(items, low, s, chunk.size)
        if listed:
            _add_rare(items, low, members, chunk, who, out)
        else:
            _add_products(items, low, members, chunk, weighted, out)
        out[members.size, members.size] = add_values(out[members.size, members.size], chunk)
    if listed:
        _finish_rare(usual[members], out)
    return mass


@kernel
def add_curvatures(
    items: Items,
    batch: Regressions,
    steps: Integers,
    floors: Floats,
    buffer: Buffer,
    places: Integers,
    out: Floats,
    mass: Floats,
) -> None:
    """Write sum_i h_i d_i d_i' of every regression over some chunks; d_i: members' votes, then 1.

    h_i is the curvature 1 - t_i^2, at least the floor where t has the wrong sign; a negative floor
    asks for t_i^2, the gap between the curvature and 1. Regression q's square, a lower triangle, is
    out[places[q]:places[q + 1]]; `mass` gets the number of votes.
    """
    for q in range(batch.voters.size):
        side = batch.starts[q + 1] - batch.starts[q] + 1
        square = out[places[q] : places[q + 1]].reshape(side, side)
        square[:] = 0.0
        mass[q] = _add_curvature(items, batch, q, steps[q], floors[q], buffer, square)
