"""The voters' accuracy, recall and precision, with intervals.

Voter s voted on items V_s, for class k on V_sk; p_ik = P(item i is of class k)::

    accuracy  = sum_k sum_{i in V_sk} p_ik / |V_s|
    recall    = sum_{i in V_sk} p_ik / sum_{i in V_s} p_ik     (sensitivity, specificity)
    precision = sum_{i in V_sk} p_ik / |V_sk|                  (PPV, NPV)

Intervals are of beta distributions whose variance is the sum of three: of a sample of votes, of
less or more certain probabilities, and of a common shift of log-odds (`trust.spread_shift`).
"""

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri

from unelisa.kernels.consensus import sum_forms
from unelisa.kernels.threads import run_threads
from unelisa.schema import stored
from unelisa.votes.ballots import Ballots, Floats, count_votes

PART = 4096  # shares that a thread bounds at a time
STEP = 0.5  # of log-odds, in which the effect of a shift is measured
LEVEL = 0.9
SURE_ERRORS = 2.0  # standard errors by which an expert is better than the crowd
FEWEST_CASES = 0.5  # to which any interval corresponds, at least
TWO_CLASSES = ("accuracy", "sensitivity", "specificity", "ppv", "npv")


@stored()
@dataclass(frozen=True, eq=False)
class Worth:
    """Measures of every voter with 90 % intervals; NaN where unknown."""

    values: Annotated[Floats, "estimate[measures, voters]"]
    low: Annotated[Floats, "estimate[measures, voters]"]
    high: Annotated[Floats, "estimate[measures, voters]"]
    met: Annotated[Floats, "finite[voters, classes]"]  # expected number of votes on each class

    @property
    def coins(self) -> Floats:
        """P(yes | truth is no), P(yes | truth is yes) per voter, of two classes: two rows."""
        return np.stack([1 - self.values[2], self.values[1]])

    def unknown(self) -> "Worth":
        """Return the same with every measure unknown."""
        unknown = np.full_like(self.values, np.nan)
        return Worth(unknown, unknown, unknown, self.met)

    def name_measures(self, classes: NDArray[Any]) -> list[str]:
        """Return the name of every measure."""
        if len(classes) == 2:
            return list(TWO_CLASSES)
        return ["accuracy", *(f"recall_{label}" for label in classes)]

    def tabulate(self, classes: NDArray[Any]) -> dict[str, Floats]:
        """Return the columns of a table: every measure and its bounds."""
        names = self.name_measures(classes)
        parts = {"": self.values, "_low": self.low, "_high": self.high}
        return {
            f"{name}{end}": part[k] for k, name in enumerate(names) for end, part in parts.items()
        }


def describe_worth(cases: "Cases", shift: float, n_threads: int = 1) -> Worth:
    """Return the measures of the voters from sums over their votes; `shift` is its spread."""
    accuracy, recall, precision = cases.compare()
    rows = [accuracy, *recall.each()]
    if cases.votes.shape[1] == 2:  # sensitivity, specificity, ppv, npv
        rows = [accuracy, *recall.each()[::-1], *precision.each()[::-1]]
    joined = Measure(*map(np.concatenate, zip(*rows, strict=True)))
    parts = run_threads(lambda part: part.bound(shift), joined.split(), n_threads)
    values, low, high = np.concatenate(parts, axis=1).reshape(3, len(rows), -1)
    return Worth(values, low, high, cases.met[0])


class Measure(NamedTuple):
    """A share per voter (or voter and class), the cases it is of, and what moves it."""

    value: Floats
    cases: Floats
    slope: Floats  # its standard deviation as the probabilities are more or less sure
    shift: Floats  # its change per unit of a common shift of the log-odds

    def each(self) -> list["Measure"]:
        """Return the measures of each class."""
        return [Measure(*(part[:, k] for part in self)) for k in range(self.value.shape[1])]

    def split(self) -> list["Measure"]:
        """Return parts for threads."""
        many = -(-len(self.value) // PART)
        columns = [np.array_split(column, many) if many else [column] for column in self]
        return [Measure(*part) for part in zip(*columns, strict=True)]

    def bound(self, spread: float) -> Floats:
        """Return value, low and high per voter: three rows."""
        share, cases = self.value, np.maximum(self.cases, 1)
        # a quarter of a case more keeps shares of 0 and 1 from being sure
        variance = (share * (1 - share) + 0.25 / cases) / cases
        variance += self.slope**2 + (spread * self.shift) ** 2
        inside = np.clip(share, 0.005, 0.995)
        worth = np.maximum(inside * (1 - inside) / variance, FEWEST_CASES)
        right, wrong = share * worth, (1 - share) * worth
        tail = (1 - LEVEL) / 2
        low, high = betaincinv(right + 0.5, wrong + 0.5, [[tail], [1 - tail]])
        # the votes do not exclude 0 or 1 without an observation against it
        low = np.minimum(np.where(right <= 0.5, 0.0, low), share)
        high = np.maximum(np.where(wrong <= 0.5, 1.0, high), share)
        return np.where(self.cases > 0, np.stack([share, low, high]), np.nan)


class Cases(NamedTuple):
    """Sums over the votes of every voter, by class k, under several forms of the probabilities."""

    votes: Floats  # votes for k: voters x classes
    # said, met: sum of p_ik over votes for k, and over all votes: forms x voters x classes
    said: Floats
    met: Floats

    def compare(self) -> tuple[Measure, Measure, Measure]:
        """Return accuracy per voter, and recall and precision per voter and class."""
        votes = self.votes.sum(axis=1)
        accuracy = _measure(self.said.sum(axis=2) / np.maximum(votes, 1), votes)
        recall = _measure(self.said / np.maximum(self.met, 1e-12), self.met[0])
        return accuracy, recall, _measure(self.said / np.maximum(self.votes, 1), self.votes)


def _measure(shares: Floats, cases: Floats) -> Measure:
    """Return a share with what moves it, of its values under all forms."""
    plain, flat, steep, *shifted = np.clip(shares, 0, 1)
    slope = (steep - flat) / (2 * ndtri((1 + LEVEL) / 2))
    changes = np.array(shifted[::2]) - np.array(shifted[1::2])
    # of two classes each shift is the other's turned around; of K any two differ by one spread
    shift = np.sqrt((changes**2).sum(axis=0) / 2) / (2 * STEP)
    return Measure(plain, cases, slope, shift)


def sum_cases(
    ballots: Ballots, logs: Floats, factors: tuple[float, float], n_voters: int
) -> tuple[Floats, Floats, Floats]:
    """Return the parts of `Cases` on a run; `factors` of the logs are the interval's ends."""
    n_classes = logs.shape[1]
    votes, _ = count_votes(ballots, n_voters, n_classes)
    listed = ballots.starts, ballots.voters, ballots.answer(n_classes)
    said, met = sum_forms(*listed, logs, np.array([1.0, *factors]), STEP, n_voters)
    return votes, np.moveaxis(said, 1, 0), np.moveaxis(met, 1, 0)


def find_experts(found: Cases) -> NDArray[np.bool_]:
    """Return who is clearly better than the crowd, by two standard errors of its mean recall."""
    _, recall, _ = found.compare()
    merits, votes = recall.value.mean(axis=1), found.votes.sum(axis=1)
    crowd = float(votes @ merits) / max(float(votes.sum()), 1.0)
    cases = np.maximum(recall.cases, 1)
    spread = (recall.value * (1 - recall.value) + 0.25 / cases) / cases
    error = np.sqrt(spread.sum(axis=1)) / recall.value.shape[1]
    return np.asarray((votes > 0) & (merits - crowd > SURE_ERRORS * error))
