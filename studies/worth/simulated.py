"""Crowds drawn from the model itself, with the accuracies that they were drawn with."""

import zlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

Floats = NDArray[np.float64]
Rng = np.random.Generator

EASE = np.array([0.25, 0.5, 1.0, 1.6])
KINDS = {
    "plain": "voters who err independently",
    "few voters": "the same with four to six voters",
    "missing votes": "the same with 15 to 50 % of the votes",
    "ease": "items that differ in how hard they are",
    "ease, missing votes": "both",
    "families": "three voters repeat one opinion, or two times three",
    "families, ease": "both",
    "classes": "three to six classes",
}


class Crowd(NamedTuple):
    """Votes, and what every voter is expected to do on further items."""

    values: NDArray[np.int8]  # items x voters: -1 and +1, or 1 to K; 0 missing
    tables: Floats  # P(class is k and voter says c): voters x classes x classes


def draw_crowd(kind: str, number: int) -> Crowd:
    """Return one crowd of a kind.

    Examples
    --------
    >>> crowd = draw_crowd("few voters", 0)
    >>> 4 <= crowd.values.shape[1] <= 6, float(crowd.tables[0].sum().round(9))
    (True, 1.0)
    """
    rng = np.random.default_rng([number, zlib.crc32(kind.encode())])
    n_items = int(rng.choice([200, 500, 1000, 3000]))
    n_voters = int(rng.choice([4, 5, 6] if kind == "few voters" else [5, 8, 12, 20, 40]))
    draw = _draw_classes if kind == "classes" else _draw_sides
    crowd = draw(rng, kind, n_items, n_voters)
    if "missing" not in kind:
        return crowd
    kept = rng.random(crowd.values.shape) < rng.uniform(0.15, 0.5)
    return crowd._replace(values=np.where(kept, crowd.values, 0).astype(np.int8))


def _draw_sides(rng: Rng, kind: str, n_items: int, n_voters: int) -> Crowd:
    """Logit P(yes) = 2 (b + a d f0), a family's opinion likewise; members repeat the opinion."""
    related = 0 if "families" not in kind else 6 if n_voters >= 12 else 3
    n_voters = max(n_voters, related + 5 if related else 0)
    rate = rng.uniform(0.2, 0.8)
    truth = np.where(rng.random(n_items) < rate, 1, -1)
    grid, weights = np.ones(1), np.ones(1)
    if "ease" in kind:
        grid, weights = EASE, rng.dirichlet([1, 2, 4, 2])
    lean = truth * rng.choice(grid, n_items, p=weights)
    n_branches = n_voters - related + related // 3
    b = rng.normal(rng.normal(0, 0.1), 0.25, n_branches)
    a = rng.normal(0.6, 0.3, n_branches)
    said = rng.random((n_items, n_branches)) < expit(2 * (b + a * lean[:, None]))
    sides = np.array([-1.0, 1.0])
    leans = np.multiply.outer(sides, grid)[..., None]
    coins = np.einsum("kgs,g->ks", expit(2 * (b + a * leans)), weights)
    columns = [said[:, s] for s in range(related // 3, n_branches)]
    chances = [coins[:, s] for s in range(related // 3, n_branches)]
    for s in range(related):
        off, on = expit(2 * (rng.normal(0, 0.1) + rng.normal(1.3, 0.2) * sides))
        opinion = said[:, s // 3]
        columns.append(rng.random(n_items) < np.where(opinion, on, off))
        chances.append(on * coins[:, s // 3] + off * (1 - coins[:, s // 3]))
    yes = np.stack(chances)  # voters x sides
    joint = np.stack([1 - yes, yes], axis=2) * np.array([1 - rate, rate])[:, None]
    return Crowd(np.where(np.stack(columns, axis=1), 1, -1).astype(np.int8), joint)


def _draw_classes(rng: Rng, _: str, n_items: int, n_voters: int) -> Crowd:
    """P(c | k) = softmax_c(b_c + a [c = k])."""
    n_classes = int(rng.choice([3, 4, 6]))
    rates = rng.dirichlet(np.full(n_classes, 4.0))
    truth = rng.choice(n_classes, n_items, p=rates)
    a, b = rng.normal(1.8, 0.7, n_voters), rng.normal(0, 0.3, (n_voters, n_classes))
    logs = b[:, None, :] + a[:, None, None] * np.eye(n_classes)
    chances = softmax(logs, axis=2)  # voters x classes x said
    ends = np.cumsum(chances[:, truth], axis=2)  # voters x items x said
    said = (rng.random(ends.shape[:2])[..., None] > ends).sum(axis=2)
    return Crowd((np.minimum(said, n_classes - 1).T + 1).astype(np.int8), chances * rates[:, None])
