"""Answers that a review needs."""

import numpy as np
import pytest

from review.reviewing import N_ITEMS, small_crowd, small_pool
from studies.review import runs
from unelisa.review.pools import Known, rank_useful
from unelisa.simulation.designs import simulate_classes
from unelisa.sources.labels import KnownLabels

pytestmark = pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")


@pytest.fixture(scope="module")
def crowd():
    votes, truth, _ = small_crowd()
    signs = np.where(np.arange(N_ITEMS) < 40, 2 * truth - 1, 0).astype(np.int8)
    return KnownLabels(votes, signs, np.empty(0, dtype=object), np.empty(0, dtype=np.int8))


def test_the_replay_asks_what_the_review_asks():
    votes, truth, _ = small_crowd()
    learn = runs.learn_votes(votes)
    for n in (0, 5, 30):
        labels = np.where(np.arange(N_ITEMS) < n, truth, -1)
        study = small_pool().study(Known(labels, np.zeros(N_ITEMS, dtype=bool)))
        look = learn(labels)
        np.testing.assert_allclose(look.chances, study.chances, atol=1e-9)
        assert np.array_equal(rank_useful(look.ranked), study.ranking)


def test_reviewed_items_have_the_label_that_they_were_given():
    truth = np.array([0, 1] * 10 + [-1])

    def learn(labels):
        chances = np.tile([0.9, 0.1], (21, 1))
        return chances, chances

    curve = runs.replay(
        lambda labels: runs.Look(*learn(labels)), truth, 20, lambda _: np.arange(21)
    )
    assert curve == [0.5, 0.75, 1.0]


def test_a_set_has_one_curve_per_order(crowd, tmp_path):
    runs.run_review({"toy": lambda: crowd}, tmp_path, draws=1)
    runs.run_review({"toy": lambda: 1 / 0}, tmp_path)  # it is there
    (row,) = runs.collect_review(tmp_path)["reviews"]
    assert (row["items"], row["labels"], len(row["review"])) == (40, 20, 3)
    assert row["review"][-1] > row["review"][0]
    needed = runs.compare_orders(row)
    assert needed.goal == row["random"][0][-1]
    assert 0 <= needed.review <= 20
    assert needed.random == runs.count_answers(row["random"][0], needed.goal)
    old = runs.collect_review(tmp_path)
    assert runs.collect_review(tmp_path / "none", old) == old


def test_more_than_two_classes_learn_from_labels():
    crowd = simulate_classes(n_classes=3, n_voters=5, n_items=60, random_state=0)
    learn = runs.learn_votes(crowd.votes)
    nothing = np.full(60, -1)
    some = np.where(np.arange(60) < 20, 1, -1)
    assert learn(nothing).chances.shape == (60, 3)
    assert not np.array_equal(learn(nothing).chances, learn(some).chances)
