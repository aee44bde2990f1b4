"""Theorem 3.2, simulated: how often all neighborhoods and signs are found, beside its bound.

With few voters a sample is a count of each of the 2^p states, so its size costs nothing. Votes come
from Q, the theorem's distribution, and from P~, the votes' own. The theorem's probability is
1 - 2 exp(-K λ² n) with an unnamed K. Its proof (Ravikumar et al. 2010) bounds the noise: a score at
the truth is a mean of n terms within ±2, so that by Hoeffding's inequality::

    P(any of p (p - 1) scores passes t = α λ / (4 (2 - α))) <= 2 p (p - 1) exp(-n t² / 8)
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from studies.markdown import join_blocks, markdown_table, share
from studies.records import Json
from unelisa.paper.conditions import check_assumptions, project
from unelisa.paper.ising import Ising, log_weights

Floats = NDArray[np.float64]

SIZES = (2_000, 32_000, 512_000, 2_048_000, 8_192_000)
DRAWS = 50
PAPER = 2.0  # λ = 2 sqrt(log p / n), the default
AMPLE = 1.5  # times the theorem's smallest λ, at which few voters leave the bound at 1


_TEXT = """Four experts (weights .8, .7, .6, -.7) and four others, one at each expert (.5): (A1)
and (A2) hold with C_min {c_min} and alpha {alpha}; the smallest edge of the projection is
{theta_min}. Entries: the share of {draws} draws in which every neighborhood, or the sign of every
true edge, is found, by number of items. The bound is that of the theorem's proof for its noise,
with one and a half times the corrected factor 16 (2 - alpha) / alpha; it does not depend on n. At
the default penalty (factor 2) there is no bound, and some false edges remain however many items
there are. At the theorem's penalty the bound is met once the penalty is below the smallest
edge, which takes many times the items of section 5.1. Votes from P~, their own distribution, fare
alike here; on larger graphs they need not: see [the notes](paper_notes.md#theorem-32)."""


class Case(NamedTuple):
    """Votes of one distribution, at one multiple of sqrt(log p / n)."""

    source: str  # "Q" or "P~"
    factor: float


def example_model() -> Ising:
    """Return four experts, one of them reversed, and four others, one at each expert.

    Examples
    --------
    >>> model = example_model()
    >>> bool(model.identifiable()), bool(check_assumptions(model).holds.all())
    (True, True)
    """
    edges = np.zeros((9, 9))
    edges[0, 1:5] = 0.8, 0.7, 0.6, -0.7
    for s in range(1, 5):
        edges[s, s + 4] = 0.5
    return Ising(0.0, edges + edges.T)


def run_theorem(n_draws: int = DRAWS, sizes: tuple[int, ...] = SIZES) -> Json:
    """Return the constants of the example, and per case and n how often everything is found."""
    model = example_model()
    edges, found = project(model), check_assumptions(model)
    alpha = float(found.alpha.min())
    # of Q's edges; the projection leaves others below 1e-8
    true = np.where(np.abs(edges) > 1e-6, np.sign(edges), 0.0)
    chances = {"Q": softmax(log_weights(np.zeros(len(edges)), edges)), "P~": model.marginal()}
    factors = (PAPER, AMPLE * 16 * (2 - alpha) / alpha)
    cases = [Case(source, factor) for source in chances for factor in factors]
    rows = [
        run_case(case, n_items, chances[case.source].ravel(), true, n_draws) | bound(alpha, case)
        for case in cases
        for n_items in sizes
    ]
    smallest = float(np.abs(edges[true != 0]).min())
    constants = {"alpha": alpha, "c_min": float(found.c_min.min()), "theta_min": smallest}
    return {"draws": n_draws, "voters": len(edges), **constants, "rows": rows}


def run_case(case: Case, n_items: int, chances: Floats, true: Floats, n_draws: int = DRAWS) -> Json:
    """Return in how many draws every neighborhood is the true one, and every true edge's sign."""
    n_voters = len(true)
    states = np.array(np.unravel_index(np.arange(2**n_voters), (2,) * n_voters)).T * 2 - 1
    penalty = case.factor * np.sqrt(np.log(n_voters) / n_items)
    rng = np.random.default_rng(list(f"{case.source}/{case.factor:.3f}/{n_items}".encode()))
    hoods = signs = 0
    for counts in rng.multinomial(n_items, chances / chances.sum(), n_draws):
        found = np.sign(find_edges(states.astype(np.float64), counts / n_items, penalty))
        hoods += np.array_equal(found != 0, true != 0)
        signs += bool(np.all(found[true != 0] == true[true != 0]))
    facts = {"source": case.source, "factor": case.factor, "items": n_items}
    return {**facts, "neighborhoods": hoods / n_draws, "signs": signs / n_draws}


def find_edges(votes: Floats, shares: Floats, penalty: float) -> Floats:
    """Return all coefficients of (3.6), given the share of the items with each row of votes.

    Nesterov's method with restarts (O'Donoghue and Candes 2015), from which a coefficient of zero
    is exactly zero.
    """
    length = 1 / float(np.linalg.eigvalsh(votes.T @ (shares[:, None] * votes))[-1])
    theta = ahead = np.zeros((votes.shape[1],) * 2)
    momentum = 1.0
    for _ in range(100_000):
        scores = (shares[:, None] * (votes - np.tanh(votes @ ahead.T))).T @ votes
        moved = ahead + length * scores
        new = np.sign(moved) * np.maximum(np.abs(moved) - length * penalty, 0.0)
        np.fill_diagonal(new, 0.0)
        if np.abs(new - ahead).max() < 1e-6 * length * penalty:
            return new
        momentum = 1.0 if np.sum((ahead - new) * (new - theta)) > 0 else momentum
        grown = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        ahead = new + (momentum - 1.0) / grown * (new - theta)
        theta, momentum = new, grown
    raise RuntimeError("the regressions did not converge")


def bound(alpha: float, case: Case, n_voters: int = 8) -> Json:
    """Return the bound on the probability that the noise is too large; it does not depend on n."""
    limit = alpha * case.factor / (4 * (2 - alpha))
    chance = 2 * n_voters * (n_voters - 1) * n_voters ** (-(limit**2) / 8)
    return {"bound": min(1.0, float(chance))}


def show_theorem(archive: Json) -> str:
    """Return the section on Theorem 3.2; nothing if the archive lacks it."""
    found = archive.get("theorem")
    if not found:
        return ""
    rows = found["rows"]
    sizes = sorted({row["items"] for row in rows})
    table = []
    for source, factor in dict.fromkeys((row["source"], row["factor"]) for row in rows):
        mine = {r["items"]: r for r in rows if (r["source"], r["factor"]) == (source, factor)}
        for key, title in (("neighborhoods", "all neighborhoods"), ("signs", "all signs")):
            cells = [share(mine[n][key], 2) for n in sizes]
            limit = mine[sizes[0]]["bound"]
            shown = "none" if limit >= 1 else f"{1 - limit:.3f}"
            table.append([source, f"{factor:.0f}", title, *cells, shown])
    header = ["votes from", "λ / √(log p / n)", "found", *(f"{n:,}" for n in sizes), "bound"]
    constants = {key: share(found[key]) for key in ("c_min", "alpha", "theta_min")}
    return join_blocks(
        "## Theorem 3.2 against its bound",
        _TEXT.format(draws=found["draws"], **constants),
        markdown_table(header, table),
        "`unelisa reproduce theorem` computes it.",
    )
