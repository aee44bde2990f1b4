import importlib.util
import sys
from dataclasses import replace

import numpy as np
import pytest

import naive_solver
from unelisa import select_neighborhoods
from unelisa.errors import ConvergenceWarning, MissingExtraError, ModelError
from unelisa.paper import solvers
from unelisa.paper.solvers.base import design_voters, scores, warn_missed

VOTES = np.array([[1, -1, 1], [-1, 1, 0]], dtype=np.int8, order="F")
PROBLEM = solvers.L1Problem(VOTES, np.ones(3))


def solution_with(kkt):
    n = len(kkt)
    return solvers.L1Solution(np.zeros((n, n)), np.zeros(n), np.array(kkt), np.zeros(n, np.int64))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"penalties": np.array([1.0, 0.0, 1.0])}, "penalties must be positive and finite"),
        ({"penalties": np.array([1.0, np.inf, 1.0])}, "penalties must be positive and finite"),
        ({"penalties": np.array([1.0, np.nan, 1.0])}, "penalties must be positive and finite"),
        ({"penalties": np.ones(2)}, r"penalties must have shape \(3,\), found \(2,\)"),
    ],
)
def test_a_problem_without_meaning_is_refused(change, words):
    with pytest.raises(ModelError, match=words):
        replace(PROBLEM, **change)


def test_a_copy_has_arrays_of_its_own_and_a_missed_certificate_is_said():
    solution = solution_with([0.1, 0.2])
    copy = solution.copy()
    assert vars(copy).keys() == vars(solution).keys()
    for name, array in vars(solution).items():
        assert np.array_equal(getattr(copy, name), array)
        assert not np.shares_memory(getattr(copy, name), array)
    solution = solution_with([0.1, 0.2, np.nan, np.inf, 0.0])
    assert solution.missed(0.1).tolist() == [1, 2, 3]
    assert solution.missed(np.inf).tolist() == [2]
    warn_missed(replace(PROBLEM, tol=0.5), solution_with([0.5, 0.0, 0.1]))  # warnings are errors
    votes = np.ones((1, 13), dtype=np.int8)
    with pytest.warns(ConvergenceWarning, match=r"voters 0, 1, .*, 9 and 3 more did"):
        warn_missed(solvers.L1Problem(votes, np.ones(13)), solution_with(np.ones(13)))


@pytest.mark.parametrize(("names", "told"), [(None, "0, 2"), (["ann", "bob", "cy"], "ann, cy")])
def test_a_warning_names_the_voters_and_the_worst(names, told):
    words = rf"voters {told} did not reach the tolerance 0\.5 \(worst violation 3 lambda\): raise"
    with pytest.warns(ConvergenceWarning, match=words):
        warn_missed(replace(PROBLEM, tol=0.5, names=names), solution_with([3.0, 0.0, 2.0]))


def objective(problem, s, theta, b):
    logits = problem.votes @ theta + b
    counted = np.count_nonzero(problem.votes[:, s])
    return naive_solver.loss(problem.votes, s, logits) / counted


@pytest.mark.parametrize("kind", ["ordinary", "abstaining"])
def test_scores_are_minus_the_derivatives_of_the_loss(kind):
    problem = naive_solver.hard_problem(kind, 0)
    rng = np.random.default_rng(1)
    weights, b = 0.3 * rng.standard_normal((6, 6)) * (1 - np.eye(6)), rng.standard_normal(6)
    edges, ones = scores(problem, weights, b)
    s, tiny = 2, 1e-6

    def score(direction, db):
        ends = [
            objective(problem, s, weights[s] + h * direction, b[s] + h * db) for h in (-tiny, tiny)
        ]
        return (ends[0] - ends[1]) / (2 * tiny)

    for t in range(6):
        assert edges[s, t] == pytest.approx(score(np.eye(6)[t], 0), abs=1e-7)
    assert ones[s] == pytest.approx(score(np.zeros(6), 1), abs=1e-7)


def test_violations_are_in_units_of_the_penalty():
    """Two voters agree on 4 items of 6; the means are 0."""
    votes = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1], [1, 1], [-1, -1]], np.int8, order="F")
    problem = solvers.L1Problem(votes, np.array([0.1, 0.5]))
    none = np.zeros((2, 2))
    assert solvers.optimality(problem, none, np.zeros(2)) == pytest.approx(
        [(1 / 3 - 0.1) / 0.1, 0.0]
    )
    edge = np.arctanh(1 / 3 - 0.1) * (1 - np.eye(2))
    assert solvers.optimality(problem, edge, np.zeros(2)) == pytest.approx([0.0, 0.4 / 0.5])
    shifted = solvers.optimality(problem, none, np.full(2, np.arctanh(0.3)))[1]
    assert shifted == pytest.approx(0.3 / 0.5)


def test_voters_with_one_kind_of_vote_leave_the_design():
    votes = np.array([[1, 1, 0, 1], [1, 0, 0, -1], [1, 1, 0, -1]], np.int8, order="F")
    problem = solvers.L1Problem(votes, np.ones(4))
    assert design_voters(problem).tolist() == [False, False, False, True]
    one_sided = replace(problem, votes=votes[1:])
    assert not design_voters(one_sided).any()
    assert not solvers.optimality(one_sided, np.zeros((4, 4)), np.zeros(4)).any()


@pytest.fixture
def large():
    """Large by its shape alone: the votes are one byte."""
    votes = np.broadcast_to(np.int8(1), (10**6, 400))
    return solvers.L1Problem(votes, np.ones(400))


def test_small_votes_are_solved_on_the_processor_as_ever():
    problem = naive_solver.hard_problem("ordinary", 0)
    assert isinstance(solvers.choose_solver(problem), solvers.WorkingSet)
    chosen, plain = solvers.SOLVERS["auto"]().solve(problem), solvers.WorkingSet().solve(problem)
    assert np.array_equal(chosen.weights, plain.weights)


def test_large_votes_go_to_a_gpu_only_where_one_is(large):
    gpu = False
    if importlib.util.find_spec("torch") is not None:
        import torch  # noqa: PLC0415 - an extra

        gpu = torch.cuda.is_available()
    assert isinstance(solvers.choose_solver(large), solvers.WorkingSet) is not gpu


def test_large_votes_go_to_a_gpu_with_room(large, monkeypatch):
    pytest.importorskip("torch", reason="torch is not installed: make test-gpu")
    asked = []
    monkeypatch.setattr(
        "unelisa.paper.solvers._gpu_fits", lambda n_votes: asked.append(n_votes) or True
    )
    assert type(solvers.choose_solver(large)).__name__ == "TorchBatched"
    assert asked == [4 * 10**8]


def test_without_torch_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "unelisa.paper.solvers.torch_batched", raising=False)
    monkeypatch.delitem(sys.modules, "unelisa.paper.solvers.torch_sums", raising=False)
    votes = naive_solver.hard_problem("ordinary", 0).votes
    with pytest.raises(MissingExtraError, match=r'pip install "unelisa\[gpu\]"'):
        select_neighborhoods(votes, solver="torch")
