import numpy as np
import pytest

from studies.classes import peers
from studies.classes.peers import ask_crowd_kit, list_crowd_kit, read_stored
from unelisa.aggregators import MajorityVote


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


def test_slow_programs_are_not_asked_about_many_votes(known, monkeypatch):
    pytest.importorskip("crowdkit")
    monkeypatch.setattr(peers, "MOST_VOTES", 10)
    assert ask_crowd_kit("MACE", known) == (None, None, "not run: it would take minutes")


def test_without_crowd_kit_nothing_is_run(monkeypatch):
    monkeypatch.setattr(peers, "find_spec", lambda _name: None)
    assert list_crowd_kit() == ()


def test_stored_scores_are_read(tmp_path):
    file = tmp_path / "peers.csv"
    assert read_stored(file) == []
    file.write_text(
        "dataset,method,accuracy,balanced,macro_f1,log_loss,ece,mae,seconds,note,log_loss_1e3\n"
        "dog,EBCC,0.8,0.7,0.6,,,,1.5,best of 40,\ndog,MACE,,,,,,,,not run,\n"
    )
    first, second = read_stored(file)
    assert first["figures"] == {"accuracy": 0.8, "balanced_accuracy": 0.7, "macro_f1": 0.6}
    assert (first["seconds"], second["seconds"], second["figures"]) == (1.5, None, {})
