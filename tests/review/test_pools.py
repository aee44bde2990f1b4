from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from report.judging import divided_model, fit_quietly
from review.reviewing import N_ITEMS, small_crowd, small_pool
from unelisa.aggregators import DawidSkene, LatentIsing, MajorityVote
from unelisa.analysis.certified_draws import draw_gold
from unelisa.analysis.certify import certify
from unelisa.analysis.rate import correct_shares, estimate_rate
from unelisa.analysis.scoring import bound_frequency
from unelisa.analysis.suggestions import suggest_votes
from unelisa.errors import ModelError, VotesError
from unelisa.review import pools
from unelisa.votes import Votes

NOTHING = pools.Known(np.full(N_ITEMS, -1), np.zeros(N_ITEMS, dtype=bool))


def answered(n, sampled=False):
    _, truth, _ = small_crowd()
    labels = np.where(np.arange(N_ITEMS) < n, truth, -1)
    return pools.Known(labels, np.full(N_ITEMS, sampled))


def test_the_votes_on_an_item_are_listed_by_label():
    votes, _, _ = small_crowd()
    told = small_pool().list_opinions(3)
    assert sum(len(who) for _, who in told) == votes.n_voters
    for label, who in told:
        assert who == votes.voters[votes.values[3] == 2 * label - 1].tolist()


def test_labels_change_the_model_and_the_order():
    pool, (votes, _, model) = small_pool(), small_crowd()
    before, after = pool.study(NOTHING), pool.study(answered(40))
    assert np.array_equal(before.chances, model.predict_proba(votes))
    fitted = type(model)().fit(votes, answered(40).name(model.classes_))
    assert np.array_equal(after.chances, fitted.predict_proba(votes))
    assert after.facts["expected"]["share"] > before.facts["expected"]["share"]
    assert before.facts["sampled"] == 0
    assert before.facts["cautions"] == after.facts["cautions"] == []
    assert pool.describe_choice(0) == "useful"


def test_a_rate_rests_on_the_random_labels_and_the_model_without_them():
    pool, (votes, _, model) = small_pool("rate"), small_crowd()
    told = pool.study(answered(20, sampled=True)).facts
    gold = answered(20).name(model.classes_)
    expected = estimate_rate(model, votes, gold, 0.9)
    assert told["rates"][1]["share"] == expected["share"].iloc[1]
    assert told["measured"]["labels"] == told["sampled"] == 20
    assert pool.describe_choice(0) == "random"
    assert np.array_equal(pool.study(NOTHING).ranking, pool.study(answered(20)).ranking)
    useful = small_pool().study(answered(20, sampled=True)).facts
    assert useful["rates"] == told["rates"]  # the sample of an earlier review still counts


def test_methods_that_learn_from_no_labels_are_refused():
    votes, _, _ = small_crowd()
    with pytest.raises(ModelError, match="MajorityVote does not learn from gold labels"):
        pools.VotesPool(MajorityVote().fit(votes), votes)


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_labels_against_the_voters_are_told_of():
    _, truth, _ = small_crowd()
    against = answered(40)._replace(labels=np.where(np.arange(N_ITEMS) < 40, 1 - truth, -1))
    told = small_pool().study(against).facts
    assert any("gold labels" in caution for caution in told["cautions"])


CHARTS = "person_id,label,probability,drawn\np1,,0.9,0.5\np2,,0.2,0.5\np3,,0.1,0.1\n"


def test_charts_are_weighed_by_the_share_that_was_drawn(tmp_path):
    path = tmp_path / "charts.csv"
    path.write_text(CHARTS)
    assert pools.is_charts(path)
    assert not pools.is_charts(tmp_path)
    pool = pools.ChartsPool.read(path)
    known = pools.Known(np.array([1, 0, 0]), np.zeros(3, dtype=bool))
    told = pool.study(known)
    assert told.facts["rates"][0]["share"] == pytest.approx(2 / 14)
    assert told.facts["measured"]["share"] == 1.0
    assert sorted(told.ranking) == [0, 1, 2]
    assert pool.describe_choice(2) == "0.1"
    assert pool.list_opinions(0) == []
    unlabeled = pools.Known(np.full(3, -1), np.zeros(3, dtype=bool))
    assert pool.study(unlabeled).facts["rates"] == []


@pytest.mark.parametrize("row", ["p1,,0.9,0.5", "p4,,x,0.5", "p4,,0.5,0", "p4,,7,0.5"])
def test_charts_that_nobody_drew_are_refused(tmp_path, row):
    path = tmp_path / "charts.csv"
    path.write_text(f"{CHARTS}{row}\n")
    with pytest.raises(VotesError, match="must hold each patient once"):
        pools.ChartsPool.read(path)


def test_certificates_rest_on_the_items_that_were_drawn():
    pool, (votes, truth, model) = small_pool("certify"), small_crowd()
    pool.promise, pool.share = (0.25, 0.9), 0.8
    drawn = draw_gold(model, votes, 0.25, share=0.8)
    first = np.isin(np.arange(N_ITEMS), drawn.places[:60])
    known = pools.Known(np.where(first, truth, -1), first)
    before, after = pool.study(NOTHING), pool.study(known)
    assert pool.describe_choice(0) == drawn.design
    assert len(before.ranking) >= 0.8 * N_ITEMS
    assert np.array_equal(before.ranking, after.ranking)
    assert "answers would certify" in before.facts["outlook"]["words"]
    gold = known.name(model.classes_)
    found = certify(model, votes, gold, 0.25, 0.9, drawn=drawn.design)
    share = (found.n_certified + found.n_gold) / N_ITEMS
    assert f"Certified now: {share:.0%} of the items" in after.facts["outlook"]["words"]
    assert after.facts["outlook"]["enough"] == (share >= 0.95 * len(drawn.places) / N_ITEMS)


@pytest.mark.filterwarnings("ignore:the labels cannot be relied on")
def test_certificates_of_ordered_classes_are_those_of_their_loss():
    rng = np.random.default_rng(3)
    truth, names = rng.integers(0, 4, 400), np.array(["poor", "fair", "good", "great"])
    near = np.clip(truth[:, None] + rng.choice([-1, 0, 0, 0, 1], size=(400, 6)), 0, 3)
    votes = Votes.of(pd.DataFrame(names[near]), order=list(names))
    model, promise = LatentIsing().fit(votes), (0.05, 0.9)
    strict, pool = (
        pools.VotesPool(model, votes, "certify", promise=promise, loss=loss)
        for loss in ("wrong", "far")
    )
    assert len(strict.drawn.places) < len(pool.drawn.places)
    known = pools.Known(
        np.where(np.isin(np.arange(400), pool.drawn.places[:150]), truth, -1), truth >= 0
    )
    words = pool.study(known).facts["outlook"]["words"]
    gold, design = known.name(model.classes_), pool.drawn.design
    found = certify(model, votes, gold, *promise, loss="far", drawn=design)
    assert found.n_certified > 0
    assert words.endswith(f"{str(found)[1:]}.")
    pool.per = "automatic"
    assert "of the certified labels" not in words
    assert "certified labels, from" in pool.study(known).facts["outlook"]["words"]


def test_certificates_by_weight_ask_about_heavy_items_first():
    votes, truth, model = small_crowd()
    weights = np.where(np.arange(N_ITEMS) % 5 == 0, 20.0, 1.0)
    pool = pools.VotesPool(model, votes, "certify", promise=(0.25, 0.9), weights=weights)
    first = pool.study(NOTHING).ranking[:20]
    assert weights[first].mean() > 2 * weights.mean()
    known = pools.Known(np.where(np.isin(np.arange(N_ITEMS), first), truth, -1), truth >= 0)
    assert "random answers" in pool.study(known).facts["outlook"]["words"]


def label_items(*labels):
    return pools.Known(np.array(labels), np.zeros(len(labels), dtype=bool))


def test_the_expected_accuracy_is_that_of_the_model_and_gold_labels_are_certain():
    unsure = np.array([[0.6, 0.4], [0.2, 0.8]])
    assert pools.fix_known(unsure, label_items(1, -1)).tolist() == [[0.0, 1.0], [0.2, 0.8]]
    mean = pools.expect_accuracy(DawidSkene(), pools.fix_known(unsure, label_items(1, -1)))
    assert mean == pytest.approx({"share": 0.9, "low": None, "high": None})
    model, chances = small_crowd()[2], np.full((2, 2), 0.5)
    told = pools.expect_accuracy(model, chances)
    assert told["share"] is not None
    assert told["share"] == model.expected_accuracy_
    assert (told["low"], told["high"]) == model.expected_accuracy_interval_
    rng = np.random.default_rng(0)
    votes = Votes.of(rng.choice(np.array([-1, 1], dtype=np.int8), (200, 5)))
    guessed = [fit_quietly(method(), votes) for method in (LatentIsing, DawidSkene)]
    for unreliable in (divided_model(), *guessed):
        untold = pools.expect_accuracy(unreliable, chances)
        assert untold == {"share": None, "low": None, "high": None}


def test_accuracy_is_measured_on_the_labels():
    chances = np.array([[0.6, 0.4], [0.2, 0.8], [0.5, 0.5]])
    told = pools.measure_accuracy(chances, label_items(1, 1, -1))
    assert (told["share"], told["labels"]) == (0.5, 2)
    assert pools.measure_accuracy(chances, label_items(-1, -1, -1)) is None
    drawn = pools.Known(np.array([0, 1]), np.array([True, False]))
    assert drawn.only_sample().labels.tolist() == [0, -1]
    assert drawn.only_sample().name(np.array(["no", "yes"])).tolist() == ["no", None]
    weighted = pools.bound_mean(np.array([True, False, False]), np.array([2.0, 1.0, 1.0]))
    assert weighted["share"] == 0.5
    assert (weighted["low"], weighted["high"]) == bound_frequency(0.5, 16 / 6, 0.9)


def test_more_answers_are_worth_it_while_labels_are_uncertain():
    unsure, sure = np.full((200, 2), 0.5), np.tile([0.001, 0.999], (200, 1))
    answered = np.where(np.arange(200) < 30, 1, -1)
    ahead = pools.look_ahead(
        pools.fix_known(unsure, label_items(*answered)), label_items(*answered)
    )
    assert (ahead["enough"], ahead["more"]) == (False, 30)
    assert "30 more answers are expected to raise accuracy by 7.5 points" in ahead["words"]
    told = pools.look_ahead(sure, label_items(*answered))
    assert told["enough"]
    assert told["words"].startswith("Enough: 30 more would change little")
    assert not pools.look_ahead(sure, label_items(*answered[20:], *answered[:0]))[
        "enough"
    ]  # ten labels
    halted = pools.look_ahead(sure, label_items(*answered), "the votes still allow another reading")
    assert not halted["enough"]
    assert halted["words"].startswith("The votes still allow another reading.")


def test_a_narrow_interval_is_enough():
    labels = label_items(*np.where(np.arange(200) < 100, 1, -1))
    wide, narrow = ([{"low": 0.5 - h, "high": 0.5 + h}] for h in (0.1, 0.01))
    assert not pools.look_at_width(wide, labels)["enough"]
    assert pools.look_at_width(narrow, labels)["words"].startswith("Enough: 100 more")
    assert not pools.look_at_width([{"low": None, "high": None}], labels)["enough"]
    table = pd.DataFrame({"share": [0.5], "low": [np.nan]}, index=pd.Index(["x"], name="class"))
    assert pools.list_rates(table) == [{"class": "x", "share": 0.5, "low": None}]


def test_a_reading_that_the_labels_rule_out_is_named():
    first = divided_model()
    assert [row["state"] for row in pools.compare_readings(first, first)] == ["taken", "possible"]
    chosen = first.read(1)
    swapped = [row["state"] for row in pools.compare_readings(first, chosen)]
    assert swapped == ["possible", "taken"]
    learned = SimpleNamespace(readings_=first.readings_.head(1))
    rows = pools.compare_readings(first, learned)
    assert [row["state"] for row in rows] == ["taken", "ruled out"]
    assert rows[1]["structure"] == "voters who repeat each other count once each"
    assert pools.compare_readings(object(), object()) == []


def pair(yes):
    return np.column_stack([1 - yes, yes])


def test_the_gain_is_what_suggest_votes_expects_of_a_human():
    votes, _, model = small_crowd()
    asked = suggest_votes(model, votes, n=5, voters=[], gold_cost=1.0)
    gains = pools.measure_gains(model.predict_proba(votes))
    best = pools.rank_useful(model.predict_proba(votes))[0]
    np.testing.assert_allclose(asked["gain"], np.sort(gains)[::-1][:5])
    assert gains[best] == gains.max()


def test_items_alike_are_worth_less_one_after_the_other():
    yes = np.concatenate([np.full(100, 0.5), np.linspace(0.3, 0.4, 50), np.full(50, 0.99)])
    first = pools.rank_useful(pair(yes))[:20]
    assert first[0] < 100
    assert np.count_nonzero(first < 100) < 5  # 0.5 / sqrt(3) is less than 0.3
    naive = [yes[:i].tolist().count(yes[i]) + 1 for i in range(200)]
    assert sorted(pools._count_alike(pair(yes), np.arange(200.0))) == sorted(naive)
    assert pools._count_alike(pair(yes), np.arange(200.0)).tolist() == naive


def test_equal_gains_come_in_a_random_order():
    chances = pair(np.full(50, 0.5))
    assert pools.rank_useful(chances).tolist() != list(range(50))
    assert sorted(pools.rank_useful(chances)) == list(range(50))
    assert pools.rank_useful(chances, seed=1).tolist() != pools.rank_useful(chances).tolist()
    assert pools.mix_chances([pair(np.array([0.0])), pair(np.array([0.5]))]).tolist() == [
        [0.75, 0.25]
    ]


def test_every_beginning_of_a_sample_is_spread_over_the_probabilities():
    chances = pair(np.random.default_rng(0).random(500))
    order = pools.spread_sample(chances, seed=3)
    assert sorted(order) == list(range(500))
    for n in (8, 16, 64):
        assert abs(chances[order[:n], 1].mean() - chances[:, 1].mean()) < 1 / n
    three = np.eye(3)[np.arange(300) % 3]
    counts = np.bincount(pools.spread_sample(three)[:30] % 3)
    assert counts.min() >= 8


def test_intervals_from_a_spread_sample_hold():
    """A stratified sample of equal shares is what `estimate_rate` takes: its intervals cover."""
    rng = np.random.default_rng(1)
    yes = rng.beta(0.6, 1.4, 1000)
    truth = rng.random(1000) < np.clip(1.3 * yes, 0, 1)  # the model underestimates
    labels, held = pair(truth).astype(bool), 0
    for seed in range(300):
        sample = np.zeros_like(labels)
        drawn = pools.spread_sample(pair(yes), seed)[:60]
        sample[drawn] = labels[drawn]
        rate = correct_shares(sample, pair(yes), 0.95)[1]
        held += rate.low <= truth.mean() <= rate.high
    assert held / 300 > 0.93
