import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from joblib import Parallel, delayed
from threadpoolctl import threadpool_info

from unelisa.errors import ModelError
from unelisa.kernels.l1_logistic import Regressions
from unelisa.solvers import L1Problem, WorkingSet, optimality
from unelisa.kernels.blas import one_blas_thread
from unelisa.solvers.working_set import float32_noise, frame_of


def chained_votes(n_items, n_voters, seed=0):
    """Each voter follows the one before with probability .7."""
    rng = np.random.default_rng(seed)
    votes = np.empty((n_items, n_voters), dtype=np.int8, order="F")
    votes[:, 0] = rng.choice([-1, 1], n_items)
    for s in range(1, n_voters):
        votes[:, s] = np.where(rng.random(n_items) < 0.7, votes[:, s - 1], -votes[:, s - 1])
    return votes


def wide_problem(**changes):
    """Large enough for several blocks of voters and several chunks of items."""
    votes = chained_votes(2_600, 200)
    return replace(L1Problem(votes, np.full(200, 0.06)), **changes)


def bits(solution):
    return [array.tobytes() for array in vars(solution).values()]


@pytest.mark.parametrize("abstain", [False, True])
def test_the_bits_do_not_depend_on_the_number_of_threads(abstain):
    problem = wide_problem()
    if abstain:
        votes = problem.votes.copy(order="F")
        votes[np.random.default_rng(1).random(votes.shape) < 0.2] = 0
        problem = replace(problem, votes=votes)
    alone = bits(WorkingSet().solve(problem))
    for n_jobs in (2, 4, -1):
        assert bits(WorkingSet().solve(replace(problem, n_jobs=n_jobs))) == alone


def test_zero_jobs_are_refused():
    with pytest.raises(ModelError, match="n_jobs"):
        WorkingSet().solve(wide_problem(n_jobs=0))


def test_the_layout_of_the_votes_does_not_matter():
    problem = wide_problem()
    expected = bits(WorkingSet().solve(problem))
    read_only = problem.votes.copy(order="F")
    read_only.flags.writeable = False
    for votes in (np.ascontiguousarray(problem.votes), read_only):
        assert bits(WorkingSet().solve(replace(problem, votes=votes))) == expected


def solve_wide(n_jobs):
    solution = WorkingSet().solve(wide_problem(n_jobs=n_jobs))
    return bits(solution)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_it_runs_inside_joblib(backend):
    alone = solve_wide(1)
    solutions = Parallel(n_jobs=2, backend=backend)(
        delayed(WorkingSet().solve)(wide_problem(n_jobs=n_jobs)) for n_jobs in (1, 2, -1)
    )
    assert all(bits(solution) == alone for solution in solutions)


def test_many_python_threads_at_once_neither_deadlock_nor_oversubscribe():
    cores = multiprocessing.cpu_count()
    peak, stop = [0], threading.Event()

    def watch():
        while not stop.wait(0.002):
            working = [t for t in threading.enumerate() if t.name.startswith("unelisa")]
            peak[0] = max(peak[0], len(working))

    watcher = threading.Thread(target=watch)
    watcher.start()
    before = [library["num_threads"] for library in threadpool_info()]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(solve_wide, [-1] * 6, timeout=120))
    stop.set()
    watcher.join()
    assert all(result == results[0] for result in results)
    # each of the four callers may keep one thread; beyond that they share the cores
    assert peak[0] <= cores + 4
    assert [library["num_threads"] for library in threadpool_info()] == before


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_forked_while_blas_is_held_works():
    context = multiprocessing.get_context("fork")
    with one_blas_thread():
        child = context.Process(target=solve_wide, args=(2,))
        child.start()
    child.join(60)
    assert child.exitcode == 0


def test_a_tolerance_below_float32_is_met_in_float64():
    votes = chained_votes(20_000, 12)
    problem = L1Problem(votes, np.full(12, 0.01), tol=1e-7)
    solution = WorkingSet().solve(problem)
    kkt = optimality(problem, solution.weights, solution.intercepts, solution.column_weights)
    assert kkt.max() <= 1e-7
    assert np.all(kkt <= solution.kkt + 1e-12)


@pytest.mark.parametrize("rare", [0.5, 0.05, 0.005])
@pytest.mark.parametrize("size", [0.5, 5.0])
def test_float32_errs_less_than_its_bound(rare, size):
    # votes that are nearly all alike are the worst: every rounding error has the same sign
    rng = np.random.default_rng(3)
    votes = np.where(rng.random((30_000, 10)) < rare, -1, 1).astype(np.int8, order="F")
    problem = L1Problem(np.asfortranarray(votes), np.full(10, 0.1))
    frame = frame_of(problem)
    members = np.concatenate([np.delete(np.arange(10), s) for s in range(10)])
    theta = rng.standard_normal(90) * size
    block = Regressions(
        np.arange(10), np.arange(0, 91, 9), members, theta, rng.standard_normal((10, 2)) * [1, 0]
    )
    slopes = frame.rows.all_slopes(block)
    weights = np.zeros((10, 10))
    weights[np.repeat(np.arange(10), 9), members] = theta
    logits = votes @ weights.T + block.free[:, 0]
    exact = (votes - np.tanh(logits)).T @ votes
    error = np.abs(slopes - exact).max(axis=1) / 30_000
    assert np.all(error <= 0.5 * float32_noise(frame, block))


def test_warm_starts_save_passes():
    problem = wide_problem()
    cold = WorkingSet().solve(problem)
    warm = WorkingSet().solve(replace(problem, start=cold))
    assert warm.n_iter.sum() <= 0.5 * cold.n_iter.sum()
