import pytest
from sklearn.metrics import cohen_kappa_score

from unelisa.review.agreement import compare_reviewers, find_open, list_checks, measure_kappa
from unelisa.review.gold_file import Answer


def told(*answers):
    """Answers written as ("ann", item, label)."""
    return [Answer(item, label, who, "useful") for who, item, label in answers]


def test_kappa_is_that_of_scikit_learn():
    pairs = [(0, 0), (1, 1), (2, 1), (0, 0), (2, 2), (1, 0)]
    assert measure_kappa(pairs) == pytest.approx(cohen_kappa_score(*zip(*pairs, strict=True)))


def test_reviewers_are_compared_by_their_first_answers():
    answers = told(("ann", 1, 0), ("bob", 1, 1), ("ann", 1, 1), ("ann", 2, 0), ("bob", 2, 0))
    (pair,) = compare_reviewers([*answers, *told(("eve", 3, 0), ("ann", 4, None))])
    assert pair[:4] == ("ann", "bob", 2, 1)
    assert find_open(answers) == set()
    assert find_open(answers[:2]) == {1}


def test_a_disagreement_is_asked_again_once():
    answers = told(("ann", 1, 0), ("bob", 1, 1))
    assert list(list_checks(answers, "ann")) == [1]
    assert list(list_checks(answers, "bob")) == []  # ann looks again first
    kept = [*answers, *told(("ann", 1, 0))]
    assert list(list_checks(kept, "ann")) == []
    assert list(list_checks(kept, "eve")) == [1]  # a third reviewer can settle it
    changed = [*answers, *told(("ann", 1, 1))]
    assert list(list_checks(changed, "ann")) == []


def test_what_only_others_have_labeled_comes_with_disputes_first():
    answers = told(("ann", 1, 0), ("ann", 2, 0), ("bob", 2, 1), ("ann", 3, None))
    assert list(list_checks(answers, "eve")) == [2, 1]
