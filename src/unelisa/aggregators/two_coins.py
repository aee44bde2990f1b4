"""Aggregators that estimate what every voter says of items of each class."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators.base import Aggregator, Floats
from unelisa.aggregators.classes import is_two_class
from unelisa.aggregators.voters import tabulate_confusions
from unelisa.schema import stored


@stored(
    lambda model: hasattr(model, "coins_" if is_two_class(model) else "_confusion"),
    coins_="?share[2, voters]",
    _confusion="?share[voters, classes, classes]",
    _confusion_votes="?finite[voters, classes]",
)
class TwoCoinVoters(Aggregator):
    """An aggregator that estimates both coins of every voter, or what it says of every class."""

    coins_: Floats  # two rows: P(says yes | truth is no), P(says yes | truth is yes)
    _confusion: Floats  # of more than two classes: P(says c | truth is k), [voters, k, c]
    _confusion_votes: Floats  # expected number of votes on items of each class, [voters, k]

    @property
    def confusions_(self) -> Any:
        """What each voter says of items of each class, as a pandas table.

        Columns: voter, said, meant (the true class), probability of saying so, and votes: the
        expected number of the voter's votes on items of that class.
        """
        if not is_two_class(self):
            return tabulate_confusions(self, self._confusion, self._confusion_votes)
        rate = float(getattr(self, "prevalence_", 0.5))
        counts = np.asarray(self._voter_columns["votes"], dtype=np.float64)
        expected = np.outer(counts, [1 - rate, rate])
        return tabulate_confusions(self, self._answer_tables(), expected)

    def _answer_tables(self) -> Floats:
        """Return P(says c | truth is k), [voters, k, c]."""
        if not is_two_class(self):
            return self._confusion
        return np.stack([1 - self.coins_, self.coins_], axis=2).transpose(1, 0, 2)

    @property
    def sensitivity_(self) -> Floats:
        """P(says yes | truth is yes) per voter."""
        return np.asarray(self.coins_[1])

    @property
    def specificity_(self) -> Floats:
        """P(says no | truth is no) per voter."""
        return np.asarray(1 - self.coins_[0])

    def _share_right(self, voters: Any) -> Any:
        """Return on which share of its votes one voter, or each of some, is right; K classes."""
        votes = self._confusion_votes[voters]
        said_right = np.einsum("...kk,...k->...", self._confusion[voters], votes)
        return said_right / np.maximum(votes.sum(axis=-1), 1.0)

    def _voter_estimates(self) -> dict[str, NDArray[Any]]:
        if not is_two_class(self):
            return {"accuracy": self._share_right(slice(None))}
        return {"sensitivity": self.sensitivity_, "specificity": self.specificity_}
