"""Features besides the anchors: which carry information about the truth, and what they say.

A feature is used if every anchor correlates with it in one direction and the anchored latent Ising
model, with the anchors' log-odds z_i as prior odds, ties it to the truth given the others:

    P(truth_i = +1 | votes) = sigmoid(2 (theta_0 + z_i / 2 + sum_s theta_0s f_is)).

These features largely repeat one another, so they are one expert: a ridge regression of the
anchors' P(case) on their log P(level | case) / P(level | non-case) gives a score t, which adds half
of

    (m_1 - m_0) (t - (m_0 + m_1) / 2) / s^2,          t ~ N(m_c, s^2) in class c,

half because severe cases have more of everything.
"""

import warnings
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from unelisa.aggregators.latent_ising import LatentIsing
from unelisa.ehr.counts import Counts, Floats, Places, Roles
from unelisa.errors import UnelisaWarning
from unelisa.schema import stored
from unelisa.votes import Votes

SCREEN = 0.1  # smallest correlation with every anchor
MOST_PATIENTS = 10_000  # enough for clear couplings within seconds
FEWEST_VOTERS = 3  # with fewer, no feature can be explained by the others
_DEGREE = 3  # of the polynomial in log utilization that is removed before correlating features
PERCENTILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
FOLDS = 5
RIDGE = 0.1  # times the number of patients


class Screening(NamedTuple):
    """What was found about each feature."""

    correlations: Floats  # features x anchors, after removing utilization
    # +1 or -1 for features correlated with every anchor, positively or negatively; else 0
    directions: NDArray[np.int8]
    ties: Floats  # theta_0s of the anchored graph, NaN for features that were not in it
    selected: Places  # indices of the features that are used, without the anchors


def screen(
    rates: Counts,
    votes: Votes,
    log_use: Floats,
    odds: Floats,
    roles: Roles,
    rng: np.random.Generator,
) -> Screening:
    """Return the features to use; `rates` are log rates, `odds` the anchors' log-odds."""
    free = remove_utilization(rates, log_use)
    correlations = correlate(free, free[:, roles.anchors])
    directions = screen_features(correlations, len(rates))
    places = np.setdiff1d(np.flatnonzero(directions), np.r_[roles.anchors, roles.related])
    ties = np.full(rates.shape[1], np.nan)
    found = tie_features(votes.take_voters(places), odds, rng) if len(places) else None
    if found is not None:
        ties[places], clear = found
        places = places[clear & (np.sign(found[0]) == directions[places])]
    return Screening(correlations, directions, ties, places)


def remove_utilization(rates: Counts, log_use: Floats) -> Counts:
    """Return the residuals of the rates from a cubic in log utilization: the rate of a 0 falls."""
    spread = float(log_use.std())
    degree = _DEGREE if spread > 0 else 0
    scaled = np.clip((log_use - log_use.mean()) / (3 * spread or 1.0), -1, 1)
    basis, _ = np.linalg.qr(np.polynomial.legendre.legvander(scaled, degree))
    left = np.empty_like(rates)
    for feature in range(rates.shape[1]):
        column = rates[:, feature].astype(np.float64)
        left[:, feature] = column - basis @ (basis.T @ column)
    return left


def correlate(rates: NDArray[np.floating], anchor_rates: NDArray[np.floating]) -> Floats:
    """Return the correlation of every feature with every anchor; 0 for a constant feature."""
    anchors = standardize(anchor_rates.astype(np.float64))
    found = np.zeros((rates.shape[1], anchors.shape[1]))
    for feature in range(rates.shape[1]):
        column = rates[:, feature].astype(np.float64)
        found[feature] = standardize(column) @ anchors / len(column)
    return found


def standardize(columns: Floats) -> Floats:
    """Return the columns with mean 0 and standard deviation 1; 0 for a constant one."""
    spread = columns.std(axis=0)
    return np.asarray((columns - columns.mean(axis=0)) / np.where(spread > 1e-3, spread, np.inf))


def screen_features(correlations: Floats, n_patients: int) -> NDArray[np.int8]:
    """Return +1 or -1 for features correlated with every anchor in that direction, else 0.

    In small samples the threshold is what the largest of p reaches by chance, sqrt(2 log p / n).
    """
    n_features = max(2, len(correlations))
    bar = max(SCREEN, float(np.sqrt(2 * np.log(n_features) / n_patients)))
    positive, negative = correlations.min(axis=1) > bar, correlations.max(axis=1) < -bar
    return np.asarray(positive.astype(np.int8) - negative.astype(np.int8))


def tie_features(
    votes: Votes, odds: Floats, rng: np.random.Generator
) -> tuple[Floats, NDArray[np.bool_]] | None:
    """Return theta_0s per feature given all others, and whether it is clearly not 0."""
    varied = np.flatnonzero(~votes.constant())
    if len(varied) < FEWEST_VOTERS:
        return None
    rows = np.arange(votes.n_items)
    if len(rows) > MOST_PATIENTS:
        rows = np.sort(rng.choice(rows, MOST_PATIENTS, replace=False))
    model = LatentIsing("edges", random_state=rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnelisaWarning)  # the model does not know the anchors
        model.fit(votes.take_voters(varied).take_items(rows), prior=odds[rows])
    weights, clear = np.zeros(votes.n_voters), np.zeros(votes.n_voters, dtype=bool)
    weights[varied] = model.weights_
    clear[varied[model.experts_]] = True
    return weights, clear


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
        voters, found = OrdinalVoters.learn(rates), []
        for column, cuts in zip(voters.levels(rates).T, voters.cuts, strict=True):
            both = (np.bincount(column, w, len(cuts) + 1) + 1 for w in (1 - chances, chances))
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


@stored()
@dataclass(frozen=True)
class GroupedExpert:
    """One expert made of many: t = sum_j w_j (e_j - mean_j), e_j the log ratio of feature j."""

    experts: Annotated[OrdinalExperts, "OrdinalExperts"]
    means: Annotated[Floats, "finite[group]"]  # of each feature's log ratio, with its coefficient
    weights: Annotated[Floats, "finite[group]"]
    slope: Annotated[float, "finite"]  # (m_1 - m_0) / s^2, with (m_0 + m_1) / 2
    middle: Annotated[float, "finite"]

    def log_ratio(self, rates: Counts) -> Floats:
        """Return the log likelihood ratio of the group per patient."""
        score = self.experts.log_ratio(rates) @ self.weights - self.means @ self.weights
        return np.asarray(self.slope * (score - self.middle))

    def parts(self, rates: Counts) -> Counts:
        """Return what each feature adds to the group's log ratio, per patient."""
        weights = (self.slope * self.weights).astype(np.float32)
        return np.asarray(self.experts.log_ratio(rates) * weights)


def learn_group(rates: Counts, chances: Floats, rng: np.random.Generator) -> GroupedExpert:
    """Return the grouped expert, by P(case) of the anchors; its slope is estimated out of fold."""
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
    return GroupedExpert(experts, means, np.mean(solved, axis=0), *_separate(scores, chances))


def _ridge(known: Floats, target: Floats) -> Floats:
    """Return nonnegative ridge coefficients: nonnegative least squares of L^-1 X'y on L'."""
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
