"""The vocabulary of the datamart: a concept for every code, term and test it uses."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from unelisa.datamart.features import FEATURES, MAIN_CODE, MAIN_CONCEPT

RHEUMATOID_ARTHRITIS = 80809  # the standard concept
INFLAMMATORY_ARTHRITIS = 2_000_000_001  # its parent here; numbers over two billion are a site's own
ANTI_CCP_TEST = 2_000_000_002
_FIRST_CODE, _FIRST_TERM = 2_000_001_000, 2_000_002_000
ANTI_CCP_NAME = "anti-cyclic citrullinated peptide test"

OUTPATIENT_VISIT, FEMALE, MALE, ENGLISH, UTF8 = 9202, 8532, 8507, 4180186, 32678
FROM_RECORDS, CLINIC_NOTE, CDM_54 = 32817, 44814640, 756265


class Term(NamedTuple):
    """A feature as the database knows it."""

    feature: str
    text: str
    concept: int
    source_concept: int


def _list_terms() -> Iterator[Term]:
    for i, feature in enumerate(FEATURES):
        kind, text = feature.name.split(":", 1)
        if kind == "ICD":
            standard = RHEUMATOID_ARTHRITIS if text == MAIN_CODE else _FIRST_CODE + 500 + i
            yield Term(feature.name, text, standard, _FIRST_CODE + i)
        else:
            concept = RHEUMATOID_ARTHRITIS if text == MAIN_CONCEPT else _FIRST_TERM + i
            yield Term(feature.name, text, concept, 0)


TERMS: tuple[Term, ...] = tuple(_list_terms())
CODES = tuple(term for term in TERMS if term.source_concept)
MENTIONS = tuple(term for term in TERMS if not term.source_concept)


def list_concepts() -> list[dict[str, Any]]:
    """Return the rows of the concept table."""
    rows = [
        _row(RHEUMATOID_ARTHRITIS, MAIN_CONCEPT.capitalize(), "Condition", "SNOMED", "69896004"),
        _row(INFLAMMATORY_ARTHRITIS, "Inflammatory arthritis", "Condition", "Simulated", "ia"),
        _row(ANTI_CCP_TEST, ANTI_CCP_NAME.capitalize(), "Measurement", "Simulated", "ccp"),
    ]
    for code in CODES:
        rows.append(
            _row(code.source_concept, f"Code {code.text}", "Condition", "ICD9CM", code.text)
        )
        if code.concept != RHEUMATOID_ARTHRITIS:
            name = f"Arthropathy coded {code.text}"
            rows.append(_row(code.concept, name, "Condition", "Simulated", f"s{code.text}"))
    rows += [
        _row(term.concept, term.text.capitalize(), "Observation", "Simulated", f"t{term.concept}")
        for term in MENTIONS
        if term.concept != RHEUMATOID_ARTHRITIS
    ]
    return rows


def list_ancestors() -> list[dict[str, int]]:
    """Return the rows of concept_ancestor: every code's concept lies below the parent."""
    below = [code.concept for code in CODES]
    itself = [row["concept_id"] for row in list_concepts() if row["standard_concept"] == "S"]
    pairs = [(INFLAMMATORY_ARTHRITIS, concept, 1) for concept in below]
    return [
        {
            "ancestor_concept_id": above,
            "descendant_concept_id": concept,
            "min_levels_of_separation": levels,
            "max_levels_of_separation": levels,
        }
        for above, concept, levels in [*pairs, *((one, one, 0) for one in itself)]
    ]


def _row(number: int, name: str, domain: str, vocabulary: str, code: str) -> dict[str, Any]:
    return {
        "concept_id": number,
        "concept_name": name,
        "domain_id": domain,
        "vocabulary_id": vocabulary,
        "concept_class_id": "Simulated",
        "standard_concept": None if vocabulary == "ICD9CM" else "S",
        "concept_code": code,
        "valid_start_date": "1970-01-01",
        "valid_end_date": "2099-12-31",
    }
