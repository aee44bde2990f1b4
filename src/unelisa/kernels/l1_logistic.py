"""Sums over the items for a batch of logistic regressions, chunk by chunk, always in one order.

z = b + sum_t theta_t f_it, t = tanh z, residual r = f_is - f_is^2 t, score sum_i r_i f_it.
Where nearly all votes of t are u_t, only the others (x_it) are visited: f_it = u_t (1 - 2 x_it).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.kernels import kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Buffer = NDArray[Any]

CHUNK = 2048  # one chunk of z in float64 and four voters' votes fit a first-level cache of 32 KB
SUBSUM = 256  # items added up in the buffer's own type before their sum goes to float64
ROUNDING = 2.0**-24  # relative error of one float32 operation


class Rare(NamedTuple):
    """The rare votes of those who nearly always vote alike, chunk by chunk; empty: none listed."""

    usual: NDArray[np.int8]  # u_t per voter; 0 if its rare votes are not listed
    starts: Integers  # voters x (chunks + 1)
    places: NDArray[np.uint16]  # within chunk c: places[starts[t, c]:starts[t, c + 1]]


class Items(NamedTuple):
    """The items of a block."""

    votes: NDArray[np.int8]  # voters x items
    rare: Rare


class Regressions(NamedTuple):
    """A batch of regressions; the members of regression q are members[starts[q]:starts[q + 1]]."""

    voters: Integers
    starts: Integers
    members: Integers
    theta: Floats
    intercepts: Floats


class Sums(NamedTuple):
    """The sums of one pass over the items; see `add_scores`."""

    scores: Floats  # per member: sum_i r_i f_it
    intercepts: Floats  # per regression: sum_i r_i, the intercept's score
    loss: Floats  # per regression: sum_i log(1 + exp(-2 f_is z_i)); float64 passes only

    @classmethod
    def zeros(cls, batch: Regressions) -> "Sums":
        """Return zeros for every regression of the batch."""
        n = batch.voters.size
        return cls(np.zeros(batch.members.size), np.zeros(n), np.zeros(n))


@kernel
def fill_logits(items: Items, low: int, batch: Regressions, q: int, z: Buffer) -> None:
    """Write z of regression q on the items from `low`; four members at a time, zeros skipped."""
    real = z.dtype.type
    votes, theta, members = items.votes, batch.theta, batch.members
    n = z.size
    z[:] = real(batch.intercepts[q])
    used = np.empty(batch.starts[q + 1] - batch.starts[q] + 3, np.int64)
    n_used = 0
    for k in range(batch.starts[q], batch.starts[q + 1]):
        if theta[k] != 0.0:
            used[n_used] = k
            n_used += 1
    for k in range(0, n_used - 3, 4):
        k0, k1, k2, k3 = used[k], used[k + 1], used[k + 2], used[k + 3]
        w0, w1, w2, w3 = real(theta[k0]), real(theta[k1]), real(theta[k2]), real(theta[k3])
        f0, f1 = votes[members[k0], low : low + n], votes[members[k1], low : low + n]
        f2, f3 = votes[members[k2], low : low + n], votes[members[k3], low : low + n]
        for i in range(n):
            z[i] += w0 * real(f0[i]) + w1 * real(f1[i]) + (w2 * real(f2[i]) + w3 * real(f3[i]))
    for k in range(n_used - n_used % 4, n_used):
        w0 = real(theta[used[k]])
        f0 = votes[members[used[k]], low : low + n]
        for i in range(n):
            z[i] += w0 * real(f0[i])


@kernel
def squash(z: Buffer) -> None:
    """Replace z with tanh z; absolute error below 4e-7 in float32, below 1e-13 in float64."""
    if z.itemsize == 4:
        _squash_single(z)
    else:
        _squash_double(z)


@kernel
def _squash_single(z: Buffer) -> None:
    """Replace z with a rational approximation of tanh z (Eigen's coefficients)."""
    real = np.float32
    for i in range(z.size):
        x = min(max(real(z[i]), real(-7.905311)), real(7.905311))
        y = x * x
        a = real(-2.76076847742355e-16) * y + real(2.00018790482477e-13)
        a = a * y + real(-8.60467152213735e-11)
        a = a * y + real(5.12229709037114e-08)
        a = a * y + real(1.48572235717979e-05)
        a = a * y + real(6.37261928875436e-04)
        a = a * y + real(4.89352455891786e-03)
        b = real(1.19825839466702e-06) * y + real(1.18534705686654e-04)
        b = b * y + real(2.26843463243900e-03)
        b = b * y + real(4.89352518554385e-03)
        z[i] = x * a / b


@kernel
def _squash_double(z: Buffer) -> None:
    """Replace z with 1 - 2 / (1 + exp(2 z)); exp(y) = exp(y / 256)^256 lets the loop vectorize.

    |y| / 256 is at most 5/32: ten terms of the series err by 4e-17, eight squarings make it 1e-14.
    """
    for i in range(z.size):
        x = min(max(np.float64(z[i]), -20.0), 20.0) / 128.0
        e = 1.0 + x / 10.0
        e = 1.0 + x / 9.0 * e
        e = 1.0 + x / 8.0 * e
        e = 1.0 + x / 7.0 * e
        e = 1.0 + x / 6.0 * e
        e = 1.0 + x / 5.0 * e
        e = 1.0 + x / 4.0 * e
        e = 1.0 + x / 3.0 * e
        e = 1.0 + x / 2.0 * e
        e = 1.0 + x * e
        for _ in range(8):
            e = e * e
        z[i] = 1.0 - 2.0 / (1.0 + e)


@kernel
def _sum_margins(items: Items, low: int, s: int, z: Buffer) -> float:
    """Return sum_i f_is^2 (|z_i| - f_is z_i): the part of the loss that is linear in z."""
    real = z.dtype.type
    answers = items.votes[s, low : low + z.size]
    total = real(0)
    for i in range(z.size):
        f = real(answers[i])
        total += f * f * abs(z[i]) - f * z[i]
    return np.float64(total)


@kernel
def _sum_logs(items: Items, low: int, s: int, t: Buffer) -> float:
    """Return sum_i f_is^2 log(2 / (1 + |t_i|)), by products of at most 32 factors >= 1/2."""
    real = t.dtype.type
    answers = items.votes[s, low : low + t.size]
    total = 0.0
    lanes = np.ones(64, t.dtype)
    for start in range(0, t.size, 64):
        values, own = t[start : start + 64], answers[start : start + 64]
        for i in range(values.size):
            f = real(own[i])
            lanes[i] *= real(1) - f * f * (real(0.5) - real(0.5) * abs(values[i]))
    for start in range(0, 64, 16):
        product = 1.0
        for i in range(start, start + 16):
            product *= np.float64(lanes[i])
        total -= np.log(product)
    return total


@kernel
def _fill_residuals(items: Items, low: int, s: int, t: Buffer) -> None:
    """Replace t with the residual r = f - f^2 t."""
    real = t.dtype.type
    answers = items.votes[s, low : low + t.size]
    for i in range(t.size):
        f = real(answers[i])
        t[i] = f - f * f * t[i]


@kernel
def add_products(
    votes: NDArray[np.int8], low: int, members: Integers, values: Buffer, out: Floats
) -> None:
    """Add sum_i values_i f_it for every member t, four members at a time."""
    real = values.dtype.type
    n_members = members.size
    for first in range(0, values.size, SUBSUM):
        part = values[first : first + SUBSUM]
        start, stop = low + first, low + first + part.size
        for k in range(0, n_members - 3, 4):
            f0, f1 = votes[members[k], start:stop], votes[members[k + 1], start:stop]
            f2, f3 = votes[members[k + 2], start:stop], votes[members[k + 3], start:stop]
            s0 = s1 = s2 = s3 = real(0)
            for i in range(part.size):
                s0 += part[i] * real(f0[i])
                s1 += part[i] * real(f1[i])
                s2 += part[i] * real(f2[i])
                s3 += part[i] * real(f3[i])
            out[k] += s0
            out[k + 1] += s1
            out[k + 2] += s2
            out[k + 3] += s3
        for k in range(n_members - n_members % 4, n_members):
            f0 = votes[members[k], start:stop]
            s0 = real(0)
            for i in range(part.size):
                s0 += part[i] * real(f0[i])
            out[k] += s0


@kernel
def add_values(total: float, values: Buffer) -> float:
    """Return total + sum_i values_i."""
    for first in range(0, values.size, SUBSUM):
        part = values[first : first + SUBSUM]
        subsum = values.dtype.type(0)
        for i in range(part.size):
            subsum += part[i]
        total += subsum
    return total


@kernel
def add_scores(items: Items, batch: Regressions, buffer: Buffer, sums: Sums) -> None:
    """Add the `Sums` of every regression of the batch; float64 passes alone have the loss."""
    n_items = items.votes.shape[1]
    for low in range(0, n_items, CHUNK):
        r = buffer[: min(CHUNK, n_items - low)]
        for q in range(batch.voters.size):
            s, first, last = batch.voters[q], batch.starts[q], batch.starts[q + 1]
            fill_logits(items, low, batch, q, r)
            if r.itemsize == 8:
                sums.loss[q] += _sum_margins(items, low, s, r)
            squash(r)
            if r.itemsize == 8:
                sums.loss[q] += _sum_logs(items, low, s, r)
            _fill_residuals(items, low, s, r)
            members, scores = batch.members[first:last], sums.scores[first:last]
            add_products(items.votes, low, members, r, scores)
            sums.intercepts[q] = add_values(sums.intercepts[q], r)


@kernel
def bound_noise(n_terms: int, size: float, n_added: int) -> float:
    """Return a bound on the error of a mean score computed in float32, with u = 2^-24.

    tanh errs by 4 u; z, a sum of n_terms terms of total absolute value `size`, by 2 u sqrt(n_terms)
    size; a chain of n additions of numbers of mean size 1 by n u / 2 if errors have the same sign.
    """
    spread = 2.0 * np.sqrt(n_terms + 2.0) * size
    return float(ROUNDING * (4.0 + spread + 0.5 * n_added))


@kernel
def bound_batch(batch: Regressions, n_added: int) -> Floats:
    """Return `bound_noise` for every regression of the batch."""
    bounds = np.empty(batch.voters.size)
    for q in range(batch.voters.size):
        size = abs(batch.intercepts[q])
        n_terms = 0
        for k in range(batch.starts[q], batch.starts[q + 1]):
            size += abs(batch.theta[k])
            n_terms += batch.theta[k] != 0.0
        bounds[q] = bound_noise(n_terms, size, n_added)
    return bounds


@kernel
def fill_residuals(
    items: Items, batch: Regressions, low: int, high: int, out: NDArray[np.float32]
) -> None:
    """Write the residuals of every regression on the items low:high, regressions x items."""
    for q in range(batch.voters.size):
        r = out[q, : high - low]
        fill_logits(items, low, batch, q, r)
        squash(r)
        _fill_residuals(items, low, batch.voters[q], r)


@kernel
def add_listed(items: Items, low: int, residuals: NDArray[np.float32], sums: Floats) -> None:
    """Add sum_i r_i f_it, voters x regressions, of listed voters; residuals are items x q."""
    n_items, n_regressions = residuals.shape
    usual, starts, places = items.rare
    c = low // CHUNK
    total, listed = np.zeros(n_regressions), np.empty(n_regressions)
    for i in range(n_items):
        total += residuals[i]
    for t in range(items.votes.shape[0]):
        if usual[t] != 0:
            listed[:] = 0.0
            for j in range(starts[t, c], starts[t, c + 1]):
                listed += residuals[places[j]]
            sums[t] += usual[t] * (total - 2.0 * listed)
