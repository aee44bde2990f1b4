"""The latent model wherever votes live."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import unelisa as ue
from places import NAMES, crowd, put
from unelisa.errors import VotesError
from unelisa.votes import Votes

pytestmark = pytest.mark.filterwarnings("ignore::unelisa.errors.ReliabilityWarning")


@pytest.fixture(scope="module")
def table():
    return crowd(9000, 10, abstain=0.3, seed=5)


@pytest.fixture(scope="module", params=["auto", "plain"])
def in_memory(request, table):
    return ue.LatentIsing(request.param, random_state=0).fit(Votes.of(table, coding="pm1"))


@pytest.mark.parametrize("place", NAMES[1:])
def test_the_place_of_the_votes_changes_nothing(place, table, in_memory, tmp_path, monkeypatch):
    blocks = put(place, table, tmp_path, monkeypatch)
    names = np.array([f"v{s}" for s in range(10)], dtype=object)
    votes = Votes(blocks, np.arange(len(table)), names, named=False)
    model = ue.LatentIsing(in_memory.structure, random_state=0).fit(votes)
    assert model.reading_ == in_memory.reading_
    for name in ("weights_", "fields_", "coins_", "standard_errors_"):
        assert getattr(model, name) == pytest.approx(getattr(in_memory, name), abs=1e-6)
    assert model.prevalence_ == pytest.approx(in_memory.prevalence_, abs=1e-6)
    assert model.decision_function(votes) == pytest.approx(
        in_memory.decision_function(table), abs=1e-5
    )


def test_a_prior_keeps_dasks_answers_lazy(table):
    prior = np.random.default_rng(0).normal(0, 1, len(table))
    here = ue.LatentIsing("plain", random_state=0).fit(Votes.of(table, coding="pm1"), prior=prior)
    lazy = da.from_array(table, chunks=(4000, 10))
    spread = da.from_array(prior, chunks=4000)
    model = ue.LatentIsing("plain", random_state=0).fit(Votes.of(lazy, coding="pm1"), prior=spread)
    assert model.weights_ == pytest.approx(here.weights_, abs=1e-6)
    for method in ("decision_function", "predict", "predict_proba"):
        expected = getattr(here, method)(table, prior=prior)
        for given in (prior, spread):
            answer = getattr(here, method)(lazy, prior=given)
            assert isinstance(answer, da.Array)
            assert (answer.shape, answer.dtype) == (expected.shape, expected.dtype)
            assert np.array_equal(answer.compute(), expected)
    frame = dd.from_pandas(pd.DataFrame(table).add_prefix("v"), npartitions=2)
    named = ue.LatentIsing("plain", random_state=0).fit(Votes.of(frame, coding="pm1"), prior=prior)
    split = dd.from_pandas(pd.Series(prior), npartitions=2)
    assert named.predict_proba(frame, prior=split).compute() == pytest.approx(
        here.predict_proba(table, prior=prior), abs=1e-5
    )
    with pytest.raises(VotesError, match="items in partitions have no names"):
        here.predict(lazy, prior={"0": 1.0})
