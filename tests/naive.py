"""Slow, obvious versions of what the package does fast; tests compare the two."""

import itertools

import numpy as np


def weigh_votes(values, signed, observed):
    out = [
        sum(signed[s] * f + observed[s] * abs(f) for s, f in enumerate(row.tolist()))
        for row in values
    ]
    return np.array(out)


def tally_votes(values, x):
    signed = [sum(x[i] * f for i, f in enumerate(column)) for column in values.T.tolist()]
    observed = [sum(x[i] * abs(f) for i, f in enumerate(column)) for column in values.T.tolist()]
    return np.array(signed), np.array(observed)


def knots(neighborhoods):
    """Theorem 3.3 with sets: s is a knot if the intersection of its neighbors' sets is {s}."""
    found = []
    for s, mine in enumerate(neighborhoods):
        if mine and set.intersection(*(neighborhoods[r] for r in mine)) == {s}:
            found.append(s)
    return found


def experts(neighborhoods, order):
    """Theorem 3.3: knots by falling degree (ties in the given order), kept if |N_s| >= i_s - 1."""
    ranked = sorted(knots(neighborhoods), key=lambda s: (-len(neighborhoods[s]), order.index(s)))
    return sorted(s for i, s in enumerate(ranked, start=1) if len(neighborhoods[s]) >= i - 1)


def expert_log_likelihood(values, reliabilities, prevalence):
    """Mean log P(votes) of (4.3) with the truth summed out, item by item."""
    total = 0.0
    for row in values.tolist():
        sides = []
        for truth, prior in ((1, prevalence), (-1, 1 - prevalence)):
            chance = prior
            for f, psi in zip(row, reliabilities, strict=True):
                if f:
                    chance *= psi if f == truth else 1 - psi
            sides.append(chance)
        total += np.log(sum(sides))
    return total / len(values)


def all_votes(n_voters):
    return np.array(list(itertools.product([-1, 1], repeat=n_voters)), dtype=np.int8)


def weigh_states(row, prior, counts, weights, biases, ease, log_states):
    """log P(class, ease, votes) of one item, by the definition; an answer of -1 is none."""
    joint = log_states.copy()
    for k, g in itertools.product(*map(range, joint.shape)):
        joint[k, g] += 0.0 if prior is None else prior[k]
        for s, c in enumerate(row):
            if c >= 0:
                lean = [b + ease[g] * weights[s] * (a == k) for a, b in enumerate(biases[s])]
                joint[k, g] += counts[s] * (lean[c] - np.log(np.exp(lean).sum()))
    return joint
