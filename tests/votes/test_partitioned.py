"""Dask collections without a cluster: Dask's own threads do the work."""

import os
import signal
import threading

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from dask import dataframe as dd
from dask.distributed import Client, LocalCluster
from joblib import Parallel, delayed

import unelisa as ue
from places import crowd
from unelisa.errors import VotesError, VotesWarning
from unelisa.paper.solvers import L1Problem, WorkingSet
from unelisa.parallel import run_all
from unelisa.votes import Votes
from unelisa.votes.partitioned import Partitions, active_client, is_partitioned


def test_only_dask_is_partitioned_and_labels_are_settled_over_all_parts():
    array = da.from_array(crowd(100), chunks=(50, 12))
    assert is_partitioned(array)
    assert is_partitioned(dd.from_pandas(pd.DataFrame(crowd(100)), npartitions=2))
    for other in (crowd(100), [[1, -1]], pd.DataFrame(crowd(100)), array.sum().to_delayed()):
        assert not is_partitioned(other)
    words = np.array([["no", "no"], ["no", ""], ["yes", "no"], [None, "yes"]], dtype=object)
    votes = Votes.of(da.from_array(words, chunks=(2, 2)))
    assert votes.classes == ("no", "yes")
    assert [part.values.tolist() for part in votes.parts()] == [
        [[-1, -1], [-1, 0]],
        [[1, -1], [0, 1]],
    ]
    assert votes.items[:3].tolist() == [0, 1, 2]
    assert repr(votes) == "Votes(4 items x 2 voters, 25.0% abstained)"


def test_partitions_keep_labels_masks_and_classes():
    words = np.array([["no", "yes"], ["no", "yes"], ["no", "maybe"]], dtype=object)
    votes = Votes.of(da.from_array(words, chunks=(2, 1)))
    assert votes.classes == ("maybe", "no", "yes")
    assert np.vstack([part.values for part in votes.parts()]).tolist() == [[2, 3], [2, 3], [2, 1]]
    with pytest.raises(VotesError, match="3 declared ones in data row 3, column 'v1'"):
        Votes.of(da.from_array(words, chunks=(2, 1)), order=["no", "perhaps", "yes"])
    table = np.ma.masked_equal(crowd(400), 0)
    votes = Votes.of(da.from_array(table, chunks=(150, 12)))
    assert np.array_equal(votes.take_items(np.arange(400)).values, crowd(400))
    frame = pd.DataFrame(crowd(300), columns=[f"w{s}" for s in range(12)])
    table = dd.from_pandas(frame, npartitions=3)
    late = table.map_partitions(lambda part: part[part.index >= 120])
    votes = Votes.of(late, coding="pm1")
    assert votes.n_items == 180
    assert np.array_equal(votes.take_items(np.arange(180)).values, crowd(300)[120:])


def test_what_dask_cannot_hold_is_refused_or_must_be_declared():
    with pytest.raises(VotesError, match="1 dimension"):
        Votes.of(da.ones(10, chunks=5))
    with pytest.raises(VotesError, match="every cell is missing"):
        Votes.of(da.full((4, 2), np.nan, chunks=(2, 2)))
    with pytest.raises(VotesError, match="in Dask partitions, and this method needs"):
        ue.SpectralMetaLearner().fit(
            Votes.of(da.from_array(crowd(400), chunks=(150, 12)), coding="pm1")
        )
    table = da.from_array(crowd(400), chunks=(150, 12))
    with pytest.raises(VotesError, match="ambiguous"):
        Votes.of(table)
    assert Votes.of(table, coding="pm1").classes == (-1, 1)
    assert Votes.of(table, coding="snorkel").classes == (0, 1)


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as connected,
    ):
        yield connected


@pytest.fixture(scope="module")
def in_memory():
    return ue.UnElisa(fit_intercept=True, random_state=0).fit(ue.Votes.of(crowd(), coding="pm1"))


def assert_same(model, other):
    assert model.experts_.tolist() == other.experts_.tolist()
    assert model.weights_ == pytest.approx(other.weights_, abs=1e-6)
    assert model.prevalence_ == pytest.approx(other.prevalence_, abs=1e-6)
    assert np.array_equal(model.graph_.adjacency, other.graph_.adjacency)
    assert model.voters_["conflicts"].tolist() == other.voters_["conflicts"].tolist()


def test_a_dask_array_is_fitted_where_it_lives(client, in_memory):
    table = da.from_array(crowd(), chunks=(3000, 5))  # cut along both axes
    model = ue.UnElisa(fit_intercept=True, random_state=0).fit(ue.Votes.of(table, coding="pm1"))
    assert_same(model, in_memory)
    labels, chances = model.predict(table), model.predict_proba(table)
    assert isinstance(labels, da.Array)
    assert chances.shape == (len(crowd()), 2)
    assert np.array_equal(labels.compute(), in_memory.predict(crowd()))
    assert chances.compute() == pytest.approx(in_memory.predict_proba(crowd()), abs=1e-6)


def test_a_dask_frame_keeps_its_labels_and_names(client):
    words = pd.DataFrame(crowd()[:3000]).replace({-1: "no", 0: None, 1: "yes"}).astype(object)
    words.columns = [f"rater {s}" for s in range(12)]
    words.insert(0, "item", [f"x{i}" for i in range(len(words))])
    here = ue.UnElisa(fit_intercept=True, random_state=0).fit(words)
    table = dd.from_pandas(words, npartitions=3)
    there = ue.UnElisa(fit_intercept=True, random_state=0).fit(table)
    assert_same(there, here)
    assert there.classes_.tolist() == ["no", "yes"]
    assert there.voter_names_.tolist() == list(words.columns[1:])
    assert there.predict(table).compute().tolist() == here.predict(words).tolist()
    fewer = table.drop(columns="rater 4")
    assert there.predict(fewer).compute().tolist() == here.predict(fewer.compute()).tolist()


def test_gold_and_an_anchor_settle_the_side(client):
    table, gold = da.from_array(crowd(), chunks=(2000, 12)), np.zeros(len(crowd()))
    plain = ue.UnElisa(fit_intercept=True, random_state=0).fit(ue.Votes.of(crowd(), coding="pm1"))
    gold[:500] = -plain.predict(crowd())[:500]
    gold[500:] = np.nan
    turned = ue.UnElisa(fit_intercept=True, random_state=0).fit(
        ue.Votes.of(table, coding="pm1"), gold
    )
    assert turned.weights_ == pytest.approx(-plain.weights_, abs=1e-6)
    anchored = ue.UnElisa(fit_intercept=True, orient=0, random_state=0).fit(
        ue.Votes.of(table, coding="pm1")
    )
    assert anchored.weights_ == pytest.approx(plain.weights_, abs=1e-6)


def test_the_fit_survives_a_worker_that_is_killed(client, in_memory, monkeypatch):
    asked, killed = [], []
    ordinary = Partitions.visit

    def visit_while_a_worker_dies(self, job):
        asked.append(1)
        if len(asked) == 8:  # in the midst of the regressions
            killed.append(next(iter(client.run(os.getpid).values())))
            threading.Timer(0.02, os.kill, (killed[0], signal.SIGKILL)).start()
        return ordinary(self, job)

    monkeypatch.setattr(Partitions, "visit", visit_while_a_worker_dies)
    table = da.from_array(crowd(), chunks=(1000, 12))
    model = ue.UnElisa(fit_intercept=True, random_state=0).fit(ue.Votes.of(table, coding="pm1"))
    assert_same(model, in_memory)
    client.wait_for_workers(2)
    assert killed[0] not in client.run(os.getpid).values()
    assert len(asked) > 10


def test_independent_work_goes_to_the_workers(client):
    def where(task):
        return task, os.getpid(), active_client() is None

    kept = []
    found = run_all(where, range(6), each=kept.append)
    assert [task for task, _, _ in found] == list(range(6))
    assert sorted(kept) == sorted(found)
    assert {pid for _, pid, _ in found} <= set(client.run(os.getpid).values())
    assert all(alone for _, _, alone in found)


@pytest.mark.filterwarnings("ignore::unelisa.errors.ExpertsWarning")
def test_warnings_and_errors_of_workers_come_back(client):
    def warn(task):
        return ue.MajorityVote().fit(np.array([[1, -1], [1, 1]])).weights_.tolist()

    with pytest.warns(VotesWarning, match="always gave the same vote"):
        assert run_all(warn, [0]) == [[0.0, 1.0]]
    with pytest.raises(ZeroDivisionError):
        run_all(lambda task: 1 // task, [1, 0])


def test_resamples_are_fitted_by_the_workers(client, monkeypatch):
    votes = crowd(1500, 12, abstain=0)
    model = ue.UnElisa(fit_intercept=True, random_state=0).fit(votes)
    there = ue.bootstrap(votes, model, 4, random_state=0)
    monkeypatch.setattr("unelisa.parallel.active_client", lambda: None)
    here = ue.bootstrap(votes, model, 4, random_state=0)
    assert there.voters.equals(here.voters)


@pytest.mark.filterwarnings("ignore::unelisa.errors.ReliabilityWarning")
def test_the_latent_model_is_fitted_where_the_votes_live(client):
    table = da.from_array(crowd(), chunks=(2500, 12))
    here = ue.LatentIsing("plain", random_state=0).fit(ue.Votes.of(crowd(), coding="pm1"))
    there = ue.LatentIsing("plain", random_state=0).fit(ue.Votes.of(table, coding="pm1"))
    assert there.weights_ == pytest.approx(here.weights_, abs=1e-6)
    assert there.prevalence_ == pytest.approx(here.prevalence_, abs=1e-6)
    assert np.array_equal(there.predict(table).compute(), here.predict(crowd()))


def solve_wide(seed):
    problem = L1Problem(crowd(4000, 40, seed=seed), np.full(40, 0.05), n_jobs=2)
    return WorkingSet().solve(problem).weights


def test_joblib_workers_and_threads_solve_at_once(client):
    expected = [solve_wide(seed) for seed in range(2)]
    remote = [client.submit(solve_wide, seed) for seed in range(2)]
    parts = [
        Parallel(n_jobs=2, backend=name)(delayed(solve_wide)(s) for s in range(2))
        for name in ("threading", "loky")
    ]
    for answer in (*parts, client.gather(remote)):
        assert all(np.array_equal(a, b) for a, b in zip(answer, expected, strict=True))
