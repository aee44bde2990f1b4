"""VotesEstimator: how votes enter a scikit-learn estimator, in fit and again in predict."""

from collections.abc import Callable
from copy import copy
from functools import wraps
from numbers import Integral, Real
from typing import Any, ClassVar, Concatenate, Literal, NamedTuple, ParamSpec, TypeVar

import numpy as np

from unelisa.base import Estimator, check_is_fitted
from unelisa.errors import ModelError, VotesError
from unelisa.kernels.threads import one_blas_thread
from unelisa.parallel import NUMBER_OF_JOBS, is_number_of_jobs
from unelisa.schema import list_fields, stored
from unelisa.votes import Votes
from unelisa.votes.coding import CodingChoice, Declared, as_labels
from unelisa.votes.frames import ColumnNames

Model = TypeVar("Model", bound=Estimator)
Given = ParamSpec("Given")
# with two labels that are codes, the code that may mean abstained and the coding in which it does
ABSTAINED: dict[CodingChoice, tuple[int, str]] = {(0, 1): (-1, "snorkel"), (-1, 1): (0, "pm1")}


def fit_aside(
    fit: Callable[Concatenate[Model, Given], Any],
) -> Callable[Concatenate[Model, Given], Model]:
    """Return `fit` as a method that succeeds as a whole or leaves the model as it was."""

    @wraps(fit)
    def fit_copy(self: Model, /, *given: Given.args, **named: Given.kwargs) -> Model:
        fresh = copy(self)
        # products are small: threads would wait for each other, and bits would depend on the cores
        with one_blas_thread():
            fit(fresh, *given, **named)
        self.__dict__ = fresh.__dict__
        return self

    return fit_copy


class Takes(NamedTuple):
    """What a method takes besides complete votes of two classes; `check_taken` refuses the rest."""

    any_class: bool = False  # more than two classes
    voters: int | None = None  # at most so many voters who vary; None: any number
    gold: Literal["nothing", "side", "labels"] = "nothing"  # what gold labels decide
    prior: bool = False  # prior log-odds of the items, and a stated prevalence


def check_taken(model: Any, votes: Votes) -> None:
    """Raise `ModelError` if a method does not take such votes."""
    name, takes = type(model).__name__, model.takes
    if votes.n_classes > 2 and not takes.any_class:
        use = f"OneVsRest({name}())" if hasattr(model, "predict") else "votes.one_against_rest"
        raise ModelError(f"{name} takes two classes, found {votes.n_classes}; use {use}")
    if votes.n_classes > 2 and getattr(model, "orient", "majority") != "majority":
        raise ModelError("orient decides between two classes; leave 'majority' for more")
    varying = 0 if takes.voters is None else int(np.count_nonzero(~votes.constant()))
    if takes.voters is not None and varying > takes.voters:
        raise ModelError(
            f"{name} takes at most {takes.voters} voters who vary, found {varying}: select voters "
            "first, or use another method"
        )


def has_its_classes(model: Any) -> bool:
    """Return whether a model has two classes, or more which it takes and whose order it knows."""
    n_classes = len(model.classes_)
    if n_classes == 2:
        return not hasattr(model, "ordered_")
    return n_classes > 2 and model.takes.any_class and hasattr(model, "ordered_")


def has_distinct_names(model: Any) -> bool:
    """Return whether no two classes and no two voters have the same name."""
    names = (model.classes_.tolist(), model.voter_names_.tolist())
    return all(len(set(some)) == len(some) for some in names)


@stored(
    has_its_classes,
    has_distinct_names,
    n_features_in_="size(voters)",
    classes_="label[classes]",
    voter_names_="label[voters]",
    named_voters_="flag",
    feature_names_in_="?label[voters]",
    _named_coding="?plain",
    _named_columns="?plain",
    ordered_="?flag",
)
class VotesEstimator(Estimator):
    """Base of everything that is fitted to votes.

    Voters are matched by name in `predict`: absent ones abstain, unknown ones are ignored with a
    warning; without names by position. `classes_` are the user's labels.
    """

    takes: ClassVar[Takes] = Takes()

    def _enter(self, X: Any) -> Votes:
        """Return the votes of `fit`, and store who the voters are."""
        check_settings(self.get_params(deep=False))
        votes = Votes.accept(X)
        check_taken(self, votes)
        for name in list_fields(type(self)) - self.get_params(deep=False).keys():
            self.__dict__.pop(name, None)  # an earlier fit may have had other classes
        self.classes_ = as_labels(votes.classes)
        self.n_features_in_ = votes.n_voters
        self.voter_names_, self.named_voters_ = votes.voters, votes.named
        self._named_coding, self._named_columns = votes.coding, tuple(votes.columns)
        if votes.n_classes > 2:
            self.ordered_ = votes.ordered
        self._remember_columns(X, votes)
        return votes

    def _remember_columns(self, X: Any, votes: Votes) -> None:
        """Keep scikit-learn's feature_names_in_ where X is a wide frame with text columns."""
        names = list(getattr(X, "columns", ()))
        if len(names) == votes.n_voters and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.array(names, dtype=object)

    def _reenter(self, X: Any) -> Votes:
        """Return votes on new items with the voters of `fit` as columns."""
        check_is_fitted(self, "voter_names_")
        votes = self._in_own_labels(X if isinstance(X, Votes) else self._read(X))
        if votes.named and self.named_voters_:
            return votes.align(self.voter_names_)
        if votes.n_voters != self.n_features_in_:
            raise VotesError(
                f"X has {votes.n_voters} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input: the voters it was fitted on"
            )
        return votes

    def _read(self, table: Any) -> Votes:
        """Return the votes of a raw table in the labels of `fit`."""
        try:
            return self._read_named(table)
        except VotesError as error:
            if self.coding_ not in ABSTAINED:
                raise
            code, coding = ABSTAINED[self.coding_]
            hint = f"if {code} means abstained, pass Votes.of(table, coding={coding!r})"
            raise VotesError(f"{error}; {hint}") from None

    def _read_named(self, table: Any) -> Votes:
        """Return the votes of a raw table, whose columns have the names of `fit` or usual ones."""
        try:
            return Votes.of(table, coding=self.coding_, **self.columns_._asdict())
        except VotesError as error:
            if "column" not in error.about:
                raise
        return Votes.of(table, coding=self.coding_)

    @property
    def coding_(self) -> CodingChoice:
        """How raw tables are read after `fit`: in the same way, even if a label is absent."""
        classes = tuple(self.classes_.tolist())
        unsaid = "pm1" if classes == (-1, 1) else ""
        named: Any = getattr(self, "_named_coding", unsaid)
        if len(classes) > 2:
            return Declared(classes, self.ordered_, named)
        return named or classes

    @property
    def columns_(self) -> ColumnNames:
        """Which columns the votes of `fit` were read from, None where they had usual names."""
        return ColumnNames.of(getattr(self, "_named_columns", ()))

    def _in_own_labels(self, votes: Votes) -> Votes:
        """Return the votes with the same positive label as in `fit`; reject other labels."""
        mine = tuple(self.classes_.tolist())
        if tuple(votes.classes) == mine:
            return votes
        if len(mine) > 2 and set(votes.classes) <= set(mine):
            return votes.recode_classes(mine)
        if tuple(votes.classes) == mine[::-1]:
            return votes.turn_labels()
        raise VotesError("these votes have other labels than the model was fitted on")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def check_settings(settings: dict[str, Any]) -> None:
    """Raise `ModelError` for invalid values of settings that several estimators share."""
    for name, kind in KINDS.items():
        if name in settings and not kind.holds(settings[name]):
            found = repr(settings[name])[:60]
            raise ModelError(f"{name} must be {kind.words}, found {found}")


def check_level(level: Any, name: str = "level") -> None:
    """Raise `ModelError` unless a level of intervals, or another share, lies between 0 and 1."""
    if not is_number(level, Real, 0) or not 0 < level < 1:
        raise ModelError(f"{name} must lie between 0 and 1, found {level!r}")


class Kind(NamedTuple):
    """What a setting may be: a test, and its description."""

    holds: Callable[[Any], bool]
    words: str


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def is_number(value: Any, kind: Any, least: float) -> bool:
    """Return whether a value is a finite number of a kind, and large enough."""
    return isinstance(value, kind) and not _is_flag(value) and bool(least <= value < np.inf)


COUNT = Kind(lambda value: is_number(value, Integral, 1), "a whole number of at least 1")
AMOUNT = Kind(lambda value: is_number(value, Real, 0), "a finite number of at least 0")
KINDS = {
    **dict.fromkeys(("n_starts", "max_iter", "max_groups", "n_resamples"), COUNT),
    **dict.fromkeys(("smoothing", "ridge", "tol"), AMOUNT),
    "fit_intercept": Kind(_is_flag, "True or False"),
    "orient": Kind(
        lambda value: isinstance(value, str) or is_number(value, Integral, -np.inf),
        "'majority', or a voter's name or index",
    ),
    "seed": Kind(lambda value: is_number(value, Integral, 0), "a whole number of at least 0"),
    "n_jobs": Kind(is_number_of_jobs, NUMBER_OF_JOBS),
    "random_state": Kind(
        lambda value: (
            value is None or isinstance(value, np.random.Generator) or is_number(value, Integral, 0)
        ),
        "None, a nonnegative integer, or a generator of np.random.default_rng",
    ),
}
