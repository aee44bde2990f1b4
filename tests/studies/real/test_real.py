"""Every method on real votes: rows, intervals, references, the page."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from studies.chances import rate_honesty
from studies.real import runs, supervised
from studies.real.gold import BUDGETS, MOST_ODDS, WAYS, draw_labels, regress, run_gold
from studies.real.intervals import FIGURES, Figure, score_with_intervals
from studies.real.supervised import REFERENCES, order_voters, score_reference
from studies.records import read_archive
from unelisa.aggregators import AGGREGATORS
from unelisa.analysis.scoring import score_labels
from unelisa.sources.labels import KnownLabels
from unelisa.votes import Votes


def known_of(values, truth):
    nothing = np.empty(0, dtype=object), np.empty(0, dtype=np.int8)
    return KnownLabels(Votes.of(values, coding="pm1"), truth.astype(np.int8), *nothing)


@pytest.fixture
def known(crowd):
    votes, truth = crowd
    return known_of(votes.values, truth)


def test_a_row_holds_figures_with_intervals(known):
    row = runs.run_method("dawid-skene", known, "crowd")
    assert (row["set"], row["method"], row["kind"], row["note"]) == (
        "crowd",
        "dawid-skene",
        "ours",
        "",
    )
    value, low, high = row["figures"]["accuracy"]
    assert low < value < high
    assert "log_loss" in row["figures"]
    assert "log_loss" not in runs.run_method("majority-vote", known, "crowd")["figures"]
    json.dumps(row, allow_nan=False)


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_rows_of_shares_variants_and_refusals(known):
    share = runs.run_share(known, "crowd")
    majority = runs.run_method("majority-vote", known, "crowd")
    assert (share["method"], share["kind"]) == ("share-of-yes", runs.VARIANTS)
    assert share["figures"]["accuracy"] == majority["figures"]["accuracy"]
    assert {"log_loss", "ece", "confidence"} <= share["figures"].keys()
    biased = np.random.default_rng(0).random(known.votes.values.shape) < np.linspace(0, 0.8, 9)
    known = known_of(np.where(biased, 1, known.votes.values), known.signs)
    plain, variant = (
        runs.run_method(name, known, "crowd") for name in ("unelisa", runs.INTERCEPTS)
    )
    assert variant["kind"] == runs.VARIANTS
    assert variant["figures"] != plain["figures"]
    rng = np.random.default_rng(0)
    many = known_of(rng.choice([-1, 1], (60, 30)), rng.choice([-1, 1], 60))
    row = runs.run_method("log-linear", many, "many")
    assert row["figures"] == {}
    assert row["note"].startswith("refused: LogLinear takes at most 25 voters who vary")


def test_items_that_nobody_voted_on_count_half(crowd):
    votes, truth = crowd
    silent = KnownLabels(
        votes, truth, np.array(["x", "y"], dtype=object), np.array([1, -1], dtype=np.int8)
    )
    full = runs.run_method("majority-vote", known_of(votes.values, truth), "s")["figures"][
        "accuracy"
    ][0]
    row = runs.run_method("majority-vote", silent, "s")
    assert row["figures"]["accuracy"][0] == pytest.approx((600 * full + 1) / 602, abs=1e-4)


def test_the_archive_joins_ours_and_the_peers(tmp_path, known):
    runs.run_real({"a": lambda: known}, tmp_path, runs.list_tasks(["wawa"], supervised=False))
    peer = runs.make_row(
        ("a", "rival", runs.PEERS), {"accuracy": Figure(0.5, 0.4, 0.6), "auc": None}, 1.0
    )
    stranger = runs.make_row(("z", "rival", runs.PEERS), {})
    lines = [json.dumps(row) for row in (peer, stranger)]
    (tmp_path / "peers.jsonl").write_text("\n".join([*lines, '{"torn": ']))
    archive = runs.collect_real(tmp_path)
    assert [row["method"] for row in archive["rows"]] == ["wawa", "rival"]
    assert archive["sets"][0]["voters"] == 9
    assert archive["panels"] == {"sets": [], "rows": []}
    assert runs.collect_real(tmp_path / "nowhere", archive) == archive  # stored rows stay


DOCS = Path(__file__).parents[3] / "docs"


def test_the_archive_has_every_method_on_every_set():
    archive = read_archive(DOCS / "study" / "real.json", "rows", "")
    answered = {row["method"] for row in archive["rows"] if row["kind"] != runs.SUPERVISED}
    assert len(archive["sets"]) == 16
    assert {*AGGREGATORS, runs.INTERCEPTS} <= answered
    there = {(row["set"], row["method"]) for row in archive["rows"]}
    for known in archive["sets"]:
        assert all((known["set"], method) in there for method in answered)


@pytest.fixture
def answers():
    rng = np.random.default_rng(0)
    truth = rng.choice(np.array([-1, 1], dtype=np.int8), 200)
    scores = np.round(truth + rng.normal(0, 1.5, 200), 1)  # with ties, some of them at 0
    scores[:10] = 0
    return truth, scores, 1 / (1 + np.exp(-scores))


def test_values_are_the_plain_figures_and_lie_within(answers):
    truth, scores, chances = answers
    figures = score_with_intervals(truth, scores, chances, 200)
    plain = {**score_labels(truth, scores, chances)._asdict(), **rate_honesty(truth, chances)}
    for name in FIGURES:
        assert figures[name].value == pytest.approx(plain[name])
        assert figures[name].low < figures[name].high
        if name != "ece":  # resampling adds noise to every bin, so that its interval lies higher
            assert figures[name].low < plain[name] < figures[name].high


def test_intervals_are_binomial_and_skip_unknown_items(answers):
    rng = np.random.default_rng(0)
    truth = np.ones(1000, dtype=np.int8)
    truth[500:] = -1
    scores = truth * np.where(rng.random(1000) < 0.8, 1.0, -1.0)
    accuracy = score_with_intervals(truth, scores)["accuracy"]
    assert accuracy.high - accuracy.low == pytest.approx(2 * 1.96 * np.sqrt(0.16 / 1000), rel=0.2)
    truth, scores, _ = answers
    more = np.concatenate([truth, np.zeros(50, dtype=np.int8)])
    padded = np.concatenate([scores, np.full(50, 9.0)])
    figures = score_with_intervals(more, padded)
    assert figures["log_loss"] is figures["ece"] is figures["confidence"] is None
    assert figures["accuracy"] == score_with_intervals(truth, scores)["accuracy"]


def test_labels_are_those_of_known_items_and_every_way_is_scored(known):
    signs = np.tile(np.array([1, 0, -1], dtype=np.int8), 20)
    for budget, drawn in ((10, 10), (50, 20)):
        gold = draw_labels(signs, budget, seed=3)
        assert np.count_nonzero(gold) == drawn
        assert np.array_equal(gold[gold != 0], signs[gold != 0])
    found = run_gold(known, first_seed=0, draws=2)
    for figure in ("accuracy", "log_loss"):
        keys = [f"{figure}, {way}, {budget}" for way in WAYS for budget in BUDGETS]
        assert all(0 < found[key] < 1 for key in keys)
    assert found["accuracy, with, 50"] > 0.8


def test_the_regression_is_on_the_votes_and_our_log_odds(known):
    values, signs, items = known.votes.values, known.signs, np.arange(40)
    odds = values.sum(axis=1) / 2.0
    columns = np.column_stack([np.clip(odds, -MOST_ODDS, MOST_ODDS), values])
    peer = LogisticRegression(max_iter=1000).fit(columns[items], signs[items])
    found = regress(values, odds, items, signs)
    assert found == pytest.approx(peer.decision_function(columns), abs=1e-2)
    assert regress(values, odds, np.flatnonzero(signs > 0)[:5], signs) is odds


@pytest.fixture(scope="module")
def labeled():
    """Three good voters among twelve, of whom two are sure to be wrong; 3,000 labelled items."""
    rng = np.random.default_rng(0)
    truth = rng.choice(np.array([-1, 1], dtype=np.int8), 3000)
    accuracies = np.array([0.85, 0.85, 0.85, 0.2, 0.2, *[0.5] * 7])
    right = rng.random((3000, 12)) < accuracies
    values = np.where(right, truth[:, None], -truth[:, None]).astype(np.int8)
    values[rng.random(values.shape) < 0.1] = 0
    nothing = np.empty(0, dtype=object), np.empty(0, dtype=np.int8)
    return KnownLabels(Votes.of(values, coding="pm1"), truth, *nothing)


@pytest.mark.parametrize("name", REFERENCES)
def test_labels_help_and_more_labels_help_more(name, labeled):
    few, many = (score_reference(name, labeled, budget) for budget in (50, 500))
    accuracy = few["accuracy"]
    assert accuracy.low <= accuracy.value <= accuracy.high
    assert many["accuracy"].value > max(accuracy.value - 0.01, 0.85)
    if name == "ordered-aggregation":  # no probabilities
        assert many["log_loss"] is None
    else:
        assert many["log_loss"].value < 0.5


def naive_order(votes, truth):
    chosen = []
    for step in range(1, votes.shape[1] + 1):
        best, nearest = None, np.inf
        for s in range(votes.shape[1]):
            if s in chosen:
                continue
            total = sum(votes[:, t] * truth for t in [*chosen, s]) / votes.shape[1]
            distance = float(np.sum((2 * np.sqrt(2 * step) / votes.shape[1] - total) ** 2))
            if distance < nearest - 1e-9:
                best, nearest = s, distance
        chosen.append(best)
    return chosen


def test_orders_of_voters_are_naive_and_need_labels(labeled):
    votes, truth = labeled.votes.values[:100], labeled.signs[:100]
    order = order_voters(votes, truth)
    assert order.tolist() == naive_order(votes.astype(int), truth.astype(int))
    assert set(order[:3]) == {0, 1, 2}
    assert set(order[-2:]) == {3, 4}
    small = KnownLabels(
        labeled.votes.take_items(range(80)),
        labeled.signs[:80],
        *(np.empty(0), np.empty(0, np.int8)),
    )
    assert score_reference("penlog", small, 50) is None
    rare = np.where(np.arange(3000) < 20, 1, -1).astype(np.int8)
    lopsided = KnownLabels(labeled.votes, rare, np.empty(0), np.empty(0, np.int8))
    assert score_reference("penlog", lopsided, 50) is None


@pytest.fixture(autouse=True)
def two_splits(monkeypatch):
    monkeypatch.setattr(supervised, "SPLITS", 2)
