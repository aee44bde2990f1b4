import pytest

from unelisa.ehr.omop.requests import CountRequest, parse_request
from unelisa.errors import RecordsError


@pytest.mark.parametrize(
    ("text", "column", "concept"),
    [
        ("ICD:m05.9", "ICD:M05.9", None),
        ("ICD: 714.0 ", "ICD:714.0", None),
        ("ICD:4019", "ICD:4019", None),
        ("ICD:714.+", "ICD:714.+", None),
        ("CONCEPT:80809", "CONCEPT:80809", 80809),
        ("CONCEPT:80809+", "CONCEPT:80809+", 80809),
        ("NLP:Joint Swelling", "NLP:joint swelling", None),
        ("LAB:4%", "LAB:4", None),
        ("LAB:3004410 > 6.50", "LAB:3004410>6.5", 3004410),
        ("LAB:3004410+<=-7", "LAB:3004410+<=-7", 3004410),
        ("OBS:pack years>=20", "OBS:pack years>=20", None),
        ("RX:dose >5", "RX:dose >5", None),  # drugs have no value
        ("LAB:cells >10 um", "LAB:cells >10 um", None),
        ("PROC.code:20610a", "PROC.code:20610A", None),
        ("RX.era:1305058", "RX.era:1305058", 1305058),
    ],
)
def test_a_feature_is_read_as_written(text, column, concept):
    request = parse_request(text)
    assert request.column == column
    assert request.concept == concept


@pytest.mark.parametrize(
    "text",
    ["714.0", "ICD9:714.0", "ICD:", "ICD: ", ":x", "NLP:+", "icd:714", "LAB:%>3", "NLP.era:x"],
)
def test_what_is_not_a_feature_is_refused(text):
    with pytest.raises(RecordsError, match="the feature"):
        parse_request(text)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"features": []}, "no features requested"),
        ({"features": ["ICD:1"], "utilization": "beds"}, "note_count, visit_count"),
        ({"features": ["ICD:1"], "window": ("2001-02-30", None)}, "is not a date"),
        ({"features": ["ICD:1"], "window": ("2002-01-01", "2001-01-01")}, "before it starts"),
    ],
)
def test_requests_that_make_no_sense_are_refused(asked, sentence):
    with pytest.raises(RecordsError, match=sentence):
        CountRequest.of(**asked)


def test_a_narrowed_request_names_its_columns_only():
    request = CountRequest.of(["ICD:714.%", "CONCEPT:10+", "NLP:%"], None)
    names = ["NLP:11", "CONCEPT:10+", "ICD:714.8"]
    assert [one.column for one in request.narrow(names).features] == names
    with pytest.raises(RecordsError, match="'ICD:715.0' is required, but not requested"):
        request.narrow(["ICD:715.0"])
