import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from conftest import read_truth
from latent.worlds import plain_crowd, repeating_crowd, rules, tilted_crowd, two_axes
from unelisa.aggregators import LatentIsing
from unelisa.blocks import SparseBlocks
from unelisa.errors import (
    ConvergenceWarning,
    ExpertsWarning,
    ModelError,
    UnelisaWarning,
    VotesError,
    VotesWarning,
)
from unelisa.sources.tables import read_votes
from unelisa.storage import load, save
from unelisa.votes import Votes


def fit(values, y=None, prior=None, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnelisaWarning)
        votes = values if isinstance(values, Votes) else Votes.of(values, coding="pm1")
        return LatentIsing(**{"random_state": 0, **settings}).fit(votes, y, prior)


def accuracy(model, values, truth):
    return model.score(Votes.of(values, coding="pm1"), truth)


def gold(truth, items):
    labels = np.full(len(truth), np.nan)
    labels[items] = truth[items]
    return labels


def test_the_consensus_reading_and_what_it_tells():
    values, truth = plain_crowd(0, n_items=600)
    model = fit(values)
    assert (model.reading_, model.two_readings_) == ("consensus", False)
    assert accuracy(model, values, truth) > 0.93
    assert model.structure_.set_index("structure").kept["plain"]
    low, high = model.prevalence_interval_
    assert low < np.mean(truth > 0) < high
    assert low < model.prevalence_ < high
    table = model.voters_
    told = {"verdict", "weight", "sensitivity", "specificity", "standard_error", "depends_on"}
    assert told | {"reason"} <= set(table)
    experts = table.loc[model.experts_]
    assert (experts.weight > 2 * experts.standard_error).all()
    shares = [np.mean(values[truth > 0, s][values[truth > 0, s] != 0] > 0) for s in range(20)]
    assert np.abs(model.sensitivity_ - shares).mean() < 0.08


def test_the_edges_reading_turns_contrarians_around(crowd):
    votes, truth = crowd
    model = fit(votes)
    assert model.reading_ == "edges"
    assert model.score(votes, truth) > 0.93
    assert model.experts_.tolist() == [0, 1, 2, 3, 4, 7, 8]
    assert model.voters_.verdict.tolist()[5:] == ["pruned"] * 2 + ["contrarian"] * 2
    assert "cost" in model.structure_
    assert model.voters_.reason[5].startswith(
        "explained by other voters" if model.graph_.degrees[5] else "not clearly tied"
    )
    assert model.sensitivity_[0] == pytest.approx(0.9, abs=0.05)


def test_worlds_are_read_as_they_are():
    for world, name in ((tilted_crowd, "tilt"), (repeating_crowd, "discount, duplicates once")):
        values, truth = world(2)
        model = fit(values)
        plain = fit(values, structure="plain")
        assert model.structure_.loc[model.structure_.kept, "structure"].tolist() == [name]
        assert accuracy(model, values, truth) > accuracy(plain, values, truth) + 0.01


def test_what_was_discounted_is_the_graph_and_is_named():
    values, _ = repeating_crowd(0)
    model = fit(values)
    assert set(model.graph_.neighbors(0)) >= {1, 2, 3, 4, 5}
    assert model.voters_.depends_on[0].endswith("more")
    assert model.voters_.depends_on[18] == ""


def test_two_readings_are_told_in_words():
    values, truth = repeating_crowd(0)
    with pytest.warns(ExpertsWarning, match="two readings"):
        model = LatentIsing(random_state=0).fit(Votes.of(values, coding="pm1"))
    assert model.two_readings_
    assert accuracy(model, values, truth) > 0.9


def test_the_larger_of_two_axes_is_kept():
    values, truth = two_axes(0)
    assert accuracy(fit(values), values, truth) > 0.95


def test_silent_rules():
    values, truth = rules(0)
    model = fit(values)
    assert accuracy(model, values, truth) > 0.7
    unheard = ~values.any(axis=1)
    odds = model.decision_function(values)
    assert len(set(odds[unheard])) == 1
    assert not np.isin(odds[~unheard], odds[unheard]).any()
    assert model.voters_.reason.str.endswith("its silence is its other answer").all()


def test_a_graph_of_rules_scores_the_votes_it_was_fitted_to():
    values, _ = rules(0)
    model = fit(values, structure="edges")
    side = -np.sign(values.sum(axis=0))
    filled = np.where((values == 0) & values.any(axis=1)[:, None], side, values)
    odds = 2 * (model.field_ + filled @ model.weights_)
    assert model.decision_function(values) == pytest.approx(odds)


@pytest.mark.parametrize("share", [0.0, 0.6])
def test_noise_claims_no_expert(share):
    rng = np.random.default_rng(3)
    values = rng.choice(np.array([-1, 1], dtype=np.int8), (400, 15))
    values[rng.random(values.shape) < share] = 0
    with pytest.warns(ExpertsWarning, match="uninformative voters"):
        model = LatentIsing(random_state=0).fit(Votes.of(values, coding="pm1"))
    assert len(model.experts_) == 0
    assert model.voters_.reason.str.startswith("the votes show no truth").all()


def test_a_voter_with_three_votes_is_no_expert():
    values, truth = plain_crowd(5)
    few = np.zeros((300, 1), dtype=np.int8)
    seen = [*np.flatnonzero(truth > 0)[:2], np.flatnonzero(truth < 0)[0]]
    few[seen, 0] = truth[seen]
    model = fit(np.hstack([values, few]))
    assert model.weights_[-1] > 0
    assert model.voters_.verdict.tolist()[-1] == "counted"
    assert model.voters_.reason.tolist()[-1].startswith("shrunk toward the mean, its own votes")


def test_five_gold_labels_turn_a_crowd_that_is_wrong():
    values, truth = plain_crowd(6, n_items=600)
    wrong = fit(-values)
    items = np.random.default_rng(1).choice(600, 5, replace=False)
    model = fit(-values, gold(truth, items))
    assert accuracy(model, -values, truth) == pytest.approx(1 - accuracy(wrong, -values, truth))
    assert model.prevalence_ == pytest.approx(1 - wrong.prevalence_)


def test_gold_labels_that_follow_another_axis_weigh_the_voters_alone():
    rng = np.random.default_rng(0)
    values, _ = plain_crowd(7, n_items=400, votes_per_item=20)
    truth = np.where(rng.random(400) < 0.5, 1, -1)
    known = np.where(rng.random((400, 5)) < 0.75, truth[:, None], -truth[:, None])
    values = np.hstack([values, known]).astype(np.int8)
    assert accuracy(fit(values), values, truth) < 0.65
    few, more = (fit(values, gold(truth, np.arange(k))) for k in (40, 200))
    assert few.reading_ == more.reading_ == "gold"
    assert accuracy(more, values[200:], truth[200:]) > accuracy(few, values[200:], truth[200:])
    table = few.structure_
    assert table.loc[table.kept.astype(bool), "structure"].tolist() == ["gold labels alone"]


@pytest.mark.parametrize("form", [dict, pd.Series, list])
def test_prior_log_odds_are_a_field_of_the_truth(form):
    values, truth = plain_crowd(8, votes_per_item=2)
    fields = 1.5 * truth * (np.arange(300) % 2)
    named = dict(zip(np.arange(300).astype(str), fields, strict=True))
    given = named if form is dict else pd.Series(named) if form is pd.Series else fields.tolist()
    model = fit(values, prior=given)
    alone = accuracy(fit(values), values, truth)
    labels = model.predict(values, prior=given)
    assert np.mean(labels == truth) > alone + 0.03
    apart = model.decision_function(values, prior=given) - model.decision_function(values)
    assert apart == pytest.approx(fields)
    assert np.array_equal(model.predict_proba(values, given)[:, 1] >= 0.5, labels == 1)
    votes = Votes.of(values, coding="pm1")
    again = LatentIsing(random_state=0)
    assert np.array_equal(again.fit_predict(votes, prior=given), labels)
    chances = again.fit_predict_proba(votes, prior=given)
    assert np.array_equal(chances, model.predict_proba(values, given))


def test_a_prior_settles_the_side_of_a_graph(crowd):
    votes, truth = crowd
    upside = Votes.of(-votes.values)
    model = fit(upside, prior=0.5 * truth)
    assert model.reading_ == "edges"
    assert model.score(upside, truth) > 0.9


def test_an_item_without_votes_gets_the_prior_odds():
    values, _ = plain_crowd(9, share=0.2)
    model = fit(values)
    assert model.decision_function(np.zeros((1, 20)))[0] == pytest.approx(2 * model.field_)
    assert model.field_ < 0


def test_bad_settings_and_priors_are_refused():
    values, _ = plain_crowd(0)
    with pytest.raises(ModelError, match="structure must be one of 'auto'"):
        fit(values, structure="best")
    with pytest.raises(VotesError, match="one finite log-odds"):
        fit(values, prior=[0.0, 1.0])
    with pytest.raises(VotesError, match="found 1 missing or infinite"):
        fit(values, prior=[np.nan] + [0.0] * 299)
    with pytest.raises(VotesError, match="values that are not numbers"):
        fit(values, prior=["likely"] * 300)


def told_of(values, y=None, prior=None, **settings):
    """The model, and the experts' warnings of its fit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = LatentIsing(random_state=0, **settings).fit(
            Votes.of(values, coding="pm1"), y, prior
        )
    return model, [str(w.message) for w in caught if w.category is ExpertsWarning]


@pytest.mark.parametrize("known", ["y", "prior"])
def test_what_names_other_items_is_pointed_out(known):
    values, truth = plain_crowd(0)
    votes = Votes.of(values, coding="pm1")
    with pytest.raises(VotesError, match=f"none of the 1 items named in {known} is among"):
        LatentIsing(random_state=0).fit(votes, **{known: {"elsewhere": 1}})
    with pytest.warns(VotesWarning, match=f"1 of the 2 items named in {known} are unknown"):
        LatentIsing(random_state=0).fit(votes, **{known: {"elsewhere": 1, "7": truth[7]}})


def test_a_structure_that_is_not_kept_is_told_of():
    values, _ = plain_crowd(0)
    model, told = told_of(values, structure="discount")
    assert told == [note for note in told if note.startswith("structure 'discount' was requested")]
    assert len(told) == 1
    assert model.structure_.set_index("structure").kept["plain"]


def test_gold_labels_settle_which_of_two_readings_is_meant():
    values, truth = repeating_crowd(0)
    model, told = told_of(values, gold(truth, np.arange(100)))
    assert not model.two_readings_
    assert not any("two readings" in note for note in told)
    assert model._reading.others == ()
    few, told = told_of(values, gold(truth, np.arange(5)))
    assert few.two_readings_
    assert sum("two readings" in note for note in told) == 1


@pytest.mark.parametrize("side", [1, -1])
def test_an_anchor_settles_the_side_and_a_prior_that_differs_is_told_of(side, crowd):
    """A graph, whose side a prior alone would settle."""
    votes, truth = crowd  # voter 0 is right on 90 % of the items
    model, told = told_of(votes.values, prior=0.5 * side * truth, orient=0)
    assert model.reading_ == "edges"
    assert model.score(votes, truth) > 0.9
    assert [note.startswith("the prior and the anchor voter point") for note in told] == (
        [] if side > 0 else [True]
    )
    by_prior, told = told_of(votes.values, prior=0.5 * side * truth)
    assert by_prior.score(votes, side * truth) > 0.9
    assert told == []


def test_a_prior_is_fitted_on_the_anchors_side():
    """A crowd that is wrong, and an anchor who is right: the prior helps from its side."""
    values, truth = plain_crowd(6, n_items=600)
    wrong = np.hstack([-values, np.where(truth > 0, 1, -1)[:, None]]).astype(np.int8)
    fields = 0.3 * truth  # too weak to turn the crowd
    model, told = told_of(wrong, prior=fields, orient=20)
    assert not any(note.startswith("the prior and the anchor") for note in told)
    mirrored, _ = told_of(-wrong, prior=fields, orient="majority")
    assert model.weights_ == pytest.approx(-mirrored.weights_, abs=1e-6)
    assert np.mean(model.predict(wrong, fields) == truth) > 0.95
    _, told = told_of(wrong, prior=-fields, orient=20)
    assert any(note.startswith("the prior and the anchor") for note in told)


@pytest.mark.parametrize("world", [tilted_crowd, repeating_crowd])
def test_threads_and_sparse_votes_change_no_bit(world, monkeypatch):
    monkeypatch.setattr("unelisa.latent.ballots.RUN", 200)
    values, _ = world(3)
    one = fit(values)
    sparse = Votes(
        SparseBlocks(sp.csr_array(values)), np.arange(len(values)), one.voter_names_, coding="pm1"
    )
    for other in (fit(values, n_jobs=2), fit(values, n_jobs=4), fit(sparse)):
        assert np.array_equal(other.weights_, one.weights_)
        assert np.array_equal(other.decision_function(values), one.decision_function(values))


@pytest.mark.parametrize("world", [tilted_crowd, repeating_crowd, rules])
def test_a_stored_model_says_the_same(world, tmp_path):
    values, _ = world(4)
    model = fit(values)
    save(model, tmp_path / "model.npz")
    again = load(tmp_path / "model.npz")
    assert np.array_equal(again.decision_function(values), model.decision_function(values))
    pd.testing.assert_frame_equal(again.structure_, model.structure_)
    assert np.array_equal(again.graph_.weights, model.graph_.weights)


@pytest.mark.parametrize(
    "values",
    [
        np.ones((6, 4)),
        np.tile([[1, -1]], (8, 2)),
        np.tile([[1, 1, -1, -1], [-1, -1, 1, 1]], (40, 1)),
        np.eye(5),
        np.where(np.eye(30) > 0, 1, 0) - np.roll(np.eye(30), 1, axis=0),
        np.where(np.random.default_rng(0).random((200, 30)) < 0.99, 0, 1),
        np.tile(np.where(np.arange(40) % 2, 1, -1)[:, None], (1, 8)),
        np.hstack([np.where(np.arange(40)[:, None] % 2, 1, -1) * s for s in (1, -1) * 4]),
        np.random.default_rng(1).choice([-1, 1], (4, 60)),
    ],
    ids=[
        "constant",
        "ties",
        "opposite pairs",
        "one vote each",
        "chain",
        "sparse",
        "identical",
        "opposite",
        "few items",
    ],
)
def test_degenerate_votes(values):
    model = fit(values.astype(np.int8))
    chances = model.predict_proba(values.astype(np.int8))
    assert np.all(np.isfinite(chances))
    assert np.all(np.isfinite(model.weights_))
    assert model.voters_.reason.str.len().min() > 0
    assert 0 < model.prevalence_ < 1
    for structure in ("plain", "tilt", "discount"):
        assert np.all(np.isfinite(fit(values.astype(np.int8), structure=structure).weights_))


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "least"), [("bluebirds", 0.92), ("youtube_spam", 0.84), ("llm_judges", 0.77)]
)
def test_real_votes(shared_data, name, least):
    found = sorted((shared_data / name).glob("votes*"))
    table = read_votes(found[0], coding="pm1")
    truth = read_truth(shared_data / name / "truth.csv")
    signs = np.array([truth.get(str(item), 0) for item in table.items], dtype=float)
    model = fit(table)
    assert model.score(table, np.where(signs == 0, np.nan, signs)) > least


@pytest.mark.filterwarnings("ignore:the gold labels swapped the sides")
@pytest.mark.parametrize("side", [1, -1])
def test_five_labels_turn_a_crowd_that_is_wrong_and_leave_one_that_is_right(side):
    rng = np.random.default_rng(5)
    truth = rng.choice([-1, 1], 300)
    votes = np.where(rng.random((300, 7)) < 0.8, truth[:, None], -truth[:, None]).astype(np.int8)
    right = 0
    for _ in range(10):
        gold = np.full(300, None, dtype=object)
        chosen = rng.choice(300, 5, replace=False)
        gold[chosen] = (side * truth)[chosen]
        model = LatentIsing("plain", random_state=0).fit(votes, gold)
        right += model.score(votes, side * truth) > 0.5
    assert right >= 9


def test_few_who_know_much_set_the_side_against_many_who_know_next_to_nothing():
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], size=(1000, 1))
    right = np.concatenate([np.full(24, 0.42), np.full(3, 0.97)])
    values = np.where(rng.random((1000, 27)) < right, truth, -truth).astype(np.int8)
    assert np.mean(np.sign(values.sum(axis=1)) == truth[:, 0]) < 0.5
    model = LatentIsing(structure="plain", random_state=0).fit(values)
    assert np.mean(np.sign(model.decision_function(values)) == truth[:, 0]) > 0.95
    assert np.all(model.weights_[-3:] > 0)


def test_rounds_that_end_before_the_weights_settle_are_told_of(monkeypatch):
    values, _ = tilted_crowd(0)
    monkeypatch.setattr("unelisa.latent.consensus.tilt.TILT_ITER", 2)
    with pytest.warns(ConvergenceWarning, match="EM stopped after 2 iterations"):
        LatentIsing("tilt", random_state=0).fit(Votes.of(values, coding="pm1"))
