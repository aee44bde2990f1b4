import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer

from ehr.conftest import ANCHORS
from unelisa.analysis.scoring import calibration_error, score_labels
from unelisa.ehr.phenotyper import Phenotyper
from unelisa.errors import UnelisaWarning, VotesError


def chances_of(model, counts):
    return model.predict_proba(counts)[:, 1]


def test_the_disease_is_found_without_labels_by_its_core_concepts(model, datamart):
    chances = chances_of(model, datamart.counts)
    found = score_labels(datamart.truth.to_numpy(), chances - 0.5, chances)
    assert found.auc > 0.91
    assert found.f_score > 0.93
    assert calibration_error(datamart.truth.to_numpy(), chances) < 0.08
    table = model.features_.set_index("feature")
    chosen = datamart.roles[table.index[table["selected"]]].value_counts()
    assert chosen["core"] >= 10
    assert chosen["anchor"] == 2
    assert chosen.get("irrelevant", 0) <= 2
    assert table.loc["ICD:714.0", "reason"].startswith("anchor: ")
    assert table.loc["NLP:synovitis", "reason"].startswith("positively correlated with every")
    assert table.loc["NLP:influenza", "reason"].startswith("not correlated with every")
    assert (np.sign(table["weight"]) == table["direction"]).all()
    assert (table["direction"] != 0).equals(table["selected"])
    truth = datamart.truth.to_numpy()
    places = [datamart.counts.columns.get_loc(name) for name in ANCHORS]
    counts = datamart.counts.to_numpy()[:, places].astype(np.float32)
    alone = model.anchor_model_.log_odds(counts, np.log1p(datamart.counts["note_count"].to_numpy()))
    both = model.decision_function(datamart.counts)
    assert score_labels(truth, both).auc > score_labels(truth, alone).auc + 0.01


def test_small_probabilities_allow_for_cases_whom_the_anchors_do_not_show(model, datamart):
    chances, case = chances_of(model, datamart.counts), datamart.truth.to_numpy() > 0
    shown = model._judges.chances[0]
    low, was_low = ((p >= 0.01) & (p < 0.05) for p in (chances, shown))
    assert 0.5 < case[low].mean() / chances[low].mean() < 2
    assert case[was_low].mean() / shown[was_low].mean() > 3
    assert model.prevalence_ < case.mean()
    order = np.argsort(shown, kind="stable")
    assert (np.diff(chances[order]) >= -1e-12).all()


def test_polars_gives_the_same_and_words_that_put_the_case_first_are_refused(model, datamart):
    frame = pl.from_pandas(datamart.counts.reset_index())
    other = clone(model).fit(frame)
    assert other.features_.equals(model.features_)  # and the same seed gives the same answer
    assert chances_of(other, frame).tolist() == chances_of(model, datamart.counts).tolist()
    words = datamart.truth.map({1: "case", -1: "control"})
    with pytest.raises(VotesError, match="label the charts 0 and 1"):
        Phenotyper(ANCHORS, "note_count").fit(datamart.counts, words[datamart.reviewed])


def test_new_patients_are_judged_as_the_fitted_ones_if_they_have_all_features(model, datamart):
    some = datamart.counts.sample(50, random_state=0)
    shuffled = some[some.columns[::-1]]
    everybody = pd.Series(chances_of(model, datamart.counts), datamart.counts.index)
    assert chances_of(model, shuffled) == pytest.approx(everybody[some.index].to_numpy())
    assert set(model.predict(some)) <= {0, 1}
    with pytest.raises(VotesError, match="no feature 'NLP:cough', needed as an input of the model"):
        model.predict(datamart.counts.drop(columns="NLP:cough"))


def test_a_rare_disease_with_a_prevalence_of_the_right_order(datamart):
    rng = np.random.default_rng(0)
    truth = datamart.truth.to_numpy()
    rows = np.concatenate(
        [rng.choice(np.flatnonzero(truth == s), n, replace=False) for s, n in ((1, 60), (-1, 1940))]
    )
    cohort, cases = datamart.counts.iloc[rows], truth[rows] > 0
    model = Phenotyper(ANCHORS, "note_count", prevalence=0.05, random_state=0).fit(cohort)
    assert 0.02 < model.prevalence_ < 0.045
    flagged = model.predict(cohort) == 1
    assert model.ppv_.basis == "the model"
    assert model.ppv_.low < model.ppv_.value < model.ppv_.high
    # reviewed charts tell the share of true cases as it is
    charts = pd.Series(cases, cohort.index)[flagged | (rng.random(2000) < 0.05)]
    reviewed = clone(model).fit(cohort, charts)
    assert reviewed.ppv_.basis.endswith("reviewed charts")
    true = cases[reviewed.predict(cohort)].mean()
    assert reviewed.ppv_.low <= true <= reviewed.ppv_.high
    assert 0.02 < reviewed.prevalence_ < 0.045


def test_reviewed_charts_give_their_labels_and_move_the_prevalence(model, datamart):
    words = datamart.truth.map({1: "yes", -1: "no"})
    taught = clone(model).fit(datamart.counts, words[datamart.reviewed])
    assert taught.classes_.tolist() == ["no", "yes"]
    true = (datamart.truth > 0).mean()
    assert abs(taught.prevalence_ - true) < abs(model.prevalence_ - true)


def test_the_ppv_and_the_score_are_estimated_for_any_patients(model, datamart):
    assert model.expect_ppv(datamart.counts) == model.ppv_
    some = datamart.counts.iloc[:3000]
    chances = chances_of(model, some)
    found = model.expect_ppv(some)
    assert found.value == pytest.approx(chances[chances >= 0.5].mean())
    assert found.low < found.value < found.high
    truth, chances = datamart.truth, chances_of(model, datamart.counts)
    right = (chances >= 0.5) == (truth.to_numpy() > 0)
    assert model.score(datamart.counts, truth) == pytest.approx(right.mean())
    some = truth.iloc[:50]
    assert model.score(datamart.counts, some) == pytest.approx(right[:50].mean())


def test_breast_cancer_from_two_anchors():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    counts = (X / X.mean() * 10).round()
    anchors = ["mean concave points", "worst area"]
    with pytest.warns(UnelisaWarning, match="name the utilization"):  # size is in all of them
        model = Phenotyper(anchors, random_state=0).fit(counts)
    found = score_labels(np.where(y == 0, 1, -1).astype(np.int8), model.decision_function(counts))
    assert found.auc > 0.95
    assert found.accuracy > 0.88


def test_a_fit_that_is_interrupted_leaves_the_model_as_it_was(model, datamart, monkeypatch):
    twin = clone(model).fit(datamart.counts)
    held = dict(vars(twin))

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("unelisa.ehr.phenotyper.list_doubts", interrupt)
    with pytest.raises(KeyboardInterrupt):
        twin.fit(datamart.counts.iloc[:500])
    assert vars(twin) == held


@pytest.mark.shared
def test_phecap(shared_data):
    folder = shared_data / "ehr_phecap"
    counts = pd.read_csv(folder / "features.csv.gz")
    labels = pd.read_csv(folder / "truth.csv", index_col="patient")["label"]
    model = Phenotyper(["main_ICD", "main_NLP"], "healthcare_utilization", random_state=0)
    odds = pd.Series(model.fit(counts).decision_function(counts), counts["patient"])[labels.index]
    found = score_labels(labels.to_numpy().astype(np.int8), odds.to_numpy())
    assert found.auc > 0.9
    assert found.accuracy > 0.85
