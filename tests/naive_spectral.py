"""Slow, obvious versions of the covariance methods; tests compare the two."""

import numpy as np


def covariance(values):
    """Unbiased covariances over common items, and the number of these less one."""
    p = values.shape[1]
    out, freedom = np.zeros((p, p)), np.zeros((p, p))
    for s in range(p):
        for t in range(p):
            both = [(a, b) for a, b in zip(values[:, s], values[:, t], strict=True) if a and b]
            if len(both) < 2:
                continue
            x, y = np.array(both, dtype=float).T
            out[s, t] = ((x - x.mean()) * (y - y.mean())).sum() / (len(both) - 1)
            freedom[s, t] = (len(both) - 1) * (s != t)
    return out, freedom


def minors(r, witnesses):
    """Sum of |r_st r_kl - r_sl r_kt| over k != l among the witnesses, none of them s or t."""
    p = len(r)
    out = np.zeros((p, p))
    for s in range(p):
        for t in range(p):
            others = [k for k in witnesses if k not in (s, t)]
            if s != t:
                out[s, t] = sum(
                    abs(r[s, t] * r[k, m] - r[s, m] * r[k, t])
                    for k in others
                    for m in others
                    if k != m
                )
    return out


def rank_one_loss(r, precision, v):
    pairs = [(s, t) for s in range(len(v)) for t in range(s)]
    return sum(precision[s, t] * (r[s, t] - v[s] * v[t]) ** 2 for s, t in pairs)
