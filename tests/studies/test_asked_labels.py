"""Labels that are asked for: certificates of draws, and answers that a review needs."""

import numpy as np
import pandas as pd
import pytest

import unelisa as ue
from review.reviewing import N_ITEMS, small_crowd, small_pool
from small_models import draw_easy_and_hard
from studies.certify.page import find_case, render_certify
from studies.certify.runs import (
    OURS,
    SHUFFLED,
    Asked,
    Way,
    ask_surest,
    collect_certify,
    count_answers,
    deliver,
    find_frame,
    list_populations,
    run_certify,
    try_draw,
)
from studies.review import runs
from unelisa.review.pools import Known, rank_useful
from unelisa.simulation.designs import simulate_classes
from unelisa.sources.labels import KnownLabels


@pytest.fixture(scope="module")
def known():
    truth, said = draw_easy_and_hard(np.random.default_rng(0), 400, 5, 0.3, 0.55, 0.9)
    votes = ue.Votes.of(pd.DataFrame(said, columns=list("abcde")), coding="01")
    signs = np.where(truth == 1, 1, -1).astype(np.int8)
    return KnownLabels(votes, signs, np.empty(0, dtype=object), np.empty(0, dtype=np.int8))


def test_a_draw_is_broken_where_more_labels_are_wrong_than_promised(known):
    populations, _ = list_populations(known)
    ours = populations[OURS]
    everything = np.arange(400)
    asked = Asked(0.05, 0.95, "file", "wrong", 0.0, once=False)
    assert try_draw(ours, everything, asked) == (False, 0.0)  # all gold: nothing is automatic
    wrong = ours._replace(truth=1 - ours.scored.label)
    assert not try_draw(wrong, everything[:50], asked).broken  # nothing is certified


def test_shuffled_probabilities_are_those_of_the_model_elsewhere(known):
    populations, _ = list_populations(known)
    ours, mixed = populations[OURS].scored, populations[SHUFFLED].scored
    assert np.array_equal(np.sort(ours.sure), np.sort(mixed.sure))
    assert not np.array_equal(ours.sure, mixed.sure)
    assert np.array_equal(ours.label, mixed.label)


def test_the_study_from_draws_to_page(known, tmp_path):
    done = []
    run_certify({"crowd": lambda: known}, tmp_path, 5, lambda name, n: done.append((name, n)))
    archive = collect_certify(tmp_path)
    (row,) = archive["certified"]
    assert done == [("crowd", 1)]
    assert (row["set"], row["items"], row["answers"], row["draws"]) == ("crowd", 400, 200, 5)
    case = find_case(row, "once", 0.1, 0.95)
    assert case["certified"] >= find_case(row, "any", 0.1, 0.95)["certified"]
    page = render_certify(archive)
    assert "# Does the guarantee hold?" in page
    assert "| crowd | 400 |" in page


def test_half_of_the_items_is_drawn_from_and_delivered(known):
    ours = list_populations(known)[0][OURS]
    asked = ask_surest(ours, 0.1, 0.95, 0.5)
    frame = find_frame(ours, asked)
    assert 200 <= len(frame) < 300
    assert ours.scored.sure[frame].min() >= np.median(ours.scored.sure)
    assert deliver(ours, frame, asked) == len(frame)
    chosen, one_set, tried = (
        count_answers(ours, 0.1, 5, Way(OURS, *how)) for how in ((True, True), (False, True), ())
    )
    assert chosen < one_set <= tried


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


def test_reviews_learn_from_labels_of_more_classes():
    truth = np.array([0, 1] * 10 + [-1])

    def learn(labels):
        chances = np.tile([0.9, 0.1], (21, 1))
        return chances, chances

    curve = runs.replay(
        lambda labels: runs.Look(*learn(labels)), truth, 20, lambda _: np.arange(21)
    )
    assert curve == [0.5, 0.75, 1.0]
    crowd = simulate_classes(n_classes=3, n_voters=5, n_items=60, random_state=0)
    taught = runs.learn_votes(crowd.votes)
    nothing = np.full(60, -1)
    some = np.where(np.arange(60) < 20, 1, -1)
    assert taught(nothing).chances.shape == (60, 3)
    assert not np.array_equal(taught(nothing).chances, taught(some).chances)


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
