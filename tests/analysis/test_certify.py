"""Labels with a guarantee from random gold labels, guarantees for groups, and the bounds."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, hypergeom

import unelisa as ue
from unelisa.analysis.certified_draws import draw_gold, plan_certification
from unelisa.analysis.certified_sets import Asked, Scored, choose_sets
from unelisa.analysis.certified_shares import certify_cohort, certify_rates
from unelisa.analysis.certify import check_labels
from unelisa.analysis.error_bounds import Draws, bound_strata, bound_wrong, log_ratio
from unelisa.errors import ModelError, VotesError


@pytest.fixture(scope="module")
def crowd():
    """A crowd whose labels are wrong on some items, which the model is less sure of."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 2000)
    hard = rng.random(2000) < 0.25
    right = np.where(hard, 0.55, 0.9)[:, None]
    votes = np.where(rng.random((2000, 7)) < right, truth[:, None], 1 - truth[:, None])
    table = ue.Votes.of(pd.DataFrame(votes, columns=list("abcdefg")), coding="01")
    return table, truth, ue.LatentIsing().fit(table)


def draw(truth, n, seed=0):
    items = np.random.default_rng(seed).choice(len(truth), n, replace=False)
    return {int(i): int(truth[i]) for i in items}


def test_the_certified_part_is_within_the_error(crowd):
    votes, truth, model = crowd
    found = ue.certify(model, votes, draw(truth, 300), 0.1)
    table = found.labels
    counts = table["status"].value_counts()
    assert counts["gold"] == found.n_gold == 300
    assert counts["certified"] == found.n_certified > 1000
    assert counts.sum() == 2000
    given = table[table["status"] != "look"]
    wrong = (given["label"].to_numpy() != truth[given["item"].to_numpy().astype(int)]).mean()
    assert wrong <= 0.1
    gold = table[table["status"] == "gold"]
    assert (gold["label"].to_numpy() == truth[gold["item"].to_numpy().astype(int)]).all()
    assert (gold["probability"] == 1).all()
    assert "at most 10% wrong labels" in str(found)


def synthetic(seed=0, n=1000, informative=True):
    """Labels with known errors: (scored, truth)."""
    rng = np.random.default_rng(seed)
    sure = np.round(rng.uniform(0.5, 1, n), 9)
    truth = np.where(rng.random(n) < sure, 1, 0)
    if not informative:
        sure = rng.permutation(sure)
    return Scored(None, np.ones(n, dtype=np.intp), sure, np.array([0, 1])), truth


@pytest.mark.parametrize("informative", [True, False])
@pytest.mark.parametrize("once", [True, False])
@pytest.mark.parametrize("per", ["file", "automatic"])
def test_the_promise_is_broken_no_more_often_than_said(informative, once, per):
    scored, truth = synthetic(informative=informative)
    rng, runs, broken = np.random.default_rng(1), 200, 0
    for _ in range(runs):
        gold = np.full(len(truth), -1)
        drawn = rng.choice(len(truth), 200, replace=False)
        gold[drawn] = truth[drawn]
        asked = Asked(0.1, 0.9, per, "wrong", 0.0, once)
        (threshold,), _ = choose_sets(scored, gold, asked)
        given = (scored.sure >= threshold) & (gold < 0)
        many = given.sum() + (200 if per == "file" else 0)
        broken += (truth[given] == 0).sum() > 0.1 * many
    assert binom.sf(broken - 1, runs, 0.1) > 0.001


def test_looking_once_certifies_more(crowd):
    votes, truth, model = crowd
    sizes = [
        ue.certify(model, votes, draw(truth, 150), 0.08, looks=looks).n_certified
        for looks in ("any", "once")
    ]
    assert sizes[0] <= sizes[1]
    assert sizes[1] > 0


def test_out_of_reach_says_what_is_in_reach(crowd):
    votes, truth, model = crowd
    found = ue.certify(model, votes, draw(truth, 60), 0.001)
    assert found.n_certified == 0
    assert "is out of reach" in str(found)
    assert 0.001 < found.certificate["certifiable_error"] < 1
    assert set(found.labels["status"]) == {"gold", "look"}


def test_each_class_has_its_own_guarantee(crowd):
    votes, truth, model = crowd
    found = ue.certify(model, votes, draw(truth, 600), 0.12, per="class")
    assert len(found.certificate["thresholds"]) == 2
    given = found.labels[found.labels["status"] != "look"]
    for label in (0, 1):
        own = given[given["label"] == label]
        assert (truth[own["item"].to_numpy().astype(int)] != label).mean() <= 0.12


@pytest.fixture(scope="module")
def ratings():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 4, 1500)
    near = np.clip(truth[:, None] + rng.choice([-1, 0, 0, 0, 1], size=(1500, 6)), 0, 3)
    names = np.array(["poor", "fair", "good", "great"])
    table = ue.Votes.of(pd.DataFrame(names[near]), order=list(names))
    return table, names[truth], ue.LatentIsing().fit(table)


@pytest.mark.parametrize(("loss", "error"), [("far", 0.02), ("squared", 0.3)])
def test_ordered_classes_have_losses_of_their_own(ratings, loss, error):
    votes, truth, model = ratings
    drawn = np.random.default_rng(0).choice(1500, 500, replace=False)
    gold = {int(i): truth[i] for i in drawn}
    found = ue.certify(model, votes, gold, error, loss=loss)
    assert found.n_certified > 0
    given = found.labels[found.labels["status"] != "look"]
    place = {name: k for k, name in enumerate(["poor", "fair", "good", "great"])}
    gaps = np.array(
        [
            place[a] - place[truth[int(i)]]
            for a, i in zip(given["label"], given["item"], strict=True)
        ]
    )
    lost = (np.abs(gaps) >= 2).mean() if loss == "far" else (gaps**2).mean()
    assert lost <= error
    words = (
        "at most 2% labels off by more" if loss == "far" else "squared difference of at most 0.3"
    )
    assert words in str(found)
    few = ue.certify(model, votes, dict(list(gold.items())[:20]), 1e-6, loss=loss)
    reach = few.certificate["certifiable_error"]
    unit = f"{reach:.2g} can" if loss == "squared" else f"{100 * reach:.2g}% can"
    assert unit in str(few)


def test_the_plan_and_the_draw_are_those_of_the_loss(ratings):
    """Hardly a label is off by more than one class, so that more can be certified."""
    votes, _, model = ratings
    plans = {k: plan_certification(model, votes, 0.05, loss=k)[-1] for k in ("wrong", "far")}
    assert plans["wrong"].certified < plans["far"].certified
    drawn = {k: len(draw_gold(model, votes, 0.05, loss=k).places) for k in plans}
    assert drawn["wrong"] < drawn["far"]
    nothing = plan_certification(model, votes, 1e-5)
    assert len(nothing) > 1
    assert nothing[-1].certified == 0


@pytest.mark.parametrize("share", [None, 0.5])
def test_gold_drawn_among_the_sure_items_certifies_only_these(crowd, share):
    votes, truth, model = crowd
    drawn = draw_gold(model, votes, 0.05, share=share, seed=3)
    gold = {int(i): int(truth[i]) for i in drawn.places[:200]}
    found = ue.certify(model, votes, gold, 0.05, drawn=drawn.design)
    assert found.n_certified > 0
    assert found.certificate["seed"] == 3
    certified = np.flatnonzero(found.labels["status"] == "certified")
    assert set(certified) <= set(drawn.places)
    if share:
        assert found.n_certified + found.n_gold == len(drawn.places)
        assert found.n_certified + found.n_gold >= 1000


def test_a_design_is_verified_and_not_believed_and_one_of_version_0_3_is_still_good(crowd):
    votes, truth, model = crowd
    drawn = draw_gold(model, votes, 0.05, share=0.4)
    gold = {int(i): int(truth[i]) for i in drawn.places[:100]}
    for changed in (
        drawn.design.replace("seed=0", "seed=1"),
        drawn.design.replace("share=0.4", "share=0.0"),
        drawn.design.replace("check=", "check=0"),
    ):
        with pytest.raises(ModelError, match="from other votes or by another design"):
            ue.certify(model, votes, gold, drawn=changed)
    # the checksum of version 0.3 was of the items alone
    old = f"{drawn.design.rpartition('=')[0]}=cb23d1e7c57228f3"
    more = {int(i): int(truth[i]) for i in drawn.places[:200]}
    found, now = (ue.certify(model, votes, more, drawn=text) for text in (old, drawn.design))
    assert found.n_certified == now.n_certified > 0
    with pytest.raises(ModelError, match="drawn must be random, by-hand or the design"):
        ue.certify(model, votes, gold, drawn="drawn seed=x")
    outside = np.setdiff1d(np.arange(2000), drawn.places)[:3]
    with pytest.raises(ModelError, match="3 gold labels are of items outside the draw"):
        ue.certify(
            model, votes, gold | {int(i): int(truth[i]) for i in outside}, drawn=drawn.design
        )


def test_items_that_were_drawn_and_skipped_count_as_wrong(crowd):
    votes, truth, model = crowd
    drawn = draw_gold(model, votes, 0.1, share=0.5)
    gold = {int(i): int(truth[i]) for i in drawn.places[:150]}
    whole = ue.certify(model, votes, gold, 0.1, drawn=drawn.design)
    skipped = [int(i) for i in drawn.places[10:30]]
    found = ue.certify(
        model, votes, {i: y for i, y in gold.items() if i not in skipped}, 0.1, drawn=drawn.design
    )
    assert whole.certificate["n_unanswered"] == 0
    assert whole.n_certified > 0
    assert found.certificate["n_unanswered"] == 20
    assert found.certificate["n_drawn"] == 150
    assert (found.labels["status"][skipped] == "look").all()
    assert found.n_certified == 0


def test_the_plan_grows_with_the_answers(crowd):
    votes, _, model = crowd
    plan = plan_certification(model, votes, 0.1)
    assert [row.answers for row in plan] == sorted({row.answers for row in plan})
    assert plan[-1].certified > 0.3
    assert all(row.low <= row.certified <= row.high for row in plan)


def test_a_changed_label_is_not_the_certified_one(crowd):
    votes, truth, model = crowd
    found = ue.certify(model, votes, draw(truth, 300), 0.1)
    columns = [found.labels[name].astype(str).tolist() for name in ("item", "label", "status")]
    assert check_labels(found.certificate, *columns)
    columns[1][7] = "1" if columns[1][7] == "0" else "0"
    assert not check_labels(found.certificate, *columns)


def test_what_gives_no_guarantee_is_refused(crowd):
    votes, truth, model = crowd
    gold = draw(truth, 100)
    with pytest.raises(ModelError, match="chosen by hand say nothing about the other items"):
        ue.certify(model, votes, gold, drawn="by-hand")
    with pytest.raises(ModelError, match="fitted to 100 of the 100 gold labels"):
        ue.certify(ue.LatentIsing().fit(votes, y=gold), votes, gold)
    for refuse in (partial(ue.certify, gold=gold), plan_certification, draw_gold):
        with pytest.raises(ModelError, match="needs more than two ordered classes"):
            refuse(model, votes, loss="far")
    with pytest.raises(ModelError, match="a method with probabilities"):
        ue.certify(ue.MajorityVote().fit(votes), votes, gold)
    with pytest.raises(VotesError, match="1 of the 101 items with gold labels are not among"):
        ue.certify(model, votes, gold | {99999: 1})


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("error", [0, 1.0, "5%", None]),
        ("confidence", [1, "95%"]),
        ("per", "x"),
        ("loss", "x"),
        ("looks", "x"),
        ("drawn", [None, "drawn seed=-1 above=0.5 share=0.0 check=a"]),
        ("gold", [5, None, "yes", pd.DataFrame({"label": [1]})]),
    ],
)
def test_requests_and_draws_without_sense_are_refused(crowd, name, wrong):
    votes, truth, model = crowd
    for one in wrong:
        with pytest.raises((ModelError, VotesError), match=f"^{name} "):
            ue.certify(model, votes, **({"gold": draw(truth, 50)} | {name: one}))
    for setting, one in [
        ("seed", -1),
        ("seed", "a"),
        ("seed", None),
        ("share", "half"),
        ("share", 0),
    ]:
        with pytest.raises(ModelError, match=f"^{setting} must be"):
            draw_gold(model, votes, **{setting: one})


@pytest.mark.parametrize("spell", [float, " {}".format, "{}.0".format])
def test_gold_labels_and_groups_are_matched_by_one_spelling(crowd, spell):
    votes, truth, model = crowd
    gold = draw(truth, 300)
    other = {spell(i): y for i, y in gold.items()}
    found, same = (ue.certify(model, votes, one, 0.1).certificate for one in (other, gold))
    assert found == same
    rates, same = (ue.estimate_rate(model, votes, pd.Series(one)) for one in (other, gold))
    assert rates.equals(same)
    groups = {i: "ab"[i % 2] for i in range(2000)}
    named = {spell(i): group for i, group in groups.items()}
    rates, same = (
        certify_rates(model, votes, other, named),
        certify_rates(model, votes, gold, groups),
    )
    assert rates.equals(same)


def test_a_loaded_model_that_was_fitted_to_gold_labels_is_refused(crowd, tmp_path):
    votes, truth, _ = crowd
    gold = draw(truth, 100)
    ue.save(ue.LatentIsing().fit(votes, y=gold), tmp_path / "model.npz")
    with pytest.raises(ModelError, match="fitted to 100 gold labels that it no longer names"):
        ue.certify(ue.load(tmp_path / "model.npz"), votes, gold)


@pytest.fixture(scope="module")
def jury():
    """Two systems with pass rates of about .7 and .4, five judges."""
    rng = np.random.default_rng(0)
    system = np.repeat(["a", "b"], 400)
    passed = rng.random(800) < np.where(system == "a", 0.7, 0.4)
    said = np.where(rng.random((800, 5)) < 0.85, passed[:, None], ~passed[:, None])
    votes = ue.Votes.of(pd.DataFrame(said.astype(int), columns=list("vwxyz")), coding="01")
    return votes, passed.astype(int), system, ue.LatentIsing().fit(votes)


@pytest.mark.parametrize("looks", ["any", "once"])
def test_the_rates_of_all_systems_are_covered_together(jury, looks):
    votes, passed, system, model = jury
    groups = dict(enumerate(system))
    rng, missed, runs = np.random.default_rng(1), 0, 40
    true = pd.Series(passed).groupby(system).mean()
    for _ in range(runs):
        drawn = rng.choice(800, 200, replace=False)
        gold = {int(i): int(passed[i]) for i in drawn}
        found = certify_rates(model, votes, gold, groups, 0.9, looks=looks)
        missed += ((true < found["low"] - 1e-9) | (true > found["high"] + 1e-9)).any()
    assert binom.sf(missed - 1, runs, 0.1) > 0.001
    assert (found["high"] - found["low"] < 0.35).all()
    assert found["items"].tolist() == [400, 400]


def test_the_rate_of_another_class_is_the_rest(jury):
    votes, passed, system, model = jury
    gold = {i: int(passed[i]) for i in range(0, 800, 4)}
    one, other = (
        certify_rates(model, votes, gold, dict(enumerate(system)), label=k) for k in (1, 0)
    )
    assert np.allclose(one["low"], 1 - other["high"])
    some = {i: name if i % 2 else None for i, name in enumerate(system)}
    assert list(certify_rates(model, votes, gold, some).index) == ["a", "b"]
    with pytest.raises(ModelError, match="not a class"):
        certify_rates(model, votes, gold, {0: "a"}, label="x")
    with pytest.raises(VotesError, match="none of the items"):
        certify_rates(model, votes, gold, {"nobody": "a"})


def test_the_bound_over_strata_is_the_worst_division_and_cells_make_it_larger_at_most():
    case = Draws(40, 12, 1, 0.05), Draws(30, 10, 0, 0.02)
    possible = [
        a + b
        for a in range(41)
        for b in range(31)
        if log_ratio(case[0], a) + log_ratio(case[1], b) < np.log(20)
    ]
    assert bound_strata(case, 0.05) == max(possible)
    one = Draws(4000, 200, 2, 0.02)
    two = [one, Draws(1500, 100, 3, 0.05)]
    fine, coarse = bound_strata([one], 0.05), bound_strata(two, 0.05)
    possible = [w for w in range(2, 4000) if log_ratio(one, w) < np.log(20)]
    assert max(possible) <= fine <= max(possible) + 10
    assert fine < coarse < 800


def test_the_cohort_is_certified_no_more_often_than_promised():
    rng, runs, broken, given = np.random.default_rng(2), 200, 0, 0
    stratum = np.repeat([0, 1], [600, 200])
    no_case = np.concatenate([np.arange(600) < 30, np.arange(200) < 52])  # 10.25 % of all
    names = np.arange(800)
    for _ in range(runs):
        drawn = np.concatenate([rng.choice(names[stratum == s], 60, replace=False) for s in (0, 1)])
        charts = {int(i): int(not no_case[i]) for i in drawn}
        found = certify_cohort(
            dict(zip(names.tolist(), stratum.tolist(), strict=True)), charts, 0.08, 0.9
        )
        left = no_case.sum() - found["n_removed"]
        broken += found["certified"] and left > 0.08 * found["n_cohort"]
        given += found["ppv_at_least"] <= 1 - left / found["n_cohort"] + 1e-4
    assert binom.sf(broken - 1, runs, 0.1) > 0.001
    assert given >= 0.85 * runs


def test_a_good_cohort_is_certified_and_says_from_what():
    flagged = {f"p{i}": 0.2 if i < 300 else 0.5 for i in range(400)}
    charts = {name: 1 for k, name in enumerate(flagged) if k % 4 == 0} | {"p0": 0, "stranger": 1}
    found = certify_cohort(flagged, charts)
    assert found["certified"]
    assert (found["n_charts"], found["n_removed"], found["n_cohort"]) == (100, 1, 399)
    assert found["n_strata"] == 2
    assert found["guarantee"] == (
        "with 95% confidence, at most 10% of the 399 patients are no cases, from 100 random charts"
    )
    few = certify_cohort(flagged, dict(list(charts.items())[:20]))
    assert not few["certified"]
    assert "cannot be certified" in few["guarantee"]


def test_strata_are_compared_by_one_spelling():
    """A list as a stratum was not even refused."""
    flagged, charts = dict(enumerate([1, "1", 1.0, " 1"] * 50)), dict.fromkeys(range(0, 200, 3), 1)
    named = {name: str(stratum).strip() for name, stratum in flagged.items()}
    assert certify_cohort(flagged, charts)["n_strata"] == 1
    assert certify_cohort(named, charts)["n_strata"] == 1
    assert certify_cohort({name: [1] for name in range(200)}, charts)["n_strata"] == 1


def test_what_is_no_cohort_is_refused():
    with pytest.raises(ModelError, match="no flagged patient"):
        certify_cohort({}, {})
    with pytest.raises(ModelError, match="error must lie between 0 and 1"):
        certify_cohort({"p": 1}, {"p": 1}, 1.0)
    for stranger in ("p\u200b", "\uff50", "q"):
        with pytest.raises(VotesError, match="none of the 1 charts is of a flagged patient"):
            certify_cohort({"p": 1}, {stranger: 1})
    with pytest.raises(VotesError, match="must be 0 or 1"):
        certify_cohort({"p": 1}, {"p": "case"})


@pytest.mark.parametrize(("n", "k", "e"), [(500, 120, 0), (2000, 150, 6), (900, 300, 40)])
def test_mapies_test_excludes_no_number_that_the_exact_bound_allows(n, k, e):
    """Its p-values, by Hoeffding and Bentkus, are bounds of the same probability."""
    reason = "MAPIE, the independent check, comes with the test extra"
    methods = pytest.importorskip("mapie.risk_control.methods", reason=reason)
    risks = np.arange(e + 1, n - k + e + 1) / n
    chances = methods.compute_hoeffding_bentkus_p_value(np.array([e / k]), k, risks)[0]
    possible = round(risks[chances > 0.05].max() * n)
    bound = bound_wrong(Draws(n, k, e, 0.05), 0.05, once=True)
    assert 0.5 * possible < bound <= possible


@pytest.mark.parametrize(("n", "k", "e"), [(50, 20, 0), (50, 20, 3), (200, 60, 5), (10, 10, 4)])
def test_one_look_gives_the_exact_bound_and_many_the_largest_number_not_excluded(n, k, e):
    exact = [wrong for wrong in range(e, n - k + e + 1) if hypergeom.cdf(e, n, wrong, k) > 0.05]
    assert bound_wrong(Draws(n, k, e, 0.05), 0.05, once=True) == max(exact)
    draws = Draws(n, k, e, 0.05)
    possible = [w for w in range(e, n - k + e + 1) if log_ratio(draws, w) < np.log(20)]
    assert bound_wrong(draws, 0.05, once=False) == max(possible)
    assert max(possible) >= max(exact)


# confseq, which has bounds at all looks, is no reference here: its release (0.0.11) is source that
# needs a C++ compiler and NumPy 1
@pytest.mark.parametrize("wrong", [2, 15, 40])
def test_the_ratio_is_a_supermartingale_that_begins_at_one(wrong):
    """Its mean is the chance that the prior gives to draws which so many wrong items allow."""
    n, mean = 100, 0.05
    total = 0.0
    for e in range(wrong + 1):
        chance = hypergeom.pmf(e, n, wrong, 30)
        if chance > 0:
            total += chance * np.exp(log_ratio(Draws(n, 30, e, mean), wrong))
    assert 0.98 < total <= 1 + 1e-9


def test_bounds_hold_at_all_looks_together():
    rng = np.random.default_rng(5)
    n, wrong, runs, failed = 300, 15, 400, 0
    for _ in range(runs):
        found = np.cumsum(rng.permutation(np.arange(n) < wrong))[:150]
        ratios = [log_ratio(Draws(n, k, e, 0.03), wrong) for k, e in enumerate(found, 1)]
        failed += max(ratios) >= np.log(1 / 0.1)
    assert binom.sf(failed - 1, runs, 0.1) > 0.001
    assert failed > 0  # the bound is not idle


@pytest.mark.parametrize("once", [True, False])
def test_nothing_drawn_leaves_every_doubt_and_everything_none(once):
    assert bound_wrong(Draws(30, 0, 0, 0.05), 0.05, once=once) == 30
    assert bound_wrong(Draws(30, 30, 4, 0.05), 0.05, once=once) == 4
