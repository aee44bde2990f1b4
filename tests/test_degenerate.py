"""Votes at the edge of making sense: every method answers in finite numbers, warns, and ends."""

import warnings

import numpy as np
import pytest

from unelisa.aggregators import AGGREGATORS, LatentIsing
from unelisa.errors import ModelError, UnelisaWarning
from unelisa.paper.experts import ExpertSelector
from unelisa.votes import Votes


def _signs(shape, seed=0):
    return np.random.default_rng(seed).choice(np.array([-1, 1], dtype=np.int8), shape)


def _blocks(n_blocks=4, size=3, items=30):
    """Blocks of voters that never judge the same item."""
    values = np.zeros((n_blocks * items, n_blocks * size), np.int8)
    for block in range(n_blocks):
        rows = slice(block * items, (block + 1) * items)
        values[rows, block * size : (block + 1) * size] = _signs((items, size), block)
    return values


def _one_each(items=40, voters=8):
    """Every item has one vote: no two voters overlap."""
    values = np.zeros((items, voters), np.int8)
    values[np.arange(items), np.arange(items) % voters] = _signs(items)
    return values


def _constant_but_one():
    values = np.ones((60, 6), np.int8)
    values[:, 1::2] = -1
    values[:, 0] = _signs(60)
    return values


def _single_vote():
    values = _signs((80, 7))
    values[1:, 6] = 0
    return values


def _rare_votes():
    values = _signs((1000, 20))
    values[np.random.default_rng(1).random(values.shape) < 0.99] = 0
    return values


SIDE = _signs((60, 1))
CASES = {
    "fewer items than voters": _signs((6, 20)),
    "one item": _signs((1, 5)),
    "two items": np.array([[1, 1, -1], [-1, 1, 1]], np.int8),
    "one voter": _signs((30, 1)),
    "two voters": _signs((30, 2)),
    "all identical": np.repeat(SIDE, 8, axis=1),
    "all opposite": SIDE * np.resize([1, -1], 8).astype(np.int8),
    "two opposite": np.hstack([SIDE, -SIDE]),
    "constant but one": _constant_but_one(),
    "every vote yes": np.ones((20, 4), np.int8),
    "one expert who leads all": np.where(_signs((60, 7)) > 0, SIDE, -SIDE),
    "one expert, others noise": np.hstack([SIDE, SIDE, _signs((60, 6), 5)]),
    "perfect separation": SIDE * np.array([1, 1, 1, -1, -1], np.int8),
    "every item a tie": np.hstack([_signs((50, 4)), -_signs((50, 4))]),
    "nearly all abstain": _rare_votes(),
    "a voter with one vote": _single_vote(),
    "no two voters meet": _one_each(),
    "blocks that never meet": _blocks(),
    "rows without votes": np.vstack([_signs((40, 5)), np.zeros((40, 5), np.int8)]),
    "chain": np.where(np.eye(25) > 0, 1, -np.roll(np.eye(25), 1, axis=0)).astype(np.int8),
}
STRUCTURES = ("plain", "ease", "families")  # of LatentIsing


def _make(name, n_voters):
    if name in STRUCTURES:
        return LatentIsing(name)
    cls = AGGREGATORS[name]
    if n_voters > (cls.takes.voters or n_voters):
        pytest.skip(
            f"{name} takes {cls.takes.voters} voters at most, in words: its own test shows it"
        )
    return cls(**({"random_state": 0} if "random_state" in cls().get_params() else {}))


def _fit(model, votes):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(votes)
    strangers = [w for w in caught if not issubclass(w.category, UnelisaWarning)]
    assert not strangers, strangers[0]
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", [*AGGREGATORS, *STRUCTURES])
def test_every_method_gives_finite_probabilities(name, case):
    values = CASES[case]
    votes = Votes.of(values, coding="pm1")
    model = _make(name, votes.n_voters)
    told = _fit(model, votes)
    assert all(" " in sentence and "nan" not in sentence.lower() for sentence in told)
    scores = model.decision_function(votes)
    assert np.all(np.isfinite(scores))
    assert np.all(np.isfinite(model.weights_))
    assert set(model.predict(votes)) <= {-1, 1}
    if hasattr(model, "predict_proba"):
        chances = model.predict_proba(votes)
        assert np.all((chances >= 0) & (chances <= 1))
        assert chances.sum(axis=1) == pytest.approx(np.ones(len(votes)))
        assert 0 <= model.prevalence_ <= 1
    assert model.voters_[["verdict", "weight", "coverage", "reason"]].notna().all(axis=None)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("penalty", ["theory", "ebic", 0.1])
def test_the_graph_of_degenerate_votes_is_finite(case, penalty):
    selector = ExpertSelector(penalty, fit_intercept=True, random_state=0)
    _fit(selector, Votes.of(CASES[case], coding="pm1"))
    assert np.all(np.isfinite(selector.neighborhoods_.weights))
    assert np.all(np.isfinite(selector.neighborhoods_.intercepts))


@pytest.mark.parametrize("case", ["one voter", "no two voters meet", "constant but one"])
@pytest.mark.parametrize("name", AGGREGATORS)
def test_votes_that_confirm_nobody_are_warned_of(name, case):
    votes = Votes.of(CASES[case], coding="pm1")
    words = {"one voter": "only one voter", "no two voters meet": "only one vote"}
    told = _fit(_make(name, votes.n_voters), votes)
    assert any(words.get(case, "same vote") in sentence for sentence in told)


LIMITED = [name for name, cls in AGGREGATORS.items() if "max_iter" in cls().get_params()]
# for these it is how many rounds they take, not a limit on the way to a fixed point
ROUNDS = {"stacked-rbm", "zero-based-skill"}


@pytest.mark.parametrize("name", LIMITED)
def test_an_iteration_limit_ends_the_loop_with_a_warning(name, crowd):
    model = AGGREGATORS[name](max_iter=1)
    told = _fit(model, crowd[0])
    assert name in ROUNDS or any("did not converge" in sentence for sentence in told)
    assert np.all(np.isfinite(model.decision_function(crowd[0])))
    with pytest.raises(ModelError, match="max_iter"):
        AGGREGATORS[name](max_iter=0).fit(crowd[0])
