"""Certificates by weight, and from draws whose chances differ between strata."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, binomtest

import unelisa as ue
from small_models import draw_easy_and_hard
from unelisa.analysis.certified_draws import (
    Design,
    draw_gold,
    list_distinct,
    mark_unanswered,
    plan_certification,
)
from unelisa.analysis.certified_sets import Asked, Scored, choose_sets
from unelisa.analysis.error_bounds import Draws, bound_share
from unelisa.errors import ModelError, VotesError

N, ERROR, CONFIDENCE = 400, 0.1, 0.9


@pytest.fixture(scope="module")
def crowd():
    rng = np.random.default_rng(0)
    truth, votes = draw_easy_and_hard(rng, 1000, 7, 0.25, 0.6, 0.92)
    table = ue.Votes.of(pd.DataFrame(votes, columns=list("abcdefg")), coding="01")
    return table, truth, ue.LatentIsing().fit(table), rng.lognormal(0, 1.5, 1000)


def weigh(kind, rng):
    """Labels with weights: the wrong ones are the heaviest, the lightest, any, or just too many."""
    weights = rng.lognormal(0, 1.5, N)
    heaviest, surest = np.argsort(-weights), rng.permutation(N)
    wrong = {
        "heavy": heaviest[:6],
        "light": heaviest[-100:],
        "shuffled": surest[:60],
        "too many": surest[np.cumsum(weights[surest]) < 0.18 * weights.sum()],
    }[kind]
    truth = np.ones(N, dtype=np.intp)
    truth[wrong] = 0
    sure = np.round(0.6 + 0.4 * rng.random(N), 9)
    if kind == "heavy":  # and the model is surest of these
        sure[heaviest] = np.linspace(0.99, 0.6, N)
    weights /= weights.mean()
    return Scored(None, np.ones(N, dtype=np.intp), sure, np.array([0, 1]), None, weights), truth


@pytest.mark.parametrize("per", ["file", "automatic"])
@pytest.mark.parametrize("kind", ["heavy", "light", "shuffled", "too many"])
def test_weighted_promises_hold_for_whatever_items_are_wrong(kind, per):
    scored, truth = weigh(kind, np.random.default_rng(1))
    weights, runs, broken, given = scored.weights, 40, 0, 0
    for seed in range(runs):
        order = Design(seed, 0.0, 0.0, "", "x").order(scored)
        asked_about = order[list_distinct(order, True)][: 40 + seed % 40]
        gold = np.full(N, -1)
        gold[asked_about] = truth[asked_about]
        gold, times = mark_unanswered(gold, order, True)
        asked = Asked(ERROR, CONFIDENCE, per, "wrong", 0.0, False)
        (threshold,), _ = choose_sets(scored, gold, asked, times)
        certified = (scored.sure >= threshold) & (gold < 0)
        wrong = weights[certified & (truth == 0)].sum()
        many = weights[certified | (gold >= 0) if per == "file" else certified].sum()
        broken += wrong > ERROR * many + 1e-9
        given += certified.any()
    assert binom.sf(broken - 1, runs, 1 - CONFIDENCE) > 0.001
    assert given or (kind, per) != ("light", "file")  # a quarter of the labels, little weight


def test_the_bound_of_weighted_draws_holds_at_all_looks_together():
    """Labels are wrong by weight just as often as is said: the bound is reached, and held."""
    rng, runs, share, failed = np.random.default_rng(2), 600, 0.1, 0
    bound = cache(lambda k, e: bound_share(Draws(1, k, e, 0.05), 0.1))
    for _ in range(runs):
        found = np.cumsum(rng.random(60) < share).tolist()
        failed += any(bound(k, e) < share for k, e in enumerate(found, 1))
    assert binom.sf(failed - 1, runs, 0.1) > 0.001
    assert failed > 0.02 * runs


@pytest.mark.parametrize(("k", "e"), [(10, 0), (60, 3), (200, 20), (5, 5)])
def test_the_bound_of_weighted_draws_is_wider_than_that_of_one_look(k, e):
    exact = binomtest(e, k).proportion_ci(0.9, "exact").high  # one-sided: 5 % above
    assert exact <= bound_share(Draws(1, k, e, 0.05), 0.05) <= 1
    assert bound_share(Draws(1, 0, 0, 0.05), 0.05) == 1


def answer(drawn, truth, many):
    return {int(i): int(truth[i]) for i in drawn.places[:many]}


@pytest.mark.parametrize("share", [None, 0.5])
def test_labels_are_certified_by_weight(crowd, share):
    votes, truth, model, weights = crowd
    drawn = draw_gold(model, votes, ERROR, share=share, weights=weights)
    assert weights[drawn.places[:100]].mean() > 2 * weights.mean()
    gold = answer(drawn, truth, 150)
    asked = {"error": ERROR, "drawn": drawn.design, "weights": weights}
    found = ue.certify(model, votes, gold, **asked)
    table, facts = found.labels, found.certificate
    certified = (table["status"] == "certified").to_numpy()
    assert facts["certified_weight"] == round(weights[certified].sum() / weights.sum(), 4) > 0.1
    assert "at most 10% wrong labels, by weight, among the" in str(found)
    given = (table["status"] != "look").to_numpy()
    wrong = given & (table["label"].to_numpy() != truth)
    assert weights[wrong].sum() <= ERROR * weights[given].sum()
    named = pd.Series(weights, index=[f" {i}.0" for i in range(1000)])
    same = ue.certify(model, votes, gold, **asked | {"weights": 3 * named})
    assert same.certificate == facts
    plan = plan_certification(model, votes, ERROR, share=share, weights=weights)
    assert plan[-1].certified > 0.3


def test_a_weighted_draw_that_leaves_an_item_out_counts_it_as_wrong(crowd):
    votes, truth, model, weights = crowd
    drawn = draw_gold(model, votes, ERROR, weights=weights)
    gold = answer(drawn, truth, 100)
    for item in drawn.places[:8].tolist():
        del gold[int(item)]
    found = ue.certify(model, votes, gold, ERROR, drawn=drawn.design, weights=weights)
    assert (found.certificate["n_unanswered"], found.certificate["n_drawn"]) == (8, 100)
    assert found.n_certified == 0


def test_the_error_in_reach_is_one_of_the_weight_that_is_left(crowd):
    """Hardly any weight is left after the answers, so that little can be said of it."""
    votes, truth, model, weights = crowd
    heavy = weights**3
    drawn = draw_gold(model, votes, ERROR, weights=heavy)
    asked = {"drawn": drawn.design, "weights": heavy, "per": "automatic"}
    facts = ue.certify(model, votes, answer(drawn, truth, 150), ERROR, **asked).certificate
    assert facts["n_certified"] == 0
    assert facts["certifiable_error"] > ERROR


def test_draws_count_until_the_first_item_after_the_last_answer():
    order, truth = np.array([3, 1, 3, 3, 0, 1, 2, 0]), np.array([-1, 1, -1, 0])
    marked, times = mark_unanswered(truth, order, True)
    assert marked.tolist() == [-1, 1, -1, 0]
    assert times.tolist() == [0, 1, 0, 3]
    marked, times = mark_unanswered(np.array([-1, -1, 0, 0]), order, True)
    assert marked.tolist() == [-2, -2, 0, 0]
    assert times.tolist() == [2, 2, 1, 3]


def test_weights_of_another_draw_are_refused(crowd):
    votes, truth, model, weights = crowd
    drawn = draw_gold(model, votes, ERROR, weights=weights)
    gold = answer(drawn, truth, 50)
    for given in (None, weights[::-1]):
        with pytest.raises(ModelError, match="were drawn with other weights"):
            ue.certify(model, votes, gold, drawn=drawn.design, weights=given)
    with pytest.raises(ModelError, match="weights need gold labels that were drawn by weight"):
        ue.certify(model, votes, gold, weights=weights)
    with pytest.raises(ModelError, match="omit them for items that draw_gold has drawn"):
        ue.certify(
            model, votes, gold, drawn=drawn.design, weights=weights, strata=dict.fromkeys(gold, 1)
        )


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ([1, 2], "weights must hold a number of at least 0 for each item"),
        (np.r_[-1.0, np.ones(999)], "weights must hold a number of at least 0"),
        (np.r_[np.nan, np.ones(999)], "weights must hold a number of at least 0"),
        (dict.fromkeys(range(1000), "much"), "weights must hold a number of at least 0"),
        ("heavy", "weights must hold a number of at least 0"),
        (np.zeros(1000), "weights are all 0"),
        ({1: 2.0}, "weights has no value for 999 of the 1,000 items"),
        (dict.fromkeys(range(1000), np.nan), "weights has no value for 1,000 of the 1,000 items"),
    ],
)
def test_weights_without_sense_are_refused(crowd, weights, sentence):
    votes, _, model, _ = crowd
    with pytest.raises(VotesError, match=sentence):
        draw_gold(model, votes, weights=weights)


def test_items_without_weight_are_never_drawn(crowd):
    votes, _, model, _ = crowd
    weights = np.arange(1000) % 10 == 0
    drawn = draw_gold(model, votes, share=1.0, weights=weights)
    assert sorted(drawn.places.tolist()) == list(range(0, 1000, 10))


@pytest.mark.parametrize("kind", ["even", "all in the stratum that is hardly drawn"])
def test_the_promise_holds_with_different_chances_in_strata(kind):
    rng, runs, broken = np.random.default_rng(3), 60, 0
    stratum = np.arange(N) % 4 // 3  # a quarter of the items, of which a third is drawn
    truth = np.ones(N, dtype=np.intp)
    wrong = np.flatnonzero(stratum == 0) if kind != "even" else np.arange(N)
    truth[rng.choice(wrong, 60, replace=False)] = 0
    sure = np.round(0.6 + 0.4 * rng.random(N), 9)
    scored = Scored(None, np.ones(N, dtype=np.intp), sure, np.array([0, 1]), strata=stratum)
    for _ in range(runs):
        drawn = [rng.choice(np.flatnonzero(stratum == s), 60, replace=False) for s in (0, 1)]
        gold = np.full(N, -1)
        gold[np.concatenate(drawn)] = truth[np.concatenate(drawn)]
        asked = Asked(ERROR, CONFIDENCE, "file", "wrong", 0.0, False)
        (threshold,), _ = choose_sets(scored, gold, asked)
        certified = (scored.sure >= threshold) & (gold < 0)
        broken += (truth[certified] == 0).sum() > ERROR * (certified.sum() + 120)
    assert binom.sf(broken - 1, runs, 1 - CONFIDENCE) > 0.001


def test_strata_certify_what_pooled_gold_must_not(crowd):
    """Gold of the easy half alone says nothing about the other half, whatever its number."""
    votes, truth, model, _ = crowd
    sure = model.predict_proba(votes).max(axis=1)
    strata = dict(enumerate(np.where(sure > np.median(sure), "sure", "unsure").tolist()))
    easy = [i for i, name in strata.items() if name == "sure"]
    gold = {int(i): int(truth[i]) for i in easy[:200]}
    found = ue.certify(model, votes, gold, ERROR, strata=strata)
    assert found.certificate["n_strata"] == 2
    labels = found.labels.set_index("item")
    hard = [i for i in strata if i not in set(easy)]
    unseen = (labels["status"][hard] == "certified").sum()  # as if all of them were wrong
    assert found.n_certified > 100
    assert unseen <= ERROR * (found.n_certified + found.n_gold)
    both = gold | {int(i): int(truth[i]) for i in hard[:100]}
    assert ue.certify(model, votes, both, 0.2, strata=strata).n_certified > len(easy) - 200
    for unnamed in ({1: "a"}, dict.fromkeys(range(1000)) | {1: "a"}):
        with pytest.raises(VotesError, match="strata has no value for 999 of the 1,000 items"):
            ue.certify(model, votes, gold, strata=unnamed)
    with pytest.raises(VotesError, match="there are 1,000 strata; join them to 20 at most"):
        ue.certify(model, votes, gold, strata={i: i for i in range(1000)})
