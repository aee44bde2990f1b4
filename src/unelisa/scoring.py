"""Scores of experts (5.1), labels and probabilities against the truth."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from unelisa.em import Z95

Floats = NDArray[np.float64]


class ExpertScore(NamedTuple):
    """Hit rate |found and true| / |true| and precision |found and true| / |found|, (5.1)."""

    hit_rate: float
    precision: float


class LabelScore(NamedTuple):
    """Quality of scores against the truth; NaN where a metric is undefined.

    accuracy and balanced_accuracy count a tie (score 0) as half correct; f_score is the paper's,
    the harmonic mean of ppv and npv.
    """

    accuracy: float
    balanced_accuracy: float
    auc: float
    log_loss: float
    ppv: float
    npv: float
    f_score: float


def bound_frequency(share: float, n: float) -> tuple[float, float]:
    """Return Wilson's 95% interval of a probability, given the observed share of n cases.

    Examples
    --------
    >>> [round(bound, 3) for bound in bound_frequency(0.5, 4)]
    [0.15, 0.85]
    """
    scale = 1 + Z95**2 / n
    middle = (share + Z95**2 / (2 * n)) / scale
    reach = Z95 * float(np.sqrt(share * (1 - share) / n + Z95**2 / (4 * n**2))) / scale
    return max(middle - reach, 0.0), min(middle + reach, 1.0)


def score_experts(found: ArrayLike, true: ArrayLike) -> ExpertScore:
    """Return hit rate and precision of the experts found; precision is NaN if there are none.

    Examples
    --------
    >>> score_experts([1, 2, 5], [1, 2, 3, 4])
    ExpertScore(hit_rate=0.5, precision=0.6666666666666666)
    """
    hits = len(np.intersect1d(np.asarray(found), np.asarray(true)))
    return ExpertScore(_ratio(hits, np.size(true)), _ratio(hits, np.size(found)))


def score_labels(
    truth: NDArray[np.int8], scores: Floats, probabilities: Floats | None = None
) -> LabelScore:
    """Return how well scores separate +1 from -1; items of truth 0 (unknown) are ignored.

    The log loss needs probabilities, P(+1) per item, which some methods do not predict.

    Examples
    --------
    >>> import numpy as np
    >>> score_labels(np.array([1, 1, -1, -1]), np.array([2.0, 0.0, -1.0, 1.0])).accuracy
    0.625
    """
    known = truth != 0
    truth, scores = truth[known], scores[known]
    correct = (1 + truth * np.sign(scores)) / 2
    positive, predicted = truth > 0, scores >= 0
    recalls = [_mean(correct[positive]), _mean(correct[~positive])]
    ppv = _mean(positive[predicted])
    npv = _mean(~positive[~predicted])
    return LabelScore(
        accuracy=_mean(correct),
        balanced_accuracy=float(np.mean(recalls)),
        auc=_auc(positive, scores),
        log_loss=float("nan") if probabilities is None else _log_loss(truth, probabilities[known]),
        ppv=ppv,
        npv=npv,
        f_score=_ratio(2 * ppv * npv, ppv + npv),
    )


def calibration_error(truth: NDArray[np.int8], probabilities: Floats, n_bins: int = 10) -> float:
    """Return the expected calibration error: mean |share of +1 - mean P(+1)| in equal bins.

    Examples
    --------
    >>> import numpy as np
    >>> calibration_error(np.array([1, -1, 1, -1]), np.array([.5, .5, .5, .5]))
    0.0
    """
    known = truth != 0
    positive, probabilities = truth[known] > 0, probabilities[known]
    bins = np.minimum((probabilities * n_bins).astype(np.intp), n_bins - 1)
    gaps = np.bincount(bins, positive - probabilities, minlength=n_bins)
    return float(np.abs(gaps).sum() / len(positive))


def _auc(positive: NDArray[np.bool_], scores: Floats) -> float:
    if positive.all() or not positive.any():
        return float("nan")
    # Mann and Whitney's U: the share of pairs in the right order, ties counted half
    ranks, n_positive = rankdata(scores), int(positive.sum())
    above = ranks[positive].sum() - n_positive * (n_positive + 1) / 2
    return float(above / (n_positive * (len(positive) - n_positive)))


def _log_loss(truth: NDArray[np.int8], probabilities: Floats) -> float:
    # one wrong item at P = 1 must not make the loss infinite
    right = np.clip(np.where(truth > 0, probabilities, 1 - probabilities), 1e-6, 1.0)
    return float(-np.log(right).mean())


def _mean(values: NDArray[Any]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")
