"""The numbers of a panel, worked out by hand."""

import json

import numpy as np
import pandas as pd
import pytest

from unelisa import DawidSkene, LatentIsing, Votes
from unelisa.analysis.judged import Judged
from unelisa.errors import VotesError
from unelisa.jury.panel import (
    bound_effective,
    compare_with_gold,
    compute_alpha,
    compute_fleiss,
    compute_kappa,
    count_classes,
    describe_jury,
    exceeds_chance,
    measure_agreement,
    read_gold,
)
from unelisa.jury.verdicts import Panel, Verdict
from unelisa.report.answer import write_opening
from unelisa.report.findings import collect_findings
from unelisa.report.page import render_report

SECRET = "Xylophon7"  # noqa: S105 - stands for an item


def make_panel(n=400, order=None):
    """Four good judges, one who passes nearly all, one who guesses; items of two systems."""
    rng = np.random.default_rng(0)
    labels = np.array(order or ["fail", "pass"])
    truth = rng.integers(0, len(labels), n)
    other = (truth + rng.integers(1, len(labels), (5, n))) % len(labels)
    right = rng.random((5, n)) < np.array([0.9, 0.85, 0.8, 0.8, 0.3])[:, None]
    said = np.where(right, truth, other)
    kind = np.where(rng.random(n) < 0.5, len(labels) - 1, truth)
    rows = [f"{SECRET}{i}" for i in range(n)]
    table = {f"j{s}": labels[column] for s, column in enumerate([*said[:4], kind])}
    frame = {"item": rows, **table, "guesses": labels[rng.integers(0, len(labels), n)]}
    votes = Votes.of(pd.DataFrame(frame), order=order, item="item")
    return votes, truth


@pytest.fixture(scope="module")
def panel():
    votes, truth = make_panel()
    model = LatentIsing().fit(votes)
    systems = {str(item): ("odd" if i % 2 else "even") for i, item in enumerate(votes.items)}
    return model, Judged.of(model, votes), systems, truth


@pytest.fixture
def found(panel):
    return describe_jury(*panel[:3])


@pytest.fixture(scope="module")
def findings(panel):
    return collect_findings(*panel[:2])


def test_lean_and_places_of_all_judges(panel, found):
    model, judged, _, _ = panel
    chances = model.predict_proba(judged.votes)[:, 1]
    for row in found["judges"]:
        s = judged.votes.voters.tolist().index(row["name"])
        voted = judged.votes.values[:, s] != 0
        passed = (judged.votes.values[voted, s] == 1).mean()
        assert row["lean"] == pytest.approx(passed - chances[voted].mean())
        assert row["verdicts"] == voted.sum()
    leans = {row["name"]: row["lean"] for row in found["judges"]}
    assert max(leans, key=leans.get) == "j4"
    assert leans["j4"] > 0.15
    assert found["n_judges"] == len(found["judges"]) == 6
    accuracies = [row["accuracy"] for row in found["judges"]]
    assert accuracies == sorted(accuracies, reverse=True)
    assert found["judges"][-1]["name"] == "guesses"
    table = panel[0].voters_.set_index("voter")
    for row in found["judges"]:
        own = table.loc[row["name"]]
        assert (row["low"], row["high"]) == (own["accuracy_low"], own["accuracy_high"])
        assert row["low"] < row["accuracy"] < row["high"]
    assert found["effective_judges"] == pytest.approx(panel[0].effective_voters_)


def test_the_pass_rate_of_each_system_is_near_its_true_share(panel, found):
    _, judged, systems, truth = panel
    rate = found["pass_rate"]
    assert rate["low"] < rate["share"] < rate["high"]
    assert {row["system"] for row in rate["systems"]} == {"odd", "even"}
    for row in rate["systems"]:
        chosen = np.array([systems[str(item)] == row["system"] for item in judged.votes.items])
        assert row["items"] == chosen.sum() == 200
        assert row["share"] == pytest.approx(truth[chosen].mean(), abs=0.08)
        assert row["low"] < row["share"] < row["high"]
    assert len(rate["differences"]) == 1


def test_disagreement_is_counted_and_items_are_named_only_on_request(panel, found):
    model, judged, systems, _ = panel
    values = judged.votes.values
    split = (values == 1).any(axis=1) & (values == -1).any(axis=1)
    assert found["disagreement"]["items"] == split.sum()
    assert SECRET not in json.dumps(found)
    most = describe_jury(model, judged, systems, show_items=True)["disagreement"]["most"]
    assert most[0]["item"].startswith(SECRET)
    assert all(row["against"] > 0 for row in most)
    sure = [row["probability"] for row in most]
    assert sure == sorted(sure)
    chances = np.abs(model.predict_proba(judged.votes)[:, 1] - 0.5)[split] + 0.5
    assert sure[0] == pytest.approx(chances.min())


def test_ordered_classes_pass_with_the_last_and_others_have_no_pass_rate():
    votes, _ = make_panel(300, ["poor", "fair", "good"])
    model = DawidSkene(random_state=0).fit(votes)
    judged = Judged.of(model, votes)
    found = describe_jury(model, judged, {})
    assert found["pass_rate"]["share"] == pytest.approx(model.predict_proba(votes)[:, -1].mean())
    plain = Votes.of_values(votes.values, votes.items, votes.voters, votes.classes)
    model = DawidSkene(random_state=0).fit(plain)
    found = describe_jury(model, Judged.of(model, plain), {})
    assert found["pass_rate"] is None
    assert {row["lean"] for row in found["judges"]} == {None}


def test_the_page_shows_panel_differences_cheaper_panel_and_what_would_settle_it(
    panel, found, findings
):
    assert "The panel" not in render_report(findings, panel[1])
    found["cheaper_panel"] = {"drop": ["guesses"], "labels_kept": 0.995, "accuracy_change": 0.001}
    found["labels_needed"] = {"n": 210, "settles": "accuracy", "among": 400}
    page = render_report({**findings, "jury": found}, panel[1])
    for words in (
        "The panel",
        "lenient by",
        "Estimated pass rate",
        "guesses can be dropped: 99.5% of the labels stay",
        "; guesses adds nothing.",
        "About 210 human labels of random items",
        "cannot be told apart",
        "Which differences hold",
    ):
        assert words in page
    assert SECRET not in page


def test_the_page_shows_intervals_where_there_are_any(panel, findings):
    found = describe_jury(*panel[:3], show_items=True)
    found["pass_rate"]["systems"][0].update(low=0.81, high=0.97)
    page = render_report({**findings, "jury": found}, panel[1])
    assert "(81.0% to 97.0%)" in page
    assert "items worth a human look" in page


def test_the_report_of_a_jury_opens_with_the_system_that_wins(panel, found, findings):
    (pair,) = found["pass_rate"]["differences"]
    ahead = {**pair, "difference": 0.12, "low": 0.02, "high": 0.22, "holds": True}

    def open_with(pairs, **more):
        rate = {**found["pass_rate"], "differences": pairs, **more}
        return write_opening({**findings, "reliable": True, "jury": {**found, "pass_rate": rate}})

    who = f"{pair['better']} is ahead of {pair['worse']} by 12.0 points (2.0 to 22.0). "
    assert open_with([ahead]).startswith(who)
    assert "cannot be told apart" in open_with([{**ahead, "holds": False}])
    assert open_with([], share=0.5, low=0.4, high=0.6) == "50.0% (40.0 to 60.0) of the items pass."
    assert write_opening({**findings, "jury": {**found, "pass_rate": None}}) == findings["answer"]
    unknown = {**found["pass_rate"], "low": None, "high": None}
    doubted = {**findings, "reliable": False, "jury": {**found, "pass_rate": unknown}}
    doubted = write_opening(doubted)
    assert doubted == "The pass rate cannot be estimated: these labels cannot be relied on."
    page = render_report({**findings, "jury": found}, panel[1])
    assert page.index('id="systems"') < page.index('id="voters-section"')


def draw(n=300, judges=5, accuracy=0.8, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.5
    right = rng.random((n, judges)) < accuracy
    said = np.where(truth[:, None] == right, 1, -1)
    return Votes.of(np.where(rng.random(said.shape) < 0.1, np.nan, said), coding="pm1"), truth


def test_coefficients_by_hand_and_of_fleiss():
    """Votes 0 0 1, 1 1 1, 2 1 2 and 0 2 on four items."""
    counts = np.array([[2, 1, 0], [0, 3, 0], [0, 1, 2], [1, 0, 1]], dtype=float)
    assert compute_alpha(counts) == pytest.approx(3 / 13)
    assert compute_alpha(counts, ordered=True) == pytest.approx(1 / 11)
    assert compute_fleiss(counts[:3]) == pytest.approx((5 / 9 - 11 / 27) / (1 - 11 / 27))
    one, other = np.array([[0, 1, 2, 0], [0, 1, 1, 2]], dtype=np.int8)
    assert compute_kappa(one, other, (0, 1, 2)).value == pytest.approx(3 / 11)
    counts = np.array(
        [[0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
         [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]]
    )  # fmt: skip
    assert compute_fleiss(counts) == pytest.approx(0.210, abs=5e-4)


@pytest.mark.parametrize("level", ["nominal", "ordinal"])
def test_alpha_is_that_of_the_package_krippendorff(level):
    reference = pytest.importorskip("krippendorff", reason="krippendorff is not installed")
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 5, 200)
    said = np.clip(truth[:, None] + rng.integers(-1, 2, (200, 4)), 1, 4).astype(float)
    said[rng.random(said.shape) < 0.2] = np.nan
    counts = np.stack([(said == k).sum(axis=1) for k in range(1, 5)], axis=1)
    own = compute_alpha(counts, ordered=level == "ordinal")
    theirs = reference.alpha(reliability_data=said.T, level_of_measurement=level)
    assert own == pytest.approx(theirs, abs=1e-9)


def test_independent_judges_are_as_many_and_coins_do_not_exceed_chance():
    votes, truth = draw()
    chances = np.column_stack([~truth, truth]).astype(float)
    low, high = bound_effective(votes, chances, None)
    assert 3.5 < low < high < 5  # 4.5 votes per item
    assert high > 4.2
    copies = Votes.of(np.repeat(np.where(votes.values[:, :1] > 0, 1, -1), 4, axis=1), coding="pm1")
    low, high = bound_effective(copies, chances, None)
    assert high < 1.2
    wider = bound_effective(votes, 0.05 + 0.9 * chances, (0.7, 0.9))
    assert wider[0] < 4
    rng = np.random.default_rng(0)
    coins = [Votes.of(rng.choice([-1, 1], (100, 6)), coding="pm1") for _ in range(60)]
    assert np.mean([exceeds_chance(votes) for votes in coins]) < 0.08
    assert exceeds_chance(draw()[0])
    assert abs(measure_agreement(coins[0])["alpha"]) < 0.1


def test_kappa_with_gold_labels():
    votes, truth = draw(accuracy=0.9)
    gold = np.where(truth, 1, -1).astype(np.int8)
    gold[100:] = 0
    found = compare_with_gold(votes, gold)
    rows = [*found.values()]
    assert np.mean([one["kappa"] for one in rows]) == pytest.approx(0.8, abs=0.1)
    assert all(0.5 < one["low"] < one["kappa"] < one["high"] <= 1 for one in rows)
    assert all(one["n"] <= 100 for one in rows)
    assert compare_with_gold(votes, np.zeros(300, np.int8)) == {}
    assert count_classes(votes).shape == (300, 2)


def judge(*marks):
    panel = Panel()
    for i, mark in enumerate(marks):
        panel.add(Verdict(f"i{i}", "x", mark))
    return panel.finish("auto", "long")


@pytest.mark.parametrize("words", [("1", "0"), ("true", "False"), ("pass", "FAIL"), ("1.0", "0")])
def test_gold_may_use_other_words_for_pass_and_fail(words, tmp_path):
    path = tmp_path / "gold.csv"
    path.write_text(f"item,label\ni0,{words[0]}\ni1,{words[1]}\n")
    assert read_gold(path, judge(True, False, True)).as_gold().tolist() == ["pass", "fail", None]


def test_labels_of_their_own_stay(tmp_path):
    path = tmp_path / "gold.csv"
    path.write_text("item,label\ni0,clean\n")
    jury = judge("faulty", "clean")
    assert read_gold(path, jury).as_gold().tolist() == ["clean", None]


@pytest.mark.parametrize("word", ["0.7", "splendid"])
def test_other_labels_are_refused_and_not_quoted(word, tmp_path):
    path = tmp_path / "gold.csv"
    path.write_text(f"item,label\ni0,{word}\n")
    with pytest.raises(VotesError, match="cannot be used as labels") as caught:
        read_gold(path, judge(True, False))
    assert word not in str(caught.value)
