from collections import Counter

from unelisa.ehr.datamart.patients import CORE, FEATURES, N_TOPICS


def test_the_paper_s_dimensions():
    roles = Counter(feature.role for feature in FEATURES)
    assert roles == {"anchor": 2, "code": 8, "core": 11, "weak": 26, "irrelevant": 95}
    assert len({feature.name for feature in FEATURES}) == 142
    assert sum(feature.name.startswith("ICD:714.") for feature in FEATURES) == 9


def test_concepts_that_the_paper_names_are_there():
    roles = {feature.name: feature.role for feature in FEATURES}
    for name in ("morning stiffness", "c-reactive protein", "immunosuppressive agents"):
        assert roles[f"NLP:{name}"] == "core"
    for name in ("chest pain", "diarrhea", "influenza"):
        assert roles[f"NLP:{name}"] == "irrelevant"


def test_every_topic_ties_more_concepts_together_than_the_disease():
    tied = Counter(feature.topic for feature in FEATURES if feature.loading)
    assert len(tied) == N_TOPICS
    assert min(tied.values()) > len(CORE)
