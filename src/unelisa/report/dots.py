"""The voters as a dot plot: how good each is, with its interval, relatives side by side."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

MEASURES = ("accuracy", "agreement")  # what is drawn: the first that is known of any voter
STEP = 0.1  # between the lines of the scale
INSET = 3.0  # percent of the width at both ends of the scale, so that no dot is cut


def draw_dots(
    voters: Sequence[Mapping[str, Any]], families: Sequence[Sequence[int]]
) -> dict[str, Any] | None:
    """Return a row for every voter, the least accurate first; None where nothing is known of any.

    Places are in percent of the width. Voters of one family stand together, in the place of the
    least accurate of them, and have a bracket: `first`, `last` and `family`, its number. Voters of
    whom nothing can be told come last, without a place.

    Examples
    --------
    >>> voters = [{"accuracy": 0.9, "accuracy_low": 0.8, "accuracy_high": 1.0}, {"accuracy": 0.6}]
    >>> [(row["voter"], row["x"]) for row in draw_dots(voters, [])["rows"]]
    [(1, 3.0), (0, 73.5)]
    """
    measure = next((m for m in MEASURES if any(v.get(m) is not None for v in voters)), None)
    if measure is None:
        return None
    values = [voter.get(measure) for voter in voters]
    bounds = [[voter.get(f"{measure}_{end}") for end in ("low", "high")] for voter in voters]
    known = [x for x in (*values, *chain(*bounds)) if x is not None]
    floor = min(np.floor(min(known) / STEP + 1e-9) * STEP, 1 - STEP)
    rows = []
    for group in _order_groups(values, families):
        for k, (voter, family) in enumerate(group):
            low, high = bounds[voter]
            bracket = {} if family is None else {"first": k == 0, "last": k == len(group) - 1}
            ends = {"low": _place(low, floor), "high": _place(high, floor)}
            place = {"voter": voter, "x": _place(values[voter], floor), **ends}
            rows.append({**place, "family": family, **bracket})
    ticks = [(_place(x, floor), round(100 * x)) for x in np.arange(floor, 1 + STEP / 2, STEP)]
    return {"measure": measure, "rows": rows, "ticks": ticks}


def _order_groups(
    values: Sequence[float | None], families: Sequence[Sequence[int]]
) -> list[list[tuple[int, int | None]]]:
    """Return families and voters without one, as (voter, family): the worst first."""
    kin = [[(s, c) for s in family] for c, family in enumerate(families) if len(family) > 1]
    inside = {s for family in kin for s, _ in family}
    alone: list[Any] = [[(s, None)] for s in range(len(values)) if s not in inside]

    def rank(one: tuple[int, int | None]) -> float:
        value = values[one[0]]
        return np.inf if value is None else value

    groups = [sorted(group, key=rank) for group in [*kin, *alone]]
    return sorted(groups, key=lambda group: rank(group[0]))


def _place(value: float | None, floor: float) -> float | None:
    if value is None:
        return None
    return round(INSET + (100 - 2 * INSET) * float((value - floor) / (1 - floor)), 1)
