"""The same votes in every place where votes can live."""

from importlib.util import find_spec
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from unelisa.kernels.l1_logistic import CHUNK
from unelisa.votes import blocks as local_module
from unelisa.votes.blocks import MappedBlocks, SparseBlocks, WholeTable
from unelisa.votes.partitioned import Partitions

# torch on the processor, where it is installed
DEVICES = ("device",) if find_spec("torch") else ()
NAMES = ("memory", "mapped", "sparse", "partitions", "uneven partitions", *DEVICES)


def crowd(n_items=3 * CHUNK + 700, n_voters=12, abstain=0.2, seed=0):
    """Votes of voters who follow one truth, some of them one another."""
    rng = np.random.default_rng(seed)
    truth = rng.choice([-1, 1], n_items)
    votes = np.empty((n_items, n_voters), dtype=np.int8, order="F")
    for s in range(n_voters):
        leader = votes[:, s - 1] if s % 4 == 3 else truth
        votes[:, s] = np.where(rng.random(n_items) < 0.6 + 0.03 * s, leader, -leader)
    votes[rng.random(votes.shape) < abstain] = 0
    return votes


def write_blocks(path, votes, block_items):
    with path.open("wb") as file:
        for low in range(0, len(votes), block_items):
            file.write(votes[low : low + block_items].tobytes(order="F"))
    return MappedBlocks(path, *votes.shape, block_items)


def cut_up(votes, edges):
    import dask  # noqa: PLC0415 - votes in memory need no cluster

    edges = [0, *edges, len(votes)]
    tables = [votes[low:high].copy(order="F") for low, high in pairwise(edges)]
    return Partitions(list(map(dask.delayed, tables)), list(map(len, tables)), votes.shape[1])


def put(name, votes, folder, monkeypatch):
    """Return the votes as blocks in the place of that name, several blocks where it has such."""
    if name == "memory":
        return WholeTable(votes)
    if name == "device":
        from unelisa.votes.device import DeviceBlocks  # noqa: PLC0415 - torch is optional

        return DeviceBlocks.of(WholeTable(votes), "cpu")
    if name == "mapped":
        return write_blocks(folder / "votes.int8", votes, CHUNK)
    if name == "sparse":
        monkeypatch.setattr(local_module, "DENSE_BYTES", CHUNK * votes.shape[1])
        return SparseBlocks(sp.csr_array(votes))
    if name == "partitions":
        return cut_up(votes, [CHUNK, 2 * CHUNK])
    return cut_up(votes, [37, 1000, len(votes) - 5])
