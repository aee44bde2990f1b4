"""LatentIsing with more than two classes, through the front door."""

import numpy as np
import pandas as pd
import pytest

import unelisa as ue
from latent.worlds import class_crowd, class_rules, copied_classes, ordered_crowd
from unelisa.errors import ModelError, ReliabilityWarning, VotesWarning

NAMES = np.array(["", "cat", "dog", "eel", "fox", "gnu"], dtype=object)


def table_of(values):
    """The votes as a frame of names; abstentions are missing."""
    names = pd.DataFrame(NAMES[values], columns=[f"w{s}" for s in range(values.shape[1])])
    return names.mask(values == 0)


def accuracy(model, votes, truth):
    return np.mean(model.predict(votes) == NAMES[truth + 1])


def test_classes_are_found_and_named():
    values, truth = class_crowd(0)
    votes = ue.Votes.of(table_of(values))
    model = ue.LatentIsing().fit(votes)
    assert model.classes_.tolist() == ["cat", "dog", "eel", "fox"]
    majority = ue.MajorityVote().fit(votes)
    assert accuracy(model, votes, truth) >= accuracy(majority, votes, truth)
    chances = model.predict_proba(votes)
    assert chances.sum(axis=1) == pytest.approx(1)
    assert (model.classes_[chances.argmax(axis=1)] == model.predict(votes)).all()
    assert model.prevalence_.sum() == pytest.approx(1)
    assert model.reliable_


def test_copies_count_once():
    values, truth = copied_classes(0)
    votes = ue.Votes.of(table_of(values))
    model = ue.LatentIsing().fit(votes)
    assert model.families_ == [[f"w{s}" for s in range(6, 12)]]
    assert accuracy(model, votes, truth) > accuracy(ue.DawidSkene().fit(votes), votes, truth) + 0.2
    voters = model.voters_.set_index("voter")
    assert (voters.verdict[:6] == "expert").all()
    assert voters.family["w7"] in model.families_[0]
    assert model.graph_.adjacency[6:, 6:].sum() == 30


def test_confusions_have_a_row_per_voter_and_pair_of_classes():
    values, _ = class_crowd(1)
    model = ue.LatentIsing().fit(table_of(values))
    found = model.confusions_
    assert list(found.columns) == ["voter", "said", "meant", "probability", "votes"]
    assert len(found) == 12 * 4 * 4
    assert found.groupby(["voter", "meant"]).probability.sum().to_numpy() == pytest.approx(1)
    right = found[found.said == found.meant].groupby("voter").probability.mean()
    assert right.min() > 0.3


def test_a_model_is_saved_and_loaded(tmp_path):
    values, _ = copied_classes(1)
    votes = ue.Votes.of(table_of(values), order=["cat", "dog", "eel", "fox"])
    model = ue.LatentIsing().fit(votes)
    ue.save(model, tmp_path / "model.unelisa")
    other = ue.load(tmp_path / "model.unelisa")
    assert np.array_equal(other.predict_proba(votes), model.predict_proba(votes))
    assert other.confusions_.equals(model.confusions_)


def test_gold_labels_and_priors_are_tables_of_classes():
    values, truth = class_crowd(2)
    votes = ue.Votes.of(table_of(values))
    gold = {item: NAMES[truth[item] + 1] for item in range(40)}
    model = ue.LatentIsing().fit(votes, gold)
    assert accuracy(model, votes, truth) > 0.8
    prior = pd.DataFrame(0.0, index=range(600), columns=["fox", "eel", "dog", "cat"])
    prior.loc[0, "eel"] = 30.0
    fitted = ue.LatentIsing().fit(votes, prior=prior)
    assert fitted.predict(votes, prior=prior)[0] == "eel"


def test_order_lowers_the_error_in_steps():
    errors = []
    for seed in range(4):
        values, truth = ordered_crowd(seed)
        order = NAMES[1:].tolist()
        plain, ordered = ue.Votes.of(table_of(values)), ue.Votes.of(table_of(values), order=order)
        models = [ue.LatentIsing().fit(votes).predict(votes) for votes in (plain, ordered)]
        errors.append([np.abs(np.searchsorted(order, found) - truth).mean() for found in models])
    assert np.diff(np.mean(errors, axis=0)) < 0


def test_rules_that_name_one_class_each_are_read():
    values, truth = class_rules(1)
    votes = ue.Votes.of(table_of(values))
    heard = values.any(axis=1)
    with pytest.warns(VotesWarning, match="always gave the same vote"):
        model, *others = (one.fit(votes) for one in (ue.LatentIsing(), ue.MajorityVote()))
    right = [np.mean((one.predict(votes) == NAMES[truth + 1])[heard]) for one in (model, *others)]
    assert right[0] > right[1]
    assert model.voters_.reason.str.endswith("its silence is its other answer").all()


def test_the_same_votes_give_the_same_answer():
    values, _ = copied_classes(2)
    votes = table_of(values)
    first = ue.LatentIsing(n_jobs=1, random_state=0).fit(votes).predict_proba(votes)
    turned = votes[votes.columns[::-1]]
    for other in (
        ue.LatentIsing(n_jobs=2, random_state=1).fit(votes).predict_proba(votes),
        ue.LatentIsing().fit(turned).predict_proba(turned),
    ):
        assert other == pytest.approx(first, abs=1e-6)


def test_long_tables_and_sparse_votes_are_the_same():
    values, _ = class_crowd(3)
    wide = table_of(values)
    long = wide.rename_axis("item").reset_index().melt("item", var_name="voter", value_name="vote")
    long = long.dropna()
    one = ue.LatentIsing().fit_predict_proba(ue.Votes.of(wide))
    votes = ue.Votes.of(long)
    order = np.argsort([str(item) for item in votes.items])
    other = ue.LatentIsing().fit_predict_proba(votes)
    places = np.argsort([str(item) for item in range(600)])
    assert other[order] == pytest.approx(one[places], abs=1e-6)


def test_an_anchor_is_refused():
    values, _ = class_crowd(4)
    with pytest.raises(ModelError, match="orient takes two classes"):
        ue.LatentIsing(orient="w1").fit(table_of(values))


def test_ease_and_readings_are_there():
    values, _ = class_crowd(5)
    votes = ue.Votes.of(table_of(values))
    model = ue.LatentIsing().fit(votes)
    assert model.ease(votes).shape == (600,)
    shares = model.readings_.filter(like="share_").iloc[0]
    assert shares.sum() == pytest.approx(1)
    assert list(shares.index) == [f"share_{name}" for name in model.classes_]
    low, high = model.expected_accuracy_interval_
    assert low <= model.expected_accuracy_ <= high


@pytest.mark.parametrize("n_classes", [2, 3])
def test_what_cannot_be_told_is_saved_too(tmp_path, n_classes):
    values, _ = class_crowd(6, n_voters=2, votes_per_item=2, n_classes=n_classes)
    votes = ue.Votes.of(table_of(values))
    with pytest.warns(ReliabilityWarning):
        model = ue.LatentIsing().fit(votes)
    assert any("the votes tie only" in caution for caution in model.cautions_)
    assert model.confusions_.probability.isna().all()
    assert len(model.experts_) == 0
    ue.save(model, tmp_path / "model.unelisa")
    other = ue.load(tmp_path / "model.unelisa")
    assert (other.predict(votes) == model.predict(votes)).all()
