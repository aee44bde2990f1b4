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


def show_within(patterns: Flags, counts: Floats) -> Flags:
    """Return which rules are within others, whatever the number outside if that is small."""
    weights = counts[:, None] * patterns
    alone = weights.sum(axis=0)
    outside = alone[:, None] - patterns.T.astype(float) @ weights
    few = (outside > 0) & (outside < FEWEST_SHOWN)
    depends = alone * (1 - IMPLIED) < FEWEST_SHOWN - 1
    return np.asarray(_find_within(patterns, counts) & ~(few & depends[:, None]))


def list_implications(within: Flags) -> list[tuple[int, int]]:
    """Return pairs (r, s) of rules: r is within s, and no third rule stands between them."""
    within = within & ~np.eye(len(within), dtype=bool)
    strictly = within & ~within.T
    between = strictly.astype(int) @ strictly.astype(int) > 0
    return [(int(r), int(s)) for r, s in np.argwhere(within & ~between)]


def describe_overlap(names: Sequence[str], flags: Flags) -> dict[str, Any]:
    """Return how many patients each rule flags, and how the rules overlap, as plain values.

    No small number of patients can be worked out from these. An overlap of fewer than
    `FEWEST_SHOWN` patients, or with fewer in one of two rules alone or in none, is None, and shares
    are whole percents; patterns of fewer patients are None, and numbers of others, and of those on
    whom the rules disagree, are multiples of `FEWEST_SHOWN`. If all of that still determines a
    small pattern, patterns and then overlaps are left out (None), too. If the sizes of the rules
    do, such as those of a rule within another one, they are such multiples as well (`rounded`).
    """
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - as `linprog`

    patterns, counts = np.unique(flags, axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    within = show_within(patterns, counts.astype(np.float64))
    _, families = connected_components(within, directed=False)
    shown = np.array([k for k in order if patterns[k].any()][:MOST_PATTERNS], dtype=np.intp)
    shown, shares, disagree, sizes, rounded = _audit(flags, patterns, counts, shown)
    return {
        "patients": len(flags),
        "rounded": rounded,
        "flagged": dict(zip(names, sizes.tolist(), strict=True)),
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
        "within": [[names[r], names[s]] for r, s in list_implications(within)],
        "patterns": [
            {
                "rules": [names[int(r)] for r in np.flatnonzero(patterns[k])],
                "patients": _round_down(counts[k]) or None,
            }
            for k in shown
        ],
    }


def _audit(
    flags: Flags, patterns: Flags, counts: NDArray[np.integer], shown: NDArray[np.intp]
) -> tuple[NDArray[np.intp], Floats, int | None, NDArray[np.integer], bool]:
    """Return patterns, shares, disagreement and sizes that may be shown; are these rounded."""
    shares = _show_overlap(flags)
    disagree: int | None = _round_down((flags.any(axis=1) & ~flags.all(axis=1)).sum())
    sizes = flags.sum(axis=0)
    ranges = _show_sizes(sizes, len(flags), 1)
    rounded = not _hides_small(patterns, counts, np.full_like(shares, np.nan), shown[:0], ranges)
    if rounded:
        ranges = _show_sizes(sizes, len(flags), FEWEST_SHOWN)
        few = (sizes < FEWEST_SHOWN) | (sizes > len(flags) - FEWEST_SHOWN)
        sizes = np.where(few, sizes, ranges[0])
    if not _hides_small(patterns, counts, shares, shown, ranges):
        shown, disagree = shown[:0], None
        if not _hides_small(patterns, counts, shares, shown, ranges):
            shares = np.full_like(shares, np.nan)
    return shown, shares, disagree, sizes, rounded


def _show_sizes(sizes: NDArray[np.integer], n: int, step: int) -> NDArray[np.integer]:
    """Return the least and the largest sizes of rules that what is shown of them leaves."""
    least = sizes // step * step
    most = least + step - 1
    few, nearly_all = (
        (sizes > 0) & (sizes < FEWEST_SHOWN),
        (n - sizes > 0) & (n - sizes < FEWEST_SHOWN),
    )
    least = np.where(few, 1, np.where(nearly_all, n - FEWEST_SHOWN + 1, least))
    most = np.where(few, FEWEST_SHOWN - 1, np.where(nearly_all, n - 1, most))
    return np.stack([least, np.minimum(most, n)])


def _hides_small(
    patterns: Flags,
    counts: NDArray[np.integer],
    shares: Floats,
    shown: NDArray[np.intp],
    ranges: NDArray[np.integer],
) -> bool:
    """Return whether what is shown leaves each small pattern `LEAST_LEFT` possible counts.

    The least and the largest are linear programs in the counts, given the number of all patients,
    the least and the most that each rule flags, and the shown shares, patterns, and number of those
    on whom rules disagree.
    """
    small = np.flatnonzero(counts < FEWEST_SHOWN)
    if not len(small):
        return True
    from scipy.optimize import linprog  # noqa: PLC0415 - takes a tenth of a second

    flags, own = patterns.astype(np.float64), counts @ patterns
    low, high = np.zeros(len(counts)), np.full(len(counts), float(counts.sum()))
    low[shown] = counts[shown] // FEWEST_SHOWN * FEWEST_SHOWN
    high[shown] = low[shown] + FEWEST_SHOWN - 1
    low[small], high[small] = 1, FEWEST_SHOWN - 1
    rows = [*flags.T, *-flags.T]
    ends = [*ranges[1].tolist(), *(-ranges[0]).tolist()]
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
    given = {"A_eq": np.ones((1, len(counts))), "b_eq": [counts.sum()]}
    given |= {"A_ub": np.array(rows), "b_ub": ends, "bounds": np.column_stack([low, high])}
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
