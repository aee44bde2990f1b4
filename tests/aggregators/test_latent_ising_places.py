"""The latent model wherever votes live."""

import dask.array as da
import numpy as np
import pytest

import unelisa as ue
from places import NAMES, crowd, put
from unelisa.votes import Votes


@pytest.fixture(scope="module")
def table():
    return crowd(9000, 10, abstain=0.3, seed=5)


@pytest.fixture(scope="module", params=["auto", "plain"])
def in_memory(request, table):
    return ue.LatentIsing(request.param, random_state=0).fit(table)


@pytest.mark.parametrize("place", NAMES[1:])
def test_the_place_of_the_votes_changes_nothing(place, table, in_memory, tmp_path, monkeypatch):
    held = put(place, table, tmp_path, monkeypatch)
    names = np.array([f"v{s}" for s in range(10)], dtype=object)
    votes = Votes(held, np.arange(len(table)), names, named=False)
    model = ue.LatentIsing(in_memory.structure, random_state=0).fit(votes)
    assert model.reading_ == in_memory.reading_
    for name in ("weights_", "fields_", "coins_", "standard_errors_"):
        assert getattr(model, name) == pytest.approx(getattr(in_memory, name), abs=1e-6)
    assert model.prevalence_ == pytest.approx(in_memory.prevalence_, abs=1e-6)
    assert model.decision_function(votes) == pytest.approx(
        in_memory.decision_function(table), abs=1e-5
    )


def test_a_dask_array_is_fitted_and_labelled_lazily(table):
    here = ue.LatentIsing("plain", random_state=0).fit(table)
    lazy = da.from_array(table, chunks=(4000, 10))
    model = ue.LatentIsing("plain", random_state=0).fit(lazy)
    assert model.weights_ == pytest.approx(here.weights_, abs=1e-6)
    chances = model.predict_proba(lazy)
    assert isinstance(chances, da.Array)
    assert chances.compute() == pytest.approx(here.predict_proba(table), abs=1e-6)
