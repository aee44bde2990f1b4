"""Scores of experts (5.1), labels and probabilities against the truth."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

Floats = NDArray[np.float64]

ROUNDING = 1e-10  # scores of classes that differ by less are tied


class ExpertScore(NamedTuple):
    """Hit rate |found and true| / |true| and precision |found and true| / |found|, (5.1)."""

    hit_rate: float
    precision: float


class ClassScore(NamedTuple):
    """Quality of the scores of three or more classes; NaN where undefined, ties by expectation."""

    accuracy: float
    balanced_accuracy: float
    macro_f1: float
    log_loss: float
    calibration_error: float
    mean_absolute_error: float


class LabelScore(NamedTuple):
    """Quality of scores of two classes; a tie counts half, and f_score is that of ppv and npv."""

    accuracy: float
    balanced_accuracy: float
    auc: float
    log_loss: float
    ppv: float
    npv: float
    f_score: float


def bound_frequency(share: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's interval of a probability, given the observed share of n cases."""
    z = float(ndtri((1 + level) / 2))
    scale = 1 + z**2 / n
    middle = (share + z**2 / (2 * n)) / scale
    reach = z * float(np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))) / scale
    return max(middle - reach, 0.0), min(middle + reach, 1.0)


def list_defined(figures: Any) -> dict[str, float | None]:
    """Return figures by name, None for those that are undefined."""
    return {
        name: None if np.isnan(figure) else figure for name, figure in figures._asdict().items()
    }


def score_experts(found: ArrayLike, true: ArrayLike) -> ExpertScore:
    """Return hit rate and precision of the experts found; precision is NaN if there are none."""
    hits = len(np.intersect1d(np.asarray(found), np.asarray(true)))
    return ExpertScore(_ratio(hits, np.size(true)), _ratio(hits, np.size(found)))


def score_labels(
    truth: NDArray[np.int8], scores: Floats, probabilities: Floats | None = None
) -> LabelScore:
    """Return how well scores separate +1 from -1; items of truth 0 (unknown) are ignored."""
    known = truth != 0
    truth, scores = truth[known], scores[known]
    correct = (1 + truth * np.sign(scores)) / 2
    positive, predicted = truth > 0, scores >= 0
    recalls = [_mean(correct[positive]), _mean(correct[~positive])]
    ppv, npv, loss = _mean(positive[predicted]), _mean(~positive[~predicted]), float("nan")
    if probabilities is not None:
        loss = _loss(np.where(positive, probabilities[known], 1 - probabilities[known]))
    return LabelScore(
        accuracy=_mean(correct),
        balanced_accuracy=float(np.mean(recalls)),
        auc=_auc(positive, scores),
        log_loss=loss,
        ppv=ppv,
        npv=npv,
        f_score=_ratio(2 * ppv * npv, ppv + npv),
    )


def score_classes(
    truth: NDArray[np.int8],
    scores: Floats,
    probabilities: Floats | None = None,
    *,
    ordered: bool = False,
) -> ClassScore:
    """Return how well scores, items x classes, separate the classes (truth k + 1, 0 unknown)."""
    known = truth != 0
    true = truth[known].view(np.uint8).astype(np.intp) - 1
    shares = share_ties(scores[known])
    rows, n_classes = np.arange(len(true)), shares.shape[1]
    # how often each class (row) was predicted as each (column)
    confusion = np.zeros((n_classes, n_classes))
    np.add.at(confusion, true, shares)
    met, right = confusion.sum(axis=1), np.diag(confusion)
    found = met + confusion.sum(axis=0)
    steps = np.abs(np.arange(n_classes) - true[:, None])
    loss = gap = float("nan")
    if probabilities is not None:
        chances = probabilities[known]
        loss = _loss(chances[rows, true])
        gap = _mean_gap(share_ties(chances)[rows, true], chances.max(axis=1), n_bins=10)
    return ClassScore(
        accuracy=_mean(shares[rows, true]),
        balanced_accuracy=_mean((right / np.maximum(met, 1))[met > 0]),
        macro_f1=_mean((2 * right / np.maximum(found, 1e-300))[found > 0]),
        log_loss=loss,
        calibration_error=gap,
        mean_absolute_error=_mean((shares * steps).sum(axis=1)) if ordered else float("nan"),
    )


def share_ties(scores: Floats) -> Floats:
    """Return per item (row) 1 for the class of the largest score, shared equally where tied."""
    best = scores >= scores.max(axis=1, keepdims=True) - ROUNDING
    return np.asarray(best / best.sum(axis=1, keepdims=True))


def calibration_error(truth: NDArray[np.int8], probabilities: Floats, n_bins: int = 10) -> float:
    """Return the expected calibration error: mean |share of +1 - mean P(+1)| in equal bins."""
    known = truth != 0
    positive, probabilities = truth[known] > 0, probabilities[known]
    return _mean_gap(positive, probabilities, n_bins)


def _mean_gap(happened: NDArray[Any], probabilities: Floats, n_bins: int) -> float:
    bins = np.minimum((probabilities * n_bins).astype(np.intp), n_bins - 1)
    gaps = np.bincount(bins, happened - probabilities, minlength=n_bins)
    return float(np.abs(gaps).sum() / len(happened))


def _auc(positive: NDArray[np.bool_], scores: Floats) -> float:
    if positive.all() or not positive.any():
        return float("nan")
    from scipy.stats import rankdata  # noqa: PLC0415 - takes half a second

    # Mann and Whitney's U: the share of pairs in the right order, ties counted half
    ranks, n_positive = rankdata(scores), int(positive.sum())
    above = ranks[positive].sum() - n_positive * (n_positive + 1) / 2
    return float(above / (n_positive * (len(positive) - n_positive)))


def _loss(right: Floats) -> float:
    # one wrong item at P = 1 must not make the loss infinite
    return float(-np.log(np.clip(right, 1e-6, 1.0)).mean())


def _mean(values: NDArray[Any]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")
