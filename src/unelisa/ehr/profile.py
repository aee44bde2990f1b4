"""A table of the patients labeled as cases and of the others, without any patient in it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

FEWEST = 5  # patients behind a figure; fewer might be recognized
TOP = 8  # most frequent features of each group
QUARTILES = (0.25, 0.5, 0.75)
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Row = dict[str, Any]


def describe_groups(
    counts: "pd.DataFrame",
    cases: Flags,
    utilization: str | None = None,
    age: Floats | None = None,
    female: Floats | None = None,
    anchors: Sequence[str] = (),
) -> list[Row]:
    """Return rows with a name, a kind, and a figure each of the cases and the others.

    A figure of kind "quartiles" is a list of three numbers, one of kind "share" a share; None
    where it would single out fewer than five patients. `female` is 1, 0 or NaN. The features are
    the anchors and those that most cases, or most of the others, have.
    """
    rows = [
        _compare("age in years", "quartiles", age, cases),
        _compare("female", "share", female, cases),
    ]
    if utilization is not None:
        rows.append(_compare(utilization, "quartiles", counts[utilization].to_numpy(), cases))
    names = [str(name) for name in counts if name != utilization]
    present = {
        group: _share_present(counts, names, chosen) for group, chosen in _split(cases).items()
    }
    order = [np.argsort(-shares, kind="stable")[:TOP] for shares in present.values()]
    top = {
        names[place]: place for places in order for place in places if names[place] not in anchors
    }
    for name in (*anchors, *sorted(top, key=lambda name: -present["cases"][top[name]])):
        has = (counts[name].to_numpy() > 0).astype(np.float64)
        rows.append(_compare(name, "share", has, cases))
    return [row for row in rows if row["cases"] is not None or row["others"] is not None]


def _split(cases: Flags) -> dict[str, Flags]:
    return {"cases": cases, "others": ~cases}


def _share_present(counts: "pd.DataFrame", names: Sequence[str], chosen: Flags) -> Floats:
    """Return the share of some patients who have each feature, column by column."""
    n = max(int(chosen.sum()), 1)
    return np.array([(counts[name].to_numpy()[chosen] > 0).sum() / n for name in names])


def _compare(name: str, kind: str, values: Any, cases: Flags) -> Row:
    figure = _quartiles if kind == "quartiles" else _share
    row: Row = {"name": name, "kind": kind}
    for group, chosen in _split(cases).items():
        known = np.empty(0) if values is None else np.asarray(values, dtype=np.float64)[chosen]
        row[group] = figure(known[~np.isnan(known)])
    return row


def _quartiles(known: Floats) -> list[float] | None:
    return None if len(known) < FEWEST else [float(q) for q in np.quantile(known, QUARTILES)]


def _share(known: Floats) -> float | None:
    """Return the share of ones; None if so few have it, or do not, that they might be found."""
    ones = int(known.sum())
    few = any(0 < n < FEWEST for n in (ones, len(known) - ones)) or not len(known)
    return None if few else ones / len(known)
