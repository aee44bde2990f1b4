import copy
import dataclasses
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import unelisa as ue
from unelisa.aggregators.updating import Updating
from unelisa.blocks import SparseBlocks
from unelisa.errors import ModelError, VotesError
from unelisa.schema import check_parts

pytestmark = pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
N_OLD = 780


@pytest.fixture(scope="module")
def table():
    """800 items and ten voters, of whom one repeats another; a third of the votes is missing."""
    rng = np.random.default_rng(3)
    truth = rng.random(800) < 0.4
    right = rng.uniform(0.65, 0.9, 10)
    said = np.where(rng.random((800, 10)) < right, truth[:, None], ~truth[:, None])
    said[:, 9] = np.where(rng.random(800) < 0.97, said[:, 8], ~said[:, 8])
    words = np.where(said, "yes", "no").astype(object)
    words[:, :8][rng.random((800, 8)) < 0.33] = None
    frame = pd.DataFrame(words, columns=[f"w{s}" for s in range(10)])
    frame.insert(0, "item", [f"x{i:03}" for i in range(800)])
    return frame


@pytest.fixture(scope="module")
def first(table):
    return ue.LatentIsing().fit(ue.Votes.of(table[:N_OLD]))


@pytest.fixture
def model(first):
    again = copy.copy(first)
    again._memory = first._memory
    return again


@pytest.fixture(scope="module")
def whole(table):
    return ue.LatentIsing().fit(ue.Votes.of(table))


def is_renewed(model):
    """Return whether the last update worked through the new items only."""
    return model._memory.ledger is not None


def assert_near(model, other, votes):
    chances, expected = model.predict_proba(votes), other.predict_proba(votes)
    assert np.abs(chances - expected).mean() < 0.01
    assert np.mean(chances.argmax(axis=1) != expected.argmax(axis=1)) < 0.01


def test_new_items_give_what_a_fit_of_everything_gives(model, whole, table):
    votes = ue.Votes.of(table)
    assert model.update(ue.Votes.of(table[N_OLD:])) is model
    assert is_renewed(model)
    assert_near(model, whole, votes)
    assert model.families_ == whole.families_
    assert model.expected_accuracy_ == pytest.approx(whole.expected_accuracy_, abs=0.01)
    assert model.prevalence_ == pytest.approx(whole.prevalence_, abs=0.01)
    assert np.abs(model.sensitivity_ - whole.sensitivity_).max() < 0.03
    assert model.voters_["votes"].tolist() == whole.voters_["votes"].tolist()


def test_changed_votes_and_more_votes_on_old_items(model, table):
    changed = table.copy()
    changed.loc[:20, "w0"] = np.where(changed.loc[:20, "w0"] == "yes", "no", "yes")
    changed.loc[:40, "w1"] = changed.loc[:40, "w8"]
    more = ue.Votes.of(changed[:41][["item", "w0", "w1"]])
    model.update(more)
    assert is_renewed(model)
    rest = ue.Votes.of(changed[:N_OLD])
    assert_near(model, ue.LatentIsing().fit(rest), rest)
    assert np.array_equal(model._memory.votes.values, rest.values)


def test_new_voters_are_learned(model, table):
    rng = np.random.default_rng(0)
    late = table[N_OLD - 120 :].copy()
    labels = model.predict(ue.Votes.of(late))
    other = np.where(labels == "yes", "no", "yes")
    late["good"] = np.where(rng.random(len(late)) < 0.95, labels, other)
    late["coin"] = rng.choice(["no", "yes"], len(late))
    late[["good", "coin"]] = late[["good", "coin"]].where(rng.random((len(late), 2)) < 0.7, None)
    votes = ue.Votes.of(late)
    model.update(votes)
    assert is_renewed(model)
    assert model.voter_names_.tolist()[-2:] == ["good", "coin"]
    weights = model.voters_.set_index("voter")["weight"]
    assert weights["good"] > 3 * abs(weights["coin"])
    everything = table.merge(late[["item", "good", "coin"]], on="item", how="left")
    assert_near(model, ue.LatentIsing().fit(ue.Votes.of(everything)), ue.Votes.of(everything))


def test_a_new_voter_who_repeats_another_calls_for_a_fit(model, table):
    late = table[:N_OLD][["item", "w9"]].rename(columns={"w9": "copy"})
    model.update(ue.Votes.of(late))
    assert not is_renewed(model)
    assert ["w8", "w9", "copy"] in model.families_


def test_much_that_is_new_calls_for_a_fit(first, table):
    half = ue.LatentIsing().fit(ue.Votes.of(table[:500]))
    half.update(ue.Votes.of(table[500:]))
    assert not is_renewed(half)
    both = ue.Votes.of(table)
    assert half._memory.votes.n_items == 800
    assert np.array_equal(half.predict(both), ue.LatentIsing().fit(both).predict(both))


def test_more_than_two_classes(table):
    crowd = ue.simulate_classes(n_classes=3, n_voters=8, n_items=500, missing=0.3, random_state=1)
    votes = crowd.votes
    model = ue.LatentIsing().fit(votes.take_items(np.arange(480)))
    model.update(votes.take_items(np.arange(470, 500)))
    assert is_renewed(model)
    assert_near(model, ue.LatentIsing().fit(votes), votes)
    assert model.prevalence_.sum() == pytest.approx(1)


def test_sparse_votes_are_updated_alike(model, table):
    old, more = ue.Votes.of(table[:N_OLD]), ue.Votes.of(table[N_OLD - 10 :])
    beside = copy.copy(model)
    held = dataclasses.replace(old, blocks=SparseBlocks(sp.csr_array(old.values)))
    beside.update(more, earlier=held)
    assert is_renewed(beside)
    assert beside._memory.votes.blocks.place == "in memory"  # so few are a table
    expected = model.update(more)
    assert beside.predict_proba(more) == pytest.approx(expected.predict_proba(more))


def test_gold_labels_stay(table):
    votes = ue.Votes.of(table[:N_OLD])
    gold = dict.fromkeys(votes.items[:3], "no")
    model = ue.LatentIsing().fit(votes, gold).update(ue.Votes.of(table[N_OLD:]))
    assert np.count_nonzero(model._memory.gold) == 3
    assert len(model._memory.gold) == 800


def test_a_saved_model_of_more_classes_is_updated_as_the_one_in_use(tmp_path):
    votes = ue.simulate_classes(3, n_voters=6, n_items=400, random_state=0).votes
    model, file = ue.LatentIsing().fit(votes.take_items(np.arange(390))), tmp_path / "model.npz"
    ue.save(model, file, keep_votes=True)
    more = votes.take_items(np.arange(390, 400))
    loaded = ue.load(file).update(more)
    assert is_renewed(loaded)
    assert loaded.predict_proba(votes) == pytest.approx(model.update(more).predict_proba(votes))


def test_a_saved_model_keeps_votes_only_if_asked(model, table, tmp_path):
    more = ue.Votes.of(table[N_OLD:])
    bare, full = tmp_path / "bare.npz", tmp_path / "full.npz"
    ue.save(model, bare)
    ue.save(model, full, keep_votes=True)
    assert b"x001" not in bare.read_bytes()
    with pytest.raises(ModelError, match="does not hold the votes it was fitted to"):
        ue.load(bare).update(more)
    loaded = ue.load(full).update(more)
    assert is_renewed(loaded)
    beside = ue.load(bare).update(more, earlier=ue.Votes.of(table[:N_OLD]))
    wanted = model.update(more).predict_proba(more)
    assert loaded.predict_proba(more) == pytest.approx(wanted)
    assert beside.predict_proba(more) == pytest.approx(wanted)


def test_copies_and_pickles_hold_no_votes(model):
    for other in (copy.copy(model), pickle.loads(pickle.dumps(model))):  # noqa: S301 - our own
        assert not hasattr(other, "_memory")
        with pytest.raises(ModelError, match="keep_votes=True"):
            other.update([[1, -1]])


def test_a_failure_leaves_the_model_as_it_was(model, table, monkeypatch):
    before = dict(vars(model))
    monkeypatch.setattr(Updating, "_renew", lambda *_: None)
    monkeypatch.setattr(ue.LatentIsing, "_check_identifiability", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.update(ue.Votes.of(table[N_OLD:]))
    assert vars(model) == before


def test_what_cannot_be_joined_is_refused(model, crowd):
    votes, _ = crowd
    with pytest.raises(VotesError, match="other labels"):
        model.update(votes)
    bare = ue.LatentIsing().fit(np.where(votes.values > 0, 1, 0))
    with pytest.raises(VotesError, match="4 voters without names, but the model has 9"):
        bare.update(np.array([[0, 1, 0, 1]]))
    with pytest.raises(ModelError, match="keeps no votes"):
        ue.save(ue.MajorityVote().fit(votes), "never.npz", keep_votes=True)


@pytest.mark.parametrize("beside", ["prior", "sample_weight"])
def test_a_fit_to_more_than_votes_is_not_updated(crowd, tmp_path, beside):
    """The weights and log-odds of the earlier items are not kept, so they would be lost."""
    votes, _ = crowd
    told = {"prior": "prior log-odds", "sample_weight": "sample_weight"}[beside]
    model = ue.LatentIsing().fit(votes, **{beside: np.full(len(votes), 2.0)})
    with pytest.raises(ModelError, match=f"{told} cannot keep its votes"):
        ue.save(model, tmp_path / "model.npz", keep_votes=True)
    ue.save(model, tmp_path / "model.npz")
    for one in (model, ue.load(tmp_path / "model.npz")):
        with pytest.raises(ModelError, match=f"{told} cannot be updated"):
            one.update(votes, earlier=votes)
    assert model.fit(votes).update(votes) is model


def test_a_forged_ledger_is_counted_anew(first, table):
    kept = first.keep_votes()
    more = ue.Votes.of(table[N_OLD:])
    expected = copy.copy(_holding(first, kept)).update(more).predict_proba(ue.Votes.of(table))
    sums = kept.ledger.sums
    for forged in (sums[:-1], (sums[0][:-1], *sums[1:]), (sums[0] * np.nan, *sums[1:])):
        ledger = kept.ledger._replace(sums=forged)
        model = _holding(first, kept._replace(ledger=ledger)).update(more)
        assert np.array_equal(model.predict_proba(ue.Votes.of(table)), expected)
    broken = kept.ledger._replace(sums=tuple(0 * part - 1 for part in sums))
    model = _holding(first, kept._replace(ledger=broken)).update(more)
    assert np.isfinite(model.predict_proba(ue.Votes.of(table))).all()


def test_kept_items_are_distinct(first):
    kept = first.keep_votes()
    for name in ("x000", [1]):
        items = kept.items.copy()
        items[1] = name
        with pytest.raises(ModelError):
            check_parts(kept._replace(items=items))


def _holding(model, kept):
    held = copy.copy(model)
    held._kept_votes = kept
    return held
