import numpy as np
import pandas as pd
import pytest

import unelisa as ue
from unelisa.ehr.cautions import LOW_PPV
from unelisa.ehr.charts import draw_charts, read_reviewed
from unelisa.ehr.phenotype import Judges
from unelisa.ehr.rules.evaluation import (
    QUANTITIES,
    correct_figures,
    estimate_figures,
    evaluate_rules,
    measure,
)
from unelisa.errors import ModelError, ReliabilityWarning, VotesError

ANCHORS = ["ICD:714.0", "NLP:rheumatoid arthritis"]
RULES = {
    "one code": "ICD:714.0",
    "two codes": "ICD:714.0 >= 2",
    "code and drug": "ICD:714.0 and NLP:methotrexate",
}


@pytest.fixture(scope="module")
def drawn():
    return ue.simulate_ehr(6000, random_state=2)


@pytest.fixture(scope="module")
def model(drawn):
    return ue.Phenotyper(ANCHORS, "note_count", random_state=0).fit(drawn.counts)


@pytest.fixture(scope="module")
def flags(drawn):
    code = drawn.counts["ICD:714.0"]
    drug = drawn.counts["NLP:methotrexate"] > 0
    columns = {"one code": code >= 1, "two codes": code >= 2, "code and drug": (code >= 1) & drug}
    return pd.DataFrame(columns)


@pytest.fixture(scope="module")
def truth(drawn, flags):
    case = drawn.truth.to_numpy() > 0
    return measure(case[None].astype(float), flags.to_numpy())[0]


def pick(found, ending=""):
    return found[[name + ending for name in QUANTITIES]].to_numpy().T


def test_figures_are_those_of_a_confusion_table_by_name(model, flags):
    case = np.array([1, 1, 1, 0, 0, 0, 0, 0], dtype=float)
    said = np.array([[1, 1, 0, 1, 0, 0, 0, 0]], dtype=bool).T
    assert np.allclose(measure(case[None], said)[0, :, 0], [2 / 3, 4 / 5, 2 / 3, 4 / 5])
    shuffled = flags.sample(frac=1, random_state=0)
    pd.testing.assert_frame_equal(evaluate_rules(flags, model), evaluate_rules(shuffled, model))


def test_definitions_and_tables_of_flags_agree_and_intervals_hold(drawn, model, flags, truth):
    found = evaluate_rules(flags, model)
    assert found["rule"].tolist() == list(RULES)
    assert list(found)[:4] == ["rule", "sensitivity", "sensitivity_low", "sensitivity_high"]
    value, low, high = (pick(found, ending) for ending in ("", "_low", "_high"))
    told = np.isfinite(value)
    assert told.mean() > 0.7
    assert (np.abs(value - truth)[told] < 0.15).all()
    assert ((low <= truth) & (truth <= high))[told].all()
    again = evaluate_rules(RULES, drawn.counts, anchors=ANCHORS, utilization="note_count")
    pd.testing.assert_frame_equal(found, again)


def test_charts_correct_a_judge_that_is_wrong():
    rng = np.random.default_rng(0)
    case = rng.random(4000) < 0.3
    flags = (rng.random(4000) < np.where(case, 0.7, 0.2))[:, None]
    wrong = Judges(np.arange(4000), np.full((6, 4000), 0.9))
    charts = {int(i): int(case[i]) for i in rng.choice(4000, 400, replace=False)}
    truth = measure(case[None].astype(float), flags)[0]
    before = estimate_figures(wrong, flags, 0.95)
    assert (np.abs(before.value - truth) > 0.2).sum() >= 2
    nothing = np.full(truth.shape, "for a reason", dtype=object)
    reviewed = read_reviewed(charts, wrong.patients)
    after, reasons = correct_figures(before, nothing, wrong, flags, reviewed, 0.95)
    assert ((after.low <= truth) & (truth <= after.high)).all()
    assert (np.abs(after.value - truth) < 0.1).all()
    assert not reasons.any()


def test_charts_drawn_in_strata_are_weighted(drawn, model, flags, truth):
    chances = model.predict_proba(drawn.counts)[:, 1]
    sample = draw_charts(chances, 300, np.random.default_rng(1))
    labels = (drawn.truth.to_numpy()[sample.rows] > 0).astype(int)
    index = drawn.counts.index[sample.rows]
    charts = pd.DataFrame({"label": labels, "drawn": sample.drawn}, index=index)
    found = evaluate_rules(flags, model, charts)
    assert (found["reason"] == "").all()
    assert ((pick(found, "_low") <= truth) & (truth <= pick(found, "_high"))).all()
    # without the shares they would stand for themselves only: cases are over-represented
    unweighted = evaluate_rules(flags, model, charts["label"])
    off = np.abs(pick(unweighted) - truth).mean()
    assert np.abs(pick(found) - truth).mean() < off


def test_labels_of_low_ppv_and_rules_of_nobody_leave_the_others_judged(model, flags):
    doubtful = ue.Phenotyper(ANCHORS)
    why = f"{LOW_PPV}: the anchors may share an error"
    doubtful.__dict__ = {**model.__dict__, "reliable_": False, "reliability_reason_": why}
    pd.testing.assert_frame_equal(evaluate_rules(flags, doubtful), evaluate_rules(flags, model))
    nobody = flags[["two codes"]].assign(nobody=False)
    with pytest.warns(ReliabilityWarning, match="the rule flags nobody"):
        found = evaluate_rules(nobody, model).set_index("rule")
    assert np.isnan(found.loc["nobody", "ppv"])
    assert found.loc["nobody", "specificity"] == 1
    doubtful = ue.Phenotyper(ANCHORS)
    doubtful.__dict__ = {**model.__dict__, "reliable_": False}
    with pytest.warns(ReliabilityWarning, match="not all quantities of the rules one code"):
        found = evaluate_rules(flags, doubtful)
    assert found[list(QUANTITIES)].isna().all(axis=None)
    assert found["reason"].str.contains("the phenotyper is not reliable").all()


def test_a_model_file_keeps_nothing_of_the_patients(model, flags, tmp_path):
    file = tmp_path / "model.npz"
    ue.save(model, file)
    reloaded = ue.load(file, ue.Phenotyper)
    assert "_judges" not in model.__getstate__()
    assert "_judges" not in vars(reloaded)
    with pytest.raises(ModelError, match="which has no patients"):
        evaluate_rules(flags, reloaded)


def test_what_is_missing_is_said(drawn, model, flags):
    with pytest.raises(ModelError, match="counts alone do not define a disease"):
        evaluate_rules(flags, drawn.counts)
    with pytest.raises(ModelError, match="definitions need counts"):
        evaluate_rules(RULES, model)
    with pytest.raises(ModelError, match="there are no rules"):
        evaluate_rules({}, model)
    with pytest.raises(VotesError, match="lack 10 of the 6000 patients"):
        evaluate_rules(flags.iloc[10:], model)
    with pytest.raises(VotesError, match="has values besides 0 and 1"):
        evaluate_rules(flags.astype(int) * 2, model)
    with pytest.raises(ModelError, match="level must lie between"):
        evaluate_rules(flags, model, level=95)
