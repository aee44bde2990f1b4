"""Trust: how right the labels are, going by sets of votes whose truth is known.

What a model states of its own labels, the mean of max_k P(k), is wrong where its assumptions are.
So it is corrected by experience: over sets of real votes, the accuracy's log-odds are regressed on
the stated ones' and on what else the votes show (`prior.ACCURACY`), and the spread of what is left
gives the interval: it holds for 90 % of the *sets*, as an interval of conformal prediction does for
items.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri, softmax
from scipy.stats import binom

from unelisa.latent import prior
from unelisa.latent.ballots import Ballots, Floats, Sums
from unelisa.latent.worth import sum_cases
from unelisa.schema import stored

LEAST_LABELS = 10  # gold labels that can tell how right labels are
LEVEL = 0.9  # of all intervals
LOSS, RISK = 0.10, 0.10  # reliable: P(accuracy < stated - LOSS) < RISK
SURPRISE = 0.05  # chance of as few right gold labels if the labels are `LOSS` worse
GRID = np.linspace(0.0005, 0.9995, 1000)  # of accuracies


@stored(n="count", right="count")
class Checked(NamedTuple):
    """How many gold labels there were, and on how many the labels were right without them."""

    n: int = 0
    right: int = 0

    @property
    def enough(self) -> bool:
        """Whether they can tell how right the labels are."""
        return self.n >= LEAST_LABELS


@stored(
    shares="share[classes]",
    share_bounds="share[2, classes]",
    labels="share[classes]",
    accuracy="float",
    low="float",
    high="float",
    risk="share",
    checked="Checked",
    expected="float",
    voters="float",
)
@dataclass(frozen=True, eq=False)
class Trust:
    """What a reading says of all items together; NaN where nothing can be said."""

    shares: Floats  # of each class among the items with votes
    share_bounds: Floats  # rows: low, high
    labels: Floats  # share of the items labeled so
    # accuracy, low, high: expected of the labels, gold labels included, and its interval
    accuracy: float
    low: float
    high: float
    risk: float  # chance that the true accuracy is more than `LOSS` below `accuracy`
    checked: Checked
    expected: float  # accuracy expected of labels without gold labels
    voters: float  # how many independent voters have as little error in common

    @property
    def contradicted(self) -> bool:
        """Whether the labels are clearly less right on gold items than they should be."""
        n, right = self.checked
        worst = max(self.expected - LOSS, 0.0)
        return self.checked.enough and float(binom.cdf(right, n, worst)) < SURPRISE

    @property
    def reliable(self) -> bool:
        """Whether the labels are probably as right as stated."""
        return self.risk < RISK and not self.contradicted

    @property
    def reason(self) -> str:
        """What is expected of the labels, in words."""
        if self.contradicted:
            n, right = self.checked
            return (
                f"gold labels contradict the labels: {right} of {n} are right, where about "
                f"{self.expected * n:.0f} were expected"
            )
        if np.isnan(self.accuracy):
            return "nothing shows how right the labels are"
        found = f"{self.accuracy:.2f} ({self.low:.2f} - {self.high:.2f}) of the labels are right"
        if self.risk < RISK:
            return f"as sets of votes with known truth go, {found}"
        return (
            f"as sets of votes with known truth go, {found}, but with a chance of "
            f"{self.risk:.0%} they are more than {LOSS:.2f} worse than that; gold labels would tell"
        )

    def unknown(self) -> "Trust":
        """Return the same without any accuracy: the votes carry no truth."""
        if self.risk == 0.0:
            return self  # nearly all labels are gold
        return replace(self, accuracy=np.nan, low=np.nan, high=np.nan, risk=1.0)


class Tally(NamedTuple):
    """Sums over the items, in one pass together with the voters' cases."""

    # items; those with votes; votes; items without gold labels; of these: sum of max P, and how
    # many labels differ from those of a plain majority
    counts: Floats
    totals: Floats  # P of items with votes; the same squared; labels: three rows of classes

    @property
    def stated(self) -> float:
        """Mean of max P on the items without gold labels."""
        return float(self.counts[4] / max(self.counts[3], 1.0))

    @property
    def known(self) -> float:
        """Share of the items with gold labels."""
        return float(1 - self.counts[3] / max(self.counts[0], 1.0))

    @property
    def dissent(self) -> float:
        """Share of the other items whose label differs from a plain majority's."""
        return float(self.counts[5] / max(self.counts[3], 1.0))

    @property
    def depth(self) -> float:
        """Votes per item with votes."""
        return float(self.counts[2] / max(self.counts[1], 1.0))


def sum_answers(ballots: Ballots, gold: NDArray[np.int8], reading: Any, n_voters: int) -> Sums:
    """Return the parts of `Tally` and of the voters' `Cases`. A pass.

    `gold` holds the codes of known labels, or nothing; the prior odds include them.
    """
    logs = reading.weigh_run(ballots)
    chances, n_classes = softmax(logs, axis=1), logs.shape[1]
    heard, open_ = ballots.counts > 0, np.ones(len(logs), dtype=np.bool_)
    if gold.size:
        open_ = gold == 0
    labels = chances.argmax(axis=1)
    cells = ballots.items * n_classes + ballots.answer(n_classes)
    votes = np.bincount(cells, minlength=len(logs) * n_classes).reshape(len(logs), n_classes)
    best = votes == votes.max(axis=1, keepdims=True)
    same = best[np.arange(len(logs)), labels] / best.sum(axis=1)
    sure = chances.max(axis=1, initial=0.0)
    counts = len(logs), heard.sum(), len(ballots.voters), open_.sum()
    totals = (
        chances[heard].sum(axis=0),
        (chances[heard] ** 2).sum(axis=0),
        np.bincount(labels, minlength=n_classes),
    )
    return (
        np.array([*counts, sure[open_].sum(), (1 - same)[open_].sum()], dtype=np.float64),
        np.stack(totals).astype(np.float64),
        *sum_cases(ballots, logs, n_voters),
    )


def judge_labels(tally: Tally, checked: Checked, agreement: float, stated: Floats | None) -> Trust:
    """Return what is expected of the labels.

    `agreement` is that of the two readings, `stated` bounds for the classes' shares, rows low and
    high.
    """
    density = _weigh_accuracies(tally, agreement)
    expected = float(density @ GRID)
    if checked.enough:
        density = density * binom.pmf(checked.right, checked.n, GRID)
        density /= density.sum()
    rest = 1 - tally.known
    mean = float(density @ GRID)
    tail = (1 - LEVEL) / 2
    bounds = np.searchsorted(np.cumsum(density), [tail, 1 - tail]).clip(0, len(GRID) - 1)
    low, high = tally.known + rest * GRID[bounds]
    worst = mean - LOSS / rest if rest > 0 else 0.0
    shares, share_bounds = _bound_shares(tally)
    return Trust(
        shares,
        share_bounds if stated is None else np.clip(share_bounds, *stated),
        tally.totals[2] / max(tally.counts[0], 1.0),
        tally.known + rest * mean,
        float(low),
        float(high),
        float(density[worst > GRID].sum()),
        checked,
        expected,
        np.nan,
    )


def _weigh_accuracies(tally: Tally, agreement: float) -> Floats:
    """Return the density of the accuracy on a grid, going by experience."""
    stated = float(np.clip(tally.stated, 1e-3, 1 - 1e-3))
    features = np.array([1.0, logit(stated), tally.dissent, np.log(tally.depth), 1 - agreement])
    center = float(features @ prior.ACCURACY)
    density = np.exp(-0.5 * ((logit(GRID) - center) / prior.ACCURACY_SPREAD) ** 2)
    density /= GRID * (1 - GRID)
    return np.asarray(density / density.sum())


def _bound_shares(tally: Tally) -> tuple[Floats, Floats]:
    """Return the share of each class among the items with votes, and its interval."""
    heard = max(float(tally.counts[1]), 1.0)
    shares = np.clip(tally.totals[0] / heard, 0.5 / heard, 1 - 0.5 / heard)
    shares = shares / shares.sum()
    reach = ndtri((1 + LEVEL) / 2) * prior.SHARE_SPREAD
    odds = logit(np.clip(shares, 1e-9, 1 - 1e-9))
    return shares, np.stack([expit(odds - reach), expit(odds + reach)])
