"""Secondary features, which agree with every anchor, counted together as one expert.

Each of them carries a little information and they largely repeat one another; as separate experts
they would outvote the anchors. Each feature is an ordinal voter whose level l contributes
log P(l | case) / P(l | non-case). A ridge regression of the anchors' P(case) on these log ratios
gives one score t per patient, and t the log likelihood ratio

    (m_1 - m_0) (t - (m_0 + m_1) / 2) / s^2,          t ~ N(m_c, s^2) in class c.

It enters the log-odds with weight 1/2 because it is not independent of the anchors given the truth:
severe cases have more of everything.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from unelisa.ehr.counts import Counts, Floats
from unelisa.schema import stored

PERCENTILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
FOLDS = 5
RIDGE = 0.1  # times the number of patients


@stored(cuts="many(group) finite[cuts]")
@dataclass(frozen=True)
class OrdinalVoters:
    """One voter per feature, whose answer is a level 0, 1, 2, ..."""

    cuts: tuple[Floats, ...]  # per feature the distinct percentiles of its rates

    @classmethod
    def learn(cls, rates: Counts) -> "OrdinalVoters":
        """Return the cuts at the percentiles of each column."""
        columns = range(rates.shape[1])
        return cls(tuple(np.unique(np.quantile(rates[:, j], PERCENTILES)) for j in columns))

    def levels(self, rates: Counts) -> NDArray[np.int8]:
        """Return the number of cuts below each rate."""
        levels = np.empty(rates.shape, dtype=np.int8, order="F")
        for feature, cuts in enumerate(self.cuts):
            levels[:, feature] = np.searchsorted(cuts, rates[:, feature], side="left")
        return levels


def _levels_fit(experts: "OrdinalExperts") -> bool:
    """Return whether every feature has one more level than cuts."""
    sizes = zip(experts.voters.cuts, experts.log_ratios, strict=True)
    return all(len(ratios) == len(cuts) + 1 for cuts, ratios in sizes)


@stored(_levels_fit, voters="OrdinalVoters", log_ratios="many(group) finite[levels]")
@dataclass(frozen=True)
class OrdinalExperts:
    """Per feature and level: log P(level | case) - log P(level | non-case)."""

    voters: OrdinalVoters
    log_ratios: tuple[Floats, ...]

    @classmethod
    def learn(cls, rates: Counts, chances: Floats) -> "OrdinalExperts":
        """Return the log ratios given P(case), with one patient of each class added to a level."""
        voters = OrdinalVoters.learn(rates)
        levels = voters.levels(rates)
        found = []
        for feature, cuts in enumerate(voters.cuts):
            column, n_levels = levels[:, feature], len(cuts) + 1
            both = (np.bincount(column, w, n_levels) + 1 for w in (1 - chances, chances))
            other, case = (np.log(counts / counts.sum()) for counts in both)
            found.append(case - other)
        return cls(voters, tuple(found))

    def log_ratio(self, rates: Counts) -> Counts:
        """Return the log ratio of each patient's level on each feature."""
        levels = self.voters.levels(rates)
        found = np.empty(levels.shape, dtype=np.float32, order="F")
        for feature, ratios in enumerate(self.log_ratios):
            found[:, feature] = ratios[levels[:, feature]]
        return found


@stored(
    experts="OrdinalExperts",
    means="finite[group]",
    weights="finite[group]",
    slope="finite",
    middle="finite",
)
@dataclass(frozen=True)
class GroupedExpert:
    """One expert made of many: t = sum_j w_j (e_j - mean_j), e_j the log ratio of feature j."""

    experts: OrdinalExperts  # the ordinal experts
    # means, weights: mean and coefficient of each feature's log ratio
    means: Floats
    weights: Floats
    # slope, middle: (m_1 - m_0) / s^2 and (m_0 + m_1) / 2
    slope: float
    middle: float

    def log_ratio(self, rates: Counts) -> Floats:
        """Return the log likelihood ratio of the group per patient."""
        score = self.experts.log_ratio(rates) @ self.weights - self.means @ self.weights
        return np.asarray(self.slope * (score - self.middle))

    def parts(self, rates: Counts) -> Counts:
        """Return what each feature adds to the group's log ratio, per patient."""
        weights = (self.slope * self.weights).astype(np.float32)
        return np.asarray(self.experts.log_ratio(rates) * weights)


def learn_group(rates: Counts, chances: Floats, rng: np.random.Generator) -> GroupedExpert:
    """Return the grouped expert; its class separation is estimated out of fold.

    `rates` is patients x the group's features; `chances` is P(case) by the anchors.
    """
    experts = OrdinalExperts.learn(rates, chances)
    ratios = experts.log_ratio(rates)
    means = ratios.mean(axis=0, dtype=np.float64)
    scales = ratios.std(axis=0, dtype=np.float64) + 1e-9
    folds = rng.permutation(len(rates)) % min(FOLDS, len(rates))
    scores, solved = np.empty(len(rates)), []
    for fold in range(int(folds.max()) + 1):
        kept = folds != fold
        weights = _ridge((ratios[kept] - means) / scales, chances[kept]) / scales
        scores[~kept] = (ratios[~kept] - means) @ weights
        solved.append(weights)
    slope, middle = _separate(scores, chances)
    return GroupedExpert(experts, means, np.mean(solved, axis=0), slope, middle)


def _ridge(known: Floats, target: Floats) -> Floats:
    """Return nonnegative ridge coefficients.

    The anchors determine the sign: a log ratio in favor of a case must not count against it because
    others carry the same information better. With the Gram matrix L L', this is nonnegative least
    squares of L^-1 X'y on L'.
    """
    gram = known.T @ known + RIDGE * len(known) * np.eye(known.shape[1])
    from scipy.optimize import nnls  # noqa: PLC0415 - takes a tenth of a second

    lower = np.linalg.cholesky(gram)
    goal = solve_triangular(lower, known.T @ (target - target.mean()), lower=True)
    return np.asarray(nnls(lower.T, goal)[0])


def _separate(scores: Floats, chances: Floats) -> tuple[float, float]:
    """Return (m_1 - m_0) / s^2 and (m_0 + m_1) / 2 of the scores, weighted by P(class)."""
    other, case = (np.average(scores, weights=w) for w in (1 - chances, chances))
    within = (1 - chances) * (scores - other) ** 2 + chances * (scores - case) ** 2
    return float((case - other) / (within.mean() + 1e-12)), float((other + case) / 2)
