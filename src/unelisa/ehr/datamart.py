"""Patients of a simulated rheumatoid arthritis datamart: truth, utilization and counts."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import ModelError

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Counts = NDArray[np.int32]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Role = Literal["anchor", "code", "core", "weak", "irrelevant"]

PATIENTS, REVIEWED, REVIEWED_CASES = 46568, 435, 98  # of the paper's section 5.2
PREVALENCE = 0.225
UTILIZATION = "note_count"
FIRST_PERSON = 100_001
N_TOPICS = 6  # comorbidity topics, each shared by more concepts than the disease
_MEDIAN_LOG_NOTES, _SPREAD_LOG_NOTES, _MOST_NOTES = 3.6, 1.15, 2000
_FEWEST_PATIENTS = 20


class Feature(NamedTuple):
    r"""One count, negative binomial, and what its mean depends on.

    .. math:: \exp(base + slope \cdot (\log u - 3.6) + case \cdot \log(1 + 1.72 s) + mimic + \dots)
    """

    name: str  # column of the count table
    role: Role  # its relation to the disease
    base: float  # log mean for a patient without the disease and with median utilization
    slope: float  # exponent of the utilization u
    case: float  # log rate ratio of a case of severity s = 1
    mimic: float = 0.0  # log rate ratio of other inflammatory arthritis
    wear: float = 0.0  # log rate ratio of osteoarthritis
    shape: float = 0.6  # size of the negative binomial: smaller is more dispersed
    # topic, loading: the comorbidity topic it depends on, and how strongly
    topic: int = 0
    loading: float = 0.0


def _names(listed: str) -> tuple[str, ...]:
    return tuple(" ".join(name.split()) for name in listed.split(";"))


# code: base, case, mimic, wear
_CODES = {
    "714.0": (-0.9, 3.3, 0.8, 0.2),
    "714.1": (-4.5, 1.8, 0.2, 0.0),
    "714.2": (-4.6, 1.8, 0.4, 0.0),
    "714.30": (-4.2, 0.5, 0.9, 0.0),
    "714.31": (-5.5, 0.3, 0.6, 0.0),
    "714.33": (-5.5, 0.3, 0.6, 0.0),
    "714.4": (-4.8, 0.6, 0.6, 0.2),
    "714.81": (-4.8, 1.4, 0.5, 0.0),
    "714.9": (-2.3, 0.7, 1.4, 0.3),
}
MAIN_CODE, MAIN_CONCEPT = "714.0", "rheumatoid arthritis"
CORE = _names(
    """morning stiffness; c-reactive protein; immunosuppressive agents; methotrexate; synovitis;
    rheumatoid factor; anti-ccp antibody; joint erosion; rheumatoid nodule; antirheumatic agents;
    joint swelling"""
)
_GENERAL_CORE = {"c-reactive protein", "immunosuppressive agents"}  # occur in other diseases too
_WORN_CORE = {"morning stiffness", "joint swelling"}
WEAK = _names(
    """joint pain; arthritis; fatigue; prednisone; hydroxychloroquine; sedimentation rate; anemia;
    rheumatologist; hand x-ray; nsaid; weakness; stiffness; swelling; tenderness; deformity;
    knee; wrist; osteoporosis; inflammation; tumor necrosis factor; dry eyes; rash; autoimmune
    disease; corticosteroid injection; physical therapy; disability"""
)
IRRELEVANT = _names(
    """chest pain; diarrhea; influenza; hypertension; diabetes mellitus; asthma; pneumonia; cough;
    headache; nausea; vomiting; fever; constipation; abdominal pain; dizziness; insomnia;
    anxiety; depression; obesity; hyperlipidemia; coronary artery disease; heart failure; atrial
    fibrillation; stroke; kidney failure; urinary tract infection; dyspnea; edema; palpitations;
    syncope; cancer; breast cancer; colon polyp; prostate; hysterectomy; pregnancy; menopause;
    hypothyroidism; goiter; cataract; glaucoma; hearing loss; sinusitis; bronchitis; sore throat;
    allergy; eczema; acne; cellulitis; skin ulcer; wound; fracture; fall; head injury; seizure;
    tremor; neuropathy; migraine; dementia; confusion; alcohol; tobacco; aspirin; insulin;
    warfarin; statin; lisinopril; metoprolol; furosemide; omeprazole; antibiotic; vaccination;
    colonoscopy; mammography; electrocardiogram; echocardiogram; chest x-ray; blood pressure;
    glucose; cholesterol; creatinine; potassium; sodium; hematocrit; platelet count; urinalysis;
    weight loss; appetite; chills; sweating; bleeding; hernia; gallstones; liver disease;
    hepatitis"""
)


def _list_features() -> Iterator[Feature]:
    for code, effects in _CODES.items():
        role: Role = "anchor" if code == MAIN_CODE else "code"
        yield Feature(f"ICD:{code}", role, effects[0], 0.35, *effects[1:], shape=0.8)
    yield Feature(f"NLP:{MAIN_CONCEPT}", "anchor", -1.1, 0.65, 4.2, 1.0, 0.3, shape=0.8)
    for i, name in enumerate(CORE):
        base, case = -1.3 - 0.15 * (i % 4), 2.5 - 0.13 * i
        wear, loading = 0.2 * (name in _WORN_CORE), 0.5 * (name in _GENERAL_CORE)
        yield Feature(f"NLP:{name}", "core", base, 0.7, case, 0.9, wear, 0.5, 5, loading)
    for i, name in enumerate(WEAK):
        base, wear = -1.2 + 0.1 * (i % 7), 0.5 * (i % 3 == 0)
        yield Feature(f"NLP:{name}", "weak", base, 0.8, 0.45, 0.5, wear, 0.6, i % N_TOPICS, 0.4)
    for i, name in enumerate(IRRELEVANT):
        base, slope, mimic = -1.5 + 0.12 * (i % 15), 0.75 + 0.02 * (i % 12), 0.05 * (i % 2)
        shared = i % N_TOPICS, 0.6 + 0.1 * (i % 4)
        yield Feature(f"NLP:{name}", "irrelevant", base, slope, 0.0, mimic, 0.0, 0.6, *shared)


FEATURES: tuple[Feature, ...] = tuple(_list_features())


@dataclass(frozen=True, eq=False)
class SimulatedEhr:
    """A simulated datamart, with its truth."""

    # one row per patient (index: person_id), one column per feature, and `note_count`
    counts: "pd.DataFrame"
    truth: "pd.Series"  # +1 for patients with rheumatoid arthritis, -1 for the others, by person_id
    reviewed: Integers  # person_id of the patients whose charts were reviewed
    # relation of each feature to the disease: anchor, code, core, weak or irrelevant
    roles: "pd.Series"
    visits: Counts  # number of visits per patient; at least the number of notes
    # whether a patient had an anti-CCP test, the other way into the datamart
    tested: Flags


class _Patients(NamedTuple):
    """What the counts depend on: one entry per patient."""

    case: Flags
    mimic: Flags
    wear: Flags
    log_severity: Floats
    notes: Counts
    visits: Counts
    topics: Floats


def simulate_ehr(
    n_patients: int = PATIENTS, random_state: int | np.random.Generator | None = 0
) -> SimulatedEhr:
    """Return a simulated datamart of rheumatoid arthritis like the paper's, with its truth.

    142 features of 46,568 patients, 22.5 % of them cases; 435 charts reviewed, 98 of them cases.
    Utilization drives every count; severity varies, and 8 % of the cases leave hardly a trace;
    other diseases mimic it, share its pain or occur with it; most patients without any code 714.x
    get one as a rule-out diagnosis. A count is a number of days of care.

    Parameters
    ----------
    n_patients
        Number of patients, at least 20; with fewer than 870, fewer charts are reviewed.
    random_state
        Seed or generator.

    Examples
    --------
    >>> import unelisa as ue
    >>> drawn = ue.simulate_ehr(1000, random_state=0)
    >>> drawn.counts.shape, len(drawn.reviewed), round(float((drawn.truth > 0).mean()), 1)
    ((1000, 143), 435, 0.2)
    >>> drawn.roles["NLP:morning stiffness"]
    'core'
    """
    import pandas as pd  # noqa: PLC0415 - a third of a second that only tables need

    if n_patients < _FEWEST_PATIENTS:
        raise ModelError(f"n_patients must be at least {_FEWEST_PATIENTS}, found {n_patients}")
    rng = np.random.default_rng(random_state)
    patients = _draw_patients(n_patients, rng)
    columns = {feature.name: _draw_counts(feature, patients, rng) for feature in FEATURES}
    tested = _admit(columns, rng)
    persons = pd.RangeIndex(FIRST_PERSON, FIRST_PERSON + n_patients, name="person_id")
    return SimulatedEhr(
        counts=pd.DataFrame({**columns, UTILIZATION: patients.notes}, index=persons),
        truth=pd.Series(np.where(patients.case, 1, -1).astype(np.int8), persons, name="label"),
        reviewed=persons.to_numpy()[_draw_reviewed(patients.case, rng)],
        roles=pd.Series({feature.name: feature.role for feature in FEATURES}, name="role"),
        visits=patients.visits,
        tested=tested,
    )


def _draw_patients(n: int, rng: np.random.Generator) -> _Patients:
    case = rng.random(n) < PREVALENCE
    mimic = ~case & (rng.random(n) < 0.18)
    wear = ~case & ~mimic & (rng.random(n) < 0.30)
    log_notes = rng.normal(_MEDIAN_LOG_NOTES, _SPREAD_LOG_NOTES, n) + 0.15 * case
    notes = np.clip(np.round(np.exp(log_notes)), 1, _MOST_NOTES).astype(np.int32)
    severity = np.exp(rng.normal(-0.1, 0.7, n))
    severity = np.where(rng.random(n) < 0.08, 0.08 * severity, severity)  # treated elsewhere
    log_severity = np.where(case, np.log1p(1.72 * severity), 0.0)
    visits = notes + rng.poisson(0.25 * notes).astype(np.int32)
    return _Patients(case, mimic, wear, log_severity, notes, visits, rng.normal(size=(N_TOPICS, n)))


def _draw_counts(feature: Feature, patients: _Patients, rng: np.random.Generator) -> Counts:
    log_mean = (
        feature.base
        + feature.slope * (np.log(patients.notes) - _MEDIAN_LOG_NOTES)
        + feature.case * patients.log_severity
        + feature.mimic * patients.mimic
        + feature.wear * patients.wear
        + feature.loading * patients.topics[feature.topic]
    )
    # the days of care cap the count, so larger means make no difference
    mean = np.exp(np.minimum(log_mean, np.log(3.0 * _MOST_NOTES)))
    drawn = rng.poisson(mean * rng.gamma(feature.shape, 1 / feature.shape, len(mean)))
    days = patients.visits if feature.name.startswith("ICD:") else patients.notes
    return np.asarray(np.minimum(drawn, days), dtype=np.int32)


def _admit(columns: dict[str, Counts], rng: np.random.Generator) -> Flags:
    """Give patients without a code 714.x a rule-out code or an anti-CCP test; return the tested."""
    coded = np.any([count > 0 for name, count in columns.items() if name.startswith("ICD:")], 0)
    ruled_out = ~coded & (rng.random(len(coded)) < 0.75)
    columns[f"ICD:{MAIN_CODE}"][ruled_out] = 1
    return np.asarray(~(coded | ruled_out) | (rng.random(len(coded)) < 0.35))


def _draw_reviewed(case: Flags, rng: np.random.Generator) -> NDArray[Any]:
    n = min(REVIEWED, len(case) // 2)
    n_cases = min(round(n * REVIEWED_CASES / REVIEWED), int(case.sum()))
    parts = ((case, n_cases), (~case, n - n_cases))
    drawn = [rng.choice(np.flatnonzero(part), size, replace=False) for part, size in parts]
    return np.sort(np.concatenate(drawn))
