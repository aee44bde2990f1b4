"""LatentIsing with more than two classes, through the front door."""

import numpy as np
import pandas as pd
import pytest

import unelisa as ue
from latent.worlds import class_crowd, class_rules, copied_classes
from unelisa.errors import ModelError, VotesWarning

pytestmark = pytest.mark.filterwarnings("ignore::unelisa.errors.ReliabilityWarning")

NAMES = np.array(["", "cat", "dog", "eel", "fox", "gnu"], dtype=object)


def table_of(values):
    """The votes as a frame of names; abstentions are missing."""
    names = pd.DataFrame(NAMES[values], columns=[f"w{s}" for s in range(values.shape[1])])
    return names.mask(values == 0)


def accuracy(model, votes, truth):
    return np.mean(model.predict(votes) == NAMES[truth + 1])


def test_classes_are_found_named_and_copies_count_once():
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
    values, _ = class_crowd(1)
    model = ue.LatentIsing().fit(table_of(values))
    found = model.confusions_
    assert list(found.columns) == ["voter", "said", "meant", "probability", "votes"]
    assert len(found) == 12 * 4 * 4
    assert found.groupby(["voter", "meant"]).probability.sum().to_numpy() == pytest.approx(1)
    right = found[found.said == found.meant].groupby("voter").probability.mean()
    assert right.min() > 0.3


def test_copies_count_once_and_no_class_wins_unnamed():
    values, truth = copied_classes(0, repeat=0.98)
    votes = ue.Votes.of(table_of(values))
    model = ue.LatentIsing().fit(votes)
    assert model.families_ == [[f"w{s}" for s in range(6, 12)]]
    assert accuracy(model, votes, truth) > accuracy(ue.DawidSkene().fit(votes), votes, truth) + 0.2
    voters = model.voters_.set_index("voter")
    assert (voters.verdict[:6] == "expert").all()
    assert voters.family["w7"] in model.families_[0]
    assert model.graph_.adjacency[6:, 6:].sum() == 30
    values, truth = class_rules(1)
    votes = ue.Votes.of(table_of(values))
    heard = values.any(axis=1)
    with pytest.warns(VotesWarning, match="always gave the same vote"):
        model, majority = (one.fit(votes) for one in (ue.LatentIsing(), ue.MajorityVote()))
    labels = model.predict(votes)
    assert all(label in NAMES[row] for label, row in zip(labels[heard], values[heard], strict=True))
    right = [np.mean((one.predict(votes) == NAMES[truth + 1])[heard]) for one in (model, majority)]
    assert right[0] > right[1] - 0.01


def test_gold_is_the_truth_of_its_items():
    values, truth = class_crowd(2)
    votes = ue.Votes.of(table_of(values))
    gold = {item: NAMES[truth[item] + 1] for item in range(40)}
    gold[7] = NAMES[(truth[7] + 2) % 4 + 1]
    model = ue.LatentIsing().fit(votes, gold)
    assert accuracy(model, votes, truth) > 0.8
    assert model.predict(votes)[:40].tolist() == list(gold.values())
    expected = np.array(list(gold.values()))[:, None] == model.classes_
    assert np.array_equal(model.predict_proba(votes)[:40], expected.astype(float))
    table = model.labels(votes)
    assert table.label[:40].tolist() == list(gold.values())
    assert table.status.value_counts()["gold"] == 40
    every = ue.LatentIsing().fit(votes, NAMES[truth + 1])
    assert (every.expected_accuracy_, every.expected_accuracy_interval_) == (1, (1, 1))
    assert every.reliable_
    assert every.prevalence_ == pytest.approx(np.bincount(truth) / 600, abs=1e-3)


def test_a_prior_is_a_table_and_a_prevalence_maps_classes_to_shares():
    votes = ue.Votes.of(table_of(class_crowd(2)[0]))
    prior = pd.DataFrame(0.0, index=range(600), columns=["fox", "eel", "dog", "cat"])
    prior.loc[0, "eel"] = 30.0
    fitted = ue.LatentIsing().fit(votes, prior=prior)
    assert fitted.predict(votes, prior=prior)[0] == "eel"
    model = ue.LatentIsing().fit(votes, prevalence={"cat": 0.1, "eel": (0.4, 0.5)})
    shares = model.predict_proba(votes).mean(axis=0)
    assert shares[0] == pytest.approx(0.1, abs=1e-4)
    assert 0.4 - 1e-4 <= shares[2] <= 0.5 + 1e-4
    assert model.prevalence_[0] == 0.1
    assert model.prevalence_.sum() == pytest.approx(1)
    assert np.all(model.prevalence_interval_[:, 0] == 0.1)
    for wrong, told in (
        (0.2, "prevalence must map classes to their shares"),
        ({"bee": 0.2}, "names a class that the votes do not have"),
        ({"cat": 0.6, "dog": 0.5}, "shares that can add up to 1"),
    ):
        with pytest.raises(ModelError, match=told):
            ue.LatentIsing().fit(votes, prevalence=wrong)


def test_ease_and_a_second_reading_are_there():
    values, _ = class_crowd(5)
    votes = ue.Votes.of(table_of(values))
    model = ue.LatentIsing().fit(votes)
    assert model.ease(votes).shape == (600,)
    shares = model.readings_.filter(like="share_").iloc[0]
    assert shares.sum() == pytest.approx(1)
    assert list(shares.index) == [f"share_{name}" for name in model.classes_]
    low, high = model.expected_accuracy_interval_
    assert low <= model.expected_accuracy_ <= high
    values, _ = copied_classes(0, repeat=0.98)
    votes = ue.Votes.of(table_of(values))
    model = ue.LatentIsing().fit(votes)
    assert model.two_readings_
    same = np.mean(model.read(1).predict(votes) == model.predict(votes))
    assert same == pytest.approx(model.readings_.agreement[1])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_what_cannot_be_told_is_saved_too(tmp_path, n_classes):
    values, _ = class_crowd(6, n_voters=2, votes_per_item=2, n_classes=n_classes)
    votes = ue.Votes.of(table_of(values))
    model = ue.LatentIsing().fit(votes)
    assert not model.reliable_
    assert model.expected_accuracy_ is model.expected_accuracy_interval_ is None
    assert model.voters_.accuracy.isna().all()
    assert len(model.experts_) == 0
    ue.save(model, tmp_path / "model.unelisa")
    other = ue.load(tmp_path / "model.unelisa")
    assert (other.predict(votes) == model.predict(votes)).all()
