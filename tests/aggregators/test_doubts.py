"""Every method warns once where its labels cannot be relied on, and says why."""

import warnings

import numpy as np
import pytest

from unelisa.aggregators import AGGREGATORS, LatentIsing, MajorityVote, OneVsRest, UnElisa
from unelisa.analysis import bootstrap, compare_methods
from unelisa.errors import ReliabilityWarning, UnelisaWarning
from unelisa.storage import load, save
from unelisa.votes import Votes

WORDS = "the labels cannot be relied on: "


@pytest.fixture(scope="module")
def noise():
    values = np.random.default_rng(3).choice([-1, 1], (200, 6)).astype(np.int8)
    return Votes.of(values, coding="pm1")


@pytest.fixture(scope="module")
def crowd():
    rng = np.random.default_rng(3)
    truth = rng.choice([-1, 1], (600, 1))
    return Votes.of(np.where(rng.random((600, 7)) < 0.8, truth, -truth), coding="pm1")


def list_doubts(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnelisaWarning)
        call()
    said = [w for w in caught if str(w.message).startswith(WORDS)]
    assert all(w.category is ReliabilityWarning for w in said)
    return [str(w.message) for w in said]


@pytest.mark.parametrize("name", AGGREGATORS)
def test_a_fit_warns_once_exactly_where_it_is_not_reliable(name, noise, crowd, tmp_path):
    for votes in (noise, crowd):
        model = AGGREGATORS[name]()
        said = list_doubts(lambda m=model, v=votes: m.fit(v))
        assert said == [WORDS + model.reliability_reason_] * (not model.reliable_)
        assert model.reliable_ == (votes is crowd) or name == "stacked-rbm"
    save(model, tmp_path / "model.npz")
    assert not list_doubts(lambda: load(tmp_path / "model.npz").predict(votes))


def test_fits_within_fits_do_not_repeat_it(noise):
    model = LatentIsing().fit(noise)
    assert len(list_doubts(lambda: model.update(noise))) == 1
    assert len(list_doubts(lambda: bootstrap(noise, LatentIsing(), 3, random_state=0))) <= 1
    assert not list_doubts(lambda: list(compare_methods(noise, np.ones(200, dtype=np.int8))))


def test_one_class_against_the_rest_is_doubted_in_one_sentence():
    votes = Votes.of(np.random.default_rng(0).choice(list("abc"), (200, 6)))
    model = OneVsRest(UnElisa())
    inner, outer = list_doubts(lambda: model.fit(votes))
    assert inner.endswith("(3 fits of one class against the rest, of which this is the first)")
    assert outer == WORDS + model.reliability_reason_
    assert len(list_doubts(lambda: OneVsRest(MajorityVote()).fit(votes))) == 2
