import warnings

import numpy as np
import pandas as pd
import pytest

from latent.worlds import copying_crowd, echo, plain_crowd, sides, two_axes, uneven_crowd
from unelisa.aggregators import LatentIsing, MajorityVote
from unelisa.errors import ModelError, ReliabilityWarning, UnelisaWarning, VotesError, VotesWarning
from unelisa.storage import load, save
from unelisa.votes import Votes


def fit(values, y=None, prior=None, prevalence=None, **settings):
    return told_of(values, y, prior, prevalence, **settings)[0]


def told_of(values, y=None, prior=None, prevalence=None, **settings):
    """The model, and the warnings of its fit about labels."""
    votes = values if isinstance(values, Votes) else Votes.of(values, coding="pm1")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnelisaWarning)
        model = LatentIsing(**settings).fit(votes, y, prior, prevalence=prevalence)
    return model, [str(w.message) for w in caught if w.category is ReliabilityWarning]


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
    low, high = model.prevalence_interval_
    assert low < np.mean(truth > 0) < high
    assert low < model.prevalence_ < high
    low, high = model.expected_accuracy_interval_
    assert low < model.expected_accuracy_ < high
    table = model.voters_full_
    told = {"verdict", "family", "weight", "sensitivity", "specificity", "standard_error"}
    assert told | {"accuracy", "accuracy_low", "depends_on", "reason"} <= set(table)
    experts = table.loc[model.experts_]
    assert (experts.weight > 2 * experts.standard_error).all()
    shares = [np.mean(values[truth > 0, s][values[truth > 0, s] != 0] > 0) for s in range(20)]
    assert np.abs(model.sensitivity_ - shares).mean() < 0.12


def test_the_edges_reading_turns_contrarians_around(crowd):
    votes, truth = crowd
    model = fit(votes)
    assert model.reading_ == "edges"
    assert model.score(votes, truth) > 0.93
    assert model.experts_.tolist() == [0, 1, 2, 3, 4, 7, 8]
    assert model.voters_.verdict.tolist()[5:] == ["pruned"] * 2 + ["contrarian"] * 2
    assert model.voters_.reason[5].startswith(
        "explained by other voters" if model.graph_.degrees[5] else "not clearly tied"
    )
    assert model.sensitivity_[0] == pytest.approx(0.9, abs=0.07)
    assert model.edges_ == model.graph_.edges


@pytest.mark.parametrize("world", [plain_crowd, copying_crowd, uneven_crowd, two_axes])
def test_it_labels_at_least_as_well_as_the_majority(world):
    values, truth = world(2)[:2]
    majority = MajorityVote().fit(Votes.of(values, coding="pm1"))
    assert accuracy(fit(values), values, truth) >= accuracy(majority, values, truth) - 0.005


def test_families_are_named_and_a_second_reading_stands_beside():
    values, _ = copying_crowd(0)
    names = ["a1", "a2", "a3", *"uvwxyz", "m", "n"]
    model = fit(Votes.of(pd.DataFrame(values, columns=names), coding="pm1"))
    assert model.families_ == [["a1", "a2", "a3"]]
    table = model.voters_.set_index("voter")
    (head,) = set(table.family[["a1", "a2", "a3"]])
    others = sorted({"a1", "a2", "a3"} - {head})
    assert (table.family.drop(["a1", "a2", "a3"]) == "").all()
    assert (table.verdict[others] == f"family of {head}").all()
    assert table.reason[others[0]].startswith(f"repeats {head}: the family counts as one voter")
    assert set(model.graph_.neighbors(0)) == {1, 2}
    assert set(table.depends_on["a1"].split(", ")) == {"a2", "a3"}
    assert model.edges_ == model.graph_.edges
    model, told = told_of(values)
    assert any("the votes allow two readings: " in x and "repeat each other" in x for x in told)
    assert (model.two_readings_, model.reliable_) == (True, False)
    table = model.readings_
    assert list(table) == ["structure", "clusters", "agreement", "share_yes", "voters"]
    assert table.agreement[0] == 1 > table.agreement[1]
    other = model.read(1)
    labels = model.predict(values), other.predict(values)
    assert np.mean(labels[0] == labels[1]) == pytest.approx(table.agreement[1])
    assert other.prevalence_ == pytest.approx(other.predict_proba(values)[:, 1].mean())
    assert other.readings_.structure.tolist() == table.structure.tolist()[::-1]
    assert np.array_equal(other.read(1).predict(values), labels[0])
    with pytest.raises(ModelError, match="there is no reading 2: `readings_` has 2 rows"):
        model.read(2)


def test_hard_items_are_told_and_a_voter_with_three_votes_is_no_expert():
    values, _, ease = uneven_crowd(1)
    found = fit(values).ease(values)
    assert np.corrcoef(found, ease)[0, 1] > 0.6
    assert np.isnan(fit(values).ease(np.zeros((2, 15)))).all()
    values, truth = plain_crowd(5)
    few = np.zeros((300, 1), dtype=np.int8)
    seen = [*np.flatnonzero(truth > 0)[:2], np.flatnonzero(truth < 0)[0]]
    few[seen, 0] = truth[seen]
    model = fit(np.hstack([values, few]))
    assert model.weights_[-1] > 0
    assert model.voters_.verdict.tolist()[-1] in ("counted", "uninformative")


def small(*columns):
    return np.array(columns, dtype=np.int8).T


def small_crowds():
    """Voters who cannot check each other; with the families that the votes leave."""
    rng = np.random.default_rng(3)
    truth = sides(rng, 1000)
    one, other = echo(rng, truth, 0.8), echo(rng, truth, 0.8)
    return {
        "one voter": (small(one), []),
        "two voters": (small(one, other), []),
        "two copies and another": (small(one, one, other), [["v0", "v1"]]),
        "three copies and another": (small(one, one, one, other), [["v0", "v1", "v2"]]),
    }


@pytest.mark.parametrize("name", small_crowds())
def test_of_voters_who_cannot_check_each_other_nothing_is_stated(name, tmp_path):
    values, families = small_crowds()[name]
    model = fit(values)
    assert not model.reliable_
    assert model.reliability_reason_
    assert model.families_ == families
    assert model.expected_accuracy_ is model.expected_accuracy_interval_ is None
    assert np.isnan([model.sensitivity_, model.specificity_]).all()
    assert len(model.experts_) == 0
    if families:
        assert any("repeat each other vote for vote" in text for text in model.cautions_)
    save(model, tmp_path / "model.npz")
    assert np.array_equal(load(tmp_path / "model.npz").predict(values), model.predict(values))


@pytest.mark.parametrize("share", [0.0, 0.6])
def test_noise_claims_nothing(share):
    values = np.random.default_rng(3).choice(np.array([-1, 1], dtype=np.int8), (400, 15))
    values[np.random.default_rng(4).random(values.shape) < share] = 0
    model = fit(values)
    assert len(model.experts_) == 0
    assert not model.reliable_
    assert model.expected_accuracy_ is None


def test_gold_is_the_truth_of_its_items_and_only_of_these():
    values, truth = plain_crowd(1)
    values[0] = 0
    wrong = np.array([0, 5, 17])  # gold labels that the votes contradict
    known = gold(truth, np.r_[0:8])
    known[wrong] = -truth[wrong]
    votes = Votes.of(values, coding="pm1")
    model = fit(votes, known)
    items = np.flatnonzero(~np.isnan(known))
    assert model.predict(votes)[items].tolist() == known[items].tolist()
    assert np.array_equal(model.predict_proba(votes)[items, 1], (known[items] > 0).astype(float))
    table = model.labels(votes)
    assert list(table) == ["item", "label", "probability", "status"]
    assert table.label[items].tolist() == known[items].tolist()
    assert (table.probability[items] == 1).all()
    assert (table.status == "gold").to_numpy().nonzero()[0].tolist() == items.tolist()
    assert table.status[18:].unique().tolist() == ["model"]
    # other votes of a bare array are other items
    assert model.labels(values[5:9]).status.unique().tolist() == ["model"]
    named = Votes.of(pd.DataFrame(values, index=[f"x{i}" for i in range(300)]), coding="pm1")
    again = fit(named, {"x5": -truth[5]}).labels(named.take_items([7, 5]))
    assert again.status.tolist() == ["model", "gold"]
    assert fit(votes).labels(votes).status.tolist() == ["no votes"] + ["model"] * 299


@pytest.mark.parametrize("share", [1.0, 0.99])
def test_where_nearly_all_labels_are_gold_they_are_right(share):
    values, truth = plain_crowd(1)
    model = fit(values, gold(truth, np.arange(int(share * 300))))
    assert model.expected_accuracy_ >= share
    assert model.reliable_
    assert model.prevalence_ == pytest.approx(np.mean(truth > 0), abs=0.01)
    if share == 1:
        assert model.expected_accuracy_interval_ == (1, 1)
        assert accuracy(model, values, truth) == 1


def test_gold_that_agrees_contradicts_or_turns_a_crowd():
    values, truth = plain_crowd(0, n_items=600)
    items = np.random.default_rng(0).permutation(600)
    models = [fit(values, gold(truth, items[:n])) for n in (30, 100, 300)]
    assert all(model.reliable_ for model in models)
    widths = [np.diff(model.expected_accuracy_interval_)[0] for model in models]
    assert widths[0] > widths[1] > widths[2]
    coins = np.random.default_rng(1).choice([-1, 1], 600)
    against = fit(values, gold(coins, items[:50]))
    assert not against.reliable_
    assert "gold labels contradict the labels" in against.reliability_reason_
    values, truth = plain_crowd(6, n_items=600)
    wrong = fit(-values)
    items = np.random.default_rng(1).choice(600, 5, replace=False)
    model = fit(-values, gold(truth, items))
    rest = np.delete(np.arange(600), items)
    assert (model.predict(-values) == -wrong.predict(-values))[rest].all()
    assert any("the sides were swapped" in caution for caution in model.cautions_)


def test_gold_labels_that_follow_another_axis_weigh_the_voters():
    rng = np.random.default_rng(0)
    values, _ = plain_crowd(7, n_items=400, votes_per_item=20)
    truth = np.where(rng.random(400) < 0.5, 1, -1)
    known = np.where(rng.random((400, 5)) < 0.75, truth[:, None], -truth[:, None])
    values = np.hstack([values, known]).astype(np.int8)
    assert accuracy(fit(values), values, truth) < 0.65
    few, more = (fit(values, gold(truth, np.arange(k))) for k in (40, 200))
    rest = values[200:], truth[200:]
    assert accuracy(more, *rest) > accuracy(few, *rest) > 0.65


@pytest.mark.parametrize(
    ("prevalence", "low", "high"),
    [(0.1, 0.1, 0.1), ((0.05, 0.2), 0.05, 0.2), ({1: 0.7}, 0.7, 0.7), ({-1: [0.2, 0.3]}, 0.7, 0.8)],
    ids=str,
)
def test_a_stated_prevalence_is_met_and_the_order_of_items_stays(prevalence, low, high):
    values, _ = plain_crowd(3)
    plain, model = fit(values), fit(values, prevalence=prevalence)
    heard = values.any(axis=1)
    share = model.predict_proba(values)[heard, 1].mean()
    assert low - 1e-5 <= share <= high + 1e-5
    assert low <= model.prevalence_ <= high
    ends = np.array(model.prevalence_interval_)
    assert low <= ends[0] <= ends[1] <= high
    shift = (model.decision_function(values) - plain.decision_function(values))[heard]
    assert np.ptp(shift) == pytest.approx(0, abs=1e-6)
    positive = (model.predict_proba(values)[heard, 1] > 0.5).sum()
    assert positive != (plain.predict_proba(values)[heard, 1] > 0.5).sum()


def test_a_prevalence_that_the_labels_meet_changes_nothing():
    values, _ = plain_crowd(3)
    plain, model = fit(values), fit(values, prevalence=(0.01, 0.99))
    assert np.array_equal(model.decision_function(values), plain.decision_function(values))
    with_gold = fit(values, {0: 1, 1: -1}, prevalence=0.2)
    assert with_gold.predict(values)[:2].tolist() == [1, -1]
    assert with_gold.prevalence_ == 0.2


@pytest.mark.parametrize(
    ("prevalence", "told"),
    [
        (1.5, "prevalence must be a share between 0 and 1, a pair"),
        (0, "prevalence must be a share between 0 and 1, a pair"),
        ((0.4, 0.2), "prevalence must be a share between 0 and 1, a pair"),
        ("rare", "prevalence must be a share between 0 and 1, a pair"),
        ((0.1, 0.2, 0.3), "prevalence must be a share between 0 and 1, a pair"),
        ({"maybe": 0.2}, "names a class that the votes do not have"),
        ({1: 0.2, -1: 0.3}, "shares that can add up to 1"),
    ],
    ids=str,
)
def test_other_prevalences_are_refused(prevalence, told):
    with pytest.raises(ModelError, match=told):
        fit(plain_crowd(3)[0], prevalence=prevalence)


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
    assert np.array_equal(LatentIsing().fit_predict(votes, prior=given), labels)
    chances = LatentIsing().fit_predict_proba(votes, prior=given)
    assert np.array_equal(chances, model.predict_proba(values, given))


def test_a_prior_settles_the_side_of_a_graph_or_follows_its_anchor(crowd):
    votes, truth = crowd
    upside = Votes.of(-votes.values)
    model = fit(upside, prior=0.5 * truth)
    assert model.reading_ == "edges"
    assert model.score(upside, truth) > 0.9
    # a crowd that is wrong, and an anchor who is right: the prior helps from its side
    values, truth = plain_crowd(6, n_items=600)
    wrong = np.hstack([-values, np.where(truth > 0, 1, -1)[:, None]]).astype(np.int8)
    fields = 0.3 * truth  # too weak to turn the crowd
    model, told = told_of(wrong, prior=fields, orient=20)
    assert not any("the prior and the anchor" in note for note in told)
    mirrored, _ = told_of(-wrong, prior=fields, orient="majority")
    assert model.weights_ == pytest.approx(-mirrored.weights_, abs=1e-6)
    assert np.mean(model.predict(wrong, fields) == truth) > 0.95
    _, told = told_of(wrong, prior=-fields, orient=20)
    assert any("the prior and the anchor" in note for note in told)


def test_no_votes_say_how_common_classes_are_and_no_label_is_said():
    values, _ = plain_crowd(9, share=0.2)
    model = fit(values)
    assert model.decision_function(np.zeros((1, 20)))[0] < 0
    assert model.field_ < 0
    values, _ = plain_crowd(3)
    few, many = fit(values, prevalence=1e-4), fit(values, prevalence=0.3)
    assert (few.predict(values) == -1).all()
    assert any("no item is labeled as a class" in caution for caution in few.cautions_)
    assert not any("no item is labeled" in caution for caution in many.cautions_)


def test_bad_settings_and_priors_are_refused():
    values, _ = plain_crowd(0)
    with pytest.raises(ModelError, match="structure must be one of 'auto'"):
        fit(values, structure="tilt")
    with pytest.raises(VotesError, match="one finite log-odds"):
        fit(values, prior=[0.0, 1.0])
    with pytest.raises(VotesError, match="found 1 missing or infinite"):
        fit(values, prior=[np.nan] + [0.0] * 299)
    with pytest.raises(VotesError, match="values that are not numbers"):
        fit(values, prior=["likely"] * 300)


@pytest.mark.parametrize("known", ["y", "prior"])
def test_what_names_other_items_is_pointed_out(known):
    values, truth = plain_crowd(0)
    votes = Votes.of(values, coding="pm1")
    with pytest.raises(VotesError, match=f"none of the 1 items named in {known} is among"):
        LatentIsing().fit(votes, **{known: {"elsewhere": 1}})
    with pytest.warns(VotesWarning, match=f"1 of the 2 items named in {known} are unknown"):
        LatentIsing().fit(votes, **{known: {"elsewhere": 1, "7": truth[7]}})


@pytest.mark.parametrize("side", [1, -1])
def test_an_anchor_settles_the_side_and_a_prior_that_differs_is_told_of(side, crowd):
    """A graph, whose side a prior alone would settle."""
    votes, truth = crowd  # voter 0 is right on 90 % of the items
    model, told = told_of(votes.values, prior=0.5 * side * truth, orient=0)
    assert model.reading_ == "edges"
    assert model.score(votes, truth) > 0.9
    assert any("the prior and the anchor" in text for text in told) == (side < 0)
    by_prior, told = told_of(votes.values, prior=0.5 * side * truth)
    assert by_prior.score(votes, side * truth) > 0.9
    assert not any("the prior and the anchor" in text for text in told)


@pytest.mark.parametrize("known", [{}, {"y": {3: 1}}, {"prevalence": 0.3}], ids=str)
def test_a_stored_model_says_the_same(known, tmp_path):
    values, _ = copying_crowd(4)
    model = fit(values, **known)
    save(model, tmp_path / "model.npz")
    again = load(tmp_path / "model.npz")
    rest = values[10:]
    assert np.array_equal(again.decision_function(rest), model.decision_function(rest))
    assert again.readings_.equals(model.readings_)
    assert again.voters_full_.equals(model.voters_full_)
    assert np.array_equal(again.graph_.weights, model.graph_.weights)
    for name in ("expected_accuracy_", "prevalence_interval_", "reliable_", "cautions_"):
        assert getattr(again, name) == getattr(model, name)
