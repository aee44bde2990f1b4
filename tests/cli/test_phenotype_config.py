import json
from datetime import date
from pathlib import Path

import pytest

from unelisa.cli.phenotype_config import Schemas, read_config
from unelisa.cli.rules import read_rules_config
from unelisa.ehr.rules.atlas import CohortDefinition
from unelisa.errors import ModelError, RecordsError, UnelisaError

EXAMPLE = Path(__file__).parents[2] / "examples" / "ra.toml"


def test_the_example_is_understood(tmp_path):
    config = read_config(EXAMPLE)
    assert config.title == "Rheumatoid arthritis"
    assert config.anchor_names == ["ICD:714.0", "NLP:rheumatoid arthritis"]
    assert config.request.window == (date(2000, 1, 1), date(2015, 12, 31))
    assert config.request.entry[0].text == "ICD:714.%"
    assert config.prevalence is None
    assert config.cohort == 714
    file = tmp_path / "marked.toml"
    file.write_text("\ufeff" + EXAMPLE.read_text(encoding="utf-8"), encoding="utf-8")
    assert read_config(file) == read_config(EXAMPLE)
    file.write_bytes("title = 'é'".encode("latin-1"))
    with pytest.raises(UnelisaError, match="it is not UTF-8 text"):
        read_config(file)
    with pytest.raises(UnelisaError, match="there is no file no.toml"):
        read_config(tmp_path / "no.toml")


def test_anchors_and_schemas_are_read_from_the_file(tmp_path):
    file = tmp_path / "a.toml"
    file.write_text(
        '[records]\nfeatures = ["NLP:%"]\n[phenotype]\nanchors = ["icd:1", "ICD:m05"]\n'
    )
    with pytest.raises(UnelisaError, match="a.toml: the feature 'icd:1'"):
        read_config(file)
    file.write_text('[records]\nfeatures = ["NLP:%"]\n[phenotype]\nanchors = ["ICD:m05"]\n')
    config = read_config(file)
    assert config.anchor_names == ["ICD:M05"]
    assert [one.text for one in config.request.features] == ["NLP:%", "ICD:m05"]
    assert read(tmp_path).schemas == Schemas()
    more = '[cdm]\nschema = "a"\n[vocabulary]\nschema = "b"\n[results]\nschema = "c"'
    assert read(tmp_path, more=more).schemas == Schemas("a", "b", "c")
    named = read(tmp_path, more=f'{more}\ntable = "my_cohorts"').schemas
    assert named == Schemas("a", "b", "c", "my_cohorts")
    # cohorts are where the records are, and the key of version 0.1.0 still names them
    for config in (read(tmp_path, 'schema = "a"'), read(tmp_path, more='[cdm]\nschema = "a"')):
        assert config.schemas == Schemas("a", None, "a")
    with pytest.raises(UnelisaError, match="under .records. and under .cdm. differ"):
        read(tmp_path, 'schema = "a"', '[cdm]\nschema = "b"')


def read(tmp_path, records="", more=""):
    file = tmp_path / "a.toml"
    file.write_text(
        f'[records]\nfeatures = ["ICD:%"]\n{records}\n[phenotype]\nanchors = ["ICD:1"]\n{more}\n'
    )
    return read_config(file)


def test_an_index_day_and_the_features_of_few_patients(tmp_path):
    request = read(tmp_path, 'index = ["ICD:1"]\nbefore = 365\nafter = 0').request
    assert [one.column for one in request.index] == ["ICD:1"]
    assert request.span == (365, 0)
    for bad in ("before = 3", 'index = ["ICD:1"]\nafter = -1'):
        with pytest.raises(UnelisaError, match="a.toml: "):
            read(tmp_path, bad)
    screen = read(tmp_path).request.screen
    assert (screen.share, [one.column for one in screen.among]) == (0.05, ["ICD:1"])
    assert read(tmp_path, "least_share = 0").request.screen.share == 0
    assert screen.fewest == 10
    assert read(tmp_path, "least_patients = 1").request.screen.fewest == 1
    with pytest.raises(UnelisaError, match="least_patients is 0"):
        read(tmp_path, "least_patients = 0")
    with pytest.raises(UnelisaError, match="least_share is 1.5"):
        read(tmp_path, "least_share = 1.5")
    assert read(tmp_path).request.utilization == "note_count"
    assert read(tmp_path, 'utilization = "none"').request.utilization is None
    file = tmp_path / "bad.toml"
    file.write_text(
        '[records]\nfeatures = ["NLP:%"]\n[phenotype]\nanchors = ["NLP:RA", "NLP:ra"]\n'
    )
    with pytest.raises(UnelisaError, match="each feature only once"):
        read_config(file)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x = [", "is not a TOML file"),
        (f"x = {'9' * 5000}", "a number with too many digits"),
        (f"{'a.' * 100_000}a = 1", "more than 5,000 dots"),
        ("", "features under .records. and anchors under"),
        ("[record]\na = 1", "'record' is unknown; use title and the tables .records."),
        ("[[records]]\na = 1", "'records' is unknown"),
        ("title = 3", "title must be a string"),
        ('title = " "', "title must be a string"),
        ("[records]\nfeature = []", "has no key 'feature'; use features"),
        ('[records]\nfeatures = "ICD:1"', "features under .records. must be a list of strings"),
        ("[records]\nfeatures = [1]", "must be a list of strings"),
        ('[records]\nfirst_day = "2001"', "first_day under .records. must be a date"),
        ("[records]\nfirst_day = 12:00:00", "first_day under .records. must be a date"),
        ("[phenotype]\nprevalence = true", "prevalence under .phenotype. must be a number"),
        ("[phenotype]\nseed = 1.5", "seed under .phenotype. must be an integer"),
        (
            '[records]\nfeatures = ["ICD:1"]\n[phenotype]\nanchors = ["ICD:1%"]',
            "an anchor must be one feature",
        ),
    ],
)
def test_bad_files_are_refused_in_one_sentence(tmp_path, text, sentence):
    file = tmp_path / "bad.toml"
    file.write_text(text)
    with pytest.raises(UnelisaError, match=sentence) as error:
        read_config(file)
    assert str(error.value).startswith("bad.toml")


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ("prevalence = 0", "prevalence must be strictly between 0 and 1"),
        ("prevalence = 1.0", "prevalence must be strictly between 0 and 1"),
        ("prevalence = nan", "prevalence must be strictly between 0 and 1"),
        ("sex = 'f'", "sex under .phenotype. must be one of male, female"),
        ("age = [55, 12]", "age under .phenotype. must be the least and the greatest"),
        ("age = [12]", "age under .phenotype. must be two integers"),
        ("age = ['12', '55']", "age under .phenotype. must be two integers"),
        ("seed = -1", "seed under .phenotype. must be 0 or more"),
        ("[cohort]\nnumber = 2147483648", "number under .cohort. must be from 0 to 2147483647"),
        ("[cohort]\nnumber = true", "number under .cohort. must be an integer"),
    ],
)
def test_values_out_of_range_are_refused(tmp_path, more, sentence):
    file = tmp_path / "bad.toml"
    file.write_text(f'[records]\nfeatures = ["ICD:1"]\n[phenotype]\nanchors = ["ICD:1"]\n{more}\n')
    with pytest.raises(UnelisaError, match=sentence):
        read_config(file)


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
