"""What each voter is worth: accuracy, recall and precision, with intervals.

With p_ik the probability that item i is of class k, voter s who said k on items V_sk and voted on
items V_s has::

    accuracy  = sum_k sum_{i in V_sk} p_ik / |V_s|
    recall    = sum_{i in V_sk} p_ik / sum_{i in V_s} p_ik     (sensitivity, specificity)
    precision = sum_{i in V_sk} p_ik / |V_sk|                  (PPV, NPV)

Two things make these uncertain. A voter's votes are a sample of what it would say, as with any
share of n cases. And the probabilities may be wrong together: too sure or not sure enough, or too
high for one class on all items. They are read as log-odds that are off by a common factor and a
common shift::

    logit p -> e^slope logit p + shift,    slope, shift ~ N(0, spread^2)

The three variances add up, and the interval is that of a beta distribution with their sum. The
spread is twice as large where something speaks against the labels and no gold labels have
recalibrated the probabilities.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, softmax
from scipy.stats import beta

from unelisa.kernels.ballots import tally_ballots
from unelisa.latent.ballots import Ballots, Floats, Sums
from unelisa.schema import stored

SPREAD = 0.4  # of slope and shift
DOUBT = 2.0  # times as much where something speaks against the labels
LEVEL = 0.9
SURE_ERRORS = 2.0  # standard errors by which an expert is better than the crowd
FEWEST_CASES = 0.5  # that any interval is worth
MOST_SURE = 1e-9
TWO_CLASSES = ("accuracy", "sensitivity", "specificity", "ppv", "npv")


@stored(
    values="estimate[measures, voters]",
    low="estimate[measures, voters]",
    high="estimate[measures, voters]",
    met="finite[voters, classes]",
)
@dataclass(frozen=True, eq=False)
class Worth:
    """Measures of every voter with 90 % intervals; NaN where they cannot be told.

    Two classes: those of `TWO_CLASSES`. More: accuracy, and the recall of each class.
    """

    values: Floats
    low: Floats
    high: Floats
    met: Floats  # expected number of votes on items of each class

    @property
    def coins(self) -> Floats:
        """P(yes | truth is no), P(yes | truth is yes) per voter, of two classes: two rows."""
        return np.stack([1 - self.values[2], self.values[1]])

    def untold(self) -> "Worth":
        """Return that nothing can be told."""
        unknown = np.full_like(self.values, np.nan)
        return Worth(unknown, unknown, unknown, self.met)

    def name_measures(self, classes: NDArray[Any]) -> list[str]:
        """Return the name of every measure."""
        if len(classes) == 2:
            return list(TWO_CLASSES)
        return ["accuracy", *(f"recall_{label}" for label in classes)]

    def tabulate(self, classes: NDArray[Any]) -> dict[str, Floats]:
        """Return the columns of a table: every measure and its bounds."""
        columns: dict[str, Floats] = {}
        for name, *row in zip(
            self.name_measures(classes), self.values, self.low, self.high, strict=True
        ):
            columns |= dict(zip((name, f"{name}_low", f"{name}_high"), row, strict=True))
        return columns


def describe_worth(cases: "Cases", doubt: float) -> Worth:
    """Return the worth of the voters, of the sums over their votes; `doubt` widens intervals."""
    accuracy, recall, precision = cases.compare()
    rows = [accuracy, *recall.each()]
    if cases.votes.shape[1] == 2:
        (specificity, sensitivity), (npv, ppv) = recall.each(), precision.each()
        rows = [accuracy, sensitivity, specificity, ppv, npv]
    values, low, high = np.stack([row.bound(doubt) for row in rows], axis=1)
    return Worth(values, low, high, cases.met[0])


class Measure(NamedTuple):
    """A share per voter (or voter and class), the cases it is of, and what moves it."""

    value: Floats
    cases: Floats
    # slope, shift: its change when the probabilities are off by one spread
    slope: Floats
    shift: Floats

    def each(self) -> list["Measure"]:
        """Return the measures of each class."""
        return [Measure(*(part[:, k] for part in self)) for k in range(self.value.shape[1])]

    def bound(self, doubt: float) -> Floats:
        """Return value, low and high per voter: three rows."""
        share, cases = self.value, np.maximum(self.cases, 1)
        # a quarter of a case more keeps shares of 0 and 1 from being sure
        variance = (share * (1 - share) + 0.25 / cases) / cases
        variance += doubt**2 * (self.slope**2 + self.shift**2)
        inside = np.clip(share, 0.005, 0.995)
        worth = np.maximum(inside * (1 - inside) / variance, FEWEST_CASES)
        right, wrong = share * worth, (1 - share) * worth
        tail = (1 - LEVEL) / 2
        low, high = beta.ppf([[tail], [1 - tail]], right + 0.5, wrong + 0.5)
        # the votes do not exclude 0 or 1 where they hold no case against it
        low = np.minimum(np.where(right <= 0.5, 0.0, low), share)
        high = np.maximum(np.where(wrong <= 0.5, 1.0, high), share)
        return np.where(self.cases > 0, np.stack([share, low, high]), np.nan)


class Cases(NamedTuple):
    """Sums over the votes of every voter, by class k."""

    votes: Floats  # votes for k: voters x classes
    # said, met: sum of p_ik over votes for k, and over all votes; as they are, with the slope up
    # and down, with k's own shift up and down: 5 x voters x classes
    said: Floats
    met: Floats
    moved: Floats  # voters x classes: what one class's shift up instead of down adds to sum_k said

    def compare(self) -> tuple[Measure, Measure, Measure]:
        """Return accuracy per voter, and recall and precision per voter and class."""
        votes = self.votes.sum(axis=1)
        right, many = self.said.sum(axis=2), np.maximum(votes, 1)
        # K shifts, of which each pair differs by one spread
        shift = np.sqrt((self.moved**2).sum(axis=1) / 2) / 2 / many
        accuracy = Measure(right[0] / many, votes, (right[1] - right[2]) / 2 / many, shift)
        recall = self.said / np.maximum(self.met, 1e-12)
        precision = self.said / np.maximum(self.votes, 1)
        return accuracy, _compare(recall, self.met[0]), _compare(precision, self.votes)


def find_experts(cases: Cases) -> NDArray[np.bool_]:
    """Return who is clearly better than the crowd, by two standard errors of its mean recall.

    The crowd's is the mean over the voters, each weighted by its votes.
    """
    _, recall, _ = cases.compare()
    merits = recall.value.mean(axis=1)
    votes = cases.votes.sum(axis=1)
    crowd = float(votes @ merits) / max(float(votes.sum()), 1.0)
    spread = recall.value * (1 - recall.value) / np.maximum(recall.cases, 1)
    error = np.sqrt(spread.sum(axis=1)) / recall.value.shape[1]
    return np.asarray((votes > 0) & (merits - crowd > SURE_ERRORS * error + 1e-6))


def _compare(shares: Floats, cases: Floats) -> Measure:
    plain, steep, flat, up, down = np.clip(shares, 0, 1)
    return Measure(plain, cases, (steep - flat) / 2, (up - down) / 2)


def sum_cases(ballots: Ballots, logs: Floats, n_voters: int) -> Sums:
    """Return the parts of `Cases`, of the log-probabilities of a run of items. A pass."""
    n_classes = logs.shape[1]
    chances = np.clip(softmax(logs, axis=1), MOST_SURE, 1 - MOST_SURE)
    own = logit(chances)
    steep, flat = (softmax(logs * np.exp(by), axis=1) for by in (SPREAD, -SPREAD))
    each = np.stack([chances, steep, flat, expit(own + SPREAD), expit(own - SPREAD)])
    items, voters, answers = ballots.items, ballots.voters, ballots.answer(n_classes)
    cells, n_cells = voters * np.intp(n_classes) + answers, n_voters * n_classes
    shape = n_voters, n_classes
    votes = np.bincount(cells, minlength=n_cells).reshape(shape).astype(np.float64)
    said = [np.bincount(cells, one[items, answers], n_cells).reshape(shape) for one in each]
    flags = np.ones(len(voters), dtype=np.int8)
    columns = np.ascontiguousarray(each.transpose(1, 0, 2).reshape(len(logs), 5 * n_classes))
    met = tally_ballots(ballots.starts, voters, flags, columns, n_voters)[1]
    # the shift of class k takes from the votes for other classes, in proportion
    rise, chosen = each[3] - each[4], chances[items, answers]
    loss, moved = -rise / (1 - chances), []
    for k in range(n_classes):  # votes x classes would not fit into memory
        gained = np.where(answers == k, rise[items, k], chosen * loss[items, k])
        moved.append(np.bincount(voters, gained, n_voters))
    met = met.reshape(n_voters, 5, n_classes).transpose(1, 0, 2)
    return votes, np.stack(said), met, np.stack(moved, axis=1)
