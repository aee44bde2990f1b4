"""How rules overlap: whom one flags and another does not, without small numbers of patients.

A rule that contains another one is of its family. A pattern is a combination of rules.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.ehr.counts import FEWEST_SHOWN

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
IMPLIED = 0.99  # of a rule's patients within another: they are one family
COMMON = 0.9  # a rule that flags more of all patients contains others by chance
MOST_PATTERNS = 15  # that are described
LEAST_LEFT = 5  # counts that a hidden pattern may have, by all that is shown
MOST_AUDITED = 30  # hidden patterns, those that are listed first


def measure_overlap(flags: Flags) -> Floats:
    """Return the share of each rule's patients (rows) whom each rule (columns) flags.

    NaN for a rule that flags nobody.
    """
    weights = flags.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(weights.T @ weights / weights.sum(axis=0)[:, None])


def _show_overlap(flags: Flags) -> Floats:
    """Return shares in whole percents; NaN where few are in both rules, in one of them or in none.

    A share is hidden in both directions: one and the sizes of the rules would show the other.
    """
    own = flags.sum(axis=0)
    both = np.rint(np.nan_to_num(measure_overlap(flags)) * own[:, None])
    alone, other = own[:, None] - both, own - both
    cells = np.stack([both, alone, other, len(flags) - both - alone - other])
    cells[-1][np.diag_indices(len(own))] = 0
    few = ((cells > 0) & (cells < FEWEST_SHOWN)).any(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(few, np.nan, np.round(both / own[:, None], 2))


def _find_within(patterns: Flags, counts: Floats) -> Flags:
    """Return whether a rule (row) is within another one (column), or a copy of it."""
    weights = counts[:, None] * patterns
    both, alone = patterns.T.astype(float) @ weights, weights.sum(axis=0)
    within = both / np.maximum(alone, 1e-12)[:, None] >= IMPLIED
    rare = alone <= COMMON * counts.sum()
    return np.asarray((within & rare[None, :]) | (within & within.T))


def find_families(patterns: Flags, counts: Floats) -> list[int]:
    """Return the family of each rule: rules that contain or repeat one another are in one."""
    tied = _find_within(patterns, counts)
    family = list(range(patterns.shape[1]))
    for r, s in np.argwhere(tied | tied.T):
        old, new = max(family[r], family[s]), min(family[r], family[s])
        family = [new if one == old else one for one in family]
    return family


def list_implications(patterns: Flags, counts: Floats) -> list[tuple[int, int]]:
    """Return pairs (r, s) of rules: r is within s, and no third rule stands between them."""
    within = _find_within(patterns, counts)
    np.fill_diagonal(within, False)
    strictly = within & ~within.T
    between = strictly.astype(int) @ strictly.astype(int) > 0
    return [(int(r), int(s)) for r, s in np.argwhere(within & ~between)]


def describe_overlap(names: Sequence[str], flags: Flags) -> dict[str, Any]:
    """Return how many patients each rule flags, and how the rules overlap, as plain values.

    No small number of patients can be worked out from these. An overlap of fewer than
    `FEWEST_SHOWN` patients, or with fewer in one of two rules alone or in none, is None, and shares
    are whole percents; patterns of fewer patients are None, and numbers of others, and of those on
    whom the rules disagree, are multiples of `FEWEST_SHOWN`. If all of that still determines a
    small pattern, patterns and then overlaps are left out (None), too.
    """
    patterns, counts = np.unique(flags, axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    families = np.array(find_families(patterns, counts.astype(np.float64)))
    pairs = list_implications(patterns, counts.astype(np.float64))
    shown = np.array([k for k in order if patterns[k].any()][:MOST_PATTERNS], dtype=np.intp)
    shares = _show_overlap(flags)
    disagree: int | None = _round_down((flags.any(axis=1) & ~flags.all(axis=1)).sum())
    if not _hides_small(patterns, counts, shares, shown):
        shown, disagree = shown[:0], None
        if not _hides_small(patterns, counts, shares, shown):
            shares = np.full_like(shares, np.nan)
    return {
        "patients": len(flags),
        "flagged": dict(zip(names, flags.sum(axis=0).tolist(), strict=True)),
        "disagree": disagree,
        "overlap": {
            name: {
                other: float(x) if np.isfinite(x) else None
                for other, x in zip(names, row, strict=True)
            }
            for name, row in zip(names, shares, strict=True)
        },
        "families": [
            [names[int(r)] for r in np.flatnonzero(families == k)]
            for k in np.unique(families)
            if (families == k).sum() > 1
        ],
        "within": [[names[r], names[s]] for r, s in pairs],
        "patterns": [
            {
                "rules": [names[int(r)] for r in np.flatnonzero(patterns[k])],
                "patients": _round_down(counts[k]) or None,
            }
            for k in shown
        ],
    }


def _hides_small(
    patterns: Flags, counts: NDArray[np.integer], shares: Floats, shown: NDArray[np.intp]
) -> bool:
    """Return whether what is shown leaves each small pattern `LEAST_LEFT` possible counts.

    The least and the largest are linear programs in the counts, given the number of all patients
    and of each rule, and the shown shares, patterns, and number of those on whom rules disagree.
    """
    small = np.flatnonzero(counts < FEWEST_SHOWN)
    if not len(small):
        return True
    from scipy.optimize import linprog  # noqa: PLC0415 - takes a tenth of a second

    flags, own = patterns.astype(np.float64), counts @ patterns
    sizes = np.vstack([np.ones(len(counts)), flags.T[own >= FEWEST_SHOWN]])
    low, high = np.zeros(len(counts)), np.full(len(counts), float(counts.sum()))
    low[shown] = counts[shown] // FEWEST_SHOWN * FEWEST_SHOWN
    high[shown] = low[shown] + FEWEST_SHOWN - 1
    low[small], high[small] = 1, FEWEST_SHOWN - 1
    rows: list[Floats] = []
    ends: list[float] = []
    for r, s in np.argwhere(np.isfinite(shares) & ~np.eye(len(own), dtype=bool)):
        row = flags[:, r] * flags[:, s]
        for sign in (1, -1):
            rows.append(sign * row)
            ends.append((sign * shares[r, s] + 0.005) * own[r])
    if len(shown):  # and how many the rules disagree on
        mixed = np.asarray(patterns.any(axis=1) & ~patterns.all(axis=1), dtype=np.float64)
        least = _round_down(mixed @ counts)
        rows += [mixed, np.negative(mixed)]
        ends += [least + FEWEST_SHOWN - 1, -least]
    given = {"A_eq": sizes, "b_eq": sizes @ counts, "bounds": np.column_stack([low, high])}
    if rows:
        given |= {"A_ub": np.array(rows), "b_ub": np.array(ends)}
    listed = np.isin(small, shown)
    for k in [*small[listed], *small[~listed]][:MOST_AUDITED]:
        aim = np.zeros(len(counts))
        aim[k] = 1
        least, most = linprog(aim, **given).fun, linprog(-aim, **given).fun
        if least is not None and np.floor(-most + 1e-6) - np.ceil(least - 1e-6) < LEAST_LEFT - 1:
            return False
    return True


def _round_down(n: Any) -> int:
    return int(n) // FEWEST_SHOWN * FEWEST_SHOWN
