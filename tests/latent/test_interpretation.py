import numpy as np
import pytest

from latent.worlds import plain_crowd, repeating_crowd
from unelisa.errors import VotesError
from unelisa.latent.ballots import MemoryBallots
from unelisa.latent.interpretation import interpret


def read(values, structure="auto"):
    return interpret(MemoryBallots.of(values), structure, np.random.default_rng(0))


def test_voters_who_say_one_thing_do_not_change_the_coherence():
    values, _ = plain_crowd(0, votes_per_item=20)
    constant = np.ones((300, 15), dtype=np.int8)
    alone, beside = read(values), read(np.hstack([values, constant]))
    assert beside.coherence == pytest.approx(alone.coherence)
    assert read(constant).coherence == 1


def test_a_graph_needs_two_voters_who_gave_both_answers():
    values = np.ones((50, 4), dtype=np.int8)
    values[:25, 0] = -1
    with pytest.raises(VotesError, match="2 voters who gave both answers, found 1"):
        read(values, "edges")


def test_a_second_axis_is_told_with_what_became_of_it():
    reading = read(repeating_crowd(0)[0])
    (note,) = reading.notes
    assert reading.two_readings
    assert note.startswith(f"the votes allow two readings: '{reading.structure}'")
    assert "is kept" in note
