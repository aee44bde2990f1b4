"""Votes of fitted classifiers: predictions on unlabeled data by models trained elsewhere."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import VotesError
from unelisa.frames import name_voters
from unelisa.votes import Votes


def votes_from_estimators(
    estimators: Mapping[str, Any] | Sequence[Any],
    X: Any,
    *,
    items: Sequence[Any] | NDArray[Any] | None = None,
) -> Votes:
    """Return one vote per fitted classifier and item: the output of its `predict`.

    Parameters
    ----------
    estimators
        Fitted scikit-learn classifiers of the same two classes: a list, (name, classifier) pairs
        as in a `VotingClassifier`, or a dict by name.
    X
        The items, as the classifiers expect them.
    items
        Names of the items; by default the index of a data frame, or row numbers.

    Examples
    --------
    >>> from sklearn.naive_bayes import BernoulliNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = [[0, 1], [1, 1], [1, 0], [0, 0]], ["ill", "ill", "well", "well"]
    >>> models = {"tree": DecisionTreeClassifier(random_state=0), "bayes": BernoulliNB()}
    >>> votes = votes_from_estimators({k: m.fit(X, y) for k, m in models.items()}, X)
    >>> votes.classes, votes.values[:, 0]
    (('ill', 'well'), array([-1, -1,  1,  1], dtype=int8))
    """
    named = _name_estimators(estimators)
    classes = _shared_classes(named)
    columns = [np.asarray(model.predict(X)) == classes[1] for model in named.values()]
    return _assemble(columns, list(named), classes, X, items)


def votes_from_forest(
    forest: Any, X: Any, *, items: Sequence[Any] | NDArray[Any] | None = None
) -> Votes:
    """Return one vote per tree of a fitted forest or bagging ensemble.

    Parameters
    ----------
    forest
        A fitted `RandomForestClassifier`, `ExtraTreesClassifier` or `BaggingClassifier` of two
        classes. A tree votes for the second class if its probability is at least one half.
    X
        The items, as the forest expects them.
    items
        Names of the items; by default the index of a data frame, or row numbers.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = [[0, 1], [1, 1], [1, 0], [0, 0]] * 5, [1, 1, 0, 0] * 5
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> votes_from_forest(forest, X)
    Votes(20 items x 10 voters, 0.0% abstained)
    """
    trees = getattr(forest, "estimators_", None)
    if not trees:
        raise VotesError("the forest is not fitted; call its fit method first")
    classes = _two_classes(forest, "the forest")
    # without column names, which the trees of a forest do not have
    cells = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
    chosen = getattr(forest, "estimators_features_", [slice(None)] * len(trees))
    columns = []
    for tree, features in zip(trees, chosen, strict=True):
        # the trees of a forest number the classes; the forest has their names
        yes = tree.predict_proba(cells[:, features])[:, -1] >= 0.5
        columns.append(yes if len(tree.classes_) == 2 else np.full(len(yes), tree.classes_[0] > 0))
    return _assemble(columns, name_voters(len(trees)), classes, X, items)


def _name_estimators(estimators: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    if isinstance(estimators, Mapping) or (estimators and isinstance(estimators[0], tuple)):
        named = dict(estimators)
    else:
        named = dict(zip(name_voters(len(estimators)).tolist(), estimators, strict=True))
    if not named:
        raise VotesError("the ensemble has no classifier; pass at least one")
    if len(named) < len(estimators):
        raise VotesError("two classifiers have the same name; rename one")
    return named


def _shared_classes(named: Mapping[str, Any]) -> tuple[Any, Any]:
    pairs = {name: _two_classes(model, f"classifier {name!r}") for name, model in named.items()}
    first = next(iter(pairs.values()))
    for name, pair in pairs.items():
        if pair != first:
            raise VotesError(f"classifier {name!r} has different classes than the first one")
    return first


def _two_classes(model: Any, what: str) -> tuple[Any, Any]:
    classes = getattr(model, "classes_", None)
    if classes is None:
        raise VotesError(f"{what} is not fitted; call its fit method first")
    if np.ndim(classes) != 1 or len(classes) != 2:
        raise VotesError(f"{what} has {len(classes)} classes; votes need two")
    negative, positive = np.asarray(classes).tolist()
    return negative, positive


def _assemble(
    columns: Sequence[NDArray[np.bool_]],
    voters: Sequence[Any] | NDArray[Any],
    classes: tuple[Any, Any],
    X: Any,
    items: Any,
) -> Votes:
    n_items = len(columns[0])
    if n_items == 0:
        raise VotesError("there are 0 items; at least one is required")
    if items is None:
        index = getattr(X, "index", None)
        # a list has an `index` method
        items = np.arange(n_items) if index is None or callable(index) else index
    names = np.asarray(items)
    if names.shape != (n_items,):
        raise VotesError(f"items must name each of the {n_items} items, found shape {names.shape}")
    values = np.where(columns, np.int8(1), np.int8(-1)).T
    return Votes.of_values(values, names, np.array(voters, dtype=object), classes)
