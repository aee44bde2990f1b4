import json

import numpy as np
import pytest

from studies.replay import runs
from studies.replay.policies import OURS, RANDOM
from studies.replay.recordings import draw_recording
from studies.replay.runs import collect_replays, draw_first, replay, run_replays, score_votes
from unelisa.simulation.crowds import simulate_classes
from unelisa.sources.labels import KnownLabels

pytestmark = pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")


def read(_seed):
    drawn = simulate_classes(3, 6, 40, missing=0.2, random_state=0)
    return KnownLabels(drawn.votes, drawn.truth, np.empty(0), np.empty(0, dtype=np.int8))


def test_every_item_starts_with_one_recorded_vote():
    offered = draw_recording(read(0), 0).offered
    first = draw_first(offered, np.random.default_rng(0))
    assert (first.sum(axis=1) == 1).all()
    assert not (first & ~offered).any()


def test_a_curve_buys_what_its_stops_say_and_ends_with_all_votes():
    recording = draw_recording(read(0), 0)
    whole = score_votes(recording, recording.offered)
    curve = replay(recording, OURS, 0, whole)
    n_items, everything = len(recording.truth), int(recording.offered.sum())
    wanted = [min(round(stop * n_items), everything) for stop in runs.STOPS[: len(curve)]]
    assert [point[0] for point in curve] == wanted
    assert curve[-1] == whole
    assert all(0 <= point[1] <= 1 < 1 + point[2] for point in curve)


def test_replays_resume_and_their_archive_is_in_a_fixed_order(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "STOPS", (1.0, 2.0))
    told = []
    run_replays({"toy": read}, tmp_path, [RANDOM], [0], lambda *seen: told.append(seen))
    first = (tmp_path / "replays.jsonl").read_text()
    run_replays({"toy": read}, tmp_path, [OURS, RANDOM], [0], lambda *seen: told.append(seen))
    assert (tmp_path / "replays.jsonl").read_text().startswith(first)
    assert told == [("toy", 0), ("toy", 1), ("toy", 1), ("toy", 1)]
    found = collect_replays(tmp_path)["replays"]
    assert [row["policy"] for row in found] == [OURS, RANDOM]
    assert collect_replays(tmp_path / "none", {"replays": found})["replays"] == found
    assert json.loads(first) == found[1]
