"""The numbers that are fitted: powers of the average, and how far labels can be trusted."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, logit

from studies.prior.sets import Fitted, setting
from unelisa.latent import prior
from unelisa.latent.consensus import ConsensusReading
from unelisa.latent.trust import LEVEL, RISK, gain_experience
from unelisa.votes.ballots import keep_voters

Floats = NDArray[np.float64]

SAFETY = 0.2  # log-odds by which the expected accuracy errs on the low side
Values = dict[str, float | tuple[float, ...]]


class Labels(NamedTuple):
    """The log-probabilities of one set's labeled items, by part, and the true classes."""

    logs: Floats  # parts x items x classes: model, share
    classes: NDArray[np.intp]


def weigh_sets(sets: Sequence[Fitted]) -> Floats:
    """Return the weights of sets: sources count equally."""
    sources = [one.source for one in sets]
    return np.array([1 / sources.count(source) for source in sources]) / len(set(sources))


def fit_powers(sets: Sequence[Fitted]) -> Values:
    """Return the exponents of model and share with the least mean log loss."""
    averaged = [one for one in sets if isinstance(one.reading, ConsensusReading)]
    labels = [_list_labels(one) for one in averaged]
    weights = np.full(len(labels), 1 / len(labels))

    def cost(powers: Floats) -> tuple[float, Floats]:
        found = [_miss(one, powers) for one in labels]
        losses, slopes = zip(*found, strict=True)
        return float(weights @ np.array(losses)), weights @ np.array(slopes)

    start = np.array([prior.MODEL_POWER, prior.SHARE_POWER])
    found = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=[(0, 2)] * 2)
    return {"MODEL_POWER": float(found.x[0]), "SHARE_POWER": float(found.x[1])}


def _list_labels(one: Fitted) -> Labels:
    known = one.truth.classes >= 0
    parts = one.chances[known], one.shares[known]
    logs = np.log(np.maximum(np.stack(parts), prior.LEAST_CHANCE))
    return Labels(logs, one.truth.classes[known])


def _miss(labels: Labels, powers: Floats) -> tuple[float, Floats]:
    """Return the mean log loss of an average, and its gradient."""
    rows = np.arange(len(labels.classes))
    logs = log_softmax(np.tensordot(powers, labels.logs, 1), axis=1)
    true = labels.logs[:, rows, labels.classes]
    expected = (np.exp(logs) * labels.logs).sum(axis=2)
    return -float(logs[rows, labels.classes].mean()), -(true - expected).mean(axis=1)


class Outcome(NamedTuple):
    """How right the labels of a set are, and what its votes show."""

    accuracy: float
    n: int  # labeled items
    stated: float  # log-odds of the mean of max P
    depth: float
    weight: float

    @property
    def target(self) -> float:
        """Log-odds of the accuracy, with half an item on either side."""
        share = (self.accuracy * self.n + 0.5) / (self.n + 1)
        return float(logit(np.clip(share, 0.005, 0.995)))


def fit_trust(sets: Sequence[Fitted], powers: Values) -> Values:
    """Return how the accuracy follows from what the votes show, and the margins around it.

    Margins are quantiles of what is left where a set's whole source was left out, 90 % of the
    sources inside, as in conformal prediction.
    """
    told = [one for one in sets if one.told]
    outcomes = [
        measure_outcome(one, powers, float(weight))
        for one, weight in zip(told, weigh_sets(told), strict=True)
    ]
    weights = np.array([one.weight for one in outcomes])
    design = np.array([[1.0, one.stated, 1 / one.depth] for one in outcomes])
    targets = np.array([one.target for one in outcomes])
    sources = np.array([one.source for one in told])
    left = np.empty(len(told))
    for source in np.unique(sources):
        out = sources == source
        found = _regress(design[~out], targets[~out], weights[~out])
        left[out] = targets[out] - design[out] @ found
    coefficients = _regress(design, targets, weights)
    rank = min(1.0, LEVEL * (1 + 1 / len(np.unique(sources))))
    reach = find_quantile(np.abs(left), weights, rank)
    return {
        "ACCURACY": (float(coefficients[0] - SAFETY), *map(float, coefficients[1:])),
        "BELOW": reach - SAFETY,
        "ABOVE": reach + SAFETY,
        "TAIL": -find_quantile(left, weights, RISK) - SAFETY,
    }


def measure_outcome(one: Fitted, powers: Values, weight: float) -> Outcome:
    """Return the outcome of a set with these powers of the average."""
    voted = keep_voters(one.truth.run, one.reading.distinct)
    with setting(powers):
        logs = one.reading.think(one.truth.run)
        found = gain_experience(voted, logs, temper=False)
    known = one.truth.classes >= 0
    accuracy = share_right(logs[known], one.truth.classes[known])
    return Outcome(accuracy, int(known.sum()), found.center, found.depth, weight)


def share_right(logs: Floats, classes: NDArray[np.intp]) -> float:
    """Return the accuracy of labels; a tie counts its share."""
    best = logs >= logs.max(axis=1, keepdims=True) - 1e-9
    return float((best[np.arange(len(classes)), classes] / best.sum(axis=1)).mean())


def _regress(design: Floats, targets: Floats, weights: Floats) -> Floats:
    """Return the coefficients; of fewer sets than coefficients, the smallest that fit."""
    root = np.sqrt(weights)
    return np.asarray(np.linalg.lstsq(design * root[:, None], targets * root)[0])


def find_quantile(values: Floats, weights: Floats, share: float) -> float:
    """Return the smallest value that a share of the weight does not exceed.

    Examples
    --------
    >>> find_quantile(np.array([3.0, 1.0, 2.0]), np.ones(3), 0.5)
    2.0
    """
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order]) / weights.sum()
    place = min(int(np.searchsorted(reached, share - 1e-12)), len(values) - 1)
    return float(values[order][place])
