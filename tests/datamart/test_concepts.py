from unelisa.datamart.concepts import (
    CODES,
    INFLAMMATORY_ARTHRITIS,
    MENTIONS,
    list_ancestors,
    list_concepts,
)


def test_every_concept_has_one_number_and_fits_in_32_bits():
    numbers = [row["concept_id"] for row in list_concepts()]
    assert len(set(numbers)) == len(numbers)
    assert max(numbers) < 2**31


def test_every_feature_has_its_concept():
    names = {row["concept_id"]: row["concept_name"].lower() for row in list_concepts()}
    assert len(CODES) == 9
    assert len(MENTIONS) == 133
    assert all(names[term.concept] == term.text for term in MENTIONS)
    assert all(code.source_concept in names for code in CODES)


def test_all_codes_lie_below_the_parent():
    below = {
        row["descendant_concept_id"]
        for row in list_ancestors()
        if row["ancestor_concept_id"] == INFLAMMATORY_ARTHRITIS
    }
    assert {code.concept for code in CODES} <= below
