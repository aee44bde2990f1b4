import numpy as np
import pytest

from analysis.suggestions.crowds import NAMES, draw_crowd, fit
from unelisa import DawidSkene, LatentIsing, MajorityVote, Votes, simulate_votes
from unelisa.analysis.suggestions.panels import build_panel
from unelisa.errors import ModelError
from unelisa.latent.consensus import believe
from unelisa.votes.ballots import list_ballots, take_ballots


def test_answers_are_distributions_and_more_telling_the_more_a_voter_counts(copied):
    model, _ = copied
    panel = build_panel(model)
    np.testing.assert_allclose(panel.answers.sum(axis=1), 1)
    np.testing.assert_allclose(panel.truth.sum(axis=1), 1)
    assert panel.known.all()
    counts, weights = model._reading.model.counts, model._reading.model.weights
    assert counts[[0, 7, 8]].max() < 0.7
    assert (counts[1:7] == 1).all()
    telling = (panel.answers.max(axis=2) - panel.answers.min(axis=2)).mean(axis=1)
    assert telling[[0, 7, 8]].max() < telling[np.arange(1, 7)].min()
    assert (np.argsort(telling[1:7]) == np.argsort(weights[1:7])).all()


@pytest.mark.parametrize("turn", [False, True])
def test_classes_of_states_are_those_that_the_model_believes(copied, turn):
    model, votes = copied
    reading = model._reading
    if turn and votes.n_classes > 2:
        return
    model._reading = reading.turned() if turn else reading
    panel = build_panel(model)
    model._reading = reading
    run = take_ballots(list_ballots(votes.blocks), np.arange(50))
    found, expected = panel.infer(run) @ panel.truth, believe(run, reading.model)
    if votes.n_classes == 2:
        np.testing.assert_allclose(found, expected[:, ::-1] if turn else expected)
    else:  # of which one that nobody named has a tenth of its odds
        same = np.array([len(set(votes.values[i]) - {0}) == 3 for i in range(50)])
        assert same.any()
        np.testing.assert_allclose(found[same], expected[same])


def test_of_exact_copies_the_first_is_asked():
    votes = draw_crowd(missing=0.2)
    again = Votes(votes.blocks.rearrange(np.array([*range(9), 2, 2])), votes.items,
                  np.array([*NAMES, "c1", "c2"]), votes.classes)  # fmt: skip
    assert build_panel(fit(LatentIsing(), again)).known.tolist() == [True] * 9 + [False] * 2


def test_voters_of_dawid_skene_and_of_a_graph_answer_by_their_coins():
    votes = simulate_votes(random_state=0).votes
    for model in (fit(DawidSkene(), draw_crowd()), fit(LatentIsing("edges"), votes)):
        np.testing.assert_allclose(build_panel(model).answers[:, 1].T, model.coins_)


def test_models_without_probabilities_of_votes_are_refused():
    with pytest.raises(ModelError, match="found MajorityVote"):
        build_panel(MajorityVote().fit([[1, -1, 1], [1, 1, -1], [-1, 1, 1]]))
