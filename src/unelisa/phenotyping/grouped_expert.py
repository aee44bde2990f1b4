"""Secondary evidence: features that go along with every anchor, counted together as one expert.

Each of them knows a little, and they repeat each other; as separate experts they would outvote the
anchors. Each feature is an ordinal voter: its level l says log P(l | case) / P(l | other). One
ridge regression of the anchors' P(case) on these log ratios gives one score t, and t the evidence

    (m_1 - m_0) (t - (m_0 + m_1) / 2) / s^2,          t ~ N(m_c, s^2) in class c,

which enters the log odds with weight 1/2, as it is not independent of the anchors given the truth:
severe cases have more of everything.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import nnls

from unelisa.sources.counts import Counts, Floats
from unelisa.sources.phenotype import Levels, OrdinalVoters

FOLDS = 5
RIDGE = 0.1  # of the number of patients
SCREEN = 0.1  # smallest correlation with every anchor
_DEGREE = 3  # of the polynomial in log utilisation that is taken out before features are correlated


def remove_utilization(rates: Counts, log_use: Floats) -> Counts:
    """Return the rates less their regression on a cubic of log utilisation.

    A rate is 0 on average over counts, not over patients: most counts are 0, and the rate of a 0
    falls with utilisation. So all rates go along with each other a little.
    """
    spread = float(log_use.std())
    degree = _DEGREE if spread > 0 else 0
    scaled = np.clip((log_use - log_use.mean()) / (3 * spread or 1.0), -1, 1)
    basis, _ = np.linalg.qr(np.polynomial.legendre.legvander(scaled, degree))
    left = np.empty_like(rates)
    for feature in range(rates.shape[1]):
        column = rates[:, feature].astype(np.float64)
        left[:, feature] = column - basis @ (basis.T @ column)
    return left


def correlate(rates: Counts, anchor_rates: Counts) -> Floats:
    """Return the correlation of every feature with every anchor; 0 for a constant feature."""
    anchors = _standardise(anchor_rates.astype(np.float64))
    found = np.zeros((rates.shape[1], anchors.shape[1]))
    for feature in range(rates.shape[1]):
        column = rates[:, feature].astype(np.float64)
        found[feature] = _standardise(column) @ anchors / len(column)
    return found


def screen_features(correlations: Floats, n_patients: int) -> NDArray[np.int8]:
    """Return per feature +1 or -1 where it goes along with or against every anchor, else 0.

    The bar is SCREEN, or in small samples what the largest of p correlations reaches by chance,
    sqrt(2 log p / n).

    Examples
    --------
    >>> screen_features(np.array([[.3, .2], [.3, -.2], [-.2, -.4]]), 10_000)
    array([ 1,  0, -1], dtype=int8)
    """
    n_features = max(2, len(correlations))
    bar = max(SCREEN, float(np.sqrt(2 * np.log(n_features) / n_patients)))
    along, against = correlations.min(axis=1) > bar, correlations.max(axis=1) < -bar
    return np.asarray(along.astype(np.int8) - against.astype(np.int8))


@dataclass(frozen=True)
class OrdinalExperts:
    """Per feature and level: log P(level | case) - log P(level | other)."""

    voters: OrdinalVoters
    log_ratios: tuple[Floats, ...]

    @classmethod
    def learn(cls, rates: Counts, chances: Floats) -> "OrdinalExperts":
        """Return the experts from P(case), one patient of each class added to every level."""
        voters = OrdinalVoters.learn(rates)
        levels = voters.levels(rates)
        found = []
        for feature, cuts in enumerate(voters.cuts):
            shares = []
            for weights in (1 - chances, chances):
                counts = np.bincount(levels[:, feature], weights, len(cuts) + 1) + 1
                shares.append(np.log(counts / counts.sum()))
            found.append(shares[1] - shares[0])
        return cls(voters, tuple(found))

    def evidence(self, rates: Counts) -> Counts:
        """Return the log ratio of each patient's level on each feature."""
        levels: Levels = self.voters.levels(rates)
        found = np.empty(levels.shape, dtype=np.float32, order="F")
        for feature, ratios in enumerate(self.log_ratios):
            found[:, feature] = ratios[levels[:, feature]]
        return found


@dataclass(frozen=True)
class GroupedEvidence:
    """One expert made of many: t = sum_j w_j (e_j - mean_j), e_j the log ratio of feature j.

    Attributes
    ----------
    experts
        The ordinal experts.
    means, weights
        Of each feature's log ratio: its mean and its coefficient.
    slope, middle
        (m_1 - m_0) / s^2 and (m_0 + m_1) / 2.
    """

    experts: OrdinalExperts
    means: Floats
    weights: Floats
    slope: float
    middle: float

    def log_ratio(self, rates: Counts) -> Floats:
        """Return the evidence of the group per patient."""
        score = self.experts.evidence(rates) @ self.weights - self.means @ self.weights
        return np.asarray(self.slope * (score - self.middle))

    def parts(self, rates: Counts) -> Counts:
        """Return what each feature adds to the group's evidence, per patient."""
        weights = (self.slope * self.weights).astype(np.float32)
        return np.asarray(self.experts.evidence(rates) * weights)


def learn_group(rates: Counts, chances: Floats, rng: np.random.Generator) -> GroupedEvidence:
    """Return the grouped expert; how much it knows is measured on folds that it was not fitted to.

    Parameters
    ----------
    rates
        Patients x the group's features.
    chances
        P(case) by the anchors.
    rng
        Draws the folds.
    """
    experts = OrdinalExperts.learn(rates, chances)
    evidence = experts.evidence(rates)
    means = evidence.mean(axis=0, dtype=np.float64)
    scales = evidence.std(axis=0, dtype=np.float64) + 1e-9
    folds = rng.permutation(len(rates)) % min(FOLDS, len(rates))
    scores, solved = np.empty(len(rates)), []
    for fold in range(int(folds.max()) + 1):
        kept = folds != fold
        weights = _ridge((evidence[kept] - means) / scales, chances[kept]) / scales
        scores[~kept] = (evidence[~kept] - means) @ weights
        solved.append(weights)
    slope, middle = _separate(scores, chances)
    return GroupedEvidence(experts, means, np.mean(solved, axis=0), slope, middle)


def _ridge(known: Floats, target: Floats) -> Floats:
    """Return ridge coefficients that are not negative.

    The anchors give the sign: a log ratio that speaks for a case must not count against it because
    others say the same better. With the Gram matrix L L', it is least squares of L^-1 X'y on L'.
    """
    gram = known.T @ known + RIDGE * len(known) * np.eye(known.shape[1])
    lower = np.linalg.cholesky(gram)
    goal = solve_triangular(lower, known.T @ (target - target.mean()), lower=True)
    return np.asarray(nnls(lower.T, goal)[0])


def _separate(scores: Floats, chances: Floats) -> tuple[float, float]:
    """Return (m_1 - m_0) / s^2 and (m_0 + m_1) / 2 of the scores, patients weighted by P(class)."""
    other, case = (np.average(scores, weights=w) for w in (1 - chances, chances))
    within = (1 - chances) * (scores - other) ** 2 + chances * (scores - case) ** 2
    return float((case - other) / (within.mean() + 1e-12)), float((other + case) / 2)


def _standardise(columns: Floats) -> Floats:
    spread = columns.std(axis=0)
    return np.asarray((columns - columns.mean(axis=0)) / np.where(spread > 1e-3, spread, np.inf))
