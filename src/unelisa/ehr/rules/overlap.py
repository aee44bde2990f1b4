"""How rules overlap, which of them contain others, and whose charts settle their disagreements."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.ehr.charts import ChartSample
from unelisa.ehr.counts import FEWEST_SHOWN

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
IMPLIED = 0.99  # of a rule's patients within another: they are one family
COMMON = 0.9  # a rule that flags more of all patients contains others by chance
MOST_PATTERNS = 15  # that are described


def measure_overlap(flags: Flags) -> NDArray[np.float64]:
    """Return the share of each rule's patients (rows) whom each rule (columns) flags.

    NaN for a rule that flags nobody.
    """
    weights = flags.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(weights.T @ weights / weights.sum(axis=0)[:, None])


def _hide_small(shares: Floats, flagged: NDArray[np.integer]) -> Floats:
    """Return shares in whole percents; NaN where few patients are inside or outside of a rule."""
    inside = np.rint(np.nan_to_num(shares) * flagged[:, None])
    outside = flagged[:, None] - inside
    small = [(part > 0) & (part < FEWEST_SHOWN) for part in (inside, outside)]
    return np.where(small[0] | small[1], np.nan, np.round(shares, 2))


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

    No small number of patients can be worked out from these: an overlap of fewer than
    `FEWEST_SHOWN` patients, or with fewer outside of it, is None and shares are whole percents;
    patterns of fewer patients are None, and numbers of others are multiples of `FEWEST_SHOWN`.
    """
    shares = _hide_small(measure_overlap(flags), flags.sum(axis=0))
    patterns, counts = np.unique(flags, axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    families = np.array(find_families(patterns, counts.astype(np.float64)))
    pairs = list_implications(patterns, counts.astype(np.float64))
    shown = [k for k in order if patterns[k].any()][:MOST_PATTERNS]
    return {
        "patients": len(flags),
        "flagged": dict(zip(names, flags.sum(axis=0).tolist(), strict=True)),
        "disagree": int((flags.any(axis=1) & ~flags.all(axis=1)).sum()),
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
                "patients": int(counts[k]) // FEWEST_SHOWN * FEWEST_SHOWN or None,
            }
            for k in shown
        ],
    }


def draw_by_pattern(flags: Flags, n: int, rng: np.random.Generator) -> ChartSample:
    """Return about n patients, as many of each pattern of rules as there are, and shares drawn.

    Rules disagree in most patterns, so most of these charts tell the rules apart; the shares let
    all of them stand for all patients.
    """
    _, codes, sizes = np.unique(flags, axis=0, return_inverse=True, return_counts=True)
    taken = np.zeros_like(sizes)
    # small patterns are taken whole, and the others share what is left
    for place, left in zip(np.argsort(sizes), range(len(sizes), 0, -1), strict=True):
        taken[place] = min(sizes[place], -(-(n - taken.sum()) // left))
    rows = np.concatenate(
        [rng.choice(np.flatnonzero(codes == k), take, False) for k, take in enumerate(taken)]
    )
    order = np.argsort(rows)
    return ChartSample(rows[order], np.repeat(taken / sizes, taken)[order])
