"""What sites' tables of the patterns of rules say of them.

A pattern is a combination of k rules; a site's table has its 2^k counts. Hui and Walter (1980):

    E n_c = N_A (pi_A prod_r S_r(c_r) + (1 - pi_A) prod_r F_r(c_r))

at site A with prevalence pi_A, sensitivity S_r(1) and specificity F_r(0). EM replaces a suppressed
count ("<10") by its expectation: Poisson, at least 1, below the threshold.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, gammaln, ndtri

from unelisa.ehr.charts import ChartSample, draw_strata
from unelisa.ehr.counts import FEWEST_SHOWN
from unelisa.ehr.rules.evaluation import QUANTITIES
from unelisa.ehr.rules.overlap import find_families
from unelisa.errors import ModelError, ReliabilityWarning, VotesError, warn_user

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
COUNT = "patients"  # the column of counts
MOST_RULES = 12
LARGEST_TABLE = 1_000_000  # bytes: 4,096 patterns take 200,000
FEWEST_FAMILIES = 3  # that one site needs
MOST_SUPPRESSED, MOST_PATIENTS = 100, 10**10  # a threshold, and a count
MAX_ITER, TOLERANCE = 5000, 1e-10  # of the mean log-likelihood
DRAWS = 100  # of the parametric bootstrap
UNFIT = 0.001  # of the test of fit, below which rules err together
_START = (0.7, 0.9)  # sensitivity and specificity


class PatternTable(NamedTuple):
    """One site: its rules, its patterns (cells x rules), counts, and thresholds of hidden ones."""

    site: str
    rules: tuple[str, ...]
    patterns: Flags
    counts: Floats  # NaN where suppressed
    suppressed_below: Floats  # 0 where the count is known


class PatternFit(NamedTuple):
    """Parameters and expected counts: sites, sites x rules, or sites x cells as the last axes."""

    prevalence: Floats
    sensitivity: Floats
    specificity: Floats
    counts: Floats

    def expect(self, patterns: Flags) -> Floats:
        """Return the probability of each pattern at each site."""
        rates = np.stack([self.sensitivity, 1 - self.specificity])
        return np.asarray(_join(self.prevalence, rates, patterns.astype(float)).sum(axis=0))


def tabulate_patterns(names: Sequence[str], flags: Flags) -> "pd.DataFrame":
    """Return how many patients have each pattern: a column per rule, and `patients`."""
    import pandas as pd  # noqa: PLC0415 - a third of a second that only tables need

    _check_names(names)
    patterns = list_patterns(len(names))
    places = _find_places(flags)
    counts = np.bincount(places, minlength=len(patterns))
    columns = {name: patterns[:, k].astype(int) for k, name in enumerate(names)}
    return pd.DataFrame({**columns, COUNT: counts})


def list_patterns(n_rules: int) -> Flags:
    """Return all patterns of some rules, in the order of binary numbers."""
    codes = np.arange(1 << n_rules)[:, None]
    return np.asarray((codes >> np.arange(n_rules)[::-1]) & 1 > 0)


def _find_places(flags: Flags) -> NDArray[np.int64]:
    return np.asarray(flags @ (1 << np.arange(flags.shape[1])[::-1]))


def suppress_counts(table: "pd.DataFrame", threshold: int) -> "pd.DataFrame":
    """Return a table whose counts between 1 and the threshold are written as "<10"."""
    shown = [f"<{threshold}" if 0 < n < threshold else str(n) for n in table[COUNT]]
    return table.assign(**{COUNT: shown})


def read_patterns(frame: "pd.DataFrame", site: str) -> PatternTable:
    """Return a site's table, or say what is wrong with it; absent patterns count 0 patients."""
    if COUNT not in frame.columns:
        raise VotesError(f"the table of {site[:40]} has no column {COUNT}")
    names = [str(name) for name in frame.columns if name != COUNT]
    _check_names(names)
    text = frame[names].astype(str).apply(lambda column: column.str.strip())
    if not text.isin(("0", "1")).all(axis=None):
        raise VotesError(f"the table of {site[:40]} has rules with other values than 0 and 1")
    places = _find_places((text == "1").to_numpy())
    if len(set(places.tolist())) < len(places):
        raise VotesError(f"the table of {site[:40]} lists a pattern more than once")
    patterns = list_patterns(len(names))
    counts, below = np.zeros(len(patterns)), np.zeros(len(patterns))
    for place, cell in zip(places, frame[COUNT].astype(str), strict=True):
        counts[place], below[place] = _read_count(cell.strip(), site)
    return PatternTable(site, tuple(names), patterns, counts, below)


def _check_names(names: Sequence[str]) -> None:
    if not 1 <= len(names) <= MOST_RULES:
        raise ModelError(f"a table of patterns has 1 to {MOST_RULES} rules, found {len(names)}")
    if len(set(names)) < len(names):
        raise ModelError("two rules have the same name: rename one")
    if COUNT in names:
        raise ModelError(f"a rule cannot be called {COUNT}: rename it")


def _read_count(cell: str, site: str) -> tuple[float, float]:
    """Return a count, and 0; or NaN, and the threshold below which it was suppressed."""
    number = cell.removeprefix("<")
    count = float(number) if number.isdecimal() else -1.0
    least, most = (0, MOST_PATIENTS) if cell == number else (2, MOST_SUPPRESSED)
    if not least <= count <= most:
        raise VotesError(
            f"the table of {site[:40]} has a count that is neither a number up to "
            f"{MOST_PATIENTS:,} nor like <{FEWEST_SHOWN}, up to <{MOST_SUPPRESSED:,}"
        )
    return (count, 0.0) if cell == number else (np.nan, count)


def find_obstacle(tables: Sequence[PatternTable], own: bool) -> str:
    """Return why the tables do not identify the accuracy of the rules; nothing if they do."""
    counts = np.array([_guess(table) for table in tables])
    patterns = tables[0].patterns
    n_families = len(set(find_families(patterns, counts.sum(axis=0))))
    sites = 1 if own else len(tables)
    if n_families >= FEWEST_FAMILIES:
        return ""
    rules = f"{n_families} of the {len(tables[0].rules)} rules are not contained in one another"
    if n_families < FEWEST_FAMILIES - 1 or sites == 1:
        return f"{rules}, and {FEWEST_FAMILIES} are needed, or two and sites that share accuracies"
    if not _sites_differ(counts, patterns):
        return f"{rules}, and the sites flag about the same share: two rules need sites that differ"
    return ""


def _guess(table: PatternTable) -> Floats:
    return np.where(table.suppressed_below > 0, table.suppressed_below / 2, table.counts)


def _sites_differ(counts: Floats, patterns: Flags) -> bool:
    """Return whether every rule flags clearly different shares of the sites (z above 4)."""
    totals = counts.sum(axis=1)[:, None]
    shares = counts @ patterns / totals
    pooled = counts.sum(axis=0) @ patterns / totals.sum()
    error = np.sqrt(pooled * (1 - pooled) / totals.min() * 2) + 1e-12
    return bool(((shares.max(axis=0) - shares.min(axis=0)) / error > 4).all())


def fit_patterns(tables: Sequence[PatternTable], own: bool = False) -> PatternFit:
    """Return the maximum likelihood fit of some sites; `own`: accuracies differ between sites."""
    counts = np.array([table.counts for table in tables])
    below = np.array([table.suppressed_below for table in tables])
    fits = _run_em(counts[None], below[None], tables[0].patterns, own)
    return PatternFit(*(part[0] for part in fits))


def _run_em(counts: Floats, below: Floats, patterns: Flags, own: bool) -> PatternFit:
    n_sets, n_sites, _ = counts.shape
    hidden = below > 0
    known = np.where(hidden, below / 2, counts)
    flags = patterns.astype(np.float64)
    shares = known @ flags / known.sum(axis=2, keepdims=True)
    prevalence = np.clip(np.median(shares, axis=2), 0.01, 0.9)
    rates = np.empty((2, n_sets, n_sites, flags.shape[1]))
    rates[0], rates[1] = _START[0], np.minimum(1 - _START[1], shares / 2)
    filled, last = known, np.full(n_sets, -np.inf)
    for _ in range(MAX_ITER):
        joint = _join(prevalence, rates, flags)
        cells = joint.sum(axis=0)
        if hidden.any():
            expected = filled.sum(axis=2, keepdims=True) * cells
            filled = known.copy()
            filled[hidden] = _expect(expected[hidden], below[hidden])
        cases = filled * joint[0] / np.maximum(cells, 1e-300)
        prevalence, rates = _maximize(cases, filled - cases, flags, own)
        level = (filled * np.log(np.maximum(cells, 1e-300))).sum(axis=(1, 2)) / filled.sum((1, 2))
        if np.all(np.abs(level - last) < TOLERANCE):
            break
        last = level
    return _orient(PatternFit(prevalence, rates[0], 1 - rates[1], filled))


def _join(prevalence: Floats, rates: Floats, flags: Floats) -> Floats:
    """Return P(case, pattern) and P(non-case, pattern): 2 x sets x sites x cells."""
    clipped = np.clip(rates, 1e-9, 1 - 1e-9)
    patterns = np.exp(np.log(clipped) @ flags.T + np.log(1 - clipped) @ (1 - flags.T))
    return patterns * np.stack([prevalence, 1 - prevalence])[..., None]


def _maximize(cases: Floats, others: Floats, flags: Floats, own: bool) -> tuple[Floats, Floats]:
    both = np.stack([cases, others])
    totals = both.sum(axis=-1)
    prevalence = totals[0] / np.maximum(totals.sum(axis=0), 1e-12)
    flagged = both @ flags
    if not own:
        flagged = flagged.sum(axis=2, keepdims=True) + 0 * flagged
        totals = totals.sum(axis=-1, keepdims=True) + 0 * totals
    return prevalence, flagged / np.maximum(totals, 1e-12)[..., None]


def _expect(mean: Floats, below: Floats) -> Floats:
    """Return the expectation of a Poisson count that is at least 1 and below a threshold."""
    numbers = np.arange(1, max(int(below.max()), 2))
    log = numbers * np.log(np.maximum(mean, 1e-12))[..., None] - gammaln(numbers + 1)
    log = np.where(numbers < below[..., None], log, -np.inf)
    weights = np.exp(log - np.maximum(log.max(axis=-1, keepdims=True), -700))
    return np.asarray((weights @ numbers) / np.maximum(weights.sum(axis=-1), 1e-300))


def _orient(fit: PatternFit) -> PatternFit:
    swapped = (fit.sensitivity + fit.specificity).mean(axis=(1, 2)) < 1
    other = PatternFit(1 - fit.prevalence, 1 - fit.specificity, 1 - fit.sensitivity, fit.counts)
    pairs = zip(other, fit, strict=True)
    return PatternFit(*(np.where(swapped.reshape(-1, *[1] * (b.ndim - 1)), a, b) for a, b in pairs))


def evaluate_patterns(
    tables: Sequence[PatternTable],
    own: bool = False,
    level: float = 0.95,
    random_state: int | np.random.Generator | None = 0,
) -> Any:
    """Return the figures of each rule at each site, with bootstrap intervals, as a pandas table.

    Rules that err together make intervals too narrow: `fit` is the p value of a test of the model.
    """
    _check_same(tables)
    obstacle = find_obstacle(tables, own)
    if obstacle:
        return _tabulate(tables, {}, np.full(len(tables), np.nan), obstacle).assign(fit=np.nan)
    kept = _pick_rules(tables)
    small = [_narrow(table, kept) for table in tables]
    fit = fit_patterns(small, own)
    chance = test_fit(fit, small, own)
    if chance < UNFIT:
        warn_user(
            f"the rules err together, or are not equally accurate at all sites (test of fit, p = "
            f"{chance:.1g}): their figures and intervals cannot be relied on; review charts",
            ReliabilityWarning,
        )
    draws = _resample(fit, small, own, np.random.default_rng(random_state))
    value = _list_figures(fit)
    reach = float(ndtri((1 + level) / 2)) * np.nanstd(_list_figures(draws), 0)
    bounds = np.clip([value, value - reach, value + reach], 0, 1)
    found = _tabulate(tables, dict(zip(kept, bounds.T, strict=True)), fit.prevalence)
    return found.assign(fit=chance)


def test_fit(fit: PatternFit, tables: Sequence[PatternTable], own: bool) -> float:
    """Return the p value of G^2 = 2 sum n log(n / E n), which is chi^2 if the model holds.

    Of the cells of s sites, s (2^k - 1) are free; s + 2 k parameters, or s (1 + 2 k) if `own`.
    """
    n_sites, n_rules = len(tables), tables[0].patterns.shape[1]
    n_parameters = n_sites * (1 + 2 * n_rules) if own else n_sites + 2 * n_rules
    free = n_sites * (2**n_rules - 1) - n_parameters
    if free <= 0:
        return float("nan")
    expected = fit.expect(tables[0].patterns) * fit.counts.sum(axis=1, keepdims=True)
    seen = fit.counts > 0
    ratio = np.log(fit.counts[seen] / np.maximum(expected[seen], 1e-300))
    return float(chdtrc(free, max(2 * float(fit.counts[seen] @ ratio), 0.0)))


def _check_same(tables: Sequence[PatternTable]) -> None:
    for table in tables:
        if not _guess(table).any():
            raise VotesError(f"the table of {table.site[:40]} counts no patient")
        if table.rules != tables[0].rules:
            raise VotesError(
                f"the table of {table.site[:40]} has other rules than that of "
                f"{tables[0].site[:40]}; use the same columns in the same order"
            )
    for one, other in combinations(tables, 2):
        if all(
            np.array_equal(a, b, equal_nan=True) for a, b in zip(one[3:], other[3:], strict=True)
        ):
            raise VotesError(
                f"the tables of {one.site[:40]} and {other.site[:40]} are the same: give each site "
                "once"
            )


def _pick_rules(tables: Sequence[PatternTable]) -> list[int]:
    counts, patterns = np.sum([_guess(table) for table in tables], axis=0), tables[0].patterns
    family, shares = np.array(find_families(patterns, counts)), counts @ patterns
    return [
        int(np.flatnonzero(family == one)[np.argmax(shares[family == one])])
        for one in dict.fromkeys(family.tolist())
    ]


def _narrow(table: PatternTable, kept: Sequence[int]) -> PatternTable:
    """Return the table of some rules; a sum with a suppressed part is that of its guess."""
    if len(kept) == len(table.rules):
        return table
    patterns = list_patterns(len(kept))
    places = _find_places(table.patterns[:, kept])
    counts = np.bincount(places, _guess(table), len(patterns)).astype(np.float64)
    rules = tuple(table.rules[k] for k in kept)
    return PatternTable(table.site, rules, patterns, counts, np.zeros(len(patterns)))


def _resample(
    fit: PatternFit, tables: Sequence[PatternTable], own: bool, rng: np.random.Generator
) -> PatternFit:
    patterns = tables[0].patterns
    means = fit.counts.sum(axis=1)[:, None] * fit.expect(patterns)
    drawn = rng.poisson(means, (DRAWS, *fit.counts.shape))
    limits = np.array([table.suppressed_below.max() for table in tables])[:, None]
    below = np.where((drawn > 0) & (drawn < limits), limits, 0.0)
    return _run_em(drawn.astype(float), below, patterns, own)


def _list_figures(fit: PatternFit) -> Floats:
    prevalence, sensitivity, specificity = fit.prevalence[..., None], fit[1], fit[2]
    found, false = prevalence * sensitivity, (1 - prevalence) * (1 - specificity)
    missed, cleared = prevalence - found, 1 - prevalence - false
    with np.errstate(divide="ignore", invalid="ignore"):
        values = (found / (found + false), cleared / (cleared + missed))
    return np.stack([sensitivity, specificity, *values], axis=-3)


def _tabulate(
    tables: Sequence[PatternTable],
    found: Mapping[int, Floats],
    prevalence: Floats,
    obstacle: str = "it contains, or is within, another rule",
) -> Any:
    """Return the table; `found` are sites x quantities x (value, low, high) of some rules."""
    import pandas as pd  # noqa: PLC0415 - a third of a second that only tables need

    names = [quantity + end for quantity in QUANTITIES for end in ("", "_low", "_high")]
    nothing = np.full((len(tables), len(names)), np.nan)
    rows = []
    for s, table in enumerate(tables):
        for r, rule in enumerate(table.rules):
            figures = found[r][s].ravel() if r in found else nothing[s]
            row = {"site": table.site, "prevalence": prevalence[s], "rule": rule}
            estimates = dict(zip(names, figures.tolist(), strict=True))
            rows.append({**row, **estimates, "reason": "" if r in found else obstacle})
    return pd.DataFrame(rows)


def draw_by_pattern(flags: Flags, n: int, rng: np.random.Generator) -> ChartSample:
    """Return about n patients, as many of each pattern of rules as there are, and shares drawn."""
    _, codes, sizes = np.unique(flags, axis=0, return_inverse=True, return_counts=True)
    taken = np.zeros_like(sizes)
    # small patterns are taken whole, and the others share what is left
    for place, left in zip(np.argsort(sizes), range(len(sizes), 0, -1), strict=True):
        taken[place] = min(sizes[place], -(-(n - taken.sum()) // left))
    return draw_strata(codes, taken, rng)
