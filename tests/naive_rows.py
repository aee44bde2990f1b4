"""Batches of regressions written out by hand, and the solver's sums over items as matrices."""

import numpy as np

import naive_solver
from unelisa.kernels.l1_logistic import Regressions


def batch_of(rows):
    """Regressions from {voter: ({member: theta}, intercept)}."""
    members = [list(thetas) for thetas, _ in rows.values()]
    return Regressions(
        np.array(list(rows), dtype=np.int64),
        np.concatenate([[0], np.cumsum(list(map(len, members)))]).astype(np.int64),
        np.array([t for row in members for t in row], dtype=np.int64),
        np.array([theta for thetas, _ in rows.values() for theta in thetas.values()], float),
        np.array([intercept for _, intercept in rows.values()], float),
    )


def point_of(votes, batch, q):
    """The design of regression q (members, 1) and its logits z."""
    place = slice(batch.starts[q], batch.starts[q + 1])
    design = naive_solver.design(votes, batch.members[place])
    return design, design @ np.append(batch.theta[place], batch.intercepts[q])


def counted_of(votes, s):
    """f_is^2 per item."""
    return votes[:, s].astype(float) ** 2


def square_of(votes, batch, q, floor=0.0):
    """The summed curvature of regression q over the items, of its members and 1."""
    design, z = point_of(votes, batch, q)
    s = batch.voters[q]
    wrong = votes[:, s] * z < 0
    curvature = np.maximum(1 - np.tanh(z) ** 2, np.where(wrong, floor, 0.0))
    return design.T @ ((counted_of(votes, s) * curvature)[:, None] * design)


def assert_square(flat, expected, **tolerance):
    """Compare what is stored: products of members in the lower triangle, and the last column."""
    side, n = len(expected), len(expected) - 1
    found = np.reshape(flat, (side, side))
    assert np.allclose(np.tril(found[:n, :n]), np.tril(expected[:n, :n]), **tolerance)
    assert np.allclose(found[:, n], expected[:, n], **tolerance)


def all_scores_of(votes, batch):
    """sum_i r_i f_it, regressions x voters."""
    return np.array(
        [
            naive_solver.residuals(votes, s, point_of(votes, batch, q)[1]) @ votes
            for q, s in enumerate(batch.voters)
        ]
    )
