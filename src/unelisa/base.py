"""What scikit-learn expects of an estimator, without importing it, which takes two seconds."""

from collections import defaultdict
from collections.abc import Callable
from copy import deepcopy
from inspect import signature
from types import MethodType
from typing import Any, ClassVar, TypeVar

Model = TypeVar("Model", bound="Estimator")
Method = TypeVar("Method", bound=Callable[..., Any])


class Estimator:
    """Base of all estimators: `__init__` stores parameters, `fit` attributes that end in `_`."""

    estimator_type: ClassVar[str | None] = None

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(signature(cls).parameters)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; if `deep`, also nested ones as name__parameter."""
        found = {}
        for name in self._get_param_names():
            value = found[name] = getattr(self, name)
            if deep and _is_estimator(value):
                found.update({f"{name}__{k}": part for k, part in value.get_params().items()})
        return found

    def set_params(self: Model, **params: Any) -> Model:
        """Return self with other `params`, given by the names of `get_params`."""
        known, nested = self._get_param_names(), defaultdict[str, dict[str, Any]](dict)
        for key, value in params.items():
            name, inner, of_inner = key.partition("__")
            if name not in known or (inner and not _is_estimator(getattr(self, name))):
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self}. "
                    f"Valid parameters are: {known!r}."
                )
            if inner:
                nested[name][of_inner] = value
            else:
                setattr(self, name, value)
        for name, more in nested.items():
            getattr(self, name).set_params(**more)
        return self

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        usual = {name: one.default for name, one in signature(type(self)).parameters.items()}
        params = {name: repr(value) for name, value in self.get_params(deep=False).items()}
        changed = [f"{k}={text}" for k, text in params.items() if text != repr(usual[k])]
        shown = f"{type(self).__name__}({', '.join(changed)})"
        return shown if len(shown) <= N_CHAR_MAX else f"{shown[: N_CHAR_MAX - 4]}...)"

    def __getstate__(self) -> dict[str, Any]:
        return dict(vars(self))

    def _html_repr(self) -> Any:
        from sklearn.utils import estimator_html_repr  # noqa: PLC0415

        return estimator_html_repr(self)

    def _repr_html_(self) -> Any:
        return self._html_repr()

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, Tags, TargetTags  # noqa: PLC0415

        classifier = self.estimator_type == "classifier"
        return Tags(
            estimator_type=self.estimator_type,
            target_tags=TargetTags(required=False),
            # whether y may have more than two classes, not whether the votes may
            classifier_tags=ClassifierTags(multi_class=False) if classifier else None,
        )


def _is_estimator(value: Any) -> bool:
    return hasattr(value, "get_params") and not isinstance(value, type)


def clone(model: Model) -> Model:
    """Return an unfitted estimator with the same parameters."""
    params = model.get_params(deep=False)
    copies = {k: clone(v) if _is_estimator(v) else deepcopy(v) for k, v in params.items()}
    return type(model)(**copies)


def check_is_fitted(model: Any, attribute: str) -> None:
    """Raise scikit-learn's `NotFittedError` unless the model has an attribute that `fit` sets."""
    if not hasattr(model, attribute):
        from sklearn.exceptions import NotFittedError  # noqa: PLC0415

        raise NotFittedError(f"This {type(model).__name__} instance is not fitted yet: call fit")


class _Conditional:
    """A method that only some instances of its class have."""

    def __init__(self, check: Callable[[Any], bool], method: Callable[..., Any]) -> None:
        self.check, self.method = check, method
        self.__doc__, self.__name__ = method.__doc__, method.__name__

    def __get__(self, model: Any, owner: type[Any]) -> Any:
        if model is None:
            return self.method
        if not self.check(model):
            raise AttributeError(f"this {owner.__name__} has no {self.method.__name__}")
        return MethodType(self.method, model)


def available_if(check: Callable[[Any], bool]) -> Callable[[Method], Method]:
    """Return a decorator of methods: `hasattr` finds them where `check(model)` holds."""

    def declare(method: Method) -> Method:
        conditional: Any = _Conditional(check, method)
        return conditional  # type: ignore[no-any-return]

    return declare
