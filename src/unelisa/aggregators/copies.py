"""Copies of voters in an aggregator: they are fitted as one voter, and told of as a family."""

from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators.base import Aggregator
from unelisa.blocks import ItemBlocks
from unelisa.errors import Sentence
from unelisa.latent.ballots import list_ballots
from unelisa.latent.consensus.families import number_families
from unelisa.latent.copies import Heads, find_copies, merge_copies
from unelisa.latent.reading import NAMED
from unelisa.schema import stored
from unelisa.votes import Votes

REPEATS = "repeats {} vote for vote: they count as one voter"


def of_voters(name: str, doc: str) -> Any:
    """Return a property that is an attribute of what was fitted, one entry per voter."""
    return property(lambda model: model._spread(attrgetter(name)(model)), doc=doc)


@stored(_heads="?index32(voters)[voters] | None")
class CopiesAsOne(Aggregator):
    """An aggregator that reads the votes of copies as those of the first of them."""

    n_jobs: int | None
    _heads: Heads | None = None  # for every voter the first of its copies; None: there are none

    def _enter_ballots(self, votes: Votes) -> ItemBlocks:
        """Return the votes that are fitted, as ballots; learn who copies whom."""
        self._heads = find_copies(list_ballots(votes.blocks, self.n_jobs), votes.n_classes)
        return self._list_ballots(votes)

    def _list_ballots(self, votes: Votes) -> ItemBlocks:
        ballots = list_ballots(votes.blocks, self.n_jobs)
        return ballots if self._heads is None else ballots.view(merge_copies, self._heads)

    def _spread(self, values: NDArray[Any], axis: int = 0) -> NDArray[Any]:
        """Return what was learned of the voters along an axis, with copies as the first of them."""
        return values if self._heads is None else np.take(values, self._heads, axis=axis)

    @property
    def _copies(self) -> list[tuple[int, int]]:
        """Voters who repeat an earlier one, and whom."""
        heads = [] if self._heads is None else self._heads.tolist()
        return [(s, head) for s, head in enumerate(heads) if s != head]

    def _judge_copies(self, verdicts: list[str], heads: list[str]) -> tuple[list[str], list[str]]:
        """Return verdicts and the names of families, with copies in the family of the first."""
        verdicts, heads = list(verdicts), list(heads)
        for s, head in self._copies:
            heads[s] = heads[head] = heads[head] or str(self.voter_names_[head])
            verdicts[s] = f"family of {heads[s]}"
        return verdicts, heads

    def _tell_copies(self) -> list[Sentence]:
        """Return that voters are copies, in a sentence; nothing if there are none."""
        groups = list(dict.fromkeys(head for _, head in self._copies))
        if not groups:
            return []
        alike = [[str(name) for name in self.voter_names_[self._heads == k]] for k in groups]
        names = Sentence.listing("{}", alike[0], NAMED)
        rest = len(groups) - 1
        more = f"; so it is with {rest} more {'group' if rest == 1 else 'groups'}" if rest else ""
        told = f"{names} repeat each other vote for vote and count as one voter{more}"
        return [Sentence(told, map(", ".join, alike) if more else names.voters)]

    def _explain_copies(self, reasons: list[str]) -> list[str]:
        """Return the reasons of the verdicts, with those on copies."""
        told = {s: REPEATS.format(self.voter_names_[head]) for s, head in self._copies}
        return [told.get(s, reason) for s, reason in enumerate(reasons)]

    def _join(self, family: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return families in which copies are with the first of them."""
        if self._heads is None:
            return family
        lone = len(family) + np.arange(len(family))
        return number_families(self._spread(np.where(family < 0, lone, family)))

    def _check_identifiability(self, votes: Votes) -> bool:
        distinct = votes if self._heads is None else votes.take_voters(np.unique(self._heads))
        return super()._check_identifiability(distinct)
