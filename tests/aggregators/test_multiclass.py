"""What every method that takes more than two classes promises."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import unelisa as ue
from unelisa.aggregators import AGGREGATORS
from unelisa.errors import UnelisaWarning
from unelisa.votes import Votes
from unelisa.votes import blocks as sparse_module

da = pytest.importorskip("dask.array")

MULTICLASS = [name for name, cls in AGGREGATORS.items() if cls.takes.any_class]
EACH = pytest.mark.parametrize("name", MULTICLASS)
WORDS = np.array([None, "cat", "dog", "owl"], dtype=object)


def crowd(n_items=400, n_voters=7, n_classes=3, seed=0):
    """Codes from 1, 0 where a voter abstained, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, n_classes + 1, n_items)
    right = rng.random((n_items, n_voters)) < np.linspace(0.5, 0.85, n_voters)
    said = np.where(right, truth[:, None], rng.integers(1, n_classes + 1, (n_items, n_voters)))
    said[rng.random(said.shape) < 0.2] = 0
    return said, truth


def fit(name, votes, y=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnelisaWarning)
        model = AGGREGATORS[name]()
        return model.fit(votes) if y is None else model.fit(votes, y)


@EACH
def test_scores_have_a_column_per_class_and_name_the_largest(name):
    codes, truth = crowd()
    votes = Votes.of(pd.DataFrame(WORDS[codes]).rename(columns=str))
    model = fit(name, votes)
    scores = model.decision_function(votes)
    assert scores.shape == (400, 3)
    assert model.classes_.tolist() == ["cat", "dog", "owl"]
    labels = model.predict(votes)
    order = model.tie_order_  # of classes that are tied the first in this order
    largest = order[np.argmax(scores[:, order].round(9), axis=1)]
    assert labels.tolist() == model.classes_[largest].tolist()
    assert np.mean(labels == WORDS[truth]) > 0.85
    assert model.score(votes, WORDS[truth]) == np.mean(labels == WORDS[truth])
    assert model.reliable_
    assert (model.voters_.weight > 0).all()
    if hasattr(model, "predict_proba"):
        chances = model.predict_proba(votes)
        assert chances.sum(axis=1) == pytest.approx(np.ones(400))
        assert np.argmax(chances, axis=1).tolist() == np.argmax(scores, axis=1).tolist()


@EACH
def test_other_names_permute_the_columns(name):
    codes, _ = crowd()
    plain = fit(name, votes := Votes.of(np.where(codes == 0, np.nan, codes)))
    turned = np.array([np.nan, 3.0, 1.0, 2.0])[codes]  # 1, 2, 3 are called 3, 1, 2
    other = fit(name, renamed := Votes.of(turned))
    expected = plain.decision_function(votes)[:, [1, 2, 0]]
    assert other.decision_function(renamed) == pytest.approx(expected, abs=1e-6)


def few():
    """Five classes, five voters on each of 120 items, many of them split."""
    rng = np.random.default_rng(3)
    codes, _ = crowd(120, 12, 5, seed=3)
    return np.where(np.argsort(rng.random(codes.shape), axis=1) < 5, codes, 0)


def noise():
    """Voters who draw lots."""
    return np.random.default_rng(4).integers(1, 4, (150, 6))


def say(name, codes, **settings):
    """Return labels, which of them are decided, and whether the model tells of a tie."""
    votes = Votes.of(np.where(codes == 0, np.nan, codes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnelisaWarning)
        model = AGGREGATORS[name]().set_params(**settings).fit(votes)
    reason = model.reliability_reason_
    told = "depends on a tie" in reason or "depends on chance" in reason
    lead = np.diff(np.sort(model.decision_function(votes), axis=1)[:, -2:], axis=1)[:, 0]
    return model.predict(votes), lead > 0.05 * lead.max(), told and not model.reliable_


@EACH
@pytest.mark.parametrize(
    "draw", [lambda: crowd(100, 5)[0], few, noise], ids=["easy", "few", "noise"]
)
def test_no_label_changes_with_what_carries_nothing(name, draw):
    """Another seed, a voter who always says the same, one who is silent; one item more: 1 %."""
    codes = draw()
    labels, decided, told = say(name, codes)
    seeds = {"random_state": 12} if "random_state" in AGGREGATORS[name]().get_params() else {}
    voters = [np.insert(codes, 2, code, axis=1) for code in (0, 1, codes.max())]
    backward = say(name, codes[::-1, ::-1])[0][::-1]
    others = [say(name, codes, **seeds)[0], backward, *(say(name, more)[0] for more in voters)]
    assert told or [float(np.mean(other != labels)) for other in others] == [0.0] * len(others)
    doubled = say(name, np.vstack([codes, codes[:1]]))[0][:-1]
    assert told or np.mean((decided & (doubled != labels))[1:]) <= 0.01


@EACH
def test_every_place_gives_the_same_scores(name, tmp_path, monkeypatch):
    codes, _ = crowd()
    frame = pd.DataFrame(WORDS[codes]).rename(columns=lambda s: f"v{s}")
    model = fit(name, Votes.of(frame))
    expected = model.decision_function(Votes.of(frame))
    frame.to_parquet(tmp_path / "votes.parquet", index=False)
    stored = ue.read_votes(tmp_path / "votes.parquet", memory=1000)
    monkeypatch.setattr(sparse_module, "SMALL_TABLE", 0)
    monkeypatch.setattr(sparse_module, "VOTE_BYTES", 0)
    monkeypatch.setattr(sparse_module, "DENSE_BYTES", 700)
    scarce = Votes.of(sp.csr_array(codes), coding=(1, 2, 3))
    for votes in (stored, scarce):
        assert not votes.blocks.whole
        other = fit(name, votes)
        assert other.decision_function(votes) == pytest.approx(expected, abs=1e-6)
    table = da.from_array(frame.to_numpy(), chunks=(150, 7))
    lazy = fit(name, table)
    assert lazy.decision_function(table).compute() == pytest.approx(expected, abs=1e-6)
    assert lazy.predict(table).compute().tolist() == model.predict(frame).tolist()


@EACH
@pytest.mark.parametrize("order", [None, ["owl", "cat", "elk", "dog"]])
def test_a_saved_model_knows_its_classes(name, order, tmp_path):
    codes, _ = crowd()
    frame = pd.DataFrame(WORDS[codes]).rename(columns=str)
    votes = Votes.of(frame, order=order)
    model = fit(name, votes)
    ue.save(model, tmp_path / "model.npz")
    loaded = ue.load(tmp_path / "model.npz")
    assert loaded.classes_.tolist() == list(votes.classes)
    assert loaded.ordered_ == (order is not None)
    assert loaded.coding_ == model.coding_
    assert np.array_equal(loaded.decision_function(votes), model.decision_function(votes))
    some = frame[(frame == "cat").any(axis=1) & ~frame.isin(["dog", "owl"]).any(axis=1)]
    assert len(some) > 0
    assert np.array_equal(
        loaded.decision_function(some), model.decision_function(votes)[some.index]
    )
    pd.testing.assert_frame_equal(loaded.voters_, model.voters_)
    if hasattr(model, "confusions_"):
        assert loaded.confusions_.equals(model.confusions_)


@EACH
def test_a_model_can_be_refitted_to_other_classes(name, tmp_path):
    codes, _ = crowd()
    three, two = Votes.of(WORDS[codes]), Votes.of(np.where(codes == 3, None, WORDS[codes]))
    model = fit(name, three)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnelisaWarning)
        again = model.fit(two)
    ue.save(again, tmp_path / "model.npz")
    assert ue.load(tmp_path / "model.npz").decision_function(two).shape == (400,)
    assert np.array_equal(again.decision_function(two), fit(name, two).decision_function(two))


@EACH
def test_codes_beyond_127_are_classes_like_others(name):
    codes, _ = crowd(1200, 5, 150)
    table = np.where(codes == 0, np.nan, codes)
    model = fit(name, table)
    scores = model.decision_function(table)
    assert scores.shape == (1200, 150)
    labels = model.predict(table)
    assert set(labels[labels > 127].tolist()) <= set(range(128, 151))
    assert (labels > 127).any()
    counted = np.array([np.bincount(row[row > 0], minlength=151).argmax() for row in codes])
    assert np.mean(counted == labels) > 0.5


def test_classes_that_a_model_does_not_know_are_refused():
    model = ue.MajorityVote().fit([["a", "b"], ["c", "a"]])
    with pytest.raises(ValueError, match="other labels"):
        model.predict(Votes.of([["a", "d"], ["a", "a"]]))
    fewer = Votes.of([["c", "a"], ["c", "c"]])
    assert model.predict(fewer).tolist() == ["a", "c"]


@pytest.mark.parametrize("cls", [ue.DawidSkene, ue.OneCoinDawidSkene])
def test_confusions_and_gold_labels(cls):
    codes, truth = crowd(600)
    votes = Votes.of(WORDS[codes])
    gold = np.where(np.arange(600) < 100, WORDS[truth], None)
    model = cls().fit(votes, gold)
    assert model.score(votes, WORDS[truth]) > 0.85
    table = model.confusions_
    assert len(table) == 7 * 9
    rows = table.groupby(["voter", "meant"]).probability.sum()
    assert rows.to_numpy() == pytest.approx(np.ones(21))
    right = table[table.said == table.meant].groupby("voter").probability.mean()
    best = right.reindex(model.voter_names_).to_numpy()
    assert (np.diff(best) > -0.05).all()
    said = table.drop_duplicates(["voter", "meant"]).groupby("voter").votes.sum()
    assert said.reindex(model.voter_names_).to_numpy() == pytest.approx((codes > 0).sum(axis=0))
    assert model.prevalence_.shape == (3,)
    assert "accuracy" in model.voters_
