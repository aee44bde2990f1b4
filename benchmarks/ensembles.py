"""Votes of small classifiers and of the rules they learn, on scikit-learn's own data sets.

Voters learn from the labels of a few items each; they vote on the other half of the data set, whose
labels only judge the result.
"""

from functools import cache

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

VOTERS, ITEMS, RULES, PURE = 25, 40, 30, 0.8


@cache
def tasks():
    """Data and truth (-1, +1) of every task."""
    digits, wine, iris = (load(return_X_y=True) for load in (load_digits, load_wine, load_iris))
    diabetes, cancer = load_diabetes(return_X_y=True), load_breast_cancer(return_X_y=True)
    return {
        "digits, odd": (digits[0], sides(digits[1] % 2 == 1)),
        "digits, 5 to 9": (digits[0], sides(digits[1] >= 5)),
        "digits, eights": (digits[0], sides(digits[1] == 8)),
        "wine, second kind": (wine[0], sides(wine[1] == 1)),
        "iris, versicolor": (iris[0], sides(iris[1] == 1)),
        "diabetes": (diabetes[0], sides(diabetes[1] > np.median(diabetes[1]))),
        "breast cancer": (cancer[0], sides(cancer[1] == 0)),
    }


def sides(positive):
    return np.where(positive, 1, -1).astype(np.int8)


def tree_votes(learn, ask, truth, rng):
    """Small trees, each with 40 items and a third of the features."""
    return vote(
        lambda _: DecisionTreeClassifier(max_depth=3, random_state=0), learn, ask, truth, rng
    )


def mixed_votes(learn, ask, truth, rng):
    """Four kinds of classifiers in turn, each with 40 items and a third of the features."""
    kinds = (
        lambda: KNeighborsClassifier(3),
        GaussianNB,
        lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
        lambda: DecisionTreeClassifier(max_depth=1, random_state=0),
    )
    return vote(lambda k: kinds[k % len(kinds)](), learn, ask, truth, rng)


def vote(build, learn, ask, truth, rng):
    columns = []
    while len(columns) < VOTERS:
        items = rng.choice(len(learn), min(ITEMS, len(learn)), replace=False)
        features = rng.choice(learn.shape[1], max(2, learn.shape[1] // 3), replace=False)
        if len(set(truth[items])) == 2:
            voter = build(len(columns)).fit(learn[np.ix_(items, features)], truth[items])
            columns.append(voter.predict(ask[:, features]))
    return np.array(columns, dtype=np.int8).T


def rule_votes(learn, ask, truth, rng):
    """Nearly pure leaves of trees: each speaks for its side on its items, and else is silent."""
    columns = []
    while len(columns) < RULES:
        items = rng.choice(len(learn), min(2 * ITEMS, len(learn)), replace=False)
        features = rng.choice(learn.shape[1], max(2, learn.shape[1] // 3), replace=False)
        tree = DecisionTreeClassifier(max_depth=2, min_samples_leaf=5, random_state=0)
        tree.fit(learn[np.ix_(items, features)], truth[items])
        own, asked = (tree.apply(x[:, features]) for x in (learn[items], ask))
        for leaf in np.unique(own):
            share = np.mean(truth[items][own == leaf] > 0)
            if max(share, 1 - share) >= PURE:
                columns.append(np.where(asked == leaf, 1 if share > 0.5 else -1, 0))
    return np.array(columns[:RULES], dtype=np.int8).T


KINDS = {"trees": tree_votes, "mixed classifiers": mixed_votes, "rules": rule_votes}


def draw_ensemble(task, kind, seed):
    """Votes and truth of the half that no voter has learnt from."""
    rng = np.random.default_rng(seed)
    data, truth = tasks()[task]
    order = rng.permutation(len(data))
    learn, ask = order[: len(data) // 2], order[len(data) // 2 :]
    votes = KINDS[kind](data[learn], data[ask], truth[learn], rng)
    return votes, truth[ask]
