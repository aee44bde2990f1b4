"""Every method on votes of more than two classes."""

import json

import numpy as np
import pytest

from studies.classes import runs
from studies.classes.peers import ask_crowd_kit, read_stored
from studies.records import read_lines
from unelisa.aggregators import AGGREGATORS, DawidSkene, MajorityVote
from unelisa.analysis.comparison import compare_methods
from unelisa.errors import ModelError
from unelisa.simulation.designs import simulate_classes
from unelisa.sources.labels import KnownLabels


@pytest.fixture(scope="session")
def known():
    """Three ordered classes, ten voters, 80 items with known truth and one that nobody saw."""
    drawn = simulate_classes(3, 10, 80, ordered=True, random_state=0)
    unseen = np.array(["unseen"], dtype=object), np.array([2], dtype=np.int8)
    return KnownLabels(drawn.votes, drawn.truth, *unseen)


TABLE = (
    "dataset,method,accuracy,balanced,macro_f1,log_loss,ece,mae,seconds,note\n"
    "toy,EBCC,0.5,0.5,0.5,1.0,0.1,0.4,2.0,best of 40\n"
    "toy,BestSingleJudge,0.9,0.9,0.9,,,,0,hindsight\nother,EBCC,0.5,,,,,,,\n"
)


@pytest.fixture
def tasks():
    return runs.list_tasks(["majority-vote", "dawid-skene", runs.SHARE])


def test_every_method_of_ours_that_takes_the_classes_is_run():
    names = runs.list_tasks(peers=False)
    taken = [name for name, cls in AGGREGATORS.items() if cls.takes.any_class]
    assert [name for name in names if name in AGGREGATORS] == taken
    assert {runs.LIFTED, runs.SHARE} <= set(names)
    with pytest.raises(ModelError, match="there is no method 'guess'"):
        runs.list_tasks(["guess"])


def test_rows_are_those_of_the_comparison(known, tmp_path, tasks):
    runs.run_classes({"toy": lambda: known}, tmp_path, tasks)
    rows = {row["method"]: row for row in read_lines(tmp_path / "rows.jsonl")}
    scored = known.scored_votes()
    expected = next(
        compare_methods(known.votes, known.scored_signs(), ["dawid-skene"], scored=scored)
    )
    assert rows["dawid-skene"]["kind"] == runs.OURS
    for figure, value in rows["dawid-skene"]["figures"].items():
        assert value == pytest.approx(getattr(expected, figure), abs=1e-5)
    assert "log_loss" not in rows["majority-vote"]["figures"]


def test_the_share_of_votes_scores_by_hand(known):
    row = runs.run_share(known, "toy")
    values, truth = known.scored_votes().values, known.scored_signs()
    right = [
        (np.sum(v == t) + 1) / (np.count_nonzero(v) + 3) for v, t in zip(values, truth, strict=True)
    ]
    assert row["figures"]["log_loss"] == pytest.approx(-np.log(right).mean(), abs=1e-5)


def test_the_archive_joins_old_rows_new_ones_and_stored_scores(known, tmp_path, tasks):
    (tmp_path / "peers.csv").write_text(TABLE)
    runs.run_classes({"toy": lambda: known}, tmp_path, tasks)
    archive = runs.collect_classes(tmp_path, [tmp_path / "peers.csv"])
    assert [facts["set"] for facts in archive["sets"]] == ["toy"]
    assert {row["method"] for row in archive["rows"] if row["kind"] == runs.STORED} == {"EBCC"}
    with (tmp_path / "rows.jsonl").open("a") as file:
        own = runs.make_row(("toy", "crowd-kit EBCC", runs.PEERS), {"accuracy": 0.5})
        file.write(json.dumps(own) + "\n")
    both = runs.collect_classes(tmp_path, [tmp_path / "peers.csv"], archive)
    assert not any(row["kind"] == runs.STORED for row in both["rows"])
    again = runs.collect_classes(tmp_path / "empty", [tmp_path / "none.csv"], archive)
    assert again == archive


def test_crowd_kit_is_asked_about_every_item(known):
    pytest.importorskip("crowdkit")
    chances, seconds, note = ask_crowd_kit("MajorityVote", known)
    assert chances.shape == (81, 3)
    assert chances.sum(axis=1) == pytest.approx(1)
    assert chances[-1] == pytest.approx(1 / 3)  # nobody saw it
    shares = MajorityVote().fit(known.votes).decision_function(known.votes)
    assert np.allclose(chances[:80], np.where(shares.any(axis=1, keepdims=True), shares, 1 / 3))
    assert seconds >= 0
    assert note.startswith("version ")
    weighted = ask_crowd_kit("Wawa", known)[0]
    assert weighted.sum(axis=1) == pytest.approx(1)


def test_stored_scores_and_refusals_are_rows(tmp_path, known, monkeypatch):
    file = tmp_path / "peers.csv"
    assert read_stored(file) == []
    file.write_text(
        "dataset,method,accuracy,balanced,macro_f1,log_loss,ece,mae,seconds,note,log_loss_1e3\n"
        "dog,EBCC,0.8,0.7,0.6,,,,1.5,best of 40,\ndog,MACE,,,,,,,,not run,\n"
    )
    first, second = read_stored(file)
    assert first["figures"] == {"accuracy": 0.8, "balanced_accuracy": 0.7, "macro_f1": 0.6}
    assert (first["seconds"], second["seconds"], second["figures"]) == (1.5, None, {})

    def refuse(self, X, y=None):
        raise ModelError("not these votes")

    monkeypatch.setattr(DawidSkene, "fit", refuse)
    runs.run_classes({"toy": lambda: known}, tmp_path, runs.list_tasks(["dawid-skene"]))
    row = read_lines(tmp_path / "rows.jsonl")[0]
    assert (row["figures"], row["note"]) == ({}, "refused: not these votes")
