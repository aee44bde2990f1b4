import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unelisa.ehr.counts import read_counts
from unelisa.ehr.rules.definition import DEEPEST, apply_rules, parse_rule
from unelisa.errors import ModelError, VotesError

TABLE = read_counts(
    pd.DataFrame(
        {"ICD:1": [0, 1, 2, 5], "NLP:pain": [1, 0, 3, 0], "NLP:sick and tired": [0, 1, 0, 1]}
    )
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ICD:1", [0, 1, 1, 1]),
        ("ICD:1 >= 2", [0, 0, 1, 1]),
        ("ICD:1>2", [0, 0, 0, 1]),
        ("ICD:1 = 1", [0, 1, 0, 0]),
        ("ICD:1 == 1", [0, 1, 0, 0]),
        ("ICD:1 < 2", [1, 1, 0, 0]),
        ("not ICD:1 <= 1", [0, 0, 1, 1]),
        ("ICD:1 and NLP:pain", [0, 0, 1, 0]),
        ("ICD:1 and NLP:pain or not ICD:1", [1, 0, 1, 0]),
        ("ICD:1 and (NLP:pain or not ICD:1)", [0, 0, 1, 0]),
        ('ICD:1 and "NLP:sick and tired"', [0, 1, 0, 1]),
        ('2 of (ICD:1 >= 2, NLP:pain >= 2, "NLP:sick and tired")', [0, 0, 1, 1]),
        ("1 of (ICD:1 >= 5, 2 of (ICD:1, NLP:pain))", [0, 0, 1, 1]),
    ],
)
def test_a_rule_holds_where_its_counts_say_so(text, expected):
    found = apply_rules({"rule": parse_rule(text)}, TABLE)
    assert found[:, 0].astype(int).tolist() == expected


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", "a feature"),
        ("ICD:1 and", "a feature"),
        ("ICD:1 >=", "a number after >="),
        ("ICD:1 >= many", "a number after >="),
        ("(ICD:1", "')'"),
        ("ICD:1) or ICD:2", "an end"),
        ("3 of (ICD:1, ICD:2)", "a number from 1 to 2"),
        ("2 of ICD:1", "'('"),
        ('"ICD:1', "a feature"),
    ],
)
def test_what_cannot_be_read_is_named(text, wanted):
    with pytest.raises(ModelError, match="cannot be read") as caught:
        parse_rule(text)
    assert wanted in str(caught.value)


@pytest.mark.parametrize("text", ["(" * 200 + "ICD:1" + ")" * 200, "not " * 200 + "ICD:1"])
def test_deep_rules_are_refused(text):
    with pytest.raises(ModelError, match=f"more than {DEEPEST} times"):
        parse_rule(text)


def read(text):
    """The features of a rule, or the complaint about it."""
    try:
        return parse_rule(text).list_features()
    except ModelError as error:
        return str(error)


@given(st.text('()<>=," andorf2ICD:1', max_size=40))
def test_any_text_is_a_rule_or_an_error(text):
    found = read(text)
    assert found
    assert isinstance(found, list) or found.startswith("the rule")


def test_a_rule_has_limits():
    with pytest.raises(ModelError, match="before 'of'"):
        parse_rule("9" * 5000 + " of (a, b)")
    with pytest.raises(ModelError, match="more than 10,000 characters"):
        parse_rule("a" + " " * 20_000 + "b")
    with pytest.raises(VotesError, match="no feature 'ICD:9', needed as part of a rule"):
        parse_rule("ICD:9").holds(TABLE)
    rule = parse_rule("not icd:1 and nlp:pain >= 2").rename(str.upper)
    assert rule.list_features() == ["ICD:1", "NLP:PAIN"]
