import numpy as np
import pytest

from unelisa.errors import ModelError
from unelisa.simulation.crowds import REPEATED, simulate_classes


def test_votes_follow_the_confusions():
    drawn = simulate_classes(3, 6, 40_000, spammers=0, copies=0, missing=0.2, random_state=1)
    values = drawn.votes.values
    for k in range(3):
        here = values[drawn.truth == k + 1]
        found = np.stack([(here == c + 1).sum(axis=0) for c in range(3)]) / (here != 0).sum(axis=0)
        assert np.allclose(found.T, drawn.confusions[:, k], atol=0.02)
    assert np.mean(values == 0) == pytest.approx(0.2, abs=0.01)


def test_spammers_ignore_the_truth_and_copies_repeat_their_source():
    drawn = simulate_classes(5, 20, 2000, spammers=0.2, copies=0.3, missing=0, random_state=2)
    assert len(drawn.spammers) == 4
    assert np.allclose(drawn.confusions[drawn.spammers], drawn.confusions[drawn.spammers, :1])
    copies = np.flatnonzero(drawn.sources != np.arange(20))
    assert len(copies) == 6
    assert not np.isin(drawn.sources[copies], [*copies, *drawn.spammers]).any()
    values = drawn.votes.values
    alike = (values[:, copies] == values[:, drawn.sources[copies]]).mean(axis=0)
    assert alike.min() > REPEATED - 0.03


def test_ordered_classes_are_confused_with_their_neighbors_first():
    drawn = simulate_classes(5, 4, 50, ordered=True, spammers=0, random_state=3)
    assert drawn.votes.ordered
    assert drawn.votes.classes == (1, 2, 3, 4, 5)
    assert np.all(np.diff(drawn.confusions[:, 0, 1:], axis=1) < 0)


def test_many_classes_fit_a_byte():
    drawn = simulate_classes(200, 5, 300, random_state=4)
    assert drawn.votes.values.view(np.uint8).max() > 127
    assert drawn.truth.view(np.uint8).max() <= 200


def test_the_seed_decides():
    first, again = (simulate_classes(random_state=7).votes.values for _ in range(2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, simulate_classes(random_state=8).votes.values)


@pytest.mark.parametrize(
    "given",
    [{"n_classes": 2}, {"n_classes": 201}, {"missing": 1.0}, {"spammers": 0.7, "copies": 0.3}],
)
def test_impossible_crowds_are_refused(given):
    with pytest.raises(ModelError, match="must be"):
        simulate_classes(**given)
