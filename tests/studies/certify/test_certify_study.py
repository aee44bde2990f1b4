"""The study of certificates: draws of gold labels on votes with known truth."""

import numpy as np
import pandas as pd
import pytest

import unelisa as ue
from studies.certify.page import find_case, render_certify
from studies.certify.runs import (
    OURS,
    SHARE,
    SHUFFLED,
    Asked,
    Way,
    ask_surest,
    collect_certify,
    count_answers,
    deliver,
    find_frame,
    list_populations,
    mean_needed,
    run_certify,
    try_draw,
)
from unelisa.sources.labels import KnownLabels


@pytest.fixture(scope="module")
def known():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 400)
    right = np.where(rng.random(400) < 0.3, 0.55, 0.9)[:, None]
    said = np.where(rng.random((400, 5)) < right, truth[:, None], 1 - truth[:, None])
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


def test_answers_are_compared_where_both_ways_get_there():
    found = {"a": 100, SHARE: 200}, {"a": None, SHARE: 50}, {"a": 30, SHARE: None}
    rows = [{"needed": {"0.05": one}} for one in found]
    assert mean_needed(rows, "0.05", "a") == (1, 100.0, 200.0, 1, 1)
    assert mean_needed(rows[1:], "0.05", "a") is None


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
