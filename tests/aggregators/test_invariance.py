"""What must not change a label: the order of voters and items, seeds, voters who say nothing.

Where the answer rests on a tie, the model says so: `reliable_` is False and the reason has the
word "tie", or "chance" where training draws random numbers. It is then not asked for more."""

import warnings
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from scipy.special import logit

from unelisa.aggregators import AGGREGATORS
from unelisa.errors import UnelisaWarning
from unelisa.simulation.designs import simulate_votes
from unelisa.votes import Votes

ONE_PERCENT = 0.01  # of the other items' labels may move with one item more
UNDECIDED = 0.05  # of the largest score: what is nearer to 0 may go either way


def _follow(accuracies, n_items, seed, truth=None):
    rng = np.random.default_rng(seed)
    truth = rng.choice(np.array([-1, 1], dtype=np.int8), (n_items, 1)) if truth is None else truth
    right = rng.random((n_items, len(accuracies))) < np.asarray(accuracies)
    return np.where(right, truth, -truth).astype(np.int8)


def easy():
    """Nine independent voters, two of them contrarians."""
    return _follow([0.9, 0.85, 0.8, 0.8, 0.75, 0.5, 0.5, 0.2, 0.15], 600, 7)


def copies():
    """Three exact copies of one poor voter, two of a good one, six others."""
    values = _follow([0.6, 0.85, 0.8, 0.75, 0.7, 0.7, 0.65, 0.3], 400, 1)
    return values[:, [0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7]]


def near_ties():
    """Six equally good voters on few items: every third item is split."""
    return _follow([0.65] * 6, 90, 2)


def low_signal():
    """A cell of section 5.1 with a low signal, where knots have equal degrees."""
    return simulate_votes(25, "sqrt", "low", random_state=2).votes.values


def few_experts():
    """Another: log p experts."""
    return simulate_votes(25, "log", "low", random_state=3).votes.values


def sparse_crowd():
    """25 workers, five votes on every item."""
    rng = np.random.default_rng(4)
    values = _follow(rng.uniform(0.45, 0.9, 25), 300, 4)
    asked = np.argsort(rng.random(values.shape), axis=1) < 5
    return np.where(asked, values, 0).astype(np.int8)


def constant_voters():
    """Seven voters, among them one yes and one no on every item."""
    values = _follow([0.8, 0.75, 0.7, 0.65, 0.6], 300, 5)
    ones = np.ones((300, 1), dtype=np.int8)
    return np.hstack([ones, values, -ones])


def noise():
    """Eight voters who flip coins."""
    return _follow([0.5] * 8, 300, 6)


def biased():
    """A rare class, and voters who favor no."""
    truth = np.where(np.random.default_rng(8).random((500, 1)) < 0.15, 1, -1).astype(np.int8)
    return _follow([0.9, 0.85, 0.8, 0.75, 0.7, 0.95], 500, 8, truth)


CASES = [
    easy,
    copies,
    near_ties,
    low_signal,
    few_experts,
    sparse_crowd,
    constant_voters,
    noise,
    biased,
]


class Answer(NamedTuple):
    """The labels of a fit, -1 / +1, 0 where the score is 0; and whether it says "tie"."""

    scores: np.ndarray
    labels: np.ndarray
    told: bool
    reliable: bool
    reason: str


def answer(name, values, seed=0):
    cls = AGGREGATORS[name]
    settings = {"random_state": seed} if "random_state" in cls().get_params() else {}
    votes = Votes.of(np.asfortranarray(values), coding="pm1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnelisaWarning)
        model = cls(**settings).fit(votes)
    scores = model.decision_function(votes)
    reason = model.reliability_reason_
    said = not model.reliable_ and ("depends on a tie" in reason or "depends on chance" in reason)
    return Answer(scores, np.sign(scores), said, model.reliable_, reason)


@cache
def plain(name, case):
    return answer(name, case())


def everything_permuted(name, values):
    """Voters and items in another order, and another seed."""
    rng = np.random.default_rng(1)
    voters, items = rng.permutation(values.shape[1]), rng.permutation(len(values))
    return answer(name, values[items][:, voters], seed=12).labels[np.argsort(items)]


def idle_voters_added(name, values):
    """Voters who always say yes, always say no, or nothing."""
    more = np.insert(np.insert(values, 2, 1, axis=1), 0, -1, axis=1)
    return answer(name, np.insert(more, 1, 0, axis=1)).labels


def silent_items_added(name, values):
    places = [0, len(values) // 2, len(values)]
    labels = answer(name, np.insert(values, places, 0, axis=0)).labels
    return np.delete(labels, np.array(places) + np.arange(3))


def flipped(name, values):
    return -answer(name, -values).labels


CHANGES = [everything_permuted, idle_voters_added, silent_items_added, flipped]


def _name(function):
    return function.__name__.replace("_", "-")


@pytest.mark.parametrize("change", CHANGES, ids=_name)
@pytest.mark.parametrize("case", CASES, ids=_name)
@pytest.mark.parametrize("name", AGGREGATORS)
def test_no_label_changes_or_the_model_says_that_it_rests_on_a_tie(name, case, change):
    before = plain(name, case)
    changed = float(np.mean(change(name, case()) != before.labels))
    assert before.told or changed == 0


@pytest.mark.parametrize("case", CASES, ids=_name)
@pytest.mark.parametrize("name", AGGREGATORS)
def test_one_item_more_moves_hardly_any_other_label(name, case):
    before, values = plain(name, case), case()
    decided = np.abs(before.scores) > UNDECIDED * np.abs(before.scores).max()
    moved = 0.0
    for item in (0, len(values) // 2):
        after = answer(name, np.vstack([values, values[item]])).labels[:-1]
        changed = decided & (after != before.labels)
        moved = max(moved, float(np.delete(changed, item).mean()))
    assert not before.reliable or moved <= ONE_PERCENT


# these weigh voters by agreement with the majority, which no number of items makes right
NOT_CONSISTENT = {"majority-vote", "wawa", "zero-based-skill"}
ACCURACIES = np.array([0.9, 0.85, 0.8, 0.75, 0.7, 0.7, 0.65, 0.6, 0.55])


@pytest.fixture(scope="module")
def star():
    rng = np.random.default_rng(0)
    truth = np.where(rng.random(20_000) < 0.4, 1, -1).astype(np.int8)
    right = rng.random((20_000, 9)) < ACCURACIES
    values = np.where(right, truth[:, None], -truth[:, None]).astype(np.int8)
    oracle = np.mean(((logit(0.4) + values @ logit(ACCURACIES)) >= 0) == (truth > 0))
    return Votes.of(values), truth, oracle


@pytest.mark.parametrize("name", [name for name in AGGREGATORS if name not in NOT_CONSISTENT])
def test_consistent_methods_reach_the_oracle(name, star):
    votes, truth, oracle = star
    assert AGGREGATORS[name]().fit(votes).score(votes, truth) > oracle - 0.01
