"""How good rules are, without the truth: sensitivity, specificity, PPV and NPV with intervals.

With P_i of one judge (`phenotype.Judges`) and the patients R whom a rule flags,

    PPV = sum_R P_i / |R|,     sensitivity = sum_R P_i / sum P_i,

and likewise NPV and specificity: the mean over P(case), the strict and the generous judge. The
interval spans all judges and the sampling variation. Charts correct PPV and NPV
(`analysis/rate.py`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from unelisa.analysis.rate import correct_share
from unelisa.ehr.cautions import LOW_PPV
from unelisa.ehr.charts import ReviewedCharts, read_reviewed
from unelisa.ehr.counts import read_counts
from unelisa.ehr.phenotype import SHARED_JUDGES, Judges
from unelisa.ehr.phenotyper import Phenotyper
from unelisa.ehr.posterior import FEWEST_CHARTS, find_sensitivity
from unelisa.ehr.rules.definition import apply_rules, parse_rule
from unelisa.errors import ModelError, ReliabilityWarning, VotesError, warn_user
from unelisa.estimator import check_level

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
QUANTITIES = ("sensitivity", "specificity", "ppv", "npv")
# of the patients whom a rule or the labels flag, both do: the rule is those labels
SAME = 0.98
POOLED = 3  # judges whose mean is the estimate; the others widen the interval only
# An interval wider than this says nothing. Chosen on seeds 300 to 309 of studies/rules, where the
# narrower ones hold.
WIDEST = 0.9


class Figures(NamedTuple):
    """Estimates and bounds, each quantities x rules; NaN where there is no estimate."""

    value: Floats
    low: Floats
    high: Floats


def evaluate_rules(
    rules: Any,
    counts_or_phenotyper: Any,
    charts: Any = None,
    *,
    anchors: Sequence[str] | None = None,
    utilization: str | None = None,
    level: float = 0.95,
) -> Any:
    """Return sensitivity, specificity, PPV and NPV of rules, each with an interval.

    A pandas table with one row per rule and the columns rule, sensitivity, sensitivity_low,
    sensitivity_high, and likewise specificity, ppv and npv; then `reason`: why a quantity that
    cannot be estimated is NaN, which a warning repeats.

    Parameters
    ----------
    rules
        A frame of 0 and 1 (or booleans), patients x rules; or a dict from name to definition, such
        as `"ICD:714.0 >= 2 and NLP:methotrexate"` or `"2 of (ICD:714.0, NLP:synovitis, RX:1+)"`.
    counts_or_phenotyper
        A fitted `Phenotyper`, which judges the patients it was fitted to; or the counts that
        `Phenotyper.fit` takes, with `anchors`. Definitions need the counts.
    charts
        Truth of a **random sample** of the patients, given as in `Phenotyper.fit`; with a column
        `drawn` if charts were drawn with unequal chances, as by `unelisa phenotype --charts`. The
        phenotyper must not have been fitted to them.
    anchors, utilization
        As in `Phenotyper`, to fit one to the counts.
    level
        Of the intervals.

    Notes
    -----
    With ten charts or more among the patients a rule flags, and among the others, drawn at random
    with equal chances, the intervals hold whatever the phenotyper's quality. Without charts they
    rest on the anchors and on correlated features, and allow for an error that the anchors share:
    those of a rare disease are wide, and charts are needed to narrow them. Nothing is estimated if
    the phenotyper is not reliable for another reason, or if the interval is wider than .9.

    Examples
    --------
    >>> import unelisa as ue
    >>> drawn = ue.simulate_ehr(4000, random_state=3)
    >>> rules = {"2 codes": "ICD:714.0 >= 2", "4 codes": "ICD:714.0 >= 4"}
    >>> anchors = ["ICD:714.0", "NLP:rheumatoid arthritis"]
    >>> found = ue.evaluate_rules(rules, drawn.counts, anchors=anchors, utilization="note_count")
    >>> found[["rule", "sensitivity", "specificity", "ppv", "npv"]].round(1)
          rule  sensitivity  specificity  ppv  npv
    0  2 codes          0.7          0.9  0.6  0.9
    1  4 codes          0.6          1.0  0.8  0.9
    """
    check_level(level)
    model, judges = _find_judges(counts_or_phenotyper, anchors, utilization)
    names, flags = _read_rules(rules, counts_or_phenotyper, utilization, judges.patients)
    _refuse_own(model, judges, names, flags)
    figures = estimate_figures(judges, flags, level)
    reasons = list_obstacles(model, flags, figures)
    if charts is not None:
        reviewed = read_reviewed(charts, judges.patients)
        figures, reasons = correct_figures(figures, reasons, judges, flags, reviewed, level)
    return _tabulate(names, figures, reasons)


def _find_judges(
    evidence: Any, anchors: Sequence[str] | None, utilization: str | None
) -> tuple[Phenotyper, Judges]:
    if isinstance(evidence, Phenotyper):
        if not hasattr(evidence, "_judges"):
            raise ModelError(
                "the phenotyper was not fitted, or was loaded from a file, which has no patients: "
                "fit it, or pass the counts with anchors"
            )
        return evidence, evidence._judges
    if anchors is None:
        raise ModelError(
            "counts alone do not define a disease: pass anchors, the features that are specific to "
            "it, or a fitted Phenotyper"
        )
    model = Phenotyper(anchors, utilization, random_state=0).fit(evidence)
    return model, model._judges


def _refuse_own(model: Phenotyper, judges: Judges, names: Sequence[str], flags: Flags) -> None:
    """Refuse a rule that is the phenotyper's own labels, such as a cohort that it wrote."""
    labels = judges.chances[0] >= model.threshold_
    for name, flagged in zip(names, flags.T, strict=True):
        if labels.any() and (labels & flagged).sum() > SAME * (labels | flagged).sum():
            raise ModelError(
                f"the rule {name[:60]!r} flags the patients whom the phenotyper labels as cases, "
                "and cannot be judged by it: review charts and read `ppv_`, or leave the rule out"
            )


def _read_rules(
    rules: Any, evidence: Any, utilization: str | None, patients: NDArray[Any]
) -> tuple[list[str], Flags]:
    if not isinstance(rules, Mapping):
        return read_flags(rules, patients)
    if not rules:
        raise ModelError("there are no rules; define at least one")
    if isinstance(evidence, Phenotyper):
        raise ModelError(
            "definitions need counts: pass the counts with anchors instead of a Phenotyper, or the "
            "rules as a table of 0 and 1"
        )
    table = read_counts(evidence, utilization)
    parsed = {str(name): parse_rule(text) for name, text in rules.items()}
    return list(parsed), apply_rules(parsed, table)


def read_flags(rules: Any, patients: NDArray[Any]) -> tuple[list[str], Flags]:
    """Return the names of rules in a table of 0 and 1, and its rows in the order of patients."""
    table = read_counts(rules)
    odd = ~np.isin(table.values, (0, 1)).all(axis=0)
    if odd.any():
        raise VotesError(
            f"the rule {str(table.features[odd][0])[:60]!r} has values besides 0 and 1; rules are "
            "a table of 0 and 1, or a dict of definitions"
        )
    places = {str(name): row for row, name in enumerate(table.patients)}
    rows = [places.get(str(name), -1) for name in patients]
    missing = rows.count(-1)
    if missing:
        raise VotesError(
            f"the rules lack {missing} of the {len(rows)} patients with counts; they are matched "
            "by the names of rows: give both tables the same ones"
        )
    return [str(name) for name in table.features], table.values[rows] > 0


def estimate_figures(judges: Judges, flags: Flags, level: float) -> Figures:
    """Return the estimates by the judges, before any is withheld."""
    every = measure(judges.chances, flags)
    reach = float(ndtri((1 + level) / 2)) * _spread(judges.chances[0], flags, every[0])
    low, high = np.fmin.reduce(every), np.fmax.reduce(every)  # NaN by a judge who knows no case
    apart = _bound_specificity(np.delete(judges.chances, SHARED_JUDGES, axis=0), flags)
    low[1], high[1] = np.minimum(low[1], apart[0]), np.maximum(high[1], apart[1])
    low, high = low - reach, high + reach
    with np.errstate(invalid="ignore"):
        value = np.nansum(every[:POOLED], axis=0) / np.isfinite(every[:POOLED]).sum(axis=0)
    return Figures(value, np.clip(low, 0, 1), np.clip(high, 0, 1))


def measure(chances: Floats, flags: Flags) -> Floats:
    """Return the figures of rules if P(case) is as given: judges x quantities x rules."""
    weights = flags.astype(np.float64)
    n, flagged = len(flags), weights.sum(axis=0)
    cases, found = chances.sum(axis=1)[:, None], chances @ weights
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = (
            found / cases,
            1 - (flagged - found) / (n - cases),
            found / flagged,
            1 - (cases - found) / (n - flagged),
        )
    return np.stack(np.broadcast_arrays(*shares), axis=1)


def _bound_specificity(chances: Floats, flags: Flags) -> tuple[Floats, Floats]:
    """Return the bounds of specificity if cases and true positives vary separately."""
    n, flagged = len(flags), flags.sum(axis=0)
    cases, found = chances.sum(axis=1), chances @ flags
    fewest, most = (flagged - bound for bound in (found.max(axis=0), found.min(axis=0)))
    return 1 - most / max(n - cases.max(), 1e-12), 1 - fewest / max(n - cases.min(), 1e-12)


def _spread(chances: Floats, flags: Flags, figures: Floats) -> Floats:
    """Return the standard deviation of each figure, the truth being drawn by P (delta method)."""
    noise = chances * (1 - chances)
    everywhere, here = noise.sum(), noise @ flags
    n, flagged, cases = len(flags), flags.sum(axis=0), chances.sum()
    sensitivity, specificity = figures[:2]
    with np.errstate(divide="ignore", invalid="ignore"):
        variances = (
            (here * (1 - 2 * sensitivity) + everywhere * sensitivity**2) / cases**2,
            (here * (2 * specificity - 1) + everywhere * (1 - specificity) ** 2) / (n - cases) ** 2,
            here / flagged**2,
            (everywhere - here) / (n - flagged) ** 2,
        )
    return np.asarray(np.sqrt(np.maximum(np.stack(variances), 0)))


def list_obstacles(model: Phenotyper, flags: Flags, figures: Figures) -> NDArray[np.object_]:
    """Return why there is no estimate without charts: quantities x rules; empty if there is."""
    reasons = np.full(figures.value.shape, "", dtype=object)
    reasons[~(figures.high - figures.low <= WIDEST)] = (
        f"the interval that the anchors and the other features allow is wider than {WIDEST}"
    )
    # the judges allow for an error that the anchors share, which makes the PPV of labels low
    if not model.reliable_ and not model.reliability_reason_.startswith(LOW_PPV):
        reasons[:] = "the phenotyper is not reliable"
    reasons[2, ~flags.any(axis=0)] = "the rule flags nobody"
    reasons[3, flags.all(axis=0)] = "the rule flags everybody"
    return reasons


def correct_figures(
    figures: Figures,
    reasons: NDArray[np.object_],
    judges: Judges,
    flags: Flags,
    charts: ReviewedCharts,
    level: float,
) -> tuple[Figures, NDArray[np.object_]]:
    """Return the figures by charts where a side of a rule has ten, and the remaining reasons."""
    figures, reasons = Figures(*(part.copy() for part in figures)), reasons.copy()
    for rule, flagged in enumerate(flags.T):
        ppv = _review(judges.chances[0], flagged, charts, 1, level)
        npv = _review(1 - judges.chances[0], ~flagged, charts, -1, level)
        found = {2: ppv, 3: npv}
        if ppv is not None and npv is not None:
            share, pairs = float(flagged.mean()), list(zip(ppv, npv, strict=True))
            found[0] = [find_sensitivity(share, p, 1 - share, q) for p, q in pairs]
            found[1] = [find_sensitivity(1 - share, q, share, p) for p, q in pairs]
        for row, values in found.items():
            if values is not None:
                for part, value in zip(figures, values, strict=True):
                    part[row, rule] = value
                reasons[row, rule] = ""
    return figures, reasons


def _review(
    right: Floats, side: Flags, charts: ReviewedCharts, sign: int, level: float
) -> Sequence[float] | None:
    """Return the share of a side that is right, by its charts; None if there are fewer than ten."""
    seen = side & (charts.signs != 0)
    if seen.sum() < FEWEST_CHARTS:
        return None
    own, wrong = (charts.signs[seen] == sign).astype(np.float64), charts.doubt(seen)
    found, low, high = correct_share(own, right[seen], right[side], level, charts.weights[seen])
    return found, max(0.0, low - wrong), min(1.0, high + wrong)


def _tabulate(names: list[str], figures: Figures, reasons: NDArray[np.object_]) -> Any:
    import pandas as pd  # noqa: PLC0415 - a third of a second that only tables need

    columns: dict[str, Any] = {"rule": names}
    for row, quantity in enumerate(QUANTITIES):
        for part, ending in zip(figures, ("", "_low", "_high"), strict=True):
            columns[quantity + ending] = np.where(reasons[row] == "", part[row], np.nan)
    columns["reason"] = [_explain(column) for column in reasons.T]
    explained = list(zip(names, columns["reason"], strict=True))
    for reason in dict.fromkeys(filter(None, columns["reason"])):
        which = [name[:40] for name, why in explained if why == reason]
        more = f" and {len(which) - 3} more" if len(which) > 3 else ""
        warn_user(
            f"not all quantities of the rules {', '.join(which[:3])}{more} can be estimated "
            f"({reason}): pass charts of a random sample of patients",
            ReliabilityWarning,
        )
    return pd.DataFrame(columns)


def _explain(reasons: Sequence[str]) -> str:
    grouped: dict[str, list[str]] = {}
    for quantity, reason in zip(QUANTITIES, reasons, strict=True):
        if reason:
            grouped.setdefault(reason, []).append(quantity)
    return "; ".join(f"{', '.join(which)}: {reason}" for reason, which in grouped.items())
