import numpy as np
import pytest

from suggestions.crowds import draw_crowd, fit
from unelisa import DawidSkene, LatentIsing, MajorityVote, simulate_votes
from unelisa.errors import ModelError
from unelisa.suggestions.panels import _seat_families, seat_panel


def test_answers_are_distributions_and_relatives_share_a_branch(copied):
    model, _ = copied
    panel = seat_panel(model)
    np.testing.assert_allclose(panel.answers.sum(axis=1), 1)
    np.testing.assert_allclose(panel.repeats.sum(axis=1), 1)
    np.testing.assert_allclose(panel.truth.sum(axis=1), 1)
    assert panel.known.all()
    assert [relatives.tolist() for relatives in panel.families] == [[0, 7, 8]]
    assert np.flatnonzero(panel.lone).tolist() == [1, 2, 3, 4, 5, 6]


def test_voters_of_dawid_skene_answer_by_their_coins():
    model = fit(DawidSkene(), draw_crowd())
    panel = seat_panel(model)
    np.testing.assert_allclose(panel.answers[:, 1].T, model.coins_)
    assert panel.lone.all()


def test_a_graph_is_taken_by_its_coins():
    votes = simulate_votes(random_state=0).votes
    model = fit(LatentIsing("edges"), votes)
    assert model.reading_ == "edges"
    np.testing.assert_allclose(seat_panel(model).answers[:, 1].T, model.coins_)


def test_relatives_that_could_not_be_fitted_as_a_family_are_one():
    answers = np.array([[[0.2, 0.8], [0.8, 0.2]]] * 3)
    answers[1] = [[0.4, 0.6], [0.6, 0.4]]
    fitted = np.full(3, -1, dtype=np.int32)
    found = np.array([0, 0, -1], dtype=np.int32)
    more, branch, repeats = _seat_families(answers, np.zeros((3, 2, 2)), fitted, found)
    assert branch.tolist() == [3, 3, 2]
    np.testing.assert_allclose(more[3], [[0.3, 0.7], [0.7, 0.3]])
    np.testing.assert_allclose(repeats[2], np.eye(2))
    np.testing.assert_allclose(repeats[0].diagonal(), 0.99)


def test_models_without_probabilities_of_votes_are_refused():
    with pytest.raises(ModelError, match="found MajorityVote"):
        seat_panel(MajorityVote().fit([[1, -1, 1], [1, 1, -1], [-1, 1, 1]]))
