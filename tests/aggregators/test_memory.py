"""More votes: an update is a fit of old and new votes, and gold labels stay with their items."""

import copy
import dataclasses
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import unelisa as ue
from unelisa.errors import ModelError, VotesError
from unelisa.schema import check_parts
from unelisa.votes.blocks import SparseBlocks

pytestmark = pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
N_OLD = 280
CLASSES = {2: ["no", "yes"], 3: ["cat", "dog", "owl"]}


def draw_table(n_classes):
    """300 items and seven voters; a third of the votes is missing."""
    rng = np.random.default_rng(3)
    truth = rng.integers(n_classes, size=300)
    other = (truth[:, None] + rng.integers(1, n_classes, (300, 7))) % n_classes
    said = np.where(rng.random((300, 7)) < rng.uniform(0.65, 0.9, 7), truth[:, None], other)
    words = np.array(CLASSES[n_classes], dtype=object)[said]
    words[rng.random(words.shape) < 0.33] = None
    frame = pd.DataFrame(words, columns=[f"w{s}" for s in range(7)])
    frame.insert(0, "item", [f"x{i:03}" for i in range(300)])
    return frame


@pytest.fixture(scope="module", params=[2, 3], ids=["two classes", "three classes"])
def table(request):
    return draw_table(request.param)


@pytest.fixture(scope="module")
def gold(table):
    """Gold labels of three items which the votes contradict."""
    votes = ue.Votes.of(table)
    labels = ue.LatentIsing().fit(votes).predict(votes)
    known = sorted(set(labels))
    places = {label: known[k - 1] for k, label in enumerate(known)}
    return {f"x{i:03}": places[labels[i]] for i in (0, 7, 250)}


@pytest.fixture
def model(table, gold):
    return ue.LatentIsing().fit(ue.Votes.of(table[:N_OLD]), gold)


def assert_same(model, other, votes):
    assert model.predict_proba(votes) == pytest.approx(other.predict_proba(votes), abs=1e-9)
    assert model.voters_full_.equals(other.voters_full_)
    assert model.expected_accuracy_ == other.expected_accuracy_


def assert_gold(model, votes, gold):
    found = dict(zip(votes.items, model.predict(votes), strict=True))
    assert {item: found[item] for item in gold} == gold
    chances = model.predict_proba(votes)[np.isin(votes.items, list(gold))]
    assert (np.sort(chances, axis=1)[:, -1] == 1).all()


def test_updates_are_fits_of_old_and_new_votes_by_name(model, table, gold):
    votes = ue.Votes.of(table)
    assert model.update(ue.Votes.of(table[N_OLD:])) is model
    assert_same(model, ue.LatentIsing().fit(votes, gold), votes)
    assert_gold(model, votes, gold)
    old, more = ue.Votes.of(table[:N_OLD]), ue.Votes.of(table[N_OLD - 10 :])
    held = dataclasses.replace(old, blocks=SparseBlocks(sp.csr_array(old.values)))
    beside = ue.LatentIsing().fit(old).update(more, earlier=held)
    expected = ue.LatentIsing().fit(old).update(more)
    assert beside.predict_proba(more) == pytest.approx(expected.predict_proba(more))


def test_changed_votes_and_new_voters_enter_by_name(model, table, gold):
    changed = table[:N_OLD].copy()
    changed["w0"] = changed["w1"].where(np.arange(N_OLD) < 40, changed["w0"])
    changed["late"] = changed["w2"].where(np.arange(N_OLD) < 150)
    rows = changed.iloc[::-1][["item", "w0", "late"]]
    model.update(ue.Votes.of(rows))
    votes = ue.Votes.of(changed.assign(w0=changed["w0"].where(changed["w0"].notna(), table["w0"])))
    assert_same(model, ue.LatentIsing().fit(votes, gold), votes)
    assert_gold(model, votes, gold)


def test_rows_of_a_bare_array_are_new_items():
    values = np.random.default_rng(0).choice([-1, 1], (60, 5))
    model = ue.LatentIsing().fit(values[:50], {0: 1, 3: -1})
    model.update(values[50:])
    assert_same(model, ue.LatentIsing().fit(values, {0: 1, 3: -1}), values)
    assert model.predict(values)[[0, 3]].tolist() == [1, -1]
    # other rows are other items, whatever their places
    fresh = ue.LatentIsing().fit(values).predict_proba(values[20:30])
    assert np.all((model.predict_proba(values[20:30]) < 1) & (fresh < 1))


def test_gold_labels_are_kept_only_if_asked_and_not_forgotten(model, table, gold, tmp_path):
    votes, more = ue.Votes.of(table), ue.Votes.of(table[N_OLD:])
    bare, full = tmp_path / "bare.npz", tmp_path / "full.npz"
    ue.save(model, bare)
    ue.save(model, full, keep_votes=True)
    assert b"x001" not in bare.read_bytes()
    with pytest.raises(ModelError, match="does not hold the votes it was fitted to"):
        ue.load(bare).update(more)
    loaded = ue.load(full)
    assert_gold(loaded, votes, gold)
    assert_same(loaded.update(more), model.update(more), votes)
    assert_gold(loaded, votes, gold)
    votes, old, more = (ue.Votes.of(part) for part in (table, table[:N_OLD], table[N_OLD:]))
    ue.save(model, tmp_path / "bare.npz")
    loaded, expected = ue.load(tmp_path / "bare.npz"), ue.LatentIsing().fit(votes, gold)
    with pytest.raises(ModelError, match="fitted with 3 gold labels, which it no longer holds"):
        loaded.update(more, earlier=old)
    assert_same(loaded.update(more, earlier=old, y=gold), expected, votes)
    assert_same(model.update(more, earlier=old), expected, votes)


def test_an_update_takes_gold_labels_and_is_saved_and_updated_again(model, table, gold, tmp_path):
    model.update(ue.Votes.of(table[N_OLD:290]))
    ue.save(model, tmp_path / "model.npz", keep_votes=True)
    again = ue.load(tmp_path / "model.npz").update(ue.Votes.of(table[290:]))
    votes, label = ue.Votes.of(table), next(iter(gold.values()))
    assert_same(again, ue.LatentIsing().fit(votes, gold), votes)
    again.update(ue.Votes.of(table[N_OLD:]), y={"x299": label, "x000": gold["x000"]})
    assert_gold(again, votes, {**gold, "x299": label})


def test_copies_hold_no_votes_and_kept_items_are_distinct(model, table):
    for other in (copy.copy(model), pickle.loads(pickle.dumps(model))):  # noqa: S301 - our own
        with pytest.raises(ModelError, match="keep_votes=True"):
            other.update(ue.Votes.of(table))
    kept = model.keep_votes()
    for name in ("x000", [1]):
        items = kept.items.copy()
        items[1] = name
        with pytest.raises(ModelError):
            check_parts(kept._replace(items=items))


def test_what_cannot_be_joined_is_refused(model, crowd):
    votes, _ = crowd
    with pytest.raises(VotesError, match="other labels"):
        model.update(votes)
    bare = ue.LatentIsing().fit(np.where(votes.values > 0, 1, 0))
    with pytest.raises(VotesError, match="4 voters without names, but the model has 9"):
        bare.update(np.array([[0, 1, 0, 1]]))
    with pytest.raises(ModelError, match="keeps no votes"):
        ue.save(ue.MajorityVote().fit(votes), "never.npz", keep_votes=True)


@pytest.mark.parametrize("beside", ["prior", "prevalence", "sample_weight"])
def test_a_fit_to_more_than_votes_is_not_updated(crowd, tmp_path, beside):
    """The weights and log-odds of the earlier items are not kept, so they would be lost."""
    votes, _ = crowd
    told = {"prior": "prior log-odds"}.get(beside, beside)
    given = 0.4 if beside == "prevalence" else np.full(len(votes), 2.0)
    model = ue.LatentIsing().fit(votes, **{beside: given})
    with pytest.raises(ModelError, match=f"{told} cannot keep its votes"):
        ue.save(model, tmp_path / "model.npz", keep_votes=True)
    ue.save(model, tmp_path / "model.npz")
    for one in (model, ue.load(tmp_path / "model.npz")):
        with pytest.raises(ModelError, match=f"{told} cannot be updated"):
            one.update(votes, earlier=votes)
    assert model.fit(votes).update(votes) is model
