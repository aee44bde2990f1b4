"""Joining: more votes beside earlier ones, matched by the names of items and voters."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from unelisa.errors import VotesError
from unelisa.votes.blocks import SparseVotes, WholeTable, hold_sparse
from unelisa.votes.votes import Votes

Places = NDArray[np.intp]


class Joined(NamedTuple):
    """All votes, and which items are not as they were."""

    votes: Votes  # the earlier items and voters first, then the new ones
    touched: Places  # items with new or changed votes, rising


def join_votes(earlier: Votes, more: Votes) -> Joined:
    """Return both sets of votes as one; a later vote replaces an earlier one of the same voter.

    The rows of votes without names are new items. Both have the same classes in the same order.

    Examples
    --------
    >>> import pandas as pd
    >>> first = Votes.of(pd.DataFrame({"item": ["x"], "a": [1], "b": [-1]}))
    >>> found = join_votes(first, Votes.of(pd.DataFrame({"item": ["x", "y"], "b": [1, -1]})))
    >>> found.votes.values.tolist(), found.touched.tolist()
    ([[1, 1], [0, -1]], [0, 1])
    """
    matrix = as_matrix(more).tocoo()
    if more.named:
        items, rows = _match(earlier.items, more.items)
        voters, columns = _match(earlier.voters, more.voters)
    else:
        rows = earlier.n_items + np.arange(more.n_items)
        items = np.arange(earlier.n_items + more.n_items)
        voters, columns = earlier.voters, np.arange(more.n_voters)
    cells = rows[matrix.row], columns[matrix.col]
    shape = len(items), len(voters)
    blocks, before = _write(earlier, cells, matrix.data, shape)
    new = before != matrix.data
    touched = np.unique(np.concatenate([cells[0][new], rows[rows >= earlier.n_items]]))
    return Joined(replace(earlier, blocks=blocks, items=items, voters=voters), touched)


def as_matrix(votes: Votes) -> Any:
    """Return votes in memory as a sparse matrix, items x voters."""
    blocks = votes.blocks
    if blocks.place not in ("in memory", "sparse"):
        raise VotesError("votes beyond the memory limit cannot be joined; fit the model again")
    parts = [
        block.votes.matrix() if isinstance(block.votes, SparseVotes) else sp.csr_array(block.votes)
        for block in blocks
    ]
    return sp.csr_array(parts[0]) if len(parts) == 1 else sp.vstack(parts, format="csr")


def _match(known: NDArray[Any], names: NDArray[Any]) -> tuple[NDArray[Any], Places]:
    """Return the known names and then the others, and where each name is; compared as text."""
    place = {str(name): k for k, name in enumerate(known.tolist())}
    found = [place.setdefault(str(name), len(place)) for name in names.tolist()]
    places = np.array(found, dtype=np.intp)
    new = places >= len(known)
    if not new.any():
        return known, places
    kind = np.result_type(known, names) if known.dtype.kind == names.dtype.kind else object
    everybody: NDArray[Any] = np.empty(len(place), dtype=kind)
    everybody[: len(known)] = known
    everybody[places[new]] = names[new]
    return everybody, places


def _write(
    earlier: Votes, cells: tuple[Places, Places], codes: NDArray[np.int8], shape: tuple[int, int]
) -> tuple[Any, NDArray[np.int8]]:
    """Return the earlier votes with others written over them, and what was there before."""
    if isinstance(earlier.blocks, WholeTable) and isinstance(earlier.blocks.votes, np.ndarray):
        values = np.zeros(shape, dtype=np.int8, order="F")
        values[: earlier.n_items, : earlier.n_voters] = earlier.blocks.votes
        before = values[cells]
        values[cells] = codes
        return WholeTable(values), before
    matrix = as_matrix(earlier)
    matrix.resize(shape)
    before = np.asarray(matrix[cells], dtype=np.int8).ravel()
    change = codes.astype(np.int16) - before
    total = matrix.astype(np.int16) + sp.csr_array((change, cells), shape=shape)
    return hold_sparse(total.astype(np.int8)), before
