"""The 142 features of the simulated rheumatoid arthritis datamart, and what drives each count.

9 codes 714.x, the concept "rheumatoid arthritis", 11 core concepts, 26 weak ones and 95 unrelated
to the disease. Concepts named in the paper keep their names.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

Role = Literal["anchor", "code", "core", "weak", "irrelevant"]

N_TOPICS = 6  # comorbidity topics, each shared by more concepts than the disease


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


def _codes() -> Iterator[Feature]:
    for code, (base, case, mimic, wear) in _CODES.items():
        role: Role = "anchor" if code == MAIN_CODE else "code"
        yield Feature(f"ICD:{code}", role, base, 0.35, case, mimic, wear, shape=0.8)


def _concepts() -> Iterator[Feature]:
    yield Feature(f"NLP:{MAIN_CONCEPT}", "anchor", -1.1, 0.65, 4.2, 1.0, 0.3, shape=0.8)
    for i, name in enumerate(CORE):
        base, case = -1.3 - 0.15 * (i % 4), 2.5 - 0.13 * i
        wear = 0.2 if name in _WORN_CORE else 0.0
        loading = 0.5 if name in _GENERAL_CORE else 0.0
        yield Feature(f"NLP:{name}", "core", base, 0.7, case, 0.9, wear, 0.5, 5, loading)
    for i, name in enumerate(WEAK):
        wear = 0.5 if i % 3 == 0 else 0.0
        base = -1.2 + 0.1 * (i % 7)
        yield Feature(f"NLP:{name}", "weak", base, 0.8, 0.45, 0.5, wear, 0.6, i % N_TOPICS, 0.4)
    for i, name in enumerate(IRRELEVANT):
        base, slope, mimic = -1.5 + 0.12 * (i % 15), 0.75 + 0.02 * (i % 12), 0.05 * (i % 2)
        topic, loading = i % N_TOPICS, 0.6 + 0.1 * (i % 4)
        yield Feature(
            f"NLP:{name}", "irrelevant", base, slope, 0.0, mimic, 0.0, 0.6, topic, loading
        )


FEATURES: tuple[Feature, ...] = (*_codes(), *_concepts())
