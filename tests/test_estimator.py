import numpy as np
import pandas as pd
import pytest

from unelisa.aggregators import MajorityVote
from unelisa.errors import VotesError, VotesWarning
from unelisa.votes import Votes

FRAME = pd.DataFrame({"ann": [1, 0, 1], "bob": [1, 0, 0], "eve": [0, 0, 1]})


def test_voters_with_names_are_matched_by_name():
    model = MajorityVote().fit(FRAME)
    assert model.feature_names_in_.tolist() == ["ann", "bob", "eve"]
    turned = model.decision_function(FRAME[["eve", "bob", "ann"]])
    assert turned == pytest.approx(model.decision_function(FRAME))


def test_an_absent_voter_has_abstained_and_an_unknown_one_is_left_out():
    model = MajorityVote().fit(FRAME)
    assert model.decision_function(FRAME[["ann", "bob"]]) == pytest.approx([1, -1, 0])
    with pytest.warns(VotesWarning, match="unknown to the model"):
        model.predict(FRAME.assign(new=1))


def test_voters_without_names_are_matched_by_position():
    model = MajorityVote().fit(FRAME.to_numpy())
    assert model.predict(FRAME.to_numpy()).tolist() == model.predict(Votes.of(FRAME)).tolist()
    with pytest.raises(VotesError, match="X has 2 features, but MajorityVote is expecting 3"):
        model.predict(FRAME.to_numpy()[:, :2])


def test_raw_tables_are_read_as_in_fit_even_with_one_label_left():
    model = MajorityVote().fit(FRAME.to_numpy())
    assert model.classes_.tolist() == [0, 1]
    assert model.predict(np.zeros((1, 3))).tolist() == [0]
    assert model.predict(np.ones((1, 3))).tolist() == [1]
    signs = MajorityVote().fit(np.array([[1, -1, 0], [-1, 1, 1], [1, 1, -1]]))
    assert signs.decision_function(np.array([[0, 1, 1]])) == pytest.approx([1.0])


def test_a_new_fit_forgets_the_old_columns():
    model = MajorityVote().fit(FRAME)
    model.fit(FRAME.to_numpy())
    assert not hasattr(model, "feature_names_in_")
