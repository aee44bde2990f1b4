from dataclasses import replace

import numpy as np
import pytest

from unelisa.errors import ConvergenceWarning, ModelError
from unelisa.solvers import L1Problem, L1Solution, warn_missed

VOTES = np.array([[1, -1, 1], [-1, 1, 0]], dtype=np.int8, order="F")
PROBLEM = L1Problem(VOTES, np.ones(3))


def solution_with(kkt):
    n = len(kkt)
    none = np.zeros(n)
    return L1Solution(np.zeros((n, n)), none, none, np.array(kkt), np.zeros(n, np.int64))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"penalties": np.array([1.0, 0.0, 1.0])}, "penalties must be positive and finite"),
        ({"penalties": np.array([1.0, np.inf, 1.0])}, "penalties must be positive and finite"),
        ({"penalties": np.array([1.0, np.nan, 1.0])}, "penalties must be positive and finite"),
        ({"penalties": np.ones(2)}, r"penalties must have shape \(3,\), found \(2,\)"),
        ({"penalty_weights": np.ones(3)}, r"penalty_weights must have shape \(3, 3\)"),
        ({"penalty_weights": np.full((3, 3), -1.0)}, "penalty_weights must be zero, positive"),
        ({"penalty_weights": np.full((3, 3), np.nan)}, "penalty_weights must be zero, positive"),
        ({"item_weights": np.ones(3)}, r"item_weights must have shape \(2,\)"),
        ({"item_weights": np.array([1.0, -1.0])}, "item_weights must be zero or positive"),
        ({"item_weights": np.array([1.0, np.inf])}, "item_weights must be zero or positive"),
        ({"column": np.ones((2, 1))}, r"column must have shape \(2,\)"),
        ({"column": np.array([1.0, np.nan])}, "column must be finite"),
    ],
)
def test_a_problem_without_meaning_is_refused(change, words):
    with pytest.raises(ModelError, match=words):
        replace(PROBLEM, **change)


def test_what_has_a_meaning_is_taken():
    ratios = np.array([[0.0, np.inf, 1.0]] * 3)
    problem = replace(PROBLEM, penalty_weights=ratios, item_weights=np.zeros(2), column=np.ones(2))
    assert problem.penalty_weights is ratios


def test_a_copy_has_arrays_of_its_own():
    solution = solution_with([0.1, 0.2])
    copy = solution.copy()
    assert vars(copy).keys() == vars(solution).keys()
    for name, array in vars(solution).items():
        assert np.array_equal(getattr(copy, name), array)
        assert not np.shares_memory(getattr(copy, name), array)


def test_a_certificate_that_is_no_number_is_missed():
    solution = solution_with([0.1, 0.2, np.nan, np.inf, 0.0])
    assert solution.missed(0.1).tolist() == [1, 2, 3]
    assert solution.missed(np.inf).tolist() == [2]


def test_nothing_is_said_where_nothing_was_missed():
    warn_missed(replace(PROBLEM, tol=0.5), solution_with([0.5, 0.0, 0.1]))  # warnings are errors


@pytest.mark.parametrize(("names", "told"), [(None, "0, 2"), (["ann", "bob", "cy"], "ann, cy")])
def test_a_warning_names_the_voters_and_the_worst(names, told):
    words = rf"voters {told} missed the tolerance 0\.5 \(worst 3 lambda\): raise tol or the penalty"
    with pytest.warns(ConvergenceWarning, match=words):
        warn_missed(replace(PROBLEM, tol=0.5, names=names), solution_with([3.0, 0.0, 2.0]))


def test_a_warning_names_ten_voters_and_counts_the_others():
    votes = np.ones((1, 13), dtype=np.int8)
    with pytest.warns(ConvergenceWarning, match=r"voters 0, 1, .*, 9 and 3 more missed"):
        warn_missed(L1Problem(votes, np.ones(13)), solution_with(np.ones(13)))
