import numpy as np
import pytest

from unelisa.aggregators.classes import (
    name_classes,
    normalize_scores,
    pair_probabilities,
    pick_classes,
)


def test_the_first_of_tied_classes_is_picked_whatever_the_rounding():
    scores = np.array([[0.1, 0.3, 0.3 + 1e-15], [0.5, 0.2, 0.3], [0.0, 0.0, 0.0]])
    assert pick_classes(scores).tolist() == [1, 0, 0]
    assert name_classes(scores, np.array(["a", "b", "c"])).tolist() == ["b", "a", "a"]
    assert name_classes(np.array([-0.1, 0.0]), np.array(["no", "yes"])).tolist() == ["no", "yes"]


def test_probabilities_add_up():
    scores = np.array([[-1000.0, 0.0, -2.0], [3.0, 3.0, 3.0]])
    chances = normalize_scores(scores)
    assert chances.sum(axis=1) == pytest.approx([1.0, 1.0])
    assert chances[1] == pytest.approx([1 / 3] * 3)
    odds = np.array([-2.0, 0.5])
    two = normalize_scores(np.column_stack([np.zeros(2), odds]))
    assert two == pytest.approx(pair_probabilities(odds))
