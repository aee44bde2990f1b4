import numpy as np
import pytest

from unelisa.phenotyping.anchors import AnchorModel, CaseOdds, ClassCounts
from unelisa.phenotyping.features import FeatureFacts, describe_features


@pytest.fixture
def table():
    """An anchor, a feature for and one against it, two that others explain, two idle ones."""
    anchor = ClassCounts(np.log([0.5, 5.0]), 0.5, np.ones(2))
    model = AnchorModel(0.2, CaseOdds(-1.4, 0.0), (anchor,), 3.0, 10, True)
    facts = FeatureFacts(
        features=np.array(
            ["code", "for", "against", "copy", "shade", "idle", "never"], dtype=object
        ),
        anchors=np.array([0]),
        correlations=np.array([[1.0], [0.4], [-0.3], [0.2], [-0.2], [0.01], [0.0]]),
        directions=np.array([1, 1, -1, 1, -1, 0, 0], dtype=np.int8),
        ties=np.array([np.nan, 0.35, -0.2, 0.01, -0.01, np.nan, np.nan]),
        selected=np.array([True, True, True, False, False, False, False]),
        weights=np.array([8.0, 0.5, -0.9, 0.0, 0.0, 0.0, 0.0]),
    )
    return describe_features(facts, model).set_index("feature")


def test_every_feature_has_its_reason(table):
    assert table["reason"].to_dict() == {
        "code": "anchor: 10 times as frequent among cases",
        "for": "positively correlated with every anchor (0.40), coupling to the truth 0.35",
        "against": "negatively correlated with every anchor (-0.30), coupling to the truth -0.20",
        "copy": "positively correlated with every anchor (0.20), but explained by other features",
        "shade": "negatively correlated with every anchor (-0.20), but explained by other features",
        "idle": "not correlated with every anchor (0.01)",
        "never": "constant: the same count for every patient",
    }


def test_the_strongest_stand_first_and_the_unused_have_no_direction(table):
    assert table.index.tolist()[:3] == ["code", "against", "for"]
    assert table["direction"].tolist() == [1, -1, 1, 0, 0, 0, 0]
