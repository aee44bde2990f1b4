"""scikit-learn's own checks on every estimator, and the manners that users rely on."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import get_scorer, log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from unelisa.aggregators import AGGREGATORS, DawidSkene, MajorityVote
from unelisa.aggregators.base import LogOdds
from unelisa.estimator import VotesEstimator
from unelisa.paper.experts import ExpertSelector
from unelisa.simulation.designs import simulate_votes
from unelisa.votes import Votes

ESTIMATORS = [*AGGREGATORS.values(), ExpertSelector]
ANY = pytest.mark.parametrize("cls", ESTIMATORS)

# each of these has a way of its own through fit and predict, and passes all checks; the others go
# one of these ways, and pass the checks of what a method's own numbers decide
FULLY = ("LatentIsing", "UnElisa", "MajorityVote", "DawidSkene", "ExpertSelector")
OF_NUMBERS = {
    "check_estimators_dtypes",
    "check_estimators_pickle",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit_idempotent",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_parameters_default_constructible",
}

EMPTY = "an empty table is refused in the user's words: 0 voters, not 0 features"
UNSUPERVISED = "y is gold that settles which side is yes, never a target to be learned"
EXPECTED_FAILURES = {
    "check_estimators_empty_data_messages": EMPTY,
    "check_classifiers_classes": UNSUPERVISED,
    "check_classifiers_train": UNSUPERVISED,
    "check_classifiers_regression_target": UNSUPERVISED,
    "check_classifier_not_supporting_multiclass": UNSUPERVISED,
    "check_supervised_y_no_nan": "y may be missing where the truth is unknown",
    "check_supervised_y_2d": UNSUPERVISED,
}


def take_signs(X: Any) -> Votes:
    """The checks' real numbers as votes -1 / 0 / +1; what is no number is left to our gate."""
    if isinstance(X, Votes):
        return X
    if sp.issparse(X):
        X = sp.csc_array(X).sign()
    elif isinstance(X, pd.DataFrame):
        X = np.sign(X)
    else:
        X = np.asarray(X)
        X = X.astype(float) if X.dtype.kind == "O" else X
        X = np.where(np.isfinite(X), np.sign(X), X) if X.dtype.kind in "iuf" else X
    return Votes.of(X, coding="pm1")


def score_two_labels(self, X, y):
    """The score against the checks' target, whose classes become two labels of ours."""
    return super(type(self), self).score(X, np.where(np.asarray(y) == np.unique(y)[0], -1, 1))


def on_signs(cls: type[VotesEstimator]) -> type[VotesEstimator]:
    """The estimator with a gate that takes the sign of X and drops y, and nothing else changed."""

    class OnSigns(cls):
        def fit(self, X, y=None, **more):
            return super().fit(X, **more)

        def _enter(self, X):
            votes = super()._enter(take_signs(X))
            self._remember_columns(X, votes)
            return votes

        def _reenter(self, X):
            return super()._reenter(take_signs(X))

    OnSigns.__name__ = OnSigns.__qualname__ = f"{cls.__name__}OnSigns"
    globals()[OnSigns.__name__] = OnSigns  # where pickle looks for it
    if hasattr(cls, "score"):
        OnSigns.score = score_two_labels
    return OnSigns


def name_check(part):
    """The estimator's or the check's name, with its settings."""
    settings = ",".join(f"{k}={v}" for k, v in getattr(part, "keywords", {}).items())
    name = getattr(getattr(part, "func", part), "__name__", type(part).__name__)
    return f"{name}({settings})" if settings else name


def can_differ(estimator, check):
    """Whether a check can tell something of an estimator that it does not tell of another."""
    of_numbers = name_check(check).partition("(")[0] in OF_NUMBERS
    return of_numbers or type(estimator).__name__.removesuffix("OnSigns") in FULLY


with warnings.catch_warnings():
    # it asks for its own base class, and then checks everything that the class would give
    warnings.filterwarnings("ignore", ".*does not inherit from `sklearn.base.BaseEstimator`")
    names, CHECKS = parametrize_with_checks(
        [on_signs(cls)() for cls in ESTIMATORS], expected_failed_checks=lambda _: EXPECTED_FAILURES
    ).args
    CHECKS = [one for one in CHECKS if can_differ(*getattr(one, "values", one))]


# the checks' random numbers, taken as votes, leave some crowds without experts
@pytest.mark.filterwarnings("ignore:No features were selected")
@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
@pytest.mark.parametrize(names, CHECKS, ids=name_check)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def simulated():
    return simulate_votes(n_voters=25, n_experts=5, snr="high", n_items=800, random_state=1)


@ANY
@pytest.mark.filterwarnings("ignore:.*hardly decided")  # the anchor of this test is nobody's expert
def test_clone_keeps_the_settings_and_forgets_the_fit(cls, simulated):
    model = cls()
    changed = {name: value for name, value in model.get_params().items() if name == "orient"}
    model.set_params(**dict.fromkeys(changed, "v3")).fit(simulated.votes)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert not hasattr(twin, "voter_names_")
    with pytest.raises(NotFittedError):
        getattr(twin, "predict", getattr(twin, "transform", None))(simulated.votes.values)


@ANY
def test_parameters_are_set_by_name(cls):
    model = cls()
    for name, value in model.get_params().items():
        assert getattr(model.set_params(**{name: value}), name) == value
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(nonsense=1)


def test_a_selector_gives_frames_and_stands_before_dawid_skene_in_a_pipeline(simulated):
    frame = pd.DataFrame(simulated.votes.values, columns=[f"w{s}" for s in range(25)])
    selector = ExpertSelector(random_state=0).set_output(transform="pandas")
    kept = selector.fit_transform(frame)
    assert isinstance(kept, pd.DataFrame)
    assert list(kept) == [f"w{s}" for s in simulated.experts]
    assert list(kept) == selector.get_feature_names_out().tolist()
    values = simulated.votes.values
    pipeline = make_pipeline(ExpertSelector(random_state=0), DawidSkene(random_state=0))
    pipeline.fit(values)
    assert pipeline[-1].n_features_in_ == 5
    assert pipeline.score(values, simulated.truth) > 0.9
    alone = DawidSkene(random_state=0).fit(values[:, simulated.experts])
    assert np.array_equal(
        pipeline.predict_proba(values), alone.predict_proba(values[:, simulated.experts])
    )


@pytest.mark.parametrize("cls", AGGREGATORS.values())
def test_scorers_find_the_score(cls, simulated):
    """`roc_auc` asks classifiers only for their decision function."""
    scores = cross_val_score(
        cls(), simulated.votes.values, simulated.truth, cv=2, scoring="roc_auc"
    )
    assert np.all(scores > 0.5)
    model = cls().fit(simulated.votes)
    auc = roc_auc_score(simulated.truth, model.decision_function(simulated.votes))
    assert scores.mean() == pytest.approx(auc, abs=0.1)


def test_settings_can_be_searched_with_gold(simulated):
    search = GridSearchCV(
        DawidSkene(random_state=0), {"smoothing": [0.5, 2.0]}, cv=2, scoring="neg_log_loss"
    )
    search.fit(simulated.votes.values, simulated.truth)
    assert search.best_params_["smoothing"] in (0.5, 2.0)


def test_probabilities_only_where_they_are_honest():
    for cls in AGGREGATORS.values():
        assert hasattr(cls(), "predict_proba") == issubclass(cls, LogOdds)
    assert not hasattr(MajorityVote(), "predict_proba")


@pytest.mark.parametrize("labels", [(-1, 1), (0, 1), ("ham", "spam")])
def test_scorers_of_probabilities_read_the_columns_as_we_do(labels, simulated):
    drawn = np.where(simulated.votes.values > 0, labels[1], labels[0])
    truth = np.where(simulated.truth > 0, labels[1], labels[0])
    model = DawidSkene(random_state=0).fit(drawn)
    assert model.classes_.tolist() == list(labels)
    odds = model.decision_function(drawn)
    surprise = np.logaddexp(0, -odds * simulated.truth).mean()
    assert get_scorer("neg_log_loss")(model, drawn, truth) == pytest.approx(-surprise)
    area = roc_auc_score(simulated.truth > 0, odds)
    assert get_scorer("roc_auc")(model, drawn, truth) == pytest.approx(area)
    assert area > 0.9


def test_where_the_positive_label_sorts_first_the_columns_are_ours_to_sort(simulated):
    drawn = np.where(simulated.votes.values > 0, "ill", "well")
    votes = Votes.of(drawn, coding=("well", "ill"))
    truth = np.where(simulated.truth > 0, "ill", "well")
    model = DawidSkene(random_state=0).fit(votes)
    assert model.classes_.tolist() == ["well", "ill"]
    chances = model.predict_proba(votes)
    assert chances[simulated.truth > 0, 1].mean() > 0.8
    surprise = np.logaddexp(0, -model.decision_function(votes) * simulated.truth).mean()
    assert log_loss(truth, chances[:, np.argsort(model.classes_)]) == pytest.approx(surprise)
