"""Columns of OMOP tables, whatever type a site stores them in."""

from typing import Any

_DAY = 8  # digits of YYYYMMDD


def as_number(column: Any) -> Any:
    """Return a column of identifiers as 64-bit integers; the engine fails on one such as 1.5.

    Engines round a fraction or cut it off, which would name another patient.
    """
    kind = column.type()
    if kind.is_integer() or (kind.is_decimal() and kind.scale == 0):
        return column if kind.is_int64() else column.cast("int64")
    number = column.cast("float64")
    text = column if kind.is_string() else column.cast("int64").cast("string")
    return (number == number.floor()).ifelse(text, "fraction").cast("int64")


def as_day(column: Any) -> Any:
    """Return a column of dates as dates: DATE, TIMESTAMP, or YYYY-MM-DD and YYYYMMDD as text.

    The text may continue with a time. Anything else makes the engine fail.
    """
    kind = column.type()
    if kind.is_date():
        return column
    if kind.is_timestamp():
        return column.date()
    digits = as_text(column).strip().nullif("").replace("-", "").left(_DAY)
    parts = (digits.substr(0, 4), digits.substr(4, 2), digits.substr(6, 2))
    return (parts[0] + "-" + parts[1] + "-" + parts[2]).cast("date")


def as_value(column: Any) -> Any:
    """Return a column of measured values as numbers."""
    kind = column.type()
    return (column.strip().nullif("") if kind.is_string() else column).cast("float64")


def as_text(column: Any) -> Any:
    """Return a column of codes as text."""
    return column if column.type().is_string() else column.cast("string")
