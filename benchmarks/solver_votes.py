"""Votes for the solver's benchmark: a sparse Ising model by Gibbs chains; rare records."""

from functools import partial
from pathlib import Path

import numpy as np

CHAINS = 32_768  # items simulated at once


def sparse_edges(n_voters: int, rng: np.random.Generator) -> np.ndarray:
    """A ring and one random chord per voter: about four edges each, .15 to .45, of either sign."""
    edges = np.zeros((n_voters, n_voters), dtype=np.float32)
    for s in range(n_voters):
        for t in ((s + 1) % n_voters, int(rng.integers(n_voters))):
            if s != t:
                edges[s, t] = edges[t, s] = rng.choice([-1, 1]) * rng.uniform(0.15, 0.45)
    return edges


def simulate_votes(n_items: int, n_voters: int, biased: bool) -> np.ndarray:
    """Items x voters, int8, one voter contiguous. Every item is a chain of its own.

    Biased votes have fields between -.4 and .4, others none.
    """
    rng = np.random.default_rng(0)
    edges = sparse_edges(n_voters, rng)
    fields = rng.uniform(-0.4, 0.4, n_voters).astype(np.float32) * biased
    # weak edges forget their start within a few sweeps; the largest size would take minutes
    sweeps = 12 if n_items * n_voters < 5e8 else 4
    neighbors = [np.flatnonzero(row) for row in edges]
    votes = np.empty((n_items, n_voters), dtype=np.int8, order="F")
    for low in range(0, n_items, CHAINS):
        n = min(CHAINS, n_items - low)
        f = rng.choice(np.array([-1, 1], dtype=np.float32), size=(n_voters, n))
        for _ in range(sweeps):
            draws = 2 * rng.random((n_voters, n), dtype=np.float32) - 1
            for s, near in enumerate(neighbors):
                z = fields[s] + edges[s, near] @ f[near]
                f[s] = np.where(draws[s] < np.tanh(z), 1, -1)
        votes[low : low + n] = f.T
    return votes


def simulate_records(n_items: int, n_voters: int) -> np.ndarray:
    """Votes as rare as health records' counts above a threshold, items x voters, int8.

    Rates are log-uniform from .002 to .08 (codes of a thousand patients or more: half of them are
    rarer than .06, thresholds at the 99th percentile have .005 to .01); patients who use more care
    have more of all, and ten columns share one of many diseases, which 3 % have.
    """
    rng = np.random.default_rng(0)
    rates = np.exp(rng.uniform(np.log(0.002), np.log(0.08), n_voters))
    use, n_groups = rng.standard_normal(n_items), max(1, n_voters // 10)
    group, sick = rng.integers(0, n_groups, n_voters), rng.random((n_items, n_groups)) < 0.03
    votes = np.empty((n_items, n_voters), dtype=np.int8, order="F")
    for s in range(n_voters):
        odds = np.log(rates[s] / (1 - rates[s])) - 0.4 + 0.8 * use + 2.0 * sick[:, group[s]]
        votes[:, s] = np.where(rng.random(n_items) < 1 / (1 + np.exp(-odds)), 1, -1)
    return votes


def stored_votes(
    n_items: int, n_voters: int, folder: Path, biased: bool = True, rare: bool = False
) -> Path:
    """The file of such votes, simulated on first use."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".gitignore").write_text("*\n")
    kind = "-rare" if rare else "" if biased else "-unbiased"
    path = folder / f"{n_items}x{n_voters}{kind}.npy"
    if not path.exists():
        votes = simulate_records if rare else partial(simulate_votes, biased=biased)
        np.save(path, votes(n_items, n_voters))
    return path
