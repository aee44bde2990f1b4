from unelisa.ehr.datamart.records import (
    CODES,
    INFLAMMATORY_ARTHRITIS,
    MENTIONS,
    list_ancestors,
    list_concepts,
)


def test_every_concept_has_one_number_and_fits_in_32_bits():
    numbers = list_concepts()["concept_id"]
    assert len(set(numbers)) == len(numbers)
    assert max(numbers) < 2**31


def test_every_feature_has_its_concept():
    concepts = list_concepts()
    names = dict(zip(concepts["concept_id"], concepts["concept_name"], strict=True))
    assert len(CODES) == 9
    assert len(MENTIONS) == 133
    assert all(names[term.concept].lower() == term.text for term in MENTIONS)
    assert all(code.source_concept in names for code in CODES)


def test_all_codes_lie_below_the_parent():
    rows = list_ancestors()
    pairs = set(zip(rows["ancestor_concept_id"], rows["descendant_concept_id"], strict=True))
    assert {(INFLAMMATORY_ARTHRITIS, code.concept) for code in CODES} <= pairs
