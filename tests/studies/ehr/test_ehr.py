"""Table 5.4: sets, voters, rules, splits, rare cohorts, tables and the page."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer

from studies.drawing import drawing
from studies.ehr.baselines import BASELINES, DROPOUT, _poisson_mixture, _two_normals, score_rule
from studies.ehr.rare import Help, judge_cohort
from studies.ehr.sets import phecap_set, rare_cohort
from studies.ehr.splits import (
    AGGREGATED,
    FIGURES,
    MANY_UNELISA,
    NONE,
    OURS,
    PAPER,
    PENLOG,
    TRAIN,
    UNELISA,
    count_roles,
    describe_set,
    draw_split,
    prepare,
    run_split,
    screen_voters,
)
from studies.ehr.tables import BOXES, TITLES, collect_ehr, draw_splits, summarize_splits
from studies.ehr.voters import two_means, votes_from_percentiles
from unelisa.aggregators import DawidSkene
from unelisa.analysis.scoring import score_labels
from unelisa.ehr.counts import read_counts
from unelisa.errors import UnelisaWarning
from unelisa.votes import Votes


@pytest.mark.shared
def test_phecap_is_read(shared_data):
    data = phecap_set(shared_data / "ehr_phecap")
    assert data.counts.values.shape == (10_000, 586)
    assert len(data.signs) == 181
    assert (data.signs > 0).sum() == 119


def test_the_papers_voters_of_the_breast_cancer_measurements():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    made = votes_from_percentiles(read_counts(X))
    assert made.votes.shape == (569, 300)  # 30 measurements, nine percentiles and k-means
    assert np.bincount(made.features).tolist() == [10] * 30
    first = made.votes.values[:, :9]
    shares = (first > 0).mean(axis=0)
    assert shares == pytest.approx(np.arange(0.9, 0, -0.1), abs=0.01)
    assert (np.diff(first.astype(int), axis=1) <= 0).all()  # nested: a higher cut says yes less
    # malignant tumours (label 0) measure more
    malignant = DawidSkene().fit_predict(made.votes) == 1
    assert np.mean(malignant == (y.to_numpy() == 0)) > 0.85


def test_k_means_percentiles_and_rules_cut_alike():
    rng = np.random.default_rng(0)
    column = np.concatenate([rng.poisson(2, 300), rng.poisson(30, 100)]).astype(np.float32)
    reference = KMeans(2, n_init=10, random_state=0).fit(column[:, None])
    upper = reference.labels_ == np.argmax(reference.cluster_centers_[:, 0])
    assert ((column > two_means(column)) == upper).all()
    assert two_means(np.full(3, 4, dtype=np.float32)) == 4
    frame = pd.DataFrame({"rare": [0] * 95 + [7] * 5, "never": [0] * 100})
    made = votes_from_percentiles(read_counts(frame))
    assert made.votes.voters.tolist() == ["rare > 0", "rare > 3.5 (k-means)"]
    assert made.features.tolist() == [0, 0]
    plain = votes_from_percentiles(read_counts(frame), k_means=False)
    assert plain.votes.voters.tolist() == ["rare > 0"]
    table = read_counts(pd.DataFrame({"a": [0, 0, 1, 50, 80]}))
    assert (score_rule(table, np.array([0])) > 0).tolist() == [False, False, False, True, True]


def test_baselines_find_the_disease(datamart):
    for name, baseline in BASELINES.items():
        scores = baseline(datamart.counts, datamart.anchor_places)
        assert score_labels(datamart.truth, scores).auc > 0.75, name
        assert 0.02 < (scores >= 0).mean() < 0.5, name


def test_mixtures_are_told_apart_with_utilization_taken_out():
    rng = np.random.default_rng(0)
    case, use = rng.random(20_000) < 0.3, rng.normal(0, 1, 20_000)
    values = 3.0 * case + 0.8 * use + rng.normal(0, 1, 20_000)
    found = _two_normals(values, use)
    assert found.share == pytest.approx(0.3, abs=0.02)
    assert found.means == pytest.approx((0, 3), abs=0.1)
    assert found.spread == pytest.approx(1, abs=0.05)
    bayes = expit(np.log(0.3 / 0.7) + 3 * (values - 0.8 * use - 1.5))
    assert np.abs(found.chances - bayes).mean() < 0.01
    ordered = np.sort(values - 0.8 * use)
    flat = np.zeros(20_000)
    assert _two_normals(ordered, flat).distance(ordered) < 1e-4
    rng = np.random.default_rng(1)
    case, use = rng.random(10_000) < 0.25, rng.normal(0, 1, 10_000)
    counts = rng.poisson(np.where(case, 8.0, 1.0) * np.exp(0.5 * use)).astype(float)
    found = _poisson_mixture(counts, use)
    assert ((found > 0.5) == case).mean() > 0.94
    assert found.mean() == pytest.approx(0.25, abs=0.03)


def test_the_dropout_regression_is_what_hiding_values_gives():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 3)) @ np.array([[1, 0.6, 0], [0, 1, 0.3], [0, 0, 1]])
    X -= X.mean(axis=0)
    z = X @ [1.0, -0.5, 0.2] + rng.normal(size=400)
    gram = X.T @ X
    exact = np.linalg.solve((1 - DROPOUT) * gram + DROPOUT * np.diag(np.diag(gram)), X.T @ z)
    many = np.tile(X, (500, 1))
    hidden = many * (rng.random(many.shape) >= DROPOUT)
    sampled = np.linalg.lstsq(hidden, np.tile(z, 500), rcond=None)[0]
    assert exact == pytest.approx(sampled, abs=0.03)


@pytest.fixture(scope="module")
def made(datamart):
    return prepare(datamart)


def test_splits_are_the_papers_and_voters_screened_on_training_charts():
    signs = np.array([1] * 98 + [-1] * 337, dtype=np.int8)
    splits = [draw_split(signs, number) for number in range(5)]
    for train, test in splits:
        assert np.sort(np.concatenate([train, test])).tolist() == list(range(435))
        assert (signs[train] > 0).sum() == 46
    assert splits[0].train.tolist() != splits[1].train.tolist()
    assert splits[2].train.tolist() == draw_split(signs, 2).train.tolist()
    truth = np.array([1] * 10 + [-1] * 10, dtype=np.int8)
    perfect, useless = truth, np.tile([1, -1], 10)
    fair = truth.copy()
    fair[[0, 1, 2, 10, 11, 12]] *= -1  # right on 7 of 10 in both classes
    votes = Votes.of(np.column_stack([perfect, useless, fair]).astype(np.int8))
    everybody = np.arange(20)
    assert screen_voters(votes, truth, everybody).tolist() == [2]
    none_fits = votes.take_voters([0, 1])
    assert screen_voters(none_fits, truth, everybody).tolist() == [0, 1]
    rng = np.random.default_rng(0)
    truth = rng.choice(np.array([-1, 1], dtype=np.int8), 100)
    values = np.where(rng.random((100, 40)) < 0.6, truth[:, None], -truth[:, None])
    votes, judges = Votes.of(values.astype(np.int8)), np.arange(50)
    first = screen_voters(votes, truth, judges)
    truth[50:] *= -1
    assert screen_voters(votes, truth, judges).tolist() == first.tolist()


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_every_method_is_scored_under_its_protocol(datamart, made):
    rows = list(run_split(datamart, made, 0))
    ways = [(row["protocol"], row["method"]) for row in rows]
    assert ways == [
        *((PAPER, name) for name in (*AGGREGATED, MANY_UNELISA, "penLog")),
        *((TRAIN, name) for name in (*AGGREGATED, "penLog", "penLog, counts")),
        *((NONE, name) for name in (OURS, *BASELINES)),
    ]
    assert {"unElisa", "majority vote", "Dawid-Skene", "LatentIsing"} < set(AGGREGATED)
    assert all(row["figures"]["auc"] > 0.6 for row in rows)
    ours = next(row["figures"] for row in rows if row["method"] == OURS)
    assert ours["auc"] > 0.85
    ppv, npv = ours["ppv"], ours["npv"]
    assert ours["f_score"] == pytest.approx(2 * ppv * npv / (ppv + npv), abs=1e-4)
    assert set(ours) == set(FIGURES)


def test_what_is_selected_is_named(datamart, made):
    facts = describe_set(datamart, made)
    assert set(datamart.anchors) <= set(facts["selected"][OURS])
    assert facts["roles"][OURS]["core"] >= 8
    assert facts["roles"][OURS]["irrelevant"] <= 2
    assert set(facts["selected"][PAPER]) <= set(datamart.counts.features)
    assert facts["cases"] == 98
    assert facts["everybody"]["auc"] > 0.9
    assert count_roles(datamart, ["NLP:cough", "unheard of"])["irrelevant"] == 1


def test_rare_cohorts_are_judged_by_prevalence_or_charts(datamart):
    cohort = rare_cohort(datamart, 0, 2000, 0.03)
    with pytest.warns(UnelisaWarning, match="may be cases; review charts$"):
        row = judge_cohort(cohort, 0, Help(0.03, 0))
    assert 1 / 1.5 < row["prevalence"] / row["true_prevalence"] < 1.5
    assert row["ppv"][1] <= row["true_ppv"] <= row["ppv"][2]
    assert row["auc"] > 0.8
    cohort = rare_cohort(datamart, 0, 1000, 0.03)
    with pytest.warns(UnelisaWarning, match="or state the prevalence$"):
        plain = judge_cohort(cohort, 0, Help(None, 0))
    taught = judge_cohort(cohort, 0, Help(None, 300))
    assert taught["charts"] == 300
    error = abs(taught["prevalence"] - 0.03), abs(plain["prevalence"] - 0.03)
    assert error[0] < max(error[1], 0.01)


def test_cohorts_are_counted_and_means_are_of_defined_figures(rare, splits):
    assert [row["cohorts"] for row in rare] == [2] * len(rare)
    assert rare[0]["within"] == 1
    assert rare[0]["covered"] == 1
    assert rare[0]["prevalence"] == [0.04, 0.03, 0.05]
    found = {row["method"]: row for row in summarize_splits(splits)}
    assert found[OURS]["figures"]["auc"] == [0.91, 0.0141]  # .02 / sqrt 2
    assert found[OURS]["splits"] == 2
    assert [row["method"] for row in summarize_splits(splits)] == [UNELISA, PENLOG, OURS]
    assert [row["protocol"] for row in summarize_splits(splits)] == [PAPER, PAPER, NONE]
    splits[-1]["figures"]["ppv"] = None
    assert summarize_splits(splits)[-1]["figures"]["ppv"] == [0.9, 0.0]
    splits[2]["figures"]["ppv"] = None
    figures = summarize_splits(splits)[-1]["figures"]
    assert figures.keys() == set(FIGURES) - {"ppv"}


def test_a_folder_is_collected_with_its_sets_by_name_and_their_last_word(splits, tmp_path):
    facts = [{"set": "ra-8", "cases": 1}, {"set": "ra-7", "cases": 2}, {"set": "ra-8", "cases": 3}]
    _write(tmp_path / "ehr_sets.jsonl", facts)
    _write(tmp_path / "ehr.jsonl", [{"rows": splits[:3]}, {"rows": splits[3:]}])
    found = collect_ehr(tmp_path)
    assert found["rare"] == []
    assert found["sets"] == [{"set": "ra-7", "cases": 2}, {"set": "ra-8", "cases": 3}]
    assert found["methods"] == summarize_splits(splits)


def _write(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def diamonds(axes):
    return [
        (line.get_xdata()[0], line.get_ydata()[0])
        for line in axes.lines
        if line.get_marker() == "D"
    ]


def test_figure_5_1_has_boxes_and_the_published_means(splits):
    for row in splits:
        if row["protocol"] == NONE:
            row["figures"]["ppv"] = None
    with drawing():
        figure = draw_splits(splits, "ra-7")
    assert [axes.get_title() for axes in figure.axes] == [TITLES[key] for key in FIGURES]
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == [label for label, _ in BOXES.values()]
    counts = [2 if key == "ppv" else 3 for key in FIGURES]  # undefined: no box
    assert [len(axes.patches) for axes in figure.axes] == counts
    boxes = {
        round(box.get_path().vertices[:, 1].mean()): box.get_path().vertices[:, 0]
        for box in figure.axes[0].patches
    }
    assert set(boxes) == {5, 4, 0}
    # the central half of .90 and .92
    assert (boxes[0].min(), boxes[0].max()) == pytest.approx((0.905, 0.915))
    other = [{**row, "set": "ehr_phecap"} for row in splits if row["method"] == OURS]
    with drawing():
        ours, others = (draw_splits([*splits, *other], name) for name in ("ra-7", "ehr_phecap"))
    assert diamonds(ours.axes[0]) == [(0.904, 5), (0.907, 4)]
    assert diamonds(ours.axes[FIGURES.index("accuracy")]) == []  # the paper has none
    assert len(others.axes[0].patches) == 1
    assert not any(diamonds(axes) for axes in others.axes)
