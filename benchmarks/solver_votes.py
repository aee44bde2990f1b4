"""Votes for the solver's benchmark: a sparse Ising model, by parallel Gibbs chains."""

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


def stored_votes(n_items: int, n_voters: int, folder: Path, biased: bool = True) -> Path:
    """The file of such votes, simulated on first use."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".gitignore").write_text("*\n")
    path = folder / f"{n_items}x{n_voters}{'' if biased else '-unbiased'}.npy"
    if not path.exists():
        np.save(path, simulate_votes(n_items, n_voters, biased))
    return path
