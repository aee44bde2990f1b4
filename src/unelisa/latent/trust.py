"""Trust: how accurate the labels are, by experience with sets of votes whose truth is known.

logit(accuracy) = c0 + c1 logit(mean max_k P(k)) + c2 / (votes per item), with an interval that
holds for 90 % of the *sets*; log-probabilities are scaled to agree with that accuracy.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import numpy as np
from scipy.special import bdtr, expit, logit, ndtr, ndtri, softmax, xlog1py, xlogy

from unelisa.kernels.roots import find_root
from unelisa.latent import prior
from unelisa.schema import stored
from unelisa.votes.ballots import Ballots, Floats

LEAST_LABELS = 10  # gold labels from which accuracy is estimated
LEVEL = 0.9  # of all intervals
LOSS, RISK = 0.10, 0.10  # reliable: P(accuracy < expected - LOSS) < RISK
SURPRISE = 0.05  # chance of as few right gold labels if the labels are `LOSS` worse than expected
GRID = np.linspace(0.0005, 0.9995, 1000)  # of accuracies
FLATTEST, STEEPEST = 0.05, 8.0  # factors of log-probabilities
FEWEST_VOTES = 1.25  # per item, of which there is experience
NARROW = "label about 50 random items to find out"


@stored()
class Experience(NamedTuple):
    """What sets of votes with known truth say of labels like these."""

    center: Annotated[float, "finite"]  # log-odds of the accuracy
    depth: Annotated[float, "positive"]  # votes per item
    dissent: Annotated[float, "share"]  # of the items: those not labeled as a plain majority does
    # factors of the log-probabilities: as sure as expected; as the interval's low and high end,
    # times the first
    factor: Annotated[float, "positive"]
    flatter: Annotated[float, "positive"]
    steeper: Annotated[float, "positive"]

    @property
    def expected(self) -> float:
        """The accuracy that is expected."""
        return float(expit(self.center))


def gain_experience(ballots: Ballots, logs: Floats, *, temper: bool) -> Experience:
    """Return the expected accuracy of labels with these log-probabilities, and its interval."""
    chances = np.maximum(softmax(logs, axis=1), 1e-9)
    logs = np.log(chances)
    heard = ballots.counts > 0
    depth = max(float(ballots.counts[heard].mean()) if heard.any() else 0.0, FEWEST_VOTES)
    stated = float(logit(np.clip(chances.max(axis=1).mean(), 0.005, 0.995)))
    center = stated
    if temper:
        center = prior.ACCURACY[0] + prior.ACCURACY[1] * stated + prior.ACCURACY[2] / depth
    wanted = center, center - prior.BELOW, center + prior.ABOVE
    factor, flat, steep = (match_factor(logs, float(expit(one))) for one in wanted)
    # in a graph the truth need not be what the majority says
    dissent, own = (measure_dissent(ballots, logs), factor) if temper else (0.0, 1.0)
    return Experience(center, depth, dissent, own, flat / factor, steep / factor)


def match_factor(logs: Floats, wanted: float) -> float:
    """Return the factor of log-probabilities with which the mean of max P is as wanted."""
    rows = np.ascontiguousarray(logs.T)  # sums over the classes, class by class
    top = rows.max(axis=0)

    def miss(log_factor: float) -> float:
        factor = np.exp(log_factor)
        return float((1 / np.exp(factor * rows - factor * top).sum(axis=0)).mean()) - wanted

    low, high = np.log(FLATTEST), np.log(STEEPEST)
    if miss(low) >= 0:
        return FLATTEST
    if miss(high) <= 0:
        return STEEPEST
    return float(np.exp(find_root(miss, low, high, 1e-3)))


def measure_dissent(ballots: Ballots, logs: Floats) -> float:
    """Return the share of the items with votes whose label is not a plain majority's."""
    n_items, n_classes = logs.shape
    cells = ballots.items * n_classes + ballots.answer(n_classes)
    votes = np.bincount(cells, minlength=n_items * n_classes).reshape(n_items, n_classes)
    best = votes == votes.max(axis=1, keepdims=True, initial=0)
    same = best[np.arange(n_items), logs.argmax(axis=1)] / best.sum(axis=1)
    heard = ballots.counts > 0
    return float(1 - same[heard].mean()) if heard.any() else 0.0


def count_independent(ballots: Ballots, chances: Floats, n_voters: int) -> float:
    """Return Kish's n / (1 + (n - 1) rho): the effective number of voters per item.

    rho = sum_i sum_k P_ik [(sum_s u_is)^2 - sum_s u_is^2] / sum_i n_i (n_i - 1) is the mean
    correlation of errors, u_is = ([f_is != k] - e_s) / sqrt(e_s (1 - e_s)), e_s the error rate.
    """
    items, voters = ballots.items, ballots.voters
    n_items, n_classes = chances.shape
    answers = ballots.answer(n_classes)
    n_votes = np.bincount(voters, minlength=n_voters)
    right = np.bincount(voters, chances[items, answers], n_voters) / np.maximum(n_votes, 1)
    errors = np.clip(1 - right, 0.002, 0.998)
    wrong_, right_ = (x / np.sqrt(errors * (1 - errors)) for x in (1 - errors, -errors))
    cells, size = items * n_classes + answers, n_items * n_classes
    sums, squares = (
        np.bincount(items, wrong_[voters] ** power, n_items)[:, None]
        + np.bincount(cells, (right_**power - wrong_**power)[voters], size).reshape(chances.shape)
        for power in (1, 2)
    )
    together = sums**2 - squares
    counts = ballots.counts[ballots.counts > 0].astype(np.float64)
    pairs = float(counts @ (counts - 1))
    if pairs == 0:
        return 1.0
    rho = float(np.clip((chances * together).sum() / pairs, 0, 1))
    depth = float(counts.mean())
    return depth / (1 + (depth - 1) * rho)


@stored(n="count", right="count", certain="float")
class Checked(NamedTuple):
    """How many gold labels there were, and on how many the labels were right without them."""

    n: int = 0
    right: int = 0
    certain: float = 0.0  # sum over these items of P (1 - P)

    @property
    def enough(self) -> bool:
        """Whether they are enough to estimate the accuracy."""
        return self.n >= LEAST_LABELS


@stored()
@dataclass(frozen=True, eq=False)
class Trust:
    """What a reading says of all items together; NaN where nothing can be said."""

    shares: Annotated[Floats, "share[classes]"]  # of each class among the items with votes
    share_bounds: Annotated[Floats, "estimate[2, classes]"]  # rows: low, high
    labels: Annotated[Floats, "share[classes]"]  # of the items labeled so
    # accuracy, low, high: expected of the labels, gold labels included, and its interval
    accuracy: Annotated[float, "float"]
    low: Annotated[float, "float"]
    high: Annotated[float, "float"]
    risk: Annotated[float, "share"]  # chance of a true accuracy more than `LOSS` below `accuracy`
    checked: Annotated[Checked, "Checked"]
    expected: Annotated[float, "float"]  # accuracy expected of labels without gold labels
    dissent: Annotated[float, "share"]  # as in `Experience`
    voters: Annotated[float, "float"]  # how many independent voters err together as little

    @property
    def stated(self) -> float | None:
        """The accuracy that is expected; None where nothing can be said."""
        return None if np.isnan(self.accuracy) else self.accuracy

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its interval; None where nothing can be said."""
        return None if np.isnan(self.accuracy) else (self.low, self.high)

    @property
    def contradicted(self) -> bool:
        """Whether the labels are clearly less right on gold items than they should be."""
        n, right, _ = self.checked
        worst = max(self.expected - LOSS, 0.0)
        return self.checked.enough and float(bdtr(right, n, worst)) < SURPRISE

    @property
    def unusual(self) -> bool:
        """Whether labels leave the majority so often that there is no experience with it."""
        return self.dissent >= prior.GATE and not self.checked.enough and self.risk > 0

    @property
    def reliable(self) -> bool:
        """Whether the labels are probably as right as stated."""
        return self.risk < RISK and not self.contradicted and not self.unusual

    @property
    def reason(self) -> str:
        """What is expected of the labels, in words."""
        if self.contradicted:
            n, right, _ = self.checked
            return (
                f"gold labels contradict the labels: {right} of {n} are right, where about "
                f"{self.expected * n:.0f} were expected"
            )
        if np.isnan(self.accuracy):
            return "nothing shows how right the labels are"
        found = f"{self.accuracy:.2f} ({self.low:.2f} - {self.high:.2f}) of the labels are right"
        if self.unusual:
            return (
                f"{self.dissent:.0%} of the labels differ from a plain majority's, more than in "
                f"sets of votes with known truth that would show how accurate they are; {NARROW}"
            )
        if self.risk < RISK:
            return f"going by sets of votes with known truth, {found}"
        return (
            f"going by sets of votes with known truth, {found}, and less than "
            f"{max(self.accuracy - LOSS, 0):.2f} with a chance of {self.risk:.0%}; {NARROW}"
        )

    def unknown(self) -> "Trust":
        """Return the same without any accuracy: the votes identify no truth."""
        if self.low == self.high:
            return self  # all labels are gold
        nothing: Any = dict.fromkeys(("accuracy", "low", "high"), np.nan)
        return replace(self, **nothing, risk=1.0, share_bounds=self.share_bounds * np.nan)


class Tally(NamedTuple):
    """Sums over the items."""

    n_items: float
    n_heard: float
    n_gold: float
    totals: Floats  # of items with votes, per class: P, and P (1 - P)
    labels: Floats  # items labeled so, per class


def judge_labels(tally: Tally, experience: Experience, checked: Checked) -> Trust:
    """Return what is expected of the labels, by experience and by gold labels."""
    center, expected = experience.center, experience.expected
    mean, bounds = expected, expit([center - prior.BELOW, center + prior.ABOVE])
    below = prior.TAIL / ndtri(1 - RISK)  # standard deviation of the log-odds downward
    known = tally.n_gold / max(tally.n_items, 1.0)
    rest = 1 - known
    loss = LOSS / rest if rest > 0 else 1.0
    worst = expected - loss
    risk = float(ndtr((logit(worst) - center) / below)) if worst > 0 else 0.0
    if checked.enough:
        density = _weigh_accuracies(center, below, checked)
        mean = float(density @ GRID)
        tail = (1 - LEVEL) / 2
        places = np.searchsorted(np.cumsum(density), [tail, 1 - tail]).clip(0, len(GRID) - 1)
        bounds = GRID[places]
        risk = float(density[mean - loss > GRID].sum())
    labels = tally.labels / max(tally.n_items, 1.0)
    accuracy, low, high = (float(known + rest * one) for one in (mean, *bounds))
    shares, share_bounds = bound_shares(tally, experience, checked)
    about = min(risk, 1.0), checked, expected, experience.dissent, np.nan
    return Trust(shares, share_bounds, labels, accuracy, low, high, *about)


def _weigh_accuracies(center: float, below: float, checked: Checked) -> Floats:
    """Return the density of the accuracy on a grid: experience times the gold labels."""
    odds = logit(GRID) - center
    above = prior.ABOVE / ndtri((1 + LEVEL) / 2)
    spread = np.where(odds < 0, below, above)
    logs = -0.5 * (odds / spread) ** 2 - np.log(GRID * (1 - GRID))
    # binomial, up to a constant
    logs += xlogy(checked.right, GRID) + xlog1py(checked.n - checked.right, -GRID)
    density = np.exp(logs - logs.max())
    return np.asarray(density / density.sum())


def bound_shares(
    tally: Tally, experience: Experience, checked: Checked, level: float = LEVEL
) -> tuple[Floats, Floats]:
    """Return the share of each class among the items with votes, and its interval.

    As if all log-odds were off by a common shift, which more votes per item and gold labels narrow:
    logit(share) +- z shift (1 + FEW / depth) sum P (1 - P) / (n share (1 - share)).
    """
    heard = max(float(tally.n_heard), 1.0)
    shares = np.clip(tally.totals[0] / heard, 0.5 / heard, 1 - 0.5 / heard)
    shares = shares / shares.sum()
    slope = tally.totals[1] / heard / np.maximum(shares * (1 - shares), 1e-12)
    reach = ndtri((1 + level) / 2) * spread_shift(experience, checked) * slope
    odds = logit(np.clip(shares, 1e-9, 1 - 1e-9))
    return shares, np.stack([expit(odds - reach), expit(odds + reach)])


def spread_shift(experience: Experience, checked: Checked) -> float:
    """Return how far all log-odds of a class may be off together."""
    spread = prior.SHIFT * (1 + prior.FEW / experience.depth)
    return float(1 / np.sqrt(1 / spread**2 + (checked.certain if checked.enough else 0.0)))


def settle(trust: Trust, stated: Floats | None, voters: float) -> Trust:
    """Return the trust with stated bounds of the shares (rows low, high), and Kish's number."""
    trust = replace(trust, voters=voters)
    if stated is None:
        return trust
    shares = np.clip(trust.shares, *stated)
    moved = shares != trust.shares
    rest = shares[~moved].sum()
    if rest > 0:  # the other classes share what is left
        shares[~moved] *= max(1 - shares[moved].sum(), 0.0) / rest
    return replace(trust, shares=shares, share_bounds=np.clip(trust.share_bounds, *stated))
