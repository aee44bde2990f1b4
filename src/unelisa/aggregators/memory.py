"""The votes of a fit: referred to while the model is in use, and kept in its file if asked for."""

from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from unelisa.aggregators.known import read_gold
from unelisa.errors import ModelError, VotesError
from unelisa.schema import stored
from unelisa.votes import Votes, as_matrix
from unelisa.votes.blocks import hold_sparse

HELD = ("in memory", "sparse")  # where votes can be referred to
NO_VOTES = (
    "the model does not hold the votes it was fitted to, which an update needs: pass them as "
    "earlier (--earlier), or save it with keep_votes=True (--keep-votes)"
)


def _names_differ(kept: Any) -> bool:
    try:
        return len(set(kept.items.tolist())) == len(kept.items)
    except TypeError:  # lists, which a forged file can hold
        return False


@stored(
    _names_differ,
    items="label[items]",
    voters="index32(voters)[cast]",
    starts="starts(cast)[items+1]",
    codes="code[cast]",
    gold="code[items] | None",
)
class KeptVotes(NamedTuple):
    """The votes of a fit in a model file: those of item i are starts[i] to starts[i + 1]."""

    items: NDArray[Any]
    voters: NDArray[np.int32]
    starts: NDArray[np.int64]
    codes: NDArray[np.int8]
    gold: NDArray[np.int8] | None


class Memory(NamedTuple):
    """The votes of a fit while the model is in use; nothing is copied."""

    votes: Votes
    gold: NDArray[np.int8] | None = None  # codes of known labels, 0 unknown

    def recall_gold(self, votes: Votes) -> NDArray[np.int8] | None:
        """Return the known labels of some items: by name, or where the votes are those of the fit.

        Items without names are known again only together with all their votes.
        """
        if self.gold is None:
            return None
        items: Any = self.votes.items
        if not np.array_equal(items, np.arange(len(items))):
            known = np.flatnonzero(self.gold)
            names = zip(items[known], self.gold[known], strict=True)
            codes = {str(name): code for name, code in names}
            found = [codes.get(str(name), 0) for name in votes.items]
            return np.array(found, dtype=np.int8)
        if votes is self.votes or _are_equal(votes, self.votes):
            return self.gold
        return None

    def pack(self) -> KeptVotes:
        """Return the votes for a model file."""
        matrix = as_matrix(self.votes)
        matrix.sort_indices()
        return KeptVotes(
            np.asarray(self.votes.items),
            matrix.indices.astype(np.int32),
            matrix.indptr.astype(np.int64),
            matrix.data.astype(np.int8),
            self.gold,
        )


class Remembering:
    """What a model refers to while it is in use: the votes of its fit, and their gold labels.

    Copies and pickles do not hold them, because they name items.
    """

    remembers_votes: ClassVar[bool] = False  # whether also without gold labels, for `update`
    _memory: Memory
    _kept_votes: KeptVotes  # in a model that was loaded from a file with its votes
    _n_gold: int  # gold labels of the fit

    def _remember(self, votes: Votes, gold: NDArray[np.int8] | None) -> None:
        """Refer to the votes of the fit where they are in memory."""
        self.__dict__.pop("_kept_votes", None)
        self.__dict__.pop("_memory", None)
        known = gold if gold is not None and gold.any() else None
        self._n_gold = 0 if known is None else int(np.count_nonzero(known))
        if votes.blocks.place in HELD and (self.remembers_votes or known is not None):
            self._memory = Memory(votes, known)

    def _recall(self) -> Memory:
        """Return the votes so far."""
        if "_memory" in self.__dict__:
            return self._memory
        if "_kept_votes" not in self.__dict__:
            raise ModelError(NO_VOTES)
        return unpack_votes(self._kept_votes, self)

    def _recall_gold(self, votes: Votes) -> NDArray[np.int8] | None:
        """Return the gold labels that the fit was given of these items; None: of none."""
        if "_memory" in self.__dict__ or "_kept_votes" in self.__dict__:
            return self._recall().recall_gold(votes)
        return None

    def __getstate__(self) -> dict[str, Any]:
        """Return what copies and pickles hold."""
        parent: Any = super()
        state: dict[str, Any] = parent.__getstate__()
        return {name: part for name, part in state.items() if name != "_memory"}


def _are_equal(votes: Votes, others: Votes) -> bool:
    if votes.shape != others.shape or votes.blocks.place != others.blocks.place:
        return False
    if votes.blocks.place not in HELD:
        return False
    return bool((as_matrix(votes) != as_matrix(others)).nnz == 0)


def unpack_votes(kept: KeptVotes, model: Any) -> Memory:
    """Return the votes that the file of a model kept."""
    shape = len(kept.items), model.n_features_in_
    matrix = sp.csr_array((kept.codes, kept.voters, kept.starts), shape=shape)
    votes = Votes(
        hold_sparse(matrix),
        kept.items,
        model.voter_names_,
        tuple(model.classes_.tolist()),
        model.named_voters_,
        model.__dict__.get("_named_coding", ""),
        model.columns_,
        bool(model.__dict__.get("ordered_", False)),
    )
    return Memory(votes, kept.gold)


def join_gold(gold: NDArray[np.int8] | None, y: Any, votes: Votes) -> NDArray[Any] | None:
    """Return the known labels of the first items and those of `y`, which prevail; None: none."""
    if gold is None and y is None:
        return None
    codes = np.zeros(votes.n_items, dtype=np.int8)
    if gold is not None:
        codes[: len(gold)] = gold
    if y is not None:
        more = read_gold(y, votes)
        codes = np.where(more != 0, more, codes).astype(np.int8)
    return votes.name_codes(codes)


def read_more(model: Any, X: Any) -> Votes:
    """Return votes in the labels of a fitted model, which may have other voters."""
    votes: Votes = model._in_own_labels(X if isinstance(X, Votes) else model._read(X))
    if votes.named != model.named_voters_:
        raise VotesError(
            "voters with names and voters without cannot be joined; name the voters in both"
        )
    if not votes.named and votes.n_voters != model.n_features_in_:
        raise VotesError(
            f"X has {votes.n_voters} voters without names, but the model has "
            f"{model.n_features_in_}; name the voters"
        )
    return votes
