"""Patients with known truth and rules for their disease, by three simulators of different design.

*arthritis* is the package's own datamart (`simulate_ehr`); cases are left out to make it rarer.

*diabetes* differs in what makes it hard. Counts are Poisson with a gamma rate whose mean depends on
the disease, on a severity that is gamma among cases, on visits, and on the habits of the clinic,
which raise every count of a patient. Four in a hundred others have a wrong code that was copied
forward into problem lists and notes, so that both anchors, and all rules on codes, share one error;
another fifteen are at risk, tested often and sometimes treated.

*lupus* copies problem lists. A clinician enters the code once, rightly or after a referral that
ruled the disease out; the record system repeats an entry at each later visit, and notes follow the
list, so that both anchors' counts grow together whether or not the patient is ill. Wrong entries
are rarer where the disease is, but not in proportion: by them the anchors share an error that
nothing in their counts shows. Laboratory tests and drugs are not copied.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.ehr.datamart import simulate_ehr

if TYPE_CHECKING:
    import pandas as pd

Flags = NDArray[np.bool_]
PREVALENCES = (0.22, 0.05, 0.01)
PATIENTS = 40_000


class World(NamedTuple):
    """Counts of patients, who is a case, and what is named of the disease."""

    counts: "pd.DataFrame"
    case: Flags
    anchors: tuple[str, str]
    utilization: str
    rules: dict[str, dict[str, str]]  # set of rules -> name -> definition


_CODE, _CONCEPT = "ICD:714.0", "NLP:rheumatoid arthritis"
_DRUG = "(NLP:methotrexate or NLP:antirheumatic agents)"
_TESTED = "NLP:methotrexate >= 2 and (NLP:rheumatoid factor or NLP:anti-ccp antibody)"
ARTHRITIS = {
    "3 separate": {
        "2 codes": f"{_CODE} >= 2",
        "3 mentions": f"{_CONCEPT} >= 3",
        "drug and test": _TESTED,
    },
    "3 nested": {"1 code": _CODE, "2 codes": f"{_CODE} >= 2", "4 codes": f"{_CODE} >= 4"},
    "6": {
        "2 codes": f"{_CODE} >= 2",
        "4 codes": f"{_CODE} >= 4",
        "3 mentions": f"{_CONCEPT} >= 3",
        "code and drug": f"{_CODE} and {_DRUG}",
        "2 of 3": f"2 of ({_CODE} >= 2, {_CONCEPT} >= 2, NLP:methotrexate)",
        "drug and test": _TESTED,
    },
}
_TREATED = "(RX:metformin or RX:insulin or RX:sulfonylurea)"
_LAB = "LAB:hemoglobin a1c above 6.5"
DIABETES = {
    "3 separate": {"2 codes": "ICD:E11+ >= 2", "drug": _TREATED, "lab": _LAB},
    "3 nested": {
        "1 code": "ICD:E11+",
        "2 codes": "ICD:E11+ >= 2",
        "2 codes and drug": f"ICD:E11+ >= 2 and {_TREATED}",
    },
    "6": {
        "1 code": "ICD:E11+",
        "2 codes": "ICD:E11+ >= 2",
        "3 mentions": "NLP:type 2 diabetes >= 3",
        "drug": _TREATED,
        "lab": _LAB,
        "2 of 3": f"2 of (ICD:E11+ >= 2, {_TREATED}, {_LAB})",
    },
}


def draw_arthritis(prevalence: float, seed: int, patients: int = PATIENTS) -> World:
    """Return a world of the package's own datamart, without some of its cases."""
    drawn = simulate_ehr(patients, random_state=seed)
    case = drawn.truth.to_numpy() > 0
    cases, others = np.flatnonzero(case), np.flatnonzero(~case)
    wanted = min(round(prevalence / (1 - prevalence) * len(others)), len(cases))
    kept = np.random.default_rng(seed).choice(cases, wanted, replace=False)
    rows = np.sort(np.concatenate([kept, others]))
    anchors = (_CODE, _CONCEPT)
    return World(drawn.counts.iloc[rows], case[rows], anchors, "note_count", ARTHRITIS)


# feature: log mean at 12 visits, exponent of visits, and log rate ratios of cases (of severity
# .75), of patients at risk, and of those with a wrong code; then the shape of the gamma
_FEATURES = {
    "ICD:E11+": (-4.0, 0.5, 4.6, 1.0, 3.6, 1.0),
    "NLP:type 2 diabetes": (-3.6, 0.8, 4.4, 1.0, 3.0, 1.0),
    "RX:metformin": (-4.5, 0.3, 4.4, 2.0, 1.0, 0.7),
    "RX:insulin": (-5.0, 0.4, 2.6, 0.1, 0.2, 0.4),
    "RX:sulfonylurea": (-6.0, 0.3, 3.6, 0.3, 0.3, 0.5),
    "LAB:hemoglobin a1c": (-1.6, 0.6, 2.0, 1.2, 0.8, 1.5),
    _LAB: (-4.6, 0.4, 4.0, 0.9, 0.2, 0.9),
    "NLP:polyuria": (-3.0, 0.7, 1.4, 0.2, 0.1, 0.5),
    "NLP:neuropathy": (-3.0, 0.8, 1.5, 0.2, 0.1, 0.5),
    "NLP:retinopathy": (-4.0, 0.7, 2.4, 0.1, 0.1, 0.5),
    "NLP:glucometer": (-3.6, 0.5, 2.8, 0.9, 0.5, 0.6),
    "NLP:obesity": (-1.5, 0.8, 0.7, 0.7, 0.0, 0.6),
    "NLP:diet counseling": (-1.5, 0.7, 0.8, 0.9, 0.3, 0.6),
    **{
        f"NLP:unrelated {k}": (-1.5 + 0.05 * k, 0.8, 0.0, 0.0, 0.0, 0.5 + 0.02 * k)
        for k in range(30)
    },
}


def draw_diabetes(prevalence: float, seed: int, patients: int = PATIENTS) -> World:
    """Return a world of the second simulator."""
    import pandas as pd  # noqa: PLC0415 - a third of a second that only tables need

    rng = np.random.default_rng(10_000 + seed)
    case = rng.random(patients) < prevalence
    severity = np.log(0.25 + rng.gamma(1.5, 1 / 1.5, patients))
    visits = np.ceil(rng.gamma(0.9, 16, patients) + 1)
    at_risk = ~case & (rng.random(patients) < 0.15)
    miscoded = ~case & (rng.random(patients) < 0.04)
    habits = rng.normal(0, 0.5, patients)
    columns = {}
    for name, (level, slope, ratio, risk, wrong, shape) in _FEATURES.items():
        log_mean = level + slope * np.log(visits / 12) + habits + risk * at_risk + wrong * miscoded
        log_mean += case * (ratio + 0.8 * severity * (ratio > 0))
        rate = np.exp(log_mean) * rng.gamma(shape, 1 / shape, patients)
        columns[name] = rng.poisson(rate).astype(np.int32)
    columns["visit_count"] = visits.astype(np.int32)
    persons = pd.RangeIndex(1, patients + 1, name="person_id")
    counts = pd.DataFrame(columns, index=persons)
    return World(counts, case, ("ICD:E11+", "NLP:type 2 diabetes"), "visit_count", DIABETES)


_LUPUS = {
    "3 separate": {
        "2 codes": "ICD:M32+ >= 2",
        "drug": "RX:hydroxychloroquine",
        "lab": "LAB:anti-dsdna above 10",
    },
    "3 nested": {
        "1 code": "ICD:M32+",
        "2 codes": "ICD:M32+ >= 2",
        "2 codes and drug": "ICD:M32+ >= 2 and RX:hydroxychloroquine",
    },
    "6": {
        "1 code": "ICD:M32+",
        "2 codes": "ICD:M32+ >= 2",
        "3 mentions": "NLP:lupus >= 3",
        "drug": "RX:hydroxychloroquine",
        "lab": "LAB:anti-dsdna above 10",
        "2 of 3": "2 of (ICD:M32+ >= 2, RX:hydroxychloroquine, LAB:anti-dsdna above 10)",
    },
}
# feature: mean per visit of others, of those ruled out, and of cases; the last is multiplied by
# their severity
_SIGNS = {
    "RX:hydroxychloroquine": (0.004, 0.03, 0.35),
    "RX:prednisone": (0.03, 0.06, 0.20),
    "LAB:anti-dsdna": (0.005, 0.08, 0.12),
    "LAB:anti-dsdna above 10": (0.0005, 0.006, 0.09),
    "NLP:malar rash": (0.002, 0.02, 0.06),
    "NLP:arthralgia": (0.06, 0.12, 0.18),
    "NLP:photosensitivity": (0.006, 0.03, 0.07),
    "NLP:nephritis": (0.002, 0.006, 0.05),
    "NLP:fatigue": (0.12, 0.16, 0.20),
    "NLP:autoantibody": (0.004, 0.05, 0.10),
}
_WRONG = (0.03, 0.25)  # share of others with a wrong entry: a + b x prevalence


def draw_lupus(prevalence: float, seed: int, patients: int = PATIENTS) -> World:
    """Return a world of the third simulator."""
    import pandas as pd  # noqa: PLC0415 - a third of a second that only tables need

    rng = np.random.default_rng(20_000 + seed)
    case = rng.random(patients) < prevalence
    ruled_out = ~case & (rng.random(patients) < _WRONG[0] + _WRONG[1] * prevalence)
    visits = 1 + rng.negative_binomial(1.2, 1.2 / 13.2, patients)
    severity = rng.gamma(2.0, 0.5, patients)
    # the list is copied from some visit on, at a rate that is the clinic's and the patient's
    listed = np.where(case, rng.random(patients) < 0.95, ruled_out)
    copied = rng.beta(2.0, 2.5, patients) * rng.random(patients) * listed
    codes = rng.binomial(visits, 0.9 * copied) + rng.poisson(0.003 * visits) + listed
    entered = rng.poisson(0.10 * visits * severity * case)
    notes = rng.binomial(codes, 0.7) + rng.poisson(0.004 * visits)
    columns = {
        "ICD:M32+": np.minimum(codes + entered, 2 * visits),
        "NLP:lupus": notes + rng.poisson(0.15 * visits * severity * case),
    }
    habits = np.exp(rng.normal(0, 0.4, patients))
    for name, (other, wrong, ill) in _SIGNS.items():
        rate = np.where(case, ill * (0.3 + severity), np.where(ruled_out, wrong, other))
        columns[name] = rng.poisson(rate * visits * habits * rng.gamma(1.5, 1 / 1.5, patients))
    for k in range(20):
        rate = 0.03 * (k + 1) * visits * habits * rng.gamma(1.0, 1.0, patients)
        columns[f"NLP:unrelated {k}"] = rng.poisson(rate)
    columns["visit_count"] = visits
    persons = pd.RangeIndex(1, patients + 1, name="person_id")
    counts = pd.DataFrame(columns, index=persons).astype(np.int32)
    return World(counts, case, ("ICD:M32+", "NLP:lupus"), "visit_count", _LUPUS)


SIMULATORS: dict[str, Callable[..., World]] = {
    "arthritis": draw_arthritis,
    "diabetes": draw_diabetes,
    "lupus": draw_lupus,
}
