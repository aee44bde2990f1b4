"""The vocabulary of the datamart: a concept for every code, term and test it uses."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from unelisa.ehr.datamart.features import FEATURES, MAIN_CODE, MAIN_CONCEPT

Block = Mapping[str, Any]  # rows of a table: column -> list or array, or one value for all rows

RHEUMATOID_ARTHRITIS = 80809  # the standard concept
INFLAMMATORY_ARTHRITIS = 2_000_000_001  # its parent; numbers over two billion are site-specific
ANTI_CCP_TEST = 2_000_000_002
_FIRST_CODE, _FIRST_TERM = 2_000_001_000, 2_000_002_000
ANTI_CCP_NAME = "anti-cyclic citrullinated peptide test"


class Term(NamedTuple):
    """A feature as recorded in the database."""

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


def list_concepts() -> Block:
    """Return the concept rows."""
    rows = [
        (RHEUMATOID_ARTHRITIS, MAIN_CONCEPT.capitalize(), "Condition", "SNOMED", "69896004"),
        (INFLAMMATORY_ARTHRITIS, "Inflammatory arthritis", "Condition", "Simulated", "ia"),
        (ANTI_CCP_TEST, ANTI_CCP_NAME.capitalize(), "Measurement", "Simulated", "ccp"),
    ]
    for code in CODES:
        rows.append((code.source_concept, f"Code {code.text}", "Condition", "ICD9CM", code.text))
        if code.concept != RHEUMATOID_ARTHRITIS:
            name = f"Arthropathy coded {code.text}"
            rows.append((code.concept, name, "Condition", "Simulated", f"s{code.text}"))
    rows += [
        (term.concept, term.text.capitalize(), "Observation", "Simulated", f"t{term.concept}")
        for term in MENTIONS
        if term.concept != RHEUMATOID_ARTHRITIS
    ]
    numbers, names, domains, vocabularies, codes = map(list, zip(*rows, strict=True))
    return {
        "concept_id": numbers,
        "concept_name": names,
        "domain_id": domains,
        "vocabulary_id": vocabularies,
        "concept_class_id": "Simulated",
        "standard_concept": [None if one == "ICD9CM" else "S" for one in vocabularies],
        "concept_code": codes,
        "valid_start_date": "1970-01-01",
        "valid_end_date": "2099-12-31",
    }


def list_ancestors() -> Block:
    """Return the concept_ancestor rows: the parent of every code's concept, and itself."""
    concepts = list_concepts()
    standard = zip(concepts["concept_id"], concepts["standard_concept"], strict=True)
    pairs = [(INFLAMMATORY_ARTHRITIS, code.concept, 1) for code in CODES]
    pairs += [(concept, concept, 0) for concept, mark in standard if mark == "S"]
    above, below, levels = map(list, zip(*pairs, strict=True))
    return {
        "ancestor_concept_id": above,
        "descendant_concept_id": below,
        "min_levels_of_separation": levels,
        "max_levels_of_separation": levels,
    }
