import warnings

import numpy as np
import pandas as pd
import pytest

from conftest import read_truth
from latent.worlds import (
    bad_clique,
    copying_crowd,
    echo,
    plain_crowd,
    repeating_crowd,
    rules,
    sides,
    tilted_crowd,
    two_axes,
    two_camps,
    uneven_crowd,
)
from places import NAMES, put
from unelisa.aggregators import LatentIsing
from unelisa.errors import (
    ConvergenceWarning,
    ModelError,
    ReliabilityWarning,
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


@pytest.mark.parametrize(
    ("world", "structure"),
    [
        (tilted_crowd, "tilt"),
        (repeating_crowd, "families"),
        (bad_clique, "families"),
        (uneven_crowd, "ease"),
    ],
)
def test_worlds_are_read_as_they_are(world, structure):
    values, truth = world(2)[:2]
    model, plain = fit(values), fit(values, structure="plain")
    assert model.structure_.loc[model.structure_.kept, "structure"].tolist() == [structure]
    assert accuracy(model, values, truth) >= accuracy(plain, values, truth) - 0.005
    assert model.reliable_
    low, high = model.expected_accuracy_interval_
    assert low <= model.expected_accuracy_ <= high
    chances = model.predict_proba(values).max(axis=1)
    assert model.expected_accuracy_ == pytest.approx(chances.mean())


def test_families_are_named_everywhere():
    values, _ = copying_crowd(0)
    names = ["a1", "a2", "a3", *"uvwxyz", "m", "n"]
    model = fit(Votes.of(pd.DataFrame(values, columns=names), coding="pm1"))
    assert model.families_ == [["a1", "a2", "a3"]]
    table = model.voters_.set_index("voter")
    (head,) = set(table.family[["a1", "a2", "a3"]])
    others = sorted({"a1", "a2", "a3"} - {head})
    assert (table.family.drop(["a1", "a2", "a3"]) == "").all()
    assert (table.verdict[others] == f"family of {head}").all()
    assert table.verdict[head] in ("counted", "expert")
    assert table.reason[others[0]].startswith(f"repeats {head}: the family counts as one voter")
    assert set(model.graph_.neighbors(0)) == {1, 2}
    assert set(table.depends_on["a1"].split(", ")) == {"a2", "a3"}
    assert model.effective_voters_ < 9


def test_edges_are_those_of_the_graph():
    model = fit(repeating_crowd(0)[0])
    assert model.edges_
    assert model.edges_ == model.graph_.edges


def test_a_clique_is_found_among_hundreds_of_voters():
    """A third of 450 voters repeat one who hardly knows; the majority follows them."""
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], 600)
    own = np.where(rng.random((600, 300)) < rng.uniform(0.52, 0.64, 300), 1, -1) * truth[:, None]
    leader = truth * np.where(rng.random(600) < 0.55, 1, -1)
    clique = np.where(rng.random((600, 150)) < 0.95, 1, -1) * leader[:, None]
    votes = np.hstack([clique, own]).astype(np.int8)
    model = fit(votes)
    assert len(model.families_) == 1
    assert accuracy(model, votes, truth) > 0.95
    assert np.mean((votes.sum(axis=1) > 0) == (truth > 0)) < 0.65


def test_two_readings_stand_side_by_side():
    values, truth, cue = two_camps(0)
    with pytest.warns(ReliabilityWarning, match="two readings"):
        model = LatentIsing().fit(Votes.of(values, coding="pm1"))
    assert model.two_readings_
    assert not model.reliable_
    table = model.readings_
    assert table.agreement[0] == 1 > table.agreement[1]
    assert abs(table.evidence[1] - table.evidence[0]) < 50
    names, camps = model.voter_names_.tolist(), [set(row) for row in table.voters]
    assert sorted(map(sorted, camps)) == [names[:6], sorted(names[6:])]
    other = model.read(1)
    for one, camp in ((model, camps[0]), (other, camps[1])):
        side = truth if camp == set(names[:6]) else cue
        assert abs(np.mean(one.predict(values) * side)) > 0.9
    assert other.readings_.voters.tolist() == table.voters.tolist()[::-1]
    assert np.array_equal(other.read(1).predict(values), model.predict(values))
    assert other.voters_.reason.tolist() != model.voters_.reason.tolist()
    with pytest.raises(ModelError, match="there is no reading 2: `readings_` has 2 rows"):
        model.read(2)


def test_hard_items_are_told():
    values, _, ease = uneven_crowd(1)
    found = fit(values).ease(values)
    assert np.corrcoef(found, ease)[0, 1] > 0.6
    assert np.isnan(fit(values).ease(np.zeros((2, 15)))).all()


def small(*columns):
    return np.array(columns, dtype=np.int8).T


def small_crowds():
    """Voters who cannot check each other; with the families that the votes leave."""
    rng = np.random.default_rng(3)
    truth = sides(rng, 1000)
    one, other = echo(rng, truth, 0.8), echo(rng, truth, 0.8)
    codes, notes = (rng.poisson(np.where(truth > 0, 4.0, 0.3)) for _ in range(2))
    least = [np.where(codes >= k, 1, -1) for k in (1, 3)]
    return {
        "one voter": (small(one), []),
        "two voters": (small(one, other), []),
        "two copies and another": (small(one, one, other), [["v0", "v1"]]),
        "three copies and another": (small(one, one, one, other), [["v0", "v1", "v2"]]),
        "two thresholds and another": (small(*least, np.where(notes >= 1, 1, -1)), [["v0", "v1"]]),
    }


@pytest.mark.parametrize("name", small_crowds())
def test_voters_who_cannot_check_each_other_are_told(name):
    values, families = small_crowds()[name]
    model, told = told_of(values)
    assert not model.reliable_
    assert model.reliability_reason_
    assert told
    assert model.families_ == families
    if families:
        assert np.isnan([model.sensitivity_, model.specificity_]).all()
        distinct = values.shape[1] - len(families[0]) + 1
        assert model.effective_voters_ == pytest.approx(distinct)
        assert any("repeat each other" in text for text in told)
        lower, upper = model.expected_accuracy_interval_
        assert lower < 0.8
        assert model.expected_accuracy_ <= upper
    assert len(model.experts_) == 0 or not families


@pytest.mark.parametrize("world", [plain_crowd, copying_crowd, two_camps, rules])
def test_seeds_never_matter(world):
    values = world(3)[0]
    odds = [fit(values, random_state=seed).decision_function(values) for seed in (0, 1, None)]
    assert np.array_equal(odds[0], odds[1])
    assert np.array_equal(odds[0], odds[2])


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
    with pytest.warns(ReliabilityWarning, match="uninformative voters"):
        model = LatentIsing().fit(Votes.of(values, coding="pm1"))
    assert len(model.experts_) == 0
    assert not model.reliable_


def test_a_voter_with_three_votes_is_no_expert():
    values, truth = plain_crowd(5)
    few = np.zeros((300, 1), dtype=np.int8)
    seen = [*np.flatnonzero(truth > 0)[:2], np.flatnonzero(truth < 0)[0]]
    few[seen, 0] = truth[seen]
    model = fit(np.hstack([values, few]))
    assert model.weights_[-1] > 0
    assert model.voters_.verdict.tolist()[-1] in ("counted", "uninformative")


def test_five_gold_labels_turn_a_crowd_that_is_wrong():
    values, truth = plain_crowd(6, n_items=600)
    wrong = fit(-values)
    items = np.random.default_rng(1).choice(600, 5, replace=False)
    model = fit(-values, gold(truth, items))
    assert accuracy(model, -values, truth) == pytest.approx(1 - accuracy(wrong, -values, truth))
    assert model.prevalence_ == pytest.approx(1 - wrong.prevalence_)


def test_gold_labels_that_follow_another_axis_weigh_the_voters():
    rng = np.random.default_rng(0)
    values, _ = plain_crowd(7, n_items=400, votes_per_item=20)
    truth = np.where(rng.random(400) < 0.5, 1, -1)
    known = np.where(rng.random((400, 5)) < 0.75, truth[:, None], -truth[:, None])
    values = np.hstack([values, known]).astype(np.int8)
    assert accuracy(fit(values), values, truth) < 0.65
    few, more = (fit(values, gold(truth, np.arange(k))) for k in (40, 200))
    assert few.reading_ == more.reading_ == "gold"
    assert accuracy(more, values[200:], truth[200:]) > accuracy(few, values[200:], truth[200:])
    table = few.structure_.set_index("structure")
    weights = table["weight"].filter(like="gold labels")
    assert weights.sum() == pytest.approx(1)
    assert weights.filter(like="votes").sum() > 0.9


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
    """The model, and the warnings of its fit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = LatentIsing(random_state=0, **settings).fit(
            Votes.of(values, coding="pm1"), y, prior
        )
    return model, [str(w.message) for w in caught if w.category is ReliabilityWarning]


@pytest.mark.parametrize("known", ["y", "prior"])
def test_what_names_other_items_is_pointed_out(known):
    values, truth = plain_crowd(0)
    votes = Votes.of(values, coding="pm1")
    with pytest.raises(VotesError, match=f"none of the 1 items named in {known} is among"):
        LatentIsing(random_state=0).fit(votes, **{known: {"elsewhere": 1}})
    with pytest.warns(VotesWarning, match=f"1 of the 2 items named in {known} are unknown"):
        LatentIsing(random_state=0).fit(votes, **{known: {"elsewhere": 1, "7": truth[7]}})


def test_a_structure_that_is_not_kept_is_told():
    values, _ = plain_crowd(0)
    model, told = told_of(values, structure="families")
    assert len(told) == 1
    assert told[0].startswith("structure 'families' was requested")
    assert model.structure_.set_index("structure").kept["plain"]


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


@pytest.mark.parametrize("world", [tilted_crowd, copying_crowd, rules])
def test_threads_change_no_bit(world, monkeypatch):
    monkeypatch.setattr("unelisa.latent.ballots.RUN", 200)
    values, _ = world(3)
    one = fit(values)
    for other in (fit(values, n_jobs=2), fit(values, n_jobs=4)):
        assert np.array_equal(other.weights_, one.weights_)
        assert np.array_equal(other.decision_function(values), one.decision_function(values))


@pytest.mark.parametrize("place", NAMES)
def test_labels_are_the_same_wherever_the_votes_are(place, tmp_path, monkeypatch):
    values, _ = copying_crowd(4, n_items=1400)
    monkeypatch.setattr("places.CHUNK", 500)
    one = fit(values)
    blocks = put(place, np.asfortranarray(values), tmp_path, monkeypatch)
    there = Votes(blocks, np.arange(len(values)), one.voter_names_)
    other = fit(there)
    assert np.array_equal(other.predict(there), one.predict(values))
    assert other.families_ == one.families_ == [["v0", "v1", "v2"]]
    assert other.weights_ == pytest.approx(one.weights_, abs=1e-6)
    assert other.expected_accuracy_ == pytest.approx(one.expected_accuracy_, abs=1e-6)


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
    for structure in ("plain", "ease", "tilt", "families"):
        assert np.all(np.isfinite(fit(values.astype(np.int8), structure=structure).weights_))


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "least"), [("bluebirds", 0.9), ("youtube_spam", 0.84), ("llm_judges", 0.77)]
)
def test_real_votes(shared_data, name, least):
    found = sorted((shared_data / name).glob("votes*"))
    table = read_votes(found[0], coding="pm1")
    truth = read_truth(shared_data / name / "truth.csv")
    signs = np.array([truth.get(str(item), 0) for item in table.items], dtype=float)
    model = fit(table)
    assert model.score(table, np.where(signs == 0, np.nan, signs)) > least


def test_few_who_know_much_set_the_side_against_many_who_know_next_to_nothing():
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], size=(1000, 1))
    right = np.concatenate([np.full(24, 0.42), np.full(3, 0.97)])
    values = np.where(rng.random((1000, 27)) < right, truth, -truth).astype(np.int8)
    assert np.mean(np.sign(values.sum(axis=1)) == truth[:, 0]) < 0.5
    model = LatentIsing(structure="plain", random_state=0).fit(values)
    assert np.mean(np.sign(model.decision_function(values)) == truth[:, 0]) > 0.95
    assert np.all(model.weights_[-3:] > 0)


def test_rounds_that_end_before_the_evidence_settles_are_told(monkeypatch):
    values, _ = tilted_crowd(0)
    monkeypatch.setattr("unelisa.latent.consensus.model.TOL", 0.0)
    with pytest.warns(ConvergenceWarning, match="EM stopped after 100 iterations"):
        LatentIsing("plain").fit(Votes.of(values, coding="pm1"))
