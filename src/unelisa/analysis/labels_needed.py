"""When a panel is not to be trusted: why, and how many human labels would settle it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, xlogy

from unelisa.aggregators import Aggregator
from unelisa.analysis.judged import Judged

Floats = NDArray[np.float64]
WITHIN, LEVEL = 0.05, 0.95  # how precisely the accuracy is to be known, and how surely
LIKELIER = 20.0  # times, by which labels must favor a reading
LEAST_LABELS, MOST_LABELS = 10, 10_000  # fewer do not choose between readings in `fit`
LEAST_CHANCE = 0.01  # of an answer that a reading thinks impossible: people err


def count_labels(model: Aggregator, judged: Judged) -> dict[str, Any] | None:
    """Return how many human labels would settle whether the panel is right; None: it is trusted.

    Where the votes allow a second reading, labels of random items decide. If the first reading is
    right, each adds on average a Kullback-Leibler divergence to its log-likelihood ratio to a
    rival: the second reading, the second upside down (which says the same where the readings
    disagree, so that labels of those items alone decide nothing), and a coin. All ratios must reach
    20, after log n nats for the slope and the intercept that `fit` learns from the labels: n is the
    least number, 10 or more, with::

        n min_Q mean_i KL(P_i, Q_i) >= log 20 + log n

    P are the reading's probabilities and Q a rival's, at least .01. Otherwise labels of random
    items show how often the panel is right, within 5 points with a probability of 95 %::

        n = m / (1 + (m - 1) / N),   m = z^2 a (1 - a) / .05^2

    N is the number of items, and a the lowest accuracy that the model expects, at least 1/2.
    """
    if getattr(model, "reliable_", True):
        return None
    fitted: Any = model
    if getattr(model, "two_readings_", False) and len(fitted.readings_) > 1:
        found = _separate_readings(fitted, judged)
        if found is not None:
            return found
    low = (getattr(model, "expected_accuracy_interval_", None) or (0.5, 0.5))[0]
    n = count_for_accuracy(low, judged.votes.n_items)
    return {"n": n, "settles": "accuracy", "among": judged.votes.n_items}


def count_for_accuracy(accuracy: float, n_items: int) -> int:
    """Return the number of labels that give the accuracy within 5 points, of so many items."""
    worst = float(np.clip(accuracy, 0.5, 1 - LEAST_CHANCE))
    z = float(ndtri((1 + LEVEL) / 2))
    many = z**2 * worst * (1 - worst) / WITHIN**2
    return min(int(np.ceil(many / (1 + (many - 1) / n_items))), n_items)


def _separate_readings(model: Any, judged: Judged) -> dict[str, Any] | None:
    """Return the number of labels that reject the other reading; None if they agree everywhere."""
    first, second = (
        np.clip(one.predict_proba(judged.votes), LEAST_CHANCE, 1 - LEAST_CHANCE)
        for one in (model, model.read(1))
    )
    if np.array_equal(first.argmax(axis=1), second.argmax(axis=1)):
        return None
    rivals = [second, np.full_like(first, 1 / first.shape[1])]
    if judged.two_classes:
        rivals.append(1 - second)
    gains = [(xlogy(first, first) - xlogy(first, one)).sum(axis=1).mean() for one in rivals]
    n_items = judged.votes.n_items
    n = min(count_for_ratio(min(gains)), n_items)
    return {"n": n, "settles": "readings", "among": n_items}


def count_for_ratio(divergence: float) -> int:
    """Return the number of labels that reject the other reading, given what each adds.

    Examples
    --------
    >>> count_for_ratio(1.0), count_for_ratio(0.3)
    (10, 20)
    """
    counts = np.arange(LEAST_LABELS, MOST_LABELS)
    enough = counts * divergence >= np.log(LIKELIER) + np.log(counts)
    return int(counts[enough.argmax()]) if enough.any() else MOST_LABELS
