"""Updating: a fitted model takes more votes, at the cost of what is new where that is enough."""

from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from unelisa.aggregators.base import Aggregator
from unelisa.aggregators.drift import find_drift, tell_drift
from unelisa.blocks import hold_sparse
from unelisa.errors import ModelError, ReliabilityWarning, VotesError, warn_user
from unelisa.estimator import fit_aside
from unelisa.joining import Joined, as_matrix, join_votes
from unelisa.latent.ballots import Ballots, list_ballots, take_ballots
from unelisa.latent.reading import Reading
from unelisa.latent.renewal import Ledger, More, can_renew, is_ledger_of, open_ledger, renew
from unelisa.schema import stored
from unelisa.votes import Votes

DRIFT_ITEMS = 4_000  # at most, on which an update looks for drift
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
    ledger="Ledger | None",
)
class KeptVotes(NamedTuple):
    """The votes of a fit in a model file: those of item i are starts[i] to starts[i + 1]."""

    items: NDArray[Any]
    voters: NDArray[np.int32]
    starts: NDArray[np.int64]
    codes: NDArray[np.int8]
    gold: NDArray[np.int8] | None
    ledger: Ledger | None


class Memory(NamedTuple):
    """The votes of a fit while the model is in use; nothing is copied."""

    votes: Votes
    gold: NDArray[np.int8] | None = None  # codes of known labels, 0 unknown
    ledger: Ledger | None = None


@stored(_kept_votes="?KeptVotes", _beside="?text")
class Updating(Aggregator):
    """A model that can be updated: it refers to the votes of its fit, and a file may keep them."""

    _reading: Reading
    _memory: Memory
    _kept_votes: KeptVotes  # in a model that was loaded from a file with its votes
    _beside: str  # what entered the fit besides votes and gold labels, if anything did

    def update(self, votes: Any, *, earlier: Any = None) -> Self:
        """Return self with more votes: on old or new items, of old or new voters, or changed.

        Parameters
        ----------
        votes
            What is new, as in `fit`; items and voters are matched by name. A vote replaces an
            earlier one of the same voter on the same item. The rows of a bare array are new items.
        earlier
            The votes so far. A model in use refers to those of its fit; a loaded one has them only
            if it was saved with ``keep_votes=True``, because they name items.

        Notes
        -----
        While less than a fifth of the votes is new since the last fit, only items with new votes
        are worked through: the structure that the fit found is kept, and the coefficients move as
        far as the new votes ask for. Labels then differ from those of a fit to everything on about
        1 % of the items or less (`benchmarks/update.py`). Otherwise, and where new voters repeat
        others, voters are copies, a voter becomes constant or varied, there are two readings, gold
        labels or a graph, everything is fitted again. Warns of voters whose accuracy changed: see
        `find_drift`.

        Examples
        --------
        >>> import numpy as np, unelisa as ue
        >>> rng = np.random.default_rng(0)
        >>> truth = rng.choice([-1, 1], 2000)[:, None]
        >>> votes = np.where(rng.random((2000, 7)) < 0.8, truth, -truth)
        >>> model = ue.LatentIsing().fit(votes[:1900])
        >>> model.update(votes[1900:]).predict(votes).shape  # rows of an array are new items
        (2000,)
        """
        check_is_fitted(self, "voter_names_")
        if "_beside" in self.__dict__:
            raise ModelError(
                f"a model fitted with {self._beside} cannot be updated; fit it to all votes again"
            )
        memory = self._recall(earlier)
        joined = join_votes(memory.votes, self._read_more(votes))
        found = self._renew(memory, joined)
        if found is None:
            self._fit_known(joined.votes, _name_gold(memory.gold, joined.votes))
        else:
            self._take_renewed(joined.votes, *found)
        drifted = tell_drift(find_drift(self, joined.votes, most=DRIFT_ITEMS))
        if drifted:
            warn_user(drifted, ReliabilityWarning)
        return self

    def _remember(self, votes: Votes, gold: NDArray[np.int8] | None) -> None:
        """Refer to the votes of the fit where they are in memory."""
        self.__dict__.pop("_kept_votes", None)
        if votes.blocks.place in ("in memory", "sparse"):
            known = gold if gold is not None and gold.any() else None
            self._memory = Memory(votes, known)

    def _note_beside(self, prior: Any, sample_weight: Any) -> None:
        self.__dict__.pop("_beside", None)
        if prior is not None or sample_weight is not None:
            self._beside = "sample_weight" if prior is None else "prior log-odds"

    def _recall(self, earlier: Any = None) -> Memory:
        """Return the votes so far."""
        if earlier is not None:
            return Memory(self._reenter(earlier))
        if "_memory" in self.__dict__:
            return self._memory
        kept = self.__dict__.get("_kept_votes")
        if kept is None:
            raise ModelError(NO_VOTES)
        shape = len(kept.items), self.n_features_in_
        matrix = sp.csr_array((kept.codes, kept.voters, kept.starts), shape=shape)
        votes = Votes(
            hold_sparse(matrix),
            kept.items,
            self.voter_names_,
            tuple(self.classes_.tolist()),
            self.named_voters_,
            self.__dict__.get("_named_coding", ""),
            self.columns_,
            bool(self.__dict__.get("ordered_", False)),
        )
        return Memory(votes, kept.gold, ledger=kept.ledger)

    def keep_votes(self) -> KeptVotes:
        """Return the votes for a model file, with what an update needs besides."""
        if "_beside" in self.__dict__:
            raise ModelError(f"a model fitted with {self._beside} cannot keep its votes")
        memory = self._recall()
        matrix = as_matrix(memory.votes)
        matrix.sort_indices()
        return KeptVotes(
            np.asarray(memory.votes.items),
            matrix.indices.astype(np.int32),
            matrix.indptr.astype(np.int64),
            matrix.data.astype(np.int8),
            memory.gold,
            self._open_ledger(memory),
        )

    def _open_ledger(self, memory: Memory) -> Ledger | None:
        copies = self.__dict__.get("_heads") is not None
        if copies or memory.gold is not None or not can_renew(self._reading):
            return None
        nothing = _list(memory.votes, np.empty(0, dtype=np.intp))
        kept, n_voters = memory.ledger, memory.votes.n_voters
        if kept is not None and is_ledger_of(self._reading, kept, nothing, n_voters):
            return kept
        return open_ledger(self._reading, list_ballots(memory.votes.blocks, self.n_jobs))

    def _read_more(self, X: Any) -> Votes:
        """Return votes in the labels of the fit, which may have other voters."""
        votes = self._in_own_labels(X if isinstance(X, Votes) else self._read(X))
        if votes.named != self.named_voters_:
            raise VotesError(
                "voters with names and voters without cannot be joined; name the voters in both"
            )
        if not votes.named and votes.n_voters != self.n_features_in_:
            raise VotesError(
                f"X has {votes.n_voters} voters without names, but the model has "
                f"{self.n_features_in_}; name the voters"
            )
        return votes

    def _renew(self, memory: Memory, joined: Joined) -> tuple[Any, Ledger] | None:
        """Return the reading with more votes, and what they add up to; None: fit everything."""
        doubts = "; ".join(reason.tell(self.voter_names_) for reason in self._reading.reasons)
        identified = self.reliable_ or self.reliability_reason_ == doubts
        ledger = self._open_ledger(memory) if identified else None
        if ledger is None:
            return None
        old, votes = memory.votes, joined.votes
        known = joined.touched[joined.touched < old.n_items]
        before = _extend(_list(old, known), len(joined.touched))
        after = _list(votes, joined.touched)
        n_new = votes.n_voters - old.n_voters
        more = More(before, after, votes.answers.T, votes.n_items, n_new)
        return renew(self._reading, ledger, more)

    @fit_aside
    def _take_renewed(self, votes: Votes, reading: Any, ledger: Ledger) -> None:
        """Set what is learned from a renewed reading."""
        if len(votes.voters) > self.n_features_in_:
            self.__dict__.pop("feature_names_in_", None)
        self.voter_names_, self.n_features_in_ = votes.voters, votes.n_voters
        self._take(reading)
        self._voter_columns = self._describe_voters(votes)
        self.__dict__.pop("_kept_votes", None)
        self._memory = Memory(votes, ledger=ledger)

    def _take(self, reading: Any) -> None:
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        """Return what copies and pickles hold: not the votes, which name items."""
        state: dict[str, Any] = super().__getstate__()
        return {name: part for name, part in state.items() if name != "_memory"}


def _name_gold(gold: NDArray[np.int8] | None, votes: Votes) -> NDArray[Any] | None:
    """Return the known labels of the first items, None for the others."""
    if gold is None:
        return None
    return votes.name_codes(np.append(gold, np.zeros(votes.n_items - len(gold), dtype=np.int8)))


def _list(votes: Votes, items: NDArray[np.intp]) -> Ballots:
    """Return the ballots of some items."""
    return take_ballots(list_ballots(votes.take_items(items).blocks), np.arange(len(items)))


def _extend(ballots: Ballots, n_items: int) -> Ballots:
    """Return ballots with more items at the end, which have no votes."""
    more = n_items - ballots.n_items
    return ballots._replace(
        starts=np.append(ballots.starts, np.full(more, ballots.starts[-1])),
        prior_odds=np.zeros(n_items),
    )
