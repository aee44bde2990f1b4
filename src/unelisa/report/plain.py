"""Values as JSON can hold them, numbers as sentences hold them."""

from typing import Any

import numpy as np


def make_plain(value: Any) -> Any:
    """Return a value that JSON can hold: None for NaN, words for what is not plain.

    Examples
    --------
    >>> [make_plain(x) for x in (np.float64(.5), float("nan"), np.bool_(True), print)]
    [0.5, None, True, 'builtin_function_or_method']
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return type(value).__name__


def count_noun(number: int, noun: str) -> str:
    """Return a number of things in words.

    Examples
    --------
    >>> count_noun(1, "voter"), count_noun(1200, "voter")
    ('1 voter', '1,200 voters')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
