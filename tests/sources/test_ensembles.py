import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import unelisa as ue
from unelisa.errors import VotesError
from unelisa.sources.ensembles import votes_from_estimators, votes_from_forest


@pytest.fixture(scope="module")
def tumors():
    X, y = load_breast_cancer(return_X_y=True)
    words = np.array(["benign", "malignant"])[1 - y]
    return X[:300], words[:300], X[300:], words[300:]


@pytest.fixture(scope="module")
def models(tumors):
    X, y, _, _ = tumors
    chosen = {
        "tree": DecisionTreeClassifier(random_state=0),
        "bayes": GaussianNB(),
        "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    }
    return {name: model.fit(X, y) for name, model in chosen.items()}


def test_votes_are_what_the_classifiers_predict_however_they_are_given(models, tumors):
    X = tumors[2]
    votes = votes_from_estimators(models, X)
    assert votes.classes == ("benign", "malignant")
    assert votes.voters.tolist() == ["tree", "bayes", "logistic"]
    for s, model in enumerate(models.values()):
        assert np.array_equal(votes.values[:, s] > 0, model.predict(X) == "malignant")
    named = votes_from_estimators(models, X)
    for given in (list(models.values()), list(models.items())):
        assert np.array_equal(votes_from_estimators(given, X).values, named.values)
    assert votes_from_estimators(list(models.values()), X).voters[0] == "v0"


def test_items_keep_their_names_and_are_labeled_without_labels(models, tumors):
    X = pd.DataFrame(tumors[2], index=[f"p{i}" for i in range(len(tumors[2]))])
    unnamed = {name: model.fit(*tumors[:2]) for name, model in models.items()}
    votes = votes_from_estimators({"tree": unnamed["tree"]}, X.to_numpy(), items=X.index)
    assert votes.items[0] == "p0"
    forest = RandomForestClassifier(3, random_state=0).fit(pd.DataFrame(tumors[0]), tumors[1])
    assert votes_from_forest(forest, X).items[-1] == X.index[-1]
    votes = votes_from_estimators(models, tumors[2])
    labels = ue.DawidSkene(random_state=0).fit_predict(votes)
    assert set(labels) <= {"benign", "malignant"}
    assert np.mean(labels == tumors[3]) > 0.9


@pytest.mark.parametrize(
    "forest",
    [
        RandomForestClassifier(15, random_state=0),
        ExtraTreesClassifier(15, random_state=0),
        BaggingClassifier(n_estimators=15, max_features=0.5, random_state=0),
    ],
    ids=lambda forest: type(forest).__name__,
)
def test_the_trees_of_a_forest_vote(forest, tumors):
    X, y, asked, _ = tumors
    forest.fit(X, y)
    votes = votes_from_forest(forest, asked)
    assert votes.shape == (len(asked), 15)
    # grown to the end, trees are sure, so that their majority is the forest
    majority = votes.label(votes.values.sum(axis=1))
    assert np.array_equal(majority, forest.predict(asked))


def test_a_sparse_matrix_and_a_tree_that_saw_one_class_will_do(tumors):
    X, y, asked, _ = tumors
    forest = RandomForestClassifier(5, random_state=0).fit(sp.csr_matrix(X), y)
    dense = votes_from_forest(forest, asked)
    assert np.array_equal(votes_from_forest(forest, sp.csc_matrix(asked)).values, dense.values)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 2)), np.array([0] + [1] * 11)
    bagging = BaggingClassifier(n_estimators=20, random_state=0).fit(X, y)
    votes = votes_from_forest(bagging, X)
    assert np.array_equal(votes.values.sum(axis=1) >= 0, bagging.predict(X) == 1)


def bayes(*labels):
    return GaussianNB().fit(np.arange(len(labels))[:, None], labels)


@pytest.mark.parametrize(
    ("models", "items", "message"),
    [
        ([], None, "no classifier"),
        ([GaussianNB()], None, "not fitted"),
        ([bayes(*[*range(201)] * 3)], None, "201 classes"),
        ([bayes(0, 1), bayes(1, 2)], None, "'v1' has different classes"),
        ([("a", bayes(0, 1))] * 2, None, "same name"),
        ([bayes(0, 1)], ["a", "b"], "each of the 1 items"),
        (RandomForestClassifier(), None, "not fitted"),
    ],
)
def test_what_cannot_vote_is_refused_in_a_sentence(models, items, message):
    ask = votes_from_estimators if isinstance(models, list) else votes_from_forest
    with pytest.raises(VotesError, match=message) as caught:
        ask(models, [[1]], items=items)
    assert ". " not in str(caught.value)


def test_classifiers_of_three_classes_vote_for_them():
    X, y = load_iris(return_X_y=True)
    words = np.array(["setosa", "versicolor", "virginica"])[y]
    forest = RandomForestClassifier(5, max_depth=2, random_state=0).fit(X, words)
    tree = DecisionTreeClassifier(random_state=0).fit(X, words)
    votes = votes_from_estimators({"forest": forest, "tree": tree}, X)
    assert votes.classes == ("setosa", "versicolor", "virginica")
    assert votes.name_codes(votes.values[:, 0]).tolist() == forest.predict(X).tolist()
    trees = votes_from_forest(forest, X)
    for s, one in enumerate(forest.estimators_):
        assert trees.values[:, s].tolist() == (one.predict(X) + 1).tolist()
