"""Supervised references: what some labels would add, for comparison with methods without labels.

Each reference learns from the votes on a few labeled items and is scored on other items.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import train_test_split

from studies.real.intervals import FIGURES, Figure, score_figures
from unelisa.errors import ModelError
from unelisa.sources.labels import KnownLabels

Floats = NDArray[np.float64]
Signs = NDArray[np.int8]
BUDGETS = (50, 200, 1000)
SPLITS = 5
# fewer test items are uninformative; more cost time and barely sharpen the mean
MIN_TEST, MAX_TEST = 40, 5000

# votes and truth of the labeled items, votes of the others, seed -> scores, P(+1) or None
Reference = Callable[[Signs, Signs, Signs, int], tuple[Floats, Floats | None]]


def fit_penalized_logistic(
    votes: Signs, truth: Signs, asked: Signs, seed: int
) -> tuple[Floats, Floats]:
    """Return penLog: l1-penalized logistic regression, with the penalty chosen by cross-validation.

    Ten penalties, five folds, scored by log loss; an abstention is 0.
    """
    folds = int(min(5, np.bincount(truth > 0).min()))
    model = LogisticRegressionCV(
        Cs=10,
        cv=folds,
        l1_ratios=(1.0,),
        solver="liblinear",
        scoring="neg_log_loss",
        random_state=seed,
        use_legacy_attributes=False,
    )
    return _by_probability(model, votes, truth, asked)


def fit_random_forest(votes: Signs, truth: Signs, asked: Signs, seed: int) -> tuple[Floats, Floats]:
    """Return a random forest of 200 trees on the votes."""
    model = RandomForestClassifier(200, min_samples_leaf=2, random_state=seed)
    return _by_probability(model, votes, truth, asked)


def fit_gradient_boosting(
    votes: Signs, truth: Signs, asked: Signs, seed: int
) -> tuple[Floats, Floats]:
    """Return gradient boosting: 100 trees of depth 3, each on half of the items."""
    model = GradientBoostingClassifier(subsample=0.5, max_features="sqrt", random_state=seed)
    return _by_probability(model, votes, truth, asked)


def _by_probability(model: Any, votes: Signs, truth: Signs, asked: Signs) -> tuple[Floats, Floats]:
    model.fit(votes.astype(np.float32), truth)
    # in blocks, so that never all votes are floats at once
    blocks = [asked[low : low + 4096] for low in range(0, len(asked), 4096)]
    parts = [model.predict_proba(block.astype(np.float32))[:, 1] for block in blocks]
    chances = np.concatenate(parts).astype(np.float64)
    return chances - 0.5, chances


def fit_ordered_aggregation(
    votes: Signs,
    truth: Signs,
    asked: Signs,
    seed: int,  # noqa: ARG001 - a reference's form
) -> tuple[Floats, None]:
    """Return the majority vote of the first voters, ordered by margin distance.

    Their number is the smallest one with the fewest errors on the labeled items.
    """
    order = order_voters(votes, truth)
    margins = np.cumsum(votes[:, order].astype(np.int64), axis=1)
    errors = np.mean((1 - truth[:, None] * np.sign(margins)) / 2, axis=0)
    kept = order[: int(np.argmin(errors)) + 1]
    return asked[:, kept].sum(axis=1, dtype=np.int64).astype(np.float64), None


def order_voters(votes: Signs, truth: Signs) -> NDArray[np.intp]:
    """Return the voters in the order of margin-distance minimization (Martinez-Munoz et al. 2009).

    Voter s has the signature c_s: +1 on the items it gets right, -1 on those it gets wrong, 0 where
    it abstained. At each step u the voter joins that brings the sum of the signatures chosen so
    far, divided by p, closest to the point with all coordinates 2 sqrt(2 u) / p: right on every
    item, but not by more than needed.

    Examples
    --------
    >>> truth = np.array([1, 1, -1, -1], dtype=np.int8)
    >>> votes = np.array([[1, 1, -1], [1, -1, 1], [-1, -1, 1], [-1, -1, -1]], dtype=np.int8)
    >>> order_voters(votes, truth)
    array([0, 1, 2])
    """
    signatures = (votes * truth[:, None]).astype(np.float64)
    n_voters = votes.shape[1]
    left, chosen, total = list(range(n_voters)), list[int](), np.zeros(len(truth))
    for step in range(1, n_voters + 1):
        goal = 2 * np.sqrt(2 * step) / n_voters
        missed = goal - (total[:, None] + signatures[:, left]) / n_voters
        best = left.pop(int(np.argmin(np.square(missed).sum(axis=0))))
        chosen.append(best)
        total += signatures[:, best]
    return np.array(chosen, dtype=np.intp)


REFERENCES: dict[str, Reference] = {
    "penlog": fit_penalized_logistic,
    "random-forest": fit_random_forest,
    "gradient-boosting": fit_gradient_boosting,
    "ordered-aggregation": fit_ordered_aggregation,
}


def score_reference(name: str, known: KnownLabels, budget: int) -> dict[str, Figure | None] | None:
    """Return a reference's mean figures over random splits, with their extremes.

    Each split draws `budget` labeled items, stratified by class, and tests on the others (5,000 at
    most). None if too few items are left for a test, or a class would have fewer than two labels.

    Examples
    --------
    >>> from unelisa.simulation.designs import simulate_votes
    >>> drawn = simulate_votes(25, 9, "high", n_items=400, random_state=0)
    >>> known = KnownLabels(drawn.votes, drawn.truth, np.empty(0, object), np.empty(0, np.int8))
    >>> score_reference("ordered-aggregation", known, 50)["accuracy"].value > 0.8
    True
    """
    if name not in REFERENCES:
        raise ModelError(
            f"there is no reference {name[:60]!r}; choose from {', '.join(REFERENCES)}"
        )
    votes, signs = known.scored_votes(), known.scored_signs()
    labeled = np.flatnonzero(signs)
    rare = min(np.mean(signs[labeled] > 0), np.mean(signs[labeled] < 0))
    if len(labeled) < budget + MIN_TEST or round(budget * rare) < 2:
        return None
    results = [_score_split(name, votes.values, signs, budget, seed) for seed in range(SPLITS)]
    figures: dict[str, Figure | None] = {}
    for figure, column in zip(FIGURES, np.array(results).T, strict=True):
        extremes = Figure(float(column.mean()), float(column.min()), float(column.max()))
        figures[figure] = extremes if np.isfinite(column).all() else None
    return figures


def _score_split(name: str, values: Signs, signs: Signs, budget: int, seed: int) -> list[float]:
    labeled = np.flatnonzero(signs)
    seen, unseen = train_test_split(
        labeled, train_size=budget, stratify=signs[labeled], random_state=seed
    )
    unseen = unseen[:MAX_TEST]
    scores, chances = REFERENCES[name](values[seen], signs[seen], values[unseen], seed)
    return score_figures(signs[unseen], scores, chances)
