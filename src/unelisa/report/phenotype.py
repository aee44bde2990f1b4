"""The report on a phenotype: what was counted, what was learned, what to check; no patient."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.ehr.omop.counts import Step
from unelisa.ehr.phenotyper import Phenotyper
from unelisa.ehr.posterior import Estimate, Performance
from unelisa.report.judged import BINS, SURE
from unelisa.report.page import fill_template

ESTIMATE = ("share", "low", "high", "basis")
FEATURE_COLUMNS = ["feature", "selected", "weight", "direction", "reason"]
Facts = dict[str, Any]


def describe_phenotype(
    title: str,
    model: Phenotyper,
    chances: NDArray[np.float64],
    steps: Sequence[Step] = (),
    performance: Performance | None = None,
) -> Facts:
    """Return what a fitted phenotyper found, as plain values.

    `chances` is P(case) per patient, `steps` the queries that the database answered, and
    `performance` that of the labels, by default for the patients of the fit.
    """
    prevalence = float(chances.mean())
    found = performance or Performance(model.ppv_, model.npv_, model.sensitivity_)
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
        **{name: _describe(one) for name, one in found._asdict().items()},
        "reliable": getattr(model, "reliable_", True),  # models of 0.1.0 do not know
        "unobserved": 0,
        "excluded": 0,
        "anchors": [str(name) for name in model.anchors],
        "utilization": model.utilization,
        "expected_prevalence": model.prevalence,
        "features": model.features_[FEATURE_COLUMNS].to_dict("records"),
        "histogram": {"kind": "probability", "counts": counts.tolist(), "edges": edges.tolist()},
        "steps": [step._asdict() for step in steps],
        # of the database: what was too rare, the groups, and what is wrong with the records
        "rare": [],
        "groups": [],
        "flaws": [],
        "seconds": None,
        "warnings": [],
    }


def _describe(estimate: Estimate) -> Facts | None:
    """Return an estimate with its interval as plain values, or None if nothing is known."""
    return None if np.isnan(estimate.value) else dict(zip(ESTIMATE, estimate, strict=True))


def render_phenotype(facts: Facts) -> str:
    """Return the page: one self-contained file that loads and runs nothing."""
    return fill_template("phenotype.html.j2", f=facts)
