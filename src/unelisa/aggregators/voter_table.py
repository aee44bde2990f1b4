"""The table of voters as people see it: few columns of many, worst first."""

from typing import Any

import pandas as pd

SHOWN = ("voter", "verdict", "family", "accuracy", "accuracy_low", "accuracy_high", "votes")
SHORT = {"accuracy_low": "low", "accuracy_high": "high"}
UNTOLD = "cannot be told"


class VoterTable(pd.DataFrame):  # type: ignore[misc]
    """A table with one row per voter that prints its main columns, the least accurate first.

    Every other column is there by name, and whatever is taken from it is an ordinary table.
    """

    def _shorten(self) -> pd.DataFrame:
        """Return what is printed."""
        table = pd.DataFrame(self)
        if "accuracy" not in table:
            return table
        table = table.sort_values("accuracy", kind="stable", na_position="last")
        shown = table[[name for name in SHOWN if name in table]].rename(columns=SHORT)
        if "family" in shown and not shown["family"].any():
            shown = shown.drop(columns="family")
        bounds = shown[["low", "high"]].map(lambda bound: "" if pd.isna(bound) else f"{bound:.2f}")
        told = shown["accuracy"].map(lambda one: UNTOLD if pd.isna(one) else f"{one:.2f}")
        return shown.assign(accuracy=told, **bounds)

    def _count_rest(self) -> str:
        rest = len(self.columns) - sum(name in self for name in SHOWN)
        return f"accuracy with a 90 % interval; {rest} more columns: voters_full_"

    def to_string(self, *given: Any, **options: Any) -> Any:
        """Return all columns as text, as of any table."""
        return pd.DataFrame(self).to_string(*given, **options)

    def __repr__(self) -> str:
        shown = repr(self._shorten())
        return f"{shown}\n{self._count_rest()}" if "accuracy" in self else shown

    def _repr_html_(self) -> Any:
        shown: Any = self._shorten()._repr_html_()
        return f"{shown}<p>{self._count_rest()}</p>" if "accuracy" in self else shown
