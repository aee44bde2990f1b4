import numpy as np
import pytest

from studies.ehr.baselines import BASELINES
from studies.ehr.splits import (
    AGGREGATED,
    FIGURES,
    MANY_UNELISA,
    NONE,
    OURS,
    PAPER,
    TRAIN,
    count_roles,
    describe_set,
    draw_split,
    prepare,
    read_splits,
    run_set,
    run_split,
    score_test,
    screen_voters,
)
from unelisa.votes import Votes


@pytest.fixture(scope="module")
def made(datamart):
    return prepare(datamart)


def test_splits_are_the_papers():
    signs = np.array([1] * 98 + [-1] * 337, dtype=np.int8)
    splits = [draw_split(signs, number) for number in range(5)]
    for train, test in splits:
        assert np.sort(np.concatenate([train, test])).tolist() == list(range(435))
        assert (signs[train] > 0).sum() == 46
    assert splits[0].train.tolist() != splits[1].train.tolist()
    assert splits[2].train.tolist() == draw_split(signs, 2).train.tolist()


def test_only_voters_of_middling_auc_are_kept():
    truth = np.array([1] * 10 + [-1] * 10, dtype=np.int8)
    perfect, useless = truth, np.tile([1, -1], 10)
    fair = truth.copy()
    fair[[0, 1, 2, 10, 11, 12]] *= -1  # right on 7 of 10 in both classes
    votes = Votes.of(np.column_stack([perfect, useless, fair]).astype(np.int8))
    everybody = np.arange(20)
    assert screen_voters(votes, truth, everybody).tolist() == [2]
    none_fits = votes.take_voters([0, 1])
    assert screen_voters(none_fits, truth, everybody).tolist() == [0, 1]


def test_the_screen_on_training_charts_does_not_see_the_others():
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


def test_a_figure_that_is_not_defined_is_none():
    truth = np.array([1, -1, -1], dtype=np.int8)
    figures = score_test(truth, np.array([-1.0, -2.0, -3.0]))
    assert figures["ppv"] is None
    assert figures["npv"] == pytest.approx(2 / 3, abs=1e-5)


def test_what_is_selected_is_named(datamart, made):
    facts = describe_set(datamart, made)
    assert set(datamart.anchors) <= set(facts["selected"][OURS])
    assert facts["roles"][OURS]["core"] >= 8
    assert facts["roles"][OURS]["irrelevant"] <= 2
    assert set(facts["selected"][PAPER]) <= set(datamart.counts.features)
    assert facts["cases"] == 98
    assert facts["everybody"]["auc"] > 0.9
    assert count_roles(datamart, ["NLP:cough", "unheard of"])["irrelevant"] == 1


def test_a_run_goes_on_where_it_was(datamart, made, tmp_path, monkeypatch):
    monkeypatch.setattr("studies.ehr.splits.prepare", lambda _: made)
    told = []
    run_set(datamart, tmp_path, 1, told.append)
    first = (tmp_path / "ehr.jsonl").read_bytes()
    run_set(datamart, tmp_path, 2, told.append)
    assert told == [0, 1, 1, 1]
    assert (tmp_path / "ehr.jsonl").read_bytes().startswith(first)
    assert [row["split"] for row in read_splits(tmp_path) if row["method"] == OURS] == [0, 1]
    run_set(datamart, tmp_path, 2, told.append)
    assert told[4:] == [2]
