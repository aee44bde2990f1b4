import json

import pytest

from unelisa.cli.rules import read_rules_config
from unelisa.ehr.rules.atlas import CohortDefinition
from unelisa.errors import ModelError, RecordsError

REST = """
[records]
features = ["ICD:714.%"]
[phenotype]
anchors = ["ICD:714.0", "NLP:rheumatoid arthritis"]
"""


@pytest.fixture
def write(tmp_path):
    def make(rules, rest=REST):
        file = tmp_path / "rules.toml"
        file.write_text(f"{rules}\n{rest}", encoding="utf-8")
        return file

    return make


def test_rules_of_every_kind_are_read_and_their_features_counted(write, tmp_path):
    primary = {"CriteriaList": [{"ConditionOccurrence": {"CodesetId": 0}}]}
    concepts = [{"id": 0, "expression": {"items": [{"concept": {"CONCEPT_ID": 80809}}]}}]
    definition = {"ConceptSets": concepts, "PrimaryCriteria": primary}
    (tmp_path / "c.json").write_text(json.dumps(definition))
    rules = '[rules]\n"two" = "icd:714.0 >= 2 and NLP:Joint Pain"\nrows = {cohort = 12}\n'
    rules = rules.replace("icd:", "ICD:") + 'atlas = {atlas = "c.json"}'
    found = read_rules_config(write(rules))
    assert list(found.rules) == ["two", "rows", "atlas"]
    assert found.rules["two"].list_features() == ["ICD:714.0", "NLP:joint pain"]
    assert found.rules["rows"] == 12
    assert isinstance(found.rules["atlas"], CohortDefinition)
    assert "NLP:joint pain" in {one.column for one in found.phenotype.request.features}


@pytest.mark.parametrize(
    ("rules", "what"),
    [
        ("", "the table [rules] is required"),
        ("[rules]", "the table [rules] is required"),
        ("[rules]\na = 3", "the rule 'a' must be a definition such as"),
        ("[rules]\na = {cohort = true}", "the rule 'a' must be a definition such as"),
        ('[rules]\na = "ICD:714.% >= 2"', "end it with + to combine codes"),
        ('[rules]\na = "ICD:1 and"', "the rule 'ICD:1 and' cannot be read"),
        ('[rules]\na = "code >= 2"', "the feature 'code' is not valid"),
        ('[rules]\na = {atlas = "none.json"}', "none.json"),
    ],
)
def test_what_is_wrong_is_named_with_the_file(write, rules, what):
    with pytest.raises((ModelError, RecordsError)) as caught:
        read_rules_config(write(rules))
    assert what in str(caught.value)
    assert str(caught.value).startswith("rules.toml: ")


def test_the_phenotype_is_required(write):
    with pytest.raises(ModelError, match="anchors under .phenotype. are required"):
        read_rules_config(write('[rules]\na = "ICD:1"', '[records]\nfeatures = ["ICD:1"]'))
