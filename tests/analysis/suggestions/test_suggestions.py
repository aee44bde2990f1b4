import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import unelisa as ue
from analysis.suggestions.crowds import NAMES, draw_crowd, fit
from unelisa.errors import ModelError, VotesWarning


@pytest.fixture(scope="module")
def crowd():
    votes = draw_crowd(n_items=300)
    return fit(ue.DawidSkene(), votes), votes


def test_the_frame_names_items_voters_gains_costs_and_chances(copied):
    model, votes = copied
    found = ue.suggest_votes(model, votes, n=30)
    assert list(found.columns) == ["item", "voter", "gain", "cost", "chance_now"]
    assert len(found) == 30
    rows = {name: i for i, name in enumerate(votes.items.tolist())}
    chances = model.predict_proba(votes).max(axis=1)
    for row in found.itertuples():
        assert votes.values[rows[row.item], NAMES.index(row.voter)] == 0
        assert row.chance_now == pytest.approx(chances[rows[row.item]])
    first = ~found["item"].duplicated()
    assert found.loc[first, "gain"].is_monotonic_decreasing
    assert found.attrs["expected_errors"] == pytest.approx((1 - chances).sum())
    assert 0 < found.attrs["stop"] < found["gain"].sum()
    assert found.attrs["note"] == ""


def test_the_stop_is_the_gain_of_the_next_batch_which_is_spread_unless_asked_otherwise(crowd):
    model, votes = crowd
    few, more = (ue.suggest_votes(model, votes, n=n, spread=False) for n in (20, 40))
    assert few.attrs["stop"] == pytest.approx(more["gain"].sum() - few["gain"].sum())
    assert set(zip(few["item"], few["voter"], strict=True)) <= set(
        zip(more["item"], more["voter"], strict=True)
    )
    spread, free = (ue.suggest_votes(model, votes, n=40, spread=wish) for wish in (True, False))
    assert spread["voter"].value_counts().max() < free["voter"].value_counts().max()
    assert spread["gain"].sum() < free["gain"].sum()


def test_expensive_voters_are_asked_less_and_humans_where_they_pay(crowd):
    model, votes = crowd
    usual = ue.suggest_votes(model, votes, n=20)
    dear = usual["voter"].mode()[0]
    found = ue.suggest_votes(model, votes, n=20, cost=pd.Series({dear: 10.0}))
    assert (found["voter"] == dear).sum() < (usual["voter"] == dear).sum()
    assert set(found.loc[found["voter"] != dear, "cost"]) == {1.0}
    scaled = ue.suggest_votes(model, votes, n=20, cost=dict.fromkeys(NAMES, 7.0))
    pd.testing.assert_frame_equal(usual, scaled.assign(cost=1.0))
    found = ue.suggest_votes(model, votes, n=20, voters=["c", "d"])
    assert set(found["voter"]) <= {"c", "d"}
    assert set(ue.suggest_votes(model, votes, n=5, voters="c")["voter"]) == {"c"}
    cheap = ue.suggest_votes(model, votes, n=20, gold_cost=1.0)
    assert set(cheap["voter"]) == {"human"}
    assert cheap["gain"].to_numpy() == pytest.approx(1 - cheap["chance_now"].to_numpy())
    assert not cheap["item"].duplicated().any()
    dear = ue.suggest_votes(model, votes, n=20, gold_cost=100.0)
    assert "human" not in set(dear["voter"])
    poor = ue.suggest_votes(model, votes, n=20, gold_cost=1.0, gold_accuracy=0.6)
    assert (poor["voter"] == "human").mean() < 1
    votes = draw_crowd(n_items=100)
    named = type(votes)(votes.blocks, votes.items, np.array([*NAMES[:-1], "human"]), votes.classes)
    model = fit(ue.DawidSkene(), named)
    with pytest.raises(ModelError, match="a voter is named 'human'"):
        ue.suggest_votes(model, named, gold_cost=2.0)


def test_long_tables_and_sparse_votes_give_the_same(crowd):
    model, votes = crowd
    expected = ue.suggest_votes(model, votes, n=10)
    items, voters = np.nonzero(votes.values)
    codes = votes.name_codes(votes.values[items, voters])
    long = pd.DataFrame({"item": votes.items[items], "voter": votes.voters[voters], "vote": codes})
    pd.testing.assert_frame_equal(ue.suggest_votes(model, ue.Votes.of(long), n=10), expected)
    signs = fit(ue.DawidSkene(), ue.Votes.of(votes.values, coding="pm1"))
    sparse = ue.Votes.of(csr_array(votes.values), coding="pm1")
    found = ue.suggest_votes(signs, sparse, n=10)
    assert found["gain"].to_numpy() == pytest.approx(expected["gain"].to_numpy())


def test_nothing_worth_buying_or_little_left_is_an_answer(crowd):
    votes = draw_crowd()
    model = fit(ue.DawidSkene(), votes)
    sure = votes.take_items(np.flatnonzero(model.predict_proba(votes).max(axis=1) > 0.98))
    found = ue.suggest_votes(model, sure, n=5, voters=["e", "f"])
    assert (len(found), found.attrs["stop"]) == (0, 0.0)
    assert found.attrs["note"].startswith("nothing worth buying")
    found = ue.suggest_votes(model, sure, n=5, voters=["e", "f"], criterion="log_loss")
    assert (len(found), found.attrs["note"]) == (5, "")
    model, votes = crowd
    few = votes.take_items(np.arange(3))
    left = int((few.values == 0).sum())
    with pytest.warns(VotesWarning, match=f"only {left} votes are left to ask for"):
        found = ue.suggest_votes(model, few, n=500, criterion="log_loss")
    assert 0 < len(found) <= left
    assert found.attrs["note"]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"cost": {"a": -1.0}}, "the cost of a must be a positive number"),
        ({"cost": {"a": "cheap"}}, "the cost of a must be a positive number"),
        ({"cost": {"zoe": 1.0}}, "cost names voters unknown to the model: .*zoe"),
        ({"voters": ["zoe", "a"]}, "voters names voters unknown to the model: .*zoe"),
        ({"n": 0}, "n must be a whole number of at least 1"),
        ({"criterion": "luck"}, "criterion must be one of errors, log_loss"),
        ({"gold_cost": 0.0}, "gold_cost must be a positive number"),
        ({"gold_cost": 1.0, "gold_accuracy": 0.5}, "gold_accuracy must be a probability above 1/2"),
    ],
)
def test_bad_input_is_one_sentence(crowd, given, sentence):
    model, votes = crowd
    with pytest.raises(ModelError, match=sentence):
        ue.suggest_votes(model, votes, **given)
