import numpy as np
import pandas as pd
import pytest

from phenotyping.conftest import ANCHORS
from unelisa.errors import ConvergenceWarning, ModelError, UnelisaWarning, VotesError
from unelisa.phenotyping.anchors import AnchorModel, CaseOdds, ClassCounts
from unelisa.phenotyping.cautions import warn_of_anchors
from unelisa.phenotyping.phenotyper import Phenotyper


def test_a_truth_that_follows_utilization_is_warned_of():
    rng = np.random.default_rng(0)
    use = np.exp(rng.normal(3, 1, 3000))
    counts = pd.DataFrame({f"f{j}": rng.poisson(0.5 * use) for j in range(30)})
    for name in ANCHORS:
        counts[name] = rng.poisson(0.3 * use)
    with pytest.warns(UnelisaWarning, match="follows the sum of all other counts .* more than"):
        Phenotyper(ANCHORS, random_state=0).fit(counts)


@pytest.mark.parametrize(
    ("settings", "error", "told"),
    [
        (
            {"anchors": ["ICD:714.0", "NLP:gout"]},
            VotesError,
            "no feature 'NLP:gout'.*an anchor",
        ),
        ({"anchors": []}, ModelError, "at least one feature"),
        ({"anchors": ["ICD:714.0"] * 2}, ModelError, "each feature only once"),
        ({"anchors": "ICD:714.0"}, ModelError, "a list of feature names"),
        (
            {"anchors": ANCHORS, "prevalence": 1.5},
            ModelError,
            "strictly between 0 and 1, found 1.5",
        ),
        (
            {"anchors": ANCHORS, "utilization": "visits"},
            VotesError,
            "no utilization column",
        ),
    ],
)
def test_bad_settings_are_refused_in_one_sentence(datamart, settings, error, told):
    with pytest.raises(error, match=told) as caught:
        Phenotyper(**{"utilization": "note_count", **settings}).fit(datamart.counts[:100])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda frame: frame.assign(**{ANCHORS[0]: 0}), "the anchor 'ICD:714.0' never occurs"),
        (lambda frame: frame.assign(**{ANCHORS[0]: 2}), "the same count for every patient"),
        (lambda frame: frame - 1, "has a negative count in data row"),
        (lambda frame: pd.concat([frame, frame[:1]]), "data row 1 appears more than once"),
        (lambda frame: frame.assign(sex="f"), "column 'sex' holds String, not counts"),
        (lambda frame: frame[:5], "5 patients; at least 20"),
    ],
)
def test_bad_counts_are_refused_in_one_sentence(datamart, change, told):
    with pytest.raises(VotesError, match=told) as caught:
        Phenotyper(ANCHORS, "note_count").fit(change(datamart.counts[:200]))
    assert "\n" not in str(caught.value)


def test_anchors_that_contradict_each_other_and_em_without_convergence_are_warned_of():
    rising, falling = (ClassCounts(np.log(m), 0.5, np.ones(2)) for m in ([0.5, 5], [5, 0.5]))
    model = AnchorModel(0.2, CaseOdds(-1.4, 0.0), (rising, falling), 3.0, 300, False)
    with (
        pytest.warns(UnelisaWarning, match="the anchor 'b' is not more frequent among cases"),
        pytest.warns(ConvergenceWarning, match="iteration limit"),
    ):
        warn_of_anchors(model, np.array(["a", "b"], dtype=object))
