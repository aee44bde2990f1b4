"""Worlds of trained voters: each learns from a few labeled rows and votes on the rest."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from studies.worlds.tables import Source
from studies.worlds.voters import Floats, Rng, Signs, World, join_voters

Tables = Mapping[str, Source]
FEWEST_OF_A_CLASS = 4  # among the labeled rows


class Split(NamedTuple):
    """Labeled rows to learn from, and the items to vote on with their truth."""

    learned: Floats
    labels: Signs
    items: Floats
    truth: Signs


def draw_split(rng: Rng, tables: Tables, fewest: int = 20, most: int = 60) -> Split:
    """Return one of the tables, standardized, with `fewest` to `most` labeled rows of both classes.

    The smaller class has at least four labels.
    """
    table = tables[str(rng.choice(list(tables)))](rng)
    spread = table.features.std(axis=0)
    features = (table.features - table.features.mean(axis=0)) / np.where(spread > 0, spread, 1)
    n_labels = int(rng.integers(fewest, most))
    while True:
        order = rng.permutation(len(features))
        seen, rest = order[:n_labels], order[n_labels:]
        positives = np.count_nonzero(table.truth[seen] > 0)
        if min(positives, n_labels - positives) >= FEWEST_OF_A_CLASS:
            return Split(features[seen], table.truth[seen], features[rest], table.truth[rest])


def classifiers(rng: Rng, tables: Tables) -> World:
    """Return 7 to 15 classifiers of four sorts, each with its own features and bootstrap."""
    split = draw_split(rng, tables, 30, 90)
    voters = []
    for _ in range(rng.integers(7, 16)):
        features = _choose_features(rng, split, rng.uniform(0.15, 0.7))
        rows = rng.choice(len(split.labels), len(split.labels))
        if len(np.unique(split.labels[rows])) < 2:
            rows = np.arange(len(split.labels))
        model = _draw_classifier(rng).fit(split.learned[rows][:, features], split.labels[rows])
        voters.append(_vote(model, split.items[:, features]))
    return join_voters(voters, split.truth)


def forest(rng: Rng, tables: Tables) -> World:
    """Return the 9 to 24 trees of a random forest of depth 2 to 5."""
    split = draw_split(rng, tables)
    model = RandomForestClassifier(
        int(rng.integers(9, 25)),
        max_depth=int(rng.integers(2, 6)),
        random_state=int(rng.integers(2**31)),
    ).fit(split.learned, split.labels)
    # a tree of a forest answers with the index of a class
    voters = [model.classes_[_vote(tree, split.items)] for tree in model.estimators_]
    return join_voters(voters, split.truth)


def stumps(rng: Rng, tables: Tables) -> World:
    """Return up to 24 features, each voting by its median, on the side that labels suggest."""
    split = draw_split(rng, tables)
    varied = np.flatnonzero(split.learned.std(axis=0) > 0)
    count = min(len(varied), int(rng.integers(8, 25)))
    voters = []
    for j in rng.choice(varied, count, replace=False):
        feature = split.learned[:, j]
        side = 1 if np.cov(feature, split.labels)[0, 1] >= 0 else -1
        above = split.items[:, j] > np.median(feature)
        voters.append(np.where(above, side, -side).astype(np.int8))
    return join_voters(voters, split.truth)


def neighbors(rng: Rng, tables: Tables) -> World:
    """Return 7 to 13 nearest-neighbor classifiers with the same labels and their own features."""
    split = draw_split(rng, tables)
    voters = []
    for _ in range(rng.integers(7, 14)):
        features = _choose_features(rng, split, rng.uniform(0.1, 0.5))
        model = KNeighborsClassifier(int(rng.choice([1, 3, 5])))
        model.fit(split.learned[:, features], split.labels)
        voters.append(_vote(model, split.items[:, features]))
    return join_voters(voters, split.truth)


def _choose_features(rng: Rng, split: Split, share: float) -> NDArray[np.intp]:
    n_features = split.learned.shape[1]
    return rng.choice(n_features, max(2, int(n_features * share)), replace=False)


def _draw_classifier(rng: Rng) -> Any:
    models = (
        LogisticRegression(max_iter=1000),
        KNeighborsClassifier(3),
        DecisionTreeClassifier(max_depth=3, random_state=int(rng.integers(2**31))),
        GaussianNB(var_smoothing=1e-3),
    )
    return models[rng.integers(len(models))]


def _vote(model: Any, items: Floats) -> Signs:
    return np.asarray(model.predict(items)).astype(np.int8)
