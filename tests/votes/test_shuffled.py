"""Long tables of Dask: the labels of the same table in memory, on a cluster and without one."""

import numpy as np
import pandas as pd
import pytest
from dask import dataframe as dd
from dask.distributed import Client, LocalCluster

import unelisa as ue
from unelisa.errors import VotesError


def draw_long(n_classes, n_items=3000, n_voters=30, seed=0):
    """Six votes on each item, in any order."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n_items)
    seats = rng.integers(n_voters // 6, size=(n_items, 6)) + n_voters // 6 * np.arange(6)
    items, who = np.repeat(np.arange(n_items), 6), seats.ravel()
    right = rng.random(len(who)) < rng.uniform(0.55, 0.95, n_voters)[who]
    said = (truth[items] + np.where(right, 0, rng.integers(1, n_classes, len(who)))) % n_classes
    names = np.array([f"w{s}" for s in range(n_voters)])[who]
    words = np.array(["no", "yes", "maybe"])[said]
    frame = pd.DataFrame({"item": items, "voter": names, "vote": words})
    return frame.sample(frac=1, random_state=seed)


@pytest.fixture(scope="module", params=["cluster", "threads"])
def place(request):
    if request.param == "threads":
        yield None
        return
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as connected,
    ):
        yield connected


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.usefixtures("place")
def test_labels_are_those_of_memory(n_classes):
    long = draw_long(n_classes)
    here, there = ue.Votes.of(long), ue.Votes.of(dd.from_pandas(long, npartitions=4))
    assert there.voters.tolist() == here.voters.tolist()
    assert sorted(there.items) == here.items.tolist()
    one, other = ue.LatentIsing().fit(here), ue.LatentIsing().fit(there)
    expected = one.labels(here).set_index("item").loc[there.items]
    found = other.labels(there).set_index("item")
    assert found.label.tolist() == expected.label.tolist()
    assert found.probability.to_numpy() == pytest.approx(expected.probability.to_numpy(), abs=1e-9)
    numbers = [model.voters_full_.select_dtypes("number").to_numpy() for model in (one, other)]
    assert numbers[0] == pytest.approx(numbers[1], abs=1e-9, nan_ok=True)
    counted = ue.DawidSkene().fit(there).predict_proba(there)
    same = ue.DawidSkene().fit(here).predict_proba(here)[np.asarray(there.items)]
    assert counted == pytest.approx(same, abs=1e-9)


def test_items_may_be_chosen_and_columns_named():
    long = draw_long(2).rename(columns={"item": "doc", "voter": "who", "vote": "said"})
    columns = {"item": "doc", "voter": "who", "vote": "said"}
    votes = ue.Votes.of(dd.from_pandas(long, npartitions=3), **columns)
    some = votes.take_items(np.arange(0, 3000, 7))
    here = ue.Votes.of(long[long.doc.isin(some.items)], **columns)
    places = np.searchsorted(here.items, some.items)
    assert np.array_equal(some.blocks.expand(), here.blocks.expand()[places])


@pytest.mark.filterwarnings("ignore::unelisa.errors.ExpertsWarning")
def test_what_is_wrong_with_a_long_table_is_said():
    long = pd.DataFrame({"item": [1, 1, 2, 1], "voter": list("abaa"), "vote": [0, 1, 1, 1]})
    with pytest.raises(VotesError, match="different votes of one voter on one item: 'a'"):
        ue.Votes.of(dd.from_pandas(long, npartitions=2))
    kept = ue.Votes.of(dd.from_pandas(long, npartitions=1), duplicates="drop")
    assert kept.vote_counts().sum() == 2
    with pytest.raises(VotesError, match="holds 0 items"):
        ue.Votes.of(dd.from_pandas(long[:0], npartitions=1))
    with pytest.raises(VotesError, match=r"pass Votes.of\(table\)"):
        ue.MajorityVote().fit([[1, -1], [-1, 1]]).predict(dd.from_pandas(long, npartitions=1))


def test_items_have_one_spelling_before_they_are_shuffled():
    items, said = ["1", "1.0", "2", " 1", "3", "2"], ["a", "b"] * 60
    frame = pd.DataFrame({"item": items * 20, "voter": [f"v{k}" for k in range(120)], "vote": said})
    there = ue.Votes.of(dd.from_pandas(frame, npartitions=3))
    assert sorted(there.items) == ue.Votes.of(frame).items.tolist() == ["1", "2", "3"]


@pytest.mark.parametrize("kept", ["first", "last", "drop"])
@pytest.mark.usefixtures("place")
def test_rows_keep_their_order_through_the_shuffle(kept):
    rng = np.random.default_rng(0)
    columns = {"voter": list("abcde"), "vote": ["no", "yes"], "item": list("123456789")}
    long = pd.DataFrame({name: rng.choice(some, 150) for name, some in columns.items()})
    here = ue.Votes.of(long, duplicates=kept)
    there = ue.Votes.of(dd.from_pandas(long, npartitions=3), duplicates=kept)
    order = np.argsort(there.items)
    assert np.array_equal(there.blocks.expand()[order], here.blocks.expand())


def test_errors_name_the_row_and_the_partition_of_the_user():
    long = draw_long(2).reset_index(drop=True)
    long.loc[[7000, 13_000], "vote"] = "perhaps"
    with pytest.raises(VotesError, match="label other .* in data row 1001 of partition 2$"):
        ue.Votes.of(dd.from_pandas(long, npartitions=3), coding=("no", "yes"))
    with pytest.raises(VotesError, match="duplicates must be one of"):
        ue.Votes.of(dd.from_pandas(long, npartitions=3), duplicates="least")
