"""Labels with a guarantee from random gold labels."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import unelisa as ue
from unelisa.analysis.certified_draws import draw_gold, plan_certification
from unelisa.analysis.certified_sets import Asked, Scored, choose_sets
from unelisa.analysis.certify import check_labels
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
        (choice,) = choose_sets(scored, gold, asked)
        given = (scored.sure >= choice.threshold) & (gold < 0)
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


@pytest.mark.filterwarnings("ignore:the labels cannot be relied on")
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


def test_a_design_is_verified_and_not_believed(crowd):
    votes, truth, model = crowd
    drawn = draw_gold(model, votes, 0.05, share=0.4)
    gold = {int(i): int(truth[i]) for i in drawn.places[:100]}
    for changed in (
        drawn.design.replace("seed=0", "seed=1"),
        drawn.design.replace("check=", "check=0"),
    ):
        with pytest.raises(ModelError, match="drawn with another model or from other votes"):
            ue.certify(model, votes, gold, drawn=changed)
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
    with pytest.raises(ModelError, match="needs more than two ordered classes"):
        ue.certify(model, votes, gold, loss="far")
    with pytest.raises(ModelError, match="a method with probabilities"):
        ue.certify(ue.MajorityVote().fit(votes), votes, gold)
    with pytest.raises(VotesError, match="1 of the 101 items with gold labels are not among"):
        ue.certify(model, votes, gold | {99999: 1})


@pytest.mark.parametrize(
    "wrong",
    [{"error": 0}, {"error": 1.0}, {"confidence": 1}, {"per": "x"}, {"loss": "x"}, {"looks": "x"}],
)
def test_requests_without_sense_are_refused(crowd, wrong):
    votes, truth, model = crowd
    with pytest.raises((ModelError, ValueError)):
        ue.certify(model, votes, draw(truth, 50), **wrong)


def test_a_loaded_model_that_was_fitted_to_gold_labels_is_refused(crowd, tmp_path):
    votes, truth, _ = crowd
    gold = draw(truth, 100)
    ue.save(ue.LatentIsing().fit(votes, y=gold), tmp_path / "model.npz")
    with pytest.raises(ModelError, match="fitted to 100 gold labels that it no longer names"):
        ue.certify(ue.load(tmp_path / "model.npz"), votes, gold)
