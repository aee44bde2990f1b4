"""What each class stores in a model file: declared beside the class, checked on saving and loading.

A class whose objects are stored is declared with one line per field, either way::

    @stored(means="finite[voters, parts]", rate="finite", links="Links | None")

    rate: Annotated[float, "finite"]

A line is one of these, or several separated by ``|``:

======================  ==========================================================================
``finite``, ``count``   a number, of one of the kinds in `ELEMENTS`
``finite[voters, 2]``   an array of them; equal names of dimensions are equal sizes, also in parts
``index(voters)[n]``    an array of numbers from 0 to ``voters - 1``
``size(voters)``        the number that gives ``voters`` its size
``text``, ``None``      a text; nothing (and ``nan``: a number that is not known)
``plain``               a parameter or table for people: texts, numbers and collections of these
``label[2]``            labels or names, whatever their type
``columns(voters)``     a dict from text to one plain value per voter
``many(n) Links``       a tuple or list of n such values; the size may be omitted
``Links``               an object of that class or of a subclass
``unfitted``            an estimator of a stored class, with its parameters only
======================  ==========================================================================

A line that begins with ``?`` may be absent from a file. A subclass inherits the lines of its bases.
The first argument may be a rule, a function of the object that returns whether its parts agree.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from inspect import get_annotations, signature
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from unelisa.base import Estimator
from unelisa.errors import ModelError

Sizes = dict[str, int]
Rule = Callable[[Any], bool]
T = TypeVar("T")

_LINE = re.compile(r"(many(?:\((\w+)\))? )?(\w+)(?:\(([\w+]+)\))?(?:\[([\w+, ]*)\])?")


class Element(NamedTuple):
    """The dtype of a number, and the test of an array of them; the size is for indices."""

    dtype: type[np.generic]
    test: Callable[[NDArray[Any], int], Any]


def _is_index(values: NDArray[Any], size: int) -> Any:
    return (values >= 0) & (values < size)


def _is_division(values: NDArray[Any], size: int) -> bool:
    return bool(values[0] == 0 and values[-1] == size and (np.diff(values) >= 0).all())


ELEMENTS = {
    "flag": Element(np.bool_, lambda _, __: True),
    "float": Element(np.float64, lambda _, __: True),  # NaN if unknown
    "finite": Element(np.float64, lambda values, _: np.isfinite(values)),
    "single": Element(np.float32, lambda values, _: np.isfinite(values)),
    "positive": Element(np.float64, lambda values, _: np.isfinite(values) & (values > 0)),
    "share": Element(np.float64, lambda values, _: (values >= 0) & (values <= 1)),
    # shares whose logarithm is finite, and that of the rest as well
    "chance": Element(np.float64, lambda values, _: (values > 0) & (values <= 1)),
    "coin": Element(np.float64, lambda values, _: (values > 0) & (values < 1)),
    "estimate": Element(  # a share; NaN where unknown
        np.float64, lambda values, _: np.isnan(values) | ((values >= 0) & (values <= 1))
    ),
    "count": Element(np.int64, lambda values, _: values >= 0),
    "whole": Element(np.int64, lambda _, __: True),
    "code": Element(np.int8, lambda _, __: True),
    "sign": Element(np.int8, lambda values, _: np.abs(values) <= 1),
    "index": Element(np.int64, _is_index),
    "index32": Element(np.int32, _is_index),
    "group": Element(np.int64, lambda values, size: (values >= -1) & (values < size)),  # -1: none
    "group32": Element(np.int32, lambda values, size: (values >= -1) & (values < size)),
    "starts": Element(np.int64, _is_division),  # where the rows of a sparse table begin
}
SCALARS = {np.bool_: (bool,), np.int64: (int,), np.int8: (int,), np.int32: (int,)}


class Schema(NamedTuple):
    """The lines of one class, by field, and its rules."""

    lines: dict[str, str]
    rules: tuple[Rule, ...]


SCHEMAS: dict[type[Any], Schema] = {}


def stored(*rules: Rule, **lines: str) -> Callable[[type[T]], type[T]]:
    """Declare what a class stores; see the top of this module."""

    def declare(cls: type[T]) -> type[T]:
        hints = get_annotations(cls).items()
        own = {k: hint.__metadata__[0] for k, hint in hints if hasattr(hint, "__metadata__")}
        own |= lines
        for line in own.values():
            list(_split(line))  # a line that cannot be read fails here, not when a model is saved
        bases = [SCHEMAS[base] for base in reversed(cls.__mro__) if base in SCHEMAS]
        inherited = {name: line for base in bases for name, line in base.lines.items()}
        of_bases = dict.fromkeys(rule for base in bases for rule in base.rules)
        SCHEMAS[cls] = Schema(inherited | own, (*of_bases, *rules))
        return cls

    return declare


def list_fields(cls: type[Any]) -> set[str]:
    """Return the fields that a class and its bases store."""
    return {name for base in cls.__mro__ if base in SCHEMAS for name in SCHEMAS[base].lines}


def find_class(name: str) -> type[Any]:
    """Return the stored class of that name."""
    for cls in SCHEMAS:
        if cls.__name__ == name:
            return cls
    raise ModelError("holds an unknown part; upgrade unelisa to read it")


def list_parts(value: Any) -> dict[str, Any]:
    """Return the fields of a stored object; those of an estimator include its parameters."""
    if isinstance(value, Estimator):
        return dict(value.__getstate__())  # without what only a model in use refers to
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    parts: dict[str, Any] = value._asdict()
    return parts


def list_settings(cls: type[Any]) -> dict[str, Any]:
    """Return the parameters of an estimator's class with their defaults; of others none."""
    if not issubclass(cls, Estimator):
        return {}
    parameters = signature(cls).parameters
    return {name: parameters[name].default for name in cls._get_param_names()}


def check_parts(value: Any, sizes: Sizes | None = None) -> None:
    """Raise `ModelError` unless an object and all its parts are as their classes declare."""
    name, schema = type(value).__name__, SCHEMAS[type(value)]
    known, parts = dict(sizes or {}), list_parts(value)
    lines = dict.fromkeys(list_settings(type(value)), "plain") | schema.lines
    for stranger in sorted(parts.keys() - lines.keys()):
        raise ModelError(f"holds {name}.{stranger[:60]}, which is not a part of such a model")
    for field, line in lines.items():
        if field not in parts and line.startswith("?"):
            continue
        if field not in parts:
            raise ModelError(f"holds a {name} without {field}")
        if not any(_holds(parts[field], one, known) for one in _split(line)):
            raise ModelError(f"holds {name}.{field}, which is not {_explain(line, known)}")
    if not all(rule(value) for rule in schema.rules):
        raise ModelError(f"holds a {name} whose parts do not fit each other")


def _explain(line: str, sizes: Sizes) -> str:
    """Return a line for a message, with the sizes it names."""
    named = [f"{name} = {size}" for name, size in sizes.items() if re.search(rf"\b{name}\b", line)]
    return line.lstrip("?") + (f" with {' and '.join(named)}" if named else "")


class Line(NamedTuple):
    """One alternative of a line: many(length) kind(size)[shape]."""

    many: bool
    length: str | None
    kind: str
    size: str | None
    shape: tuple[str, ...] | None


def _split(line: str) -> Iterator[Line]:
    for one in line.lstrip("?").split(" | "):
        match = _LINE.fullmatch(one)
        if match is None:
            raise ValueError(f"{one!r} is not a valid line of a schema")
        many, length, kind, size, shape = match.groups()
        dimensions = None if shape is None else tuple(shape.split(", "))
        yield Line(bool(many), length, kind, size, dimensions)


def _holds(value: Any, line: Line, sizes: Sizes) -> bool:
    """Return whether a value is what a line says; sizes that are new become known."""
    if line.many:
        one = line._replace(many=False, length=None)
        alike = isinstance(value, tuple | list) and _fits((len(value),), (line.length,), sizes)
        return alike and all(_holds(part, one, dict(sizes)) for part in value)
    if line.kind in ELEMENTS:
        return _is_number(value, line, sizes)
    if line.kind in _OTHERS:
        return _OTHERS[line.kind](value, line, sizes)
    if not isinstance(value, find_class(line.kind)):
        return False
    check_parts(value, sizes)
    return True


def _is_number(value: Any, line: Line, sizes: Sizes) -> bool:
    element = ELEMENTS[line.kind]
    if line.shape is None:
        kinds = SCALARS.get(element.dtype, (int, float))
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds != (bool,)):
            return False
        value = np.asarray(value, dtype=element.dtype)
    elif (
        not isinstance(value, np.ndarray)
        or value.dtype != element.dtype
        or not value.dtype.isnative
        or not _fits(value.shape, line.shape, sizes)
    ):
        return False
    limit = 0 if line.size is None else _measure(line.size, sizes)
    return bool(np.all(element.test(value, -1 if limit is None else limit)))


def _fits(shape: tuple[int, ...], declared: tuple[str | None, ...], sizes: Sizes) -> bool:
    """Return whether a shape is as declared; a name without a size takes the one found."""
    if len(shape) != len(declared):
        return False
    for found, name in zip(shape, declared, strict=True):
        if name is None:
            continue
        wanted = _measure(name, sizes)
        if wanted is None:
            sizes[name] = wanted = found
        if found != wanted:
            return False
    return True


def _measure(name: str, sizes: Sizes) -> int | None:
    """Return the size of a dimension such as 2, voters or voters+1; None if unknown."""
    base, _, more = name.partition("+")
    known = int(base) if base.isdecimal() else sizes.get(base)
    return None if known is None else known + int(more or 0)


def _is_size(value: Any, line: Line, sizes: Sizes) -> bool:
    counted = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return counted and _fits((value,), (line.size,), sizes)


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_plain, (*value, *value.values())))
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return _is_scalar(value)


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _is_label(value: Any, line: Line, sizes: Sizes) -> bool:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "biufUSMmO":
        return False
    return _fits(value.shape, line.shape or (), sizes) and (
        value.dtype != object or all(map(_is_name, value.tolist()))
    )


def _is_name(value: Any) -> bool:
    """Return whether a value can be a name: texts, numbers and tuples of these can be looked up."""
    return all(map(_is_name, value)) if isinstance(value, tuple) else _is_scalar(value)


def _is_columns(value: Any, line: Line, sizes: Sizes) -> bool:
    return isinstance(value, dict) and all(
        isinstance(name, str)
        and _fits((len(column),), (line.size,), sizes)
        and (_is_plain(column) or _is_label(column, line._replace(shape=(str(len(column)),)), {}))
        for name, column in value.items()
    )


def _is_unfitted(value: Any) -> bool:
    if not isinstance(value, Estimator) or type(value) not in SCHEMAS:
        return False
    settings = list_settings(type(value))
    return vars(value).keys() <= settings.keys() and all(
        _is_plain(part) or _is_unfitted(part) for part in vars(value).values()
    )


_OTHERS: dict[str, Callable[[Any, Line, Sizes], bool]] = {
    "nan": lambda value, _, __: isinstance(value, float) and np.isnan(value),
    "None": lambda value, _, __: value is None,
    "text": lambda value, _, __: isinstance(value, str),
    "size": _is_size,
    "plain": lambda value, _, __: _is_plain(value),
    "label": _is_label,
    "columns": _is_columns,
    "unfitted": lambda value, _, __: _is_unfitted(value),
}
