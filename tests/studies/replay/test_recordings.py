import numpy as np

from studies.replay.recordings import draw_recording
from unelisa.sources.labels import KnownLabels
from unelisa.votes import Votes

VALUES = np.array([[1, -1, 0], [1, 0, 0], [-1, -1, 0], [1, 1, 0]], dtype=np.int8)
TRUTH = np.array([1, 1, -1, 0], dtype=np.int8)


def known():
    votes = Votes.of_values(np.asfortranarray(VALUES), np.arange(4), np.array(["a", "b", "c"]))
    return KnownLabels(votes, TRUTH, np.empty(0), np.empty(0, dtype=np.int8))


def test_items_have_a_truth_and_two_votes_and_voters_have_voted():
    recording = draw_recording(known(), seed=0)
    assert recording.votes.items.tolist() == [0, 2]
    assert recording.votes.voters.tolist() == ["a", "b"]
    assert recording.truth.tolist() == [1, -1]
    assert recording.offered.all()


def test_a_sample_depends_on_the_seed_alone():
    drawn = [draw_recording(known(), seed, most=1).votes.items[0] for seed in (0, 0, 1, 2, 3)]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) == 2


def test_what_was_bought_is_all_that_is_seen():
    recording = draw_recording(known(), seed=0)
    chosen = np.array([[True, False], [False, True]])
    assert recording.bought(chosen).values.tolist() == [[1, 0], [0, -1]]
