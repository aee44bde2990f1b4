"""Tables with a known class, for voters who learn from a few rows; no table is in both parts.

Everything here ships with scikit-learn or is drawn from a seed: nothing is downloaded. The images
of digits 1, 4, 7 and 9, which make the pairs of the reporting part, also occur in `digits_parity`
of the choosing part, where the question is another one.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn import datasets

from studies.worlds.voters import Floats, Rng, Signs


class Table(NamedTuple):
    """Features of the items, and their classes, -1 or +1."""

    features: Floats
    truth: Signs


Source = Callable[[Rng], Table]
GENERATED_ITEMS = 1000


def _make_table(features: Floats, positive: Signs) -> Table:
    return Table(np.asarray(features, dtype=np.float64), np.where(positive, 1, -1).astype(np.int8))


def _draw_digits(low: int, high: int) -> Source:
    """Return a table of the images of two digits; the larger one is positive."""

    def draw(rng: Rng) -> Table:
        images, digits = datasets.load_digits(return_X_y=True)
        rows = np.isin(digits, (low, high))
        noise = rng.normal(0, 0.5, (int(rows.sum()), images.shape[1]))
        return _make_table(images[rows] + noise, digits[rows] == high)

    return draw


def breast_cancer(_: Rng) -> Table:
    """Return 569 tumors: benign or not."""
    return _make_table(*datasets.load_breast_cancer(return_X_y=True))


def diabetes(rng: Rng) -> Table:
    """Return 442 patients: progression above its median or its upper quartile."""
    features, progression = datasets.load_diabetes(return_X_y=True)
    return _make_table(features, progression > np.quantile(progression, rng.choice([0.5, 0.75])))


def wine(_: Rng) -> Table:
    """Return 178 wines: the second cultivar or one of the two others."""
    features, cultivar = datasets.load_wine(return_X_y=True)
    return _make_table(features, cultivar == 1)


def iris(rng: Rng) -> Table:
    """Return 100 flowers: virginica or versicolor, measured with noise."""
    features, species = datasets.load_iris(return_X_y=True)
    rows = species > 0
    noise = rng.normal(0, 0.1, (int(rows.sum()), features.shape[1]))
    return _make_table(features[rows] + noise, species[rows] == 2)


def digits_parity(_: Rng) -> Table:
    """Return 1,797 digits: odd or even."""
    images, digits = datasets.load_digits(return_X_y=True)
    return _make_table(images, digits % 2 == 1)


def one_digit_of_three(rng: Rng) -> Table:
    """Return one of the digits 0, 2, 3, 5, 6 and 8 against two others of them."""
    images, digits = datasets.load_digits(return_X_y=True)
    chosen = rng.choice([0, 2, 3, 5, 6, 8], 3, replace=False)
    rows = np.isin(digits, chosen)
    return _make_table(images[rows], digits[rows] == chosen[0])


def clusters(rng: Rng) -> Table:
    """Return two classes of one to three Gaussian clusters each, with redundant features."""
    informative = int(rng.integers(4, 9))
    features, classes = datasets.make_classification(
        GENERATED_ITEMS,
        n_features=20,
        n_informative=informative,
        n_redundant=6,
        n_clusters_per_class=int(rng.integers(1, 4)),
        weights=[float(rng.uniform(0.4, 0.75))],
        flip_y=0.02,
        class_sep=float(rng.uniform(0.8, 1.5)),
        random_state=int(rng.integers(2**31)),
    )
    return _make_table(features, classes == 1)


def moons(rng: Rng) -> Table:
    """Return two interleaved half circles, seen through quadratic features."""
    seed, noise = int(rng.integers(2**31)), float(rng.uniform(0.15, 0.35))
    points, classes = datasets.make_moons(GENERATED_ITEMS, noise=noise, random_state=seed)
    return _make_table(_take_views(rng, points), classes == 1)


def circles(rng: Rng) -> Table:
    """Return a circle inside another one, seen through quadratic features."""
    points, classes = datasets.make_circles(
        GENERATED_ITEMS,
        noise=float(rng.uniform(0.1, 0.2)),
        factor=float(rng.uniform(0.4, 0.7)),
        random_state=int(rng.integers(2**31)),
    )
    return _make_table(_take_views(rng, points), classes == 1)


def shells(rng: Rng) -> Table:
    """Return a Gaussian cloud in five dimensions, inside or outside of its median radius."""
    points, classes = datasets.make_gaussian_quantiles(
        n_samples=GENERATED_ITEMS, n_features=5, n_classes=2, random_state=int(rng.integers(2**31))
    )
    return _make_table(_take_views(rng, points), classes == 1)


def hastie(rng: Rng) -> Table:
    """Return ten Gaussian coordinates: sum of squares above 9.34 or not."""
    seed = int(rng.integers(2**31))
    points, classes = datasets.make_hastie_10_2(GENERATED_ITEMS, random_state=seed)
    return _make_table(_take_views(rng, points), classes > 0)


def _take_views(rng: Rng, points: Floats, n_views: int = 16) -> Floats:
    """Return noisy random quadratic functions of two coordinates each.

    A single coordinate says nothing of a class that is a ring: a square can.
    """
    views = []
    for _ in range(n_views):
        x, y = points[:, rng.choice(points.shape[1], 2, replace=False)].T
        slopes, curves = rng.normal(0, 1, 2), rng.normal(0, 1, 2)
        view = slopes[0] * x + slopes[1] * y + curves[0] * x**2 + curves[1] * y**2
        views.append(view + rng.normal(0, 0.3 * view.std(), len(view)))
    return np.stack(views, axis=1)


CHOOSING: dict[str, Source] = {
    "breast_cancer": breast_cancer,
    "digits_3_8": _draw_digits(3, 8),
    "diabetes": diabetes,
    "wine": wine,
    "iris": iris,
    "digits_parity": digits_parity,
    "one_digit_of_three": one_digit_of_three,
}
# Written down before any method was run on one of them.
REPORTING: dict[str, Source] = {
    "digits_4_9": _draw_digits(4, 9),
    "digits_1_7": _draw_digits(1, 7),
    "clusters": clusters,
    "moons": moons,
    "circles": circles,
    "shells": shells,
    "hastie": hastie,
}
