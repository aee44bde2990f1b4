"""Votes of fitted classifiers: predictions on unlabeled data by models trained elsewhere."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import VotesError
from unelisa.votes import Votes
from unelisa.votes.coding import MAX_CLASSES, encode_classes
from unelisa.votes.frames import name_voters


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
        Fitted scikit-learn classifiers of the same classes: a list, (name, classifier) pairs, or a
        dict.
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
    listed = {name: _list_classes(model, f"classifier {name!r}") for name, model in named.items()}
    classes = next(iter(listed.values()))
    if (other := next((name for name, own in listed.items() if own != classes), None)) is not None:
        raise VotesError(f"classifier {other!r} has different classes than the first one")
    places = {label: k for k, label in enumerate(classes)}
    columns = [
        np.array([places[label] for label in np.asarray(model.predict(X)).tolist()], dtype=np.intp)
        for model in named.values()
    ]
    return _assemble(columns, list(named), classes, X, items)


def votes_from_forest(
    forest: Any, X: Any, *, items: Sequence[Any] | NDArray[Any] | None = None
) -> Votes:
    """Return one vote per tree of a fitted forest or bagging ensemble.

    Parameters
    ----------
    forest
        A fitted `RandomForestClassifier`, `ExtraTreesClassifier` or `BaggingClassifier`. A tree
        votes for its most probable class, at one half for the second of two.
    X, items
        As in `votes_from_estimators`.

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
    classes = _list_classes(forest, "the forest")
    # without column names, which the trees of a forest do not have
    cells = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
    chosen = getattr(forest, "estimators_features_", [slice(None)] * len(trees))
    columns = []
    for tree, features in zip(trees, chosen, strict=True):
        chances = tree.predict_proba(cells[:, features])
        best = chances[:, 1] >= 0.5 if chances.shape[1] == 2 else chances.argmax(axis=1)
        # the trees of a forest number the classes; the forest has their names
        columns.append(np.asarray(tree.classes_, dtype=np.intp)[best.astype(np.intp)])
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


def _list_classes(model: Any, what: str) -> tuple[Any, ...]:
    classes = getattr(model, "classes_", None)
    if classes is None:
        raise VotesError(f"{what} is not fitted; call its fit method first")
    if np.ndim(classes) != 1 or not 2 <= len(classes) <= MAX_CLASSES:
        raise VotesError(
            f"{what} has {len(classes)} classes; votes need two at least, and {MAX_CLASSES} at most"
        )
    return tuple(np.asarray(classes).tolist())


def _assemble(
    columns: Sequence[NDArray[np.intp]],
    voters: Sequence[Any] | NDArray[Any],
    classes: tuple[Any, ...],
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
    values = np.array(encode_classes(len(classes)), dtype=np.int8)[np.array(columns)].T
    return Votes.of_values(values, names, np.array(voters, dtype=object), classes)
