"""Which item comes next: the one whose label is worth most, or a sample that shows the shares."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unelisa.analysis.suggestions.gains import measure_label_gains
from unelisa.votes.ballots import Floats

_DIGITS = 9  # of gains that count as different


def measure_gains(chances: Floats) -> Floats:
    """Return how much a correct label of each item raises the expected number of correct labels.

    That is 1 - max_k P(k), what `suggest_votes` expects of a human who is always right.
    """
    return measure_label_gains(chances, np.eye(chances.shape[1]), "errors")


def rank_useful(chances: Floats, seed: int = 0) -> NDArray[np.intp]:
    """Return the items by the gain of their labels, the largest first.

    Items with the same probabilities usually have the same votes, so a label of one is informative
    about the others: the k-th of them counts 1 / sqrt(k) of its gain. Which is the first is random.
    """
    ties = np.random.default_rng(seed).random(len(chances))
    gains = measure_gains(chances) / np.sqrt(_count_alike(np.round(chances, _DIGITS), ties))
    return np.lexsort((ties, -np.round(gains, _DIGITS)))


def _count_alike(chances: Floats, ties: Floats) -> NDArray[np.intp]:
    """Return which of the items with the same probabilities each is: the first, second, ..."""
    order = np.lexsort((ties, *chances.T))
    rows = chances[order]
    starts = np.append(True, (rows[1:] != rows[:-1]).any(axis=1))
    place = np.arange(len(rows))
    number = place - np.maximum.accumulate(np.where(starts, place, 0)) + 1
    counted = np.empty(len(rows), dtype=np.intp)
    counted[order] = number
    return counted


def spread_sample(chances: Floats, seed: int = 0) -> NDArray[np.intp]:
    """Return the items in a random order of which every beginning is stratified.

    The items are sorted by label and probability; the first 2^k of them come from 2^k strata of
    equal size, one each, as the binary digits of their places are reversed and flipped at random
    (the points of van der Corput, with a digital shift). So all items are equally likely to be
    among the first n: it is a random sample whose probabilities are spread as those of all items.
    """
    n, rng = len(chances), np.random.default_rng(seed)
    by_class = np.lexsort((rng.random(n), _signed_certainty(chances)))
    bits = max(int(n - 1).bit_length(), 1)
    places = np.arange(n) ^ rng.integers(2**bits)
    reverse = np.zeros(n, dtype=np.int64)
    for bit in range(bits):
        reverse |= ((places >> bit) & 1) << (bits - 1 - bit)
    return np.asarray(by_class[np.argsort(reverse)])


def _signed_certainty(chances: Floats) -> Floats:
    """Return a key that sorts items by label, and by its probability among those of one label."""
    if chances.shape[1] == 2:
        return np.asarray(chances[:, 1])
    return np.asarray(chances.argmax(axis=1) + chances.max(axis=1) / 2)


def mix_chances(tables: Sequence[Floats]) -> Floats:
    """Return the mean of several tables of probabilities."""
    return np.asarray(sum(tables[1:], tables[0]) / len(tables))
