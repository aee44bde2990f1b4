"""The anchor model: a two-class mixture for the counts of the main code and concept.

Anchor j of patient i with utilization u_i and truth c in {0, 1}:

    x_ij ~ negative binomial with mean exp(a_cj + b_j l_i) and size k_cj,    l = log(1 + u) - mean,
    logit P(truth_i = 1 | u_i) = g_0 + g_1 l_i.

An anchor that fewer than five patients have twice is Bernoulli, logit P(x_ij > 0) = a_cj + b_j l_i,
with a weak prior: two such anchors do not identify their error rates. Sizes are free in each class:
a few non-cases have many rule-out codes. The log-odds of a patient are

    z_i = g_0 + g_1 l_i + d sum_j r_j(x_ij, u_i),     d = 1 / (1 + (J - 1) rho),

with log likelihood ratios r_j that never fall in the count and J anchors of correlation rho among
cases, who differ in severity.
"""

from dataclasses import dataclass
from typing import Annotated, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaln, logit

from unelisa.ehr.counts import Counts, Floats
from unelisa.ehr.posterior import regress
from unelisa.schema import stored

SMALLEST_SIZE, LARGEST_SIZE = 0.05, 20.0
MAX_ITER = 300
TOLERANCE = 1e-6  # of the mean log-likelihood
START_SHARE = 0.3  # of the patients start as likely cases if no prevalence is given
FIRST_GUESS = 0.9  # their initial P(case)
FEWEST_REPEATED = 5  # patients with two records of an anchor, below which it is Bernoulli
# of Bernoulli anchors: logit P(x > 0) of non-cases and cases is N(these, 1) a priori
USUAL_LEVELS = np.array([-4.0, 1.0])
TRUST = 0.5  # weight of an expected prevalence against the estimated one


class AnchorCounts(NamedTuple):
    """One anchor's counts, and their few distinct values (for log gamma) with a code each."""

    counts: Floats
    values: Floats
    codes: NDArray[np.intp]

    @classmethod
    def of(cls, column: Counts) -> Self:
        """Return the counts of one column."""
        values, codes = np.unique(column, return_inverse=True)
        return cls(column.astype(np.float64), values.astype(np.float64), codes)


@stored(levels="finite[2]", slope="finite", sizes="positive[2]")
class ClassCounts(NamedTuple):
    """One anchor: log means at mean utilization and sizes of (non-cases, cases), and the slope."""

    levels: Floats
    slope: float
    sizes: Floats

    def means(self, use: Floats) -> Floats:
        """Return the expected counts of non-cases and cases: 2 x patients."""
        return np.asarray(np.exp(np.clip(self.levels[:, None] + self.slope * use, -20, 12)))

    def log_likelihoods(self, anchor: AnchorCounts, use: Floats) -> Floats:
        """Return log NB(x) of both classes, without the term in x alone, which cancels."""
        mean, size, x = self.means(use), self.sizes[:, None], anchor.counts
        by_value = gammaln(anchor.values + size) - gammaln(size) + size * np.log(size)
        found = by_value[:, anchor.codes] + x * np.log(mean)
        return np.asarray(found - (x + size) * np.log(size + mean))

    def log_ratio(self, counts: Counts, use: Floats) -> Floats:
        """Return log NB(x) of cases minus that of non-cases, held where it would decrease.

        Its increments log (x + k_1) / (x + k_0) + log p_1 / p_0, p = m / (m + k), change sign at
        most once: from falling to rising where k_1 < k_0, else the reverse.
        """
        mean, size = self.means(use), self.sizes[:, None]
        x = self._hold(counts.astype(np.float64), mean)
        found = gammaln(x + size) - gammaln(size) + size * np.log(size) + x * np.log(mean)
        others, cases = found - (x + size) * np.log(size + mean)
        return np.asarray(np.where(np.isfinite(x), cases - others, 0.0))

    def _hold(self, counts: Floats, mean: Floats) -> Floats:
        """Return the counts moved to the turn of the ratio where it would fall; NaN: everywhere."""
        other, case = self.sizes
        odds = mean[0] * (mean[1] + case) / ((mean[0] + other) * mean[1])  # p_0 / p_1
        gap = np.where(odds == 1, np.finfo(float).tiny, 1 - odds)
        turn = np.maximum(np.ceil((odds * other - case) / gap), 0)
        if case < other:
            return np.where(odds < 1, np.maximum(counts, turn), np.nan)
        held = np.where(odds < 1, counts, np.minimum(counts, turn))
        return np.where((odds < 1) | (turn > 0), held, np.nan)

    def maximize(self, anchor: AnchorCounts, use: Floats, weights: Floats, steps: int) -> Self:
        """Return the parameters after Fisher scoring steps and a line search for the sizes."""
        found = self
        for _ in range(steps):
            found = found._step(anchor, use, weights)
        if isinstance(found, ClassShares):
            return found
        pairs = zip(weights, found.means(use), strict=True)
        return found._replace(sizes=np.array([_best_size(anchor, *pair) for pair in pairs]))

    def _weigh(self, anchor: AnchorCounts, use: Floats, weights: Floats) -> tuple[Floats, Floats]:
        mean, size = self.means(use), self.sizes[:, None]
        shrunk = weights * size / (size + mean)
        return shrunk * (anchor.counts - mean), shrunk * mean

    def _step(self, anchor: AnchorCounts, use: Floats, weights: Floats) -> Self:
        residual, information = self._weigh(anchor, use, weights)
        prior = float(isinstance(self, ClassShares))
        score = np.append(residual.sum(axis=1), residual[0] @ use + residual[1] @ use)
        score -= prior * np.append(self.levels - USUAL_LEVELS, self.slope)
        mixed = np.array([weights @ use for weights in information])
        curvature = np.diag(np.append(information.sum(axis=1), sum(information @ use**2)))
        curvature += max(prior, 1e-6) * np.eye(3)
        curvature[2, :2] = curvature[:2, 2] = mixed
        step = np.clip(np.linalg.solve(curvature, score), -0.7, 0.7)
        return self._replace(levels=self.levels + step[:2], slope=self.slope + float(step[2]))


@stored()
class ClassShares(ClassCounts):
    """One anchor that is present or absent: log odds of being present instead of log means."""

    def means(self, use: Floats) -> Floats:
        """Return P(x > 0) of non-cases and cases: 2 x patients."""
        return np.asarray(expit(np.clip(self.levels[:, None] + self.slope * use, -20, 20)))

    def log_likelihoods(self, anchor: AnchorCounts, use: Floats) -> Floats:
        """Return log P(x) of both classes."""
        chances = self.means(use)
        return np.asarray(np.where(anchor.counts > 0, np.log(chances), np.log1p(-chances)))

    def log_ratio(self, counts: Counts, use: Floats) -> Floats:
        """Return log P(x) of cases minus that of non-cases."""
        other, case = self.log_likelihoods(AnchorCounts.of(counts), use)
        return np.asarray(case - other)

    def _weigh(self, anchor: AnchorCounts, use: Floats, weights: Floats) -> tuple[Floats, Floats]:
        chances = self.means(use)
        return weights * ((anchor.counts > 0) - chances), weights * chances * (1 - chances)


@stored(level="finite", slope="finite")
class CaseOdds(NamedTuple):
    """logit P(case | u) = level + slope l, before the counts."""

    level: float
    slope: float


@stored()
@dataclass(frozen=True)
class AnchorModel:
    """A fitted anchor model."""

    prevalence: Annotated[float, "share"]  # proportion of cases among the fitted patients
    case_odds: Annotated[CaseOdds, "CaseOdds"]  # g_0 and g_1
    anchors: Annotated[tuple[ClassCounts, ...], "many(anchors) ClassCounts"]
    mean_use: Annotated[float, "finite"]  # mean of log(1 + u) over the fitted patients
    n_iter: Annotated[int, "count"]  # of EM, and whether it converged
    converged: Annotated[bool, "flag"]
    discount: Annotated[float, "share"] = 1.0  # d: the weight of each anchor

    @property
    def correlation(self) -> float:
        """The correlation of the anchors among cases; 1 if there is nothing to compare with."""
        others = len(self.anchors) - 1
        return (1 / self.discount - 1) / others if others else 1.0

    def log_odds(self, counts: Counts, log_use: Floats) -> Floats:
        """Return z for patients with these anchor counts."""
        before = self.case_odds.level + self.case_odds.slope * (log_use - self.mean_use)
        return np.asarray(before + self.parts(counts, log_use).sum(axis=1))

    def parts(self, counts: Counts, log_use: Floats) -> Floats:
        """Return the contribution of each anchor to z, per patient."""
        use, pairs = log_use - self.mean_use, zip(counts.T, self.anchors, strict=True)
        return self.discount * np.column_stack([one.log_ratio(x, use) for x, one in pairs])


def fit_anchors(
    counts: Counts, log_use: Floats, start: Floats, expected: float | None, known: NDArray[np.int8]
) -> AnchorModel:
    """Return the anchor model by EM; `start` is larger for likely cases, `known` -1, +1 or 0."""
    mean_use = float(log_use.mean())
    use = log_use - mean_use
    columns = [AnchorCounts.of(column) for column in counts.T]
    chances = np.where(known == 0, _first_chances(start, expected), known > 0)
    anchors = [_first_guess(anchor, chances) for anchor in columns]
    odds = CaseOdds(float(logit(chances.mean())), 0.0)
    last, converged, n_iter = -np.inf, False, 0
    while n_iter < MAX_ITER and not converged:
        n_iter += 1
        pairs, weights = zip(columns, anchors, strict=True), np.stack([1 - chances, chances])
        steps = 3 if n_iter <= 3 else 1
        anchors = [found.maximize(anchor, use, weights, steps) for anchor, found in pairs]
        odds = _update_odds(odds, use, chances, expected)
        joint = _joint(columns, use, anchors, odds)
        posterior = expit(np.clip(joint[1] - joint[0], -40, 40))
        chances = np.where(known == 0, posterior, known > 0)
        level = float(np.logaddexp(*joint).mean())
        converged, last = abs(level - last) < TOLERANCE, level
    discount = 1 / (1 + (len(anchors) - 1) * _correlate_cases(counts, use, chances, anchors))
    prevalence = float(chances.mean())
    return AnchorModel(prevalence, odds, tuple(anchors), mean_use, n_iter, converged, discount)


def _first_chances(start: Floats, expected: float | None) -> Floats:
    share = START_SHARE if expected is None else expected
    low, cut = min(1 - FIRST_GUESS, share / 2), np.quantile(start, 1 - share)
    upper = start > cut if (start > cut).any() else start == cut  # many may be tied at the top
    return np.where(upper, FIRST_GUESS, low)


def _first_guess(anchor: AnchorCounts, chances: Floats) -> ClassCounts:
    if is_binary(anchor.counts):
        return ClassShares(USUAL_LEVELS, 0.0, np.ones(2))
    means = [np.average(anchor.counts, weights=weights) for weights in (1 - chances, chances)]
    return ClassCounts(np.log(np.array(means) + 0.01), 0.5, np.ones(2))


def is_binary(counts: NDArray[np.floating]) -> bool:
    """Return whether too few patients have two records of an anchor to learn from their number."""
    return int((counts >= 2).sum()) < FEWEST_REPEATED


def _best_size(anchor: AnchorCounts, weights: Floats, mean: Floats) -> float:
    by_value = np.bincount(anchor.codes, weights, minlength=len(anchor.values))
    total, weighted = weights.sum(), weights * anchor.counts

    def loss(log_size: float) -> float:
        size = np.exp(log_size)
        spread = np.log(size + mean)
        gain = by_value @ gammaln(anchor.values + size) + total * (size * log_size - gammaln(size))
        return float(weighted @ spread + size * (weights @ spread) - gain)

    from scipy.optimize import minimize_scalar  # noqa: PLC0415 - takes a tenth of a second

    bounds = (np.log(SMALLEST_SIZE), np.log(LARGEST_SIZE))
    found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 0.02})
    return float(np.exp(found.x))


def _update_odds(odds: CaseOdds, use: Floats, chances: Floats, expected: float | None) -> CaseOdds:
    """Return the logistic regression of P(case) on l, its level shrunk toward the expected one."""
    design = np.column_stack([np.ones_like(use), use])
    prior = np.diag([0.0, 1.0])  # slope ~ N(0, 1)
    solved, _ = regress(design, chances, (odds.level, odds.slope), prior, steps=3)
    level, slope = solved.tolist()
    if expected is not None:
        found = float(np.clip(chances.mean(), 0.0005, 0.9995))
        level += TRUST * float(logit(expected) - logit(found))
    return CaseOdds(level, slope)


def _joint(
    columns: list[AnchorCounts], use: Floats, anchors: list[ClassCounts], odds: CaseOdds
) -> Floats:
    before = odds.level + odds.slope * use
    joint = np.stack([-np.logaddexp(0, before), -np.logaddexp(0, -before)])
    for anchor, found in zip(columns, anchors, strict=True):
        joint += found.log_likelihoods(anchor, use)
    return joint


def _correlate_cases(
    counts: Counts, use: Floats, chances: Floats, anchors: list[ClassCounts]
) -> float:
    """Return the mean correlation of log(1 + count) between anchors among cases, at least 0."""
    if len(anchors) == 1:
        return 0.0
    expected = np.column_stack([np.log1p(one.means(use)[1]) for one in anchors])
    shown = [np.minimum(x, 1) if is_binary(x) else x for x in counts.T]
    left = np.log1p(np.column_stack(shown).astype(np.float64)) - expected
    left -= np.average(left, axis=0, weights=chances)
    products = (left * chances[:, None]).T @ left
    spread = np.sqrt(np.diag(products)) + 1e-12
    pairs = (products / np.outer(spread, spread))[np.triu_indices(len(anchors), 1)]
    return max(0.0, float(pairs.mean()))
