from collections import Counter

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from unelisa.ehr import datamart as simulated
from unelisa.ehr.datamart import FEATURES, simulate_ehr
from unelisa.errors import ModelError


@pytest.fixture(scope="module")
def drawn():
    return simulate_ehr(8000, random_state=11)


def test_the_paper_s_dimensions_from_a_seed(drawn):
    assert (simulated.PATIENTS, simulated.REVIEWED, simulated.REVIEWED_CASES) == (46568, 435, 98)
    assert drawn.counts.shape == (8000, 143)
    assert set(drawn.counts.dtypes) == {np.dtype(np.int32)}
    assert len(drawn.reviewed) == 435
    assert (drawn.truth[drawn.reviewed] > 0).sum() == 98
    assert abs((drawn.truth > 0).mean() - 0.225) < 0.02
    first, again, other = (simulate_ehr(50, random_state=seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first.counts, again.counts)
    assert not first.counts.equals(other.counts)
    with pytest.raises(ModelError, match="at least 20"):
        simulate_ehr(19)


def test_everybody_has_a_record_and_no_more_than_days_of_care(drawn):
    coded = drawn.counts.filter(like="ICD:").sum(axis=1) > 0
    assert (coded | drawn.tested).all()
    assert 0 < (~coded).mean() < 0.25
    notes = drawn.counts["note_count"]
    assert (drawn.counts.filter(like="NLP:").max(axis=1) <= notes).all()
    assert (drawn.counts.filter(like="ICD:").max(axis=1) <= drawn.visits).all()
    assert (drawn.visits >= notes).all()
    names = drawn.roles.index[drawn.roles == "irrelevant"]
    logs = np.log1p(drawn.counts[[*names, "note_count"]])
    assert logs.corr()["note_count"][names].mean() > 0.35


def test_it_is_as_hard_as_it_should_be(drawn):
    def auc(name):
        return roc_auc_score(drawn.truth, drawn.counts[name])

    by_role = {
        role: np.median([auc(name) for name in drawn.roles.index[drawn.roles == role]])
        for role in ("core", "weak", "irrelevant")
    }
    assert 0.75 < auc("ICD:714.0") < 0.87  # rule-out codes, mimics, cases treated elsewhere
    assert 0.80 < auc("NLP:rheumatoid arthritis") < 0.92
    assert by_role["core"] > 0.6 > by_role["weak"] > by_role["irrelevant"]
    assert by_role["irrelevant"] < 0.53


def test_the_paper_s_features():
    roles = Counter(feature.role for feature in FEATURES)
    assert roles == {"anchor": 2, "code": 8, "core": 11, "weak": 26, "irrelevant": 95}
    assert len({feature.name for feature in FEATURES}) == 142
    assert sum(feature.name.startswith("ICD:714.") for feature in FEATURES) == 9
    named = {feature.name: feature.role for feature in FEATURES}
    for name in ("morning stiffness", "c-reactive protein", "immunosuppressive agents"):
        assert named[f"NLP:{name}"] == "core"
    for name in ("chest pain", "diarrhea", "influenza"):
        assert named[f"NLP:{name}"] == "irrelevant"
    # every topic ties more concepts together than the disease
    tied = Counter(feature.topic for feature in FEATURES if feature.loading)
    assert len(tied) == simulated.N_TOPICS
    assert min(tied.values()) > len(simulated.CORE)
