import numpy as np
import pandas as pd
import pytest

from unelisa.ehr.charts import FEWEST_OF_STRATUM, STRATA, draw_charts, read_reviewed
from unelisa.errors import VotesError, VotesWarning

PATIENTS = np.array(["p1", "p2", "p3", "p4"])


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ({"p2": 1, "p3": 0}, (0, 1)),
        (pd.Series([1, -1], index=["p2", "p3"]), (-1, 1)),
        ([None, True, False, None], (False, True)),
        (np.array([np.nan, 1, 0, np.nan]), (0, 1)),
        ([None, "yes", "no", None], ("no", "yes")),
    ],
)
def test_every_way_to_name_reviewed_charts(y, classes):
    charts = read_reviewed(y, PATIENTS)
    assert charts.signs.tolist() == [0, 1, -1, 0]
    assert charts.classes == classes


def test_nothing_reviewed_or_other_labels():
    charts = read_reviewed(None, PATIENTS)
    assert not charts.signs.any()
    assert charts.classes == (0, 1)
    read_reviewed([None, 0, 1, None], PATIENTS).check_side(np.array([0, 9, 1, 0]))
    read_reviewed(None, PATIENTS).check_side(np.zeros(4))
    with pytest.raises(VotesError, match="both -1 and 0"):
        read_reviewed([-1, 0, 1, None], PATIENTS)
    with pytest.raises(VotesError, match=r"none of the 1 patients named in the reviewed charts"):
        read_reviewed({"p9": 1}, PATIENTS)
    with pytest.raises(VotesError, match="contain no label"):
        read_reviewed([None] * len(PATIENTS), PATIENTS)
    with pytest.warns(VotesWarning, match="1 of the 2 patients named in the reviewed charts"):
        assert read_reviewed({"p9": 1, "p2": 1}, PATIENTS).signs.tolist() == [0, 1, 0, 0]
    with pytest.raises(VotesError, match=r"each of the 4 patients, found shape \(2,\)"):
        read_reviewed([1, 0], PATIENTS)


@pytest.mark.parametrize(
    ("label", "sign", "classes"),
    [(0, -1, (0, 1)), (1, 1, (0, 1)), (-1, -1, (-1, 1)), (False, -1, (False, True))],
)
def test_few_charts_may_all_say_the_same(label, sign, classes):
    charts = read_reviewed([None, label, label, None], PATIENTS)
    assert charts.signs.tolist() == [0, sign, sign, 0]
    assert charts.classes == classes


@pytest.mark.parametrize(
    ("labels", "case"), [(("no", "yes"), "yes"), (("case", "control"), "case"), ((1, 2), 1)]
)
def test_the_case_has_more_anchors_or_the_labels_are_refused(labels, case):
    charts = read_reviewed([None, *labels, None], PATIENTS)
    anchors = np.array([3, *(9 if label == case else 1 for label in labels), 0])
    if case == labels[1]:
        charts.check_side(anchors)
    else:
        with pytest.raises(VotesError, match="label the charts 0 and 1, 1 for a case"):
            charts.check_side(anchors)


def test_charts_are_drawn_in_every_stratum_with_their_weights():
    rng = np.random.default_rng(0)
    chances = rng.beta(0.1, 0.5, 5000)
    sample = draw_charts(chances, 150, rng)
    strata = np.digitize(chances, STRATA)
    drawn = np.bincount(strata[sample.rows], minlength=len(STRATA) + 1)
    assert (drawn >= FEWEST_OF_STRATUM).all()
    assert len(np.unique(sample.rows)) == len(sample.rows)
    shares = drawn / np.bincount(strata)
    assert sample.drawn == pytest.approx(shares[strata[sample.rows]])
    assert (1 / sample.drawn).sum() == pytest.approx(5000)  # each stands for its share
    chances = np.r_[np.full(100, 0.001), 0.5, 0.6]
    sample = draw_charts(chances, 10, np.random.default_rng(0))
    assert {100, 101} <= set(sample.rows)
    assert sample.drawn[-2:].tolist() == [1, 1]
    frame = pd.DataFrame({"label": [1, 0], "drawn": [0.5, 0.1]}, index=["p2", "p3"])
    charts = read_reviewed(frame, PATIENTS)
    assert charts.signs.tolist() == [0, 1, -1, 0]
    assert charts.weights[1:3] == pytest.approx([2, 10])
    with pytest.raises(VotesError, match="above 0 and at most 1"):
        read_reviewed(frame.assign(drawn=["x", "y"]), PATIENTS)


@pytest.mark.parametrize("n", [1, 10, 50, 53, 400])
@pytest.mark.parametrize("shape", [0.02, 0.3, 30.0])
@pytest.mark.parametrize("patients", [40, 20_000])
def test_at_least_fifteen_of_fifty_charts_are_of_flagged_patients(n, shape, patients):
    rng = np.random.default_rng(0)
    chances = rng.beta(shape, 1, patients)
    sample = draw_charts(chances, n, rng)
    assert len(np.unique(sample.rows)) == len(sample.rows) == min(n, patients)
    flagged = (chances >= 0.5).sum()
    assert (chances[sample.rows] >= 0.5).sum() >= min(0.3 * n, flagged)
