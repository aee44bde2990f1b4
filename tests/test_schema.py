from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from unelisa.errors import ModelError
from unelisa.schema import SCHEMAS, check_parts, stored


@pytest.fixture
def classes() -> Iterator[tuple[type[Any], type[Any]]]:
    """A class with parts of another one; both are forgotten afterward."""

    @stored(first="index(voters)[links]", weights="finite[links]")
    @dataclass
    class Ties:
        first: Any
        weights: Any

    @stored(
        lambda crowd: crowd.note != "wrong",
        n="size(voters)",
        coins="share[2, voters]",
        ties="many Ties",
        rows="starts(4)[voters+1]",
        note="text | None",
    )
    @dataclass
    class Crowd:
        n: Any
        coins: Any
        ties: Any
        rows: Any
        note: Any

    yield Crowd, Ties
    del SCHEMAS[Crowd], SCHEMAS[Ties]


def right(classes: tuple[type[Any], type[Any]]) -> dict[str, Any]:
    ties = [classes[1](np.array([2, 0]), np.ones(2)), classes[1](np.array([1]), np.ones(1))]
    rows = np.array([0, 1, 1, 4])
    return {"n": 3, "coins": np.full((2, 3), 0.5), "ties": ties, "rows": rows, "note": None}


def test_what_is_declared_is_accepted_under_unique_names(classes):
    crowd, _ = classes
    for note in (None, "a text"):
        assert check_parts(crowd(**{**right(classes), "note": note})) is None
    names = [cls.__name__ for cls in SCHEMAS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n", 2),
        ("n", True),
        ("n", -3),
        ("coins", np.full((3, 2), 0.5)),
        ("coins", np.full((2, 3), np.nan)),
        ("coins", np.full((2, 3), 1.5)),
        ("coins", np.full((2, 3), 0.5, dtype=np.float32)),
        ("coins", np.full((2, 3), 0.5, dtype=">f8")),
        ("coins", [[0.5] * 3] * 2),
        ("rows", np.array([0, 2, 1, 4])),
        ("rows", np.array([0, 1, 1, 5])),
        ("rows", np.array([0, 1, 4])),
        ("note", 5),
        ("ties", None),
        ("ties", ["x"]),
    ],
)
def test_what_differs_is_named(field, value, classes):
    crowd, _ = classes
    with pytest.raises(ModelError, match=r"holds Crowd\.\w+, which is not"):
        check_parts(crowd(**{**right(classes), field: value}))


def test_sizes_rules_and_lines_hold_in_parts(classes):
    crowd, ties = classes
    beyond = [ties(np.array([3]), np.ones(1))]
    unequal = [ties(np.array([1]), np.ones(2))]
    for wrong in (beyond, unequal):
        with pytest.raises(ModelError, match=r"holds Ties\.(first|weights)"):
            check_parts(crowd(**{**right(classes), "ties": wrong}))
    crowd, _ = classes
    with pytest.raises(ModelError, match="parts do not fit each other"):
        check_parts(crowd(**{**right(classes), "note": "wrong"}))
    with pytest.raises(ValueError, match="not a valid line"):
        stored(x="finite[[")(object)
    with pytest.raises(ModelError, match="Crowd without absent"):
        check_parts(stored(absent="finite")(crowd)(**right(classes)))
