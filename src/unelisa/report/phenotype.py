"""The report on a phenotype: what was counted, what was learned, what to check; no patient."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.phenotyping.omop.counts import Step
from unelisa.phenotyping.phenotyper import Phenotyper
from unelisa.phenotyping.posterior import Estimate
from unelisa.report.judged import BINS, SURE
from unelisa.report.page import fill_template

TEMPLATE = "phenotype.html.j2"
Facts = dict[str, Any]


def describe_phenotype(
    title: str,
    model: Phenotyper,
    chances: NDArray[np.float64],
    steps: Sequence[Step] = (),
    ppv: Estimate | None = None,
) -> Facts:
    """Return what a fitted phenotyper found, as plain values.

    Parameters
    ----------
    title
        The disease.
    model, chances
        The fitted phenotyper and P(case) of every patient.
    steps
        The queries that the database answered.
    ppv
        Share of true cases among the labeled ones; by default for the patients of the fit.
    """
    prevalence = float(chances.mean())
    n, cases = len(chances), int((chances >= model.threshold_).sum())
    counts, edges = np.histogram(chances, BINS, (0.0, 1.0))
    return {
        "title": title,
        "answer": (
            f"{title}: {cases:,} of {n:,} patients labeled as cases; "
            f"estimated prevalence {prevalence:.1%}"
        ),
        "patients": n,
        "cases": cases,
        "decided": int(np.count_nonzero(np.abs(chances - 0.5) > SURE - 0.5)),
        "prevalence": prevalence,
        "threshold": float(model.threshold_),
        "ppv": _estimate(model.ppv_ if ppv is None else ppv),
        "anchors": [str(name) for name in model.anchors],
        "utilization": model.utilization,
        "expected_prevalence": model.prevalence,
        "features": _features(model.features_),
        "histogram": {"kind": "probability", "counts": counts.tolist(), "edges": edges.tolist()},
        "steps": [step._asdict() for step in steps],
        "seconds": None,
        "warnings": [],
    }


def render_phenotype(facts: Facts) -> str:
    """Return the page: one self-contained file that loads and runs nothing."""
    return fill_template(TEMPLATE, f=facts)


def _estimate(found: Estimate) -> Facts | None:
    if np.isnan(found.value):
        return None
    return {"share": found.value, "low": found.low, "high": found.high, "basis": found.basis}


def _features(table: Any) -> list[Facts]:
    columns = ("feature", "selected", "weight", "direction", "reason")
    rows = zip(*(table[name].tolist() for name in columns), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]
