import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from joblib import Parallel, delayed
from threadpoolctl import threadpool_info

import naive_solver
from naive_rows import batch_of, counted_of, point_of, square_of
from unelisa.errors import ModelError
from unelisa.kernels.l1_logistic import Regressions, bound_batch
from unelisa.kernels.prox_newton import DONE, begin_state
from unelisa.kernels.threads import one_blas_thread
from unelisa.paper.solvers import L1Problem, WorkingSet, optimality
from unelisa.paper.solvers.base import SAMPLE, place_squares
from unelisa.paper.solvers.working_set import Frame, _rebuild, descend

LAMBDA = 0.05
BATCH = batch_of({0: ({1: 0.3, 2: 0.0, 3: -0.2}, 0.2), 4: ({5: 0.1, 0: 0.0}, 0.0), 2: ({}, 0.0)})


def chained_votes(n_items, n_voters, seed=0):
    """Each voter follows the one before with probability .7."""
    rng = np.random.default_rng(seed)
    votes = np.empty((n_items, n_voters), dtype=np.int8, order="F")
    votes[:, 0] = rng.choice([-1, 1], n_items)
    for s in range(1, n_voters):
        votes[:, s] = np.where(rng.random(n_items) < 0.7, votes[:, s - 1], -votes[:, s - 1])
    return votes


def wide_problem(**changes):
    """Large enough for several batches of voters and several chunks of items."""
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


def test_jobs_and_layouts_do_not_matter_but_zero_jobs_do():
    with pytest.raises(ModelError, match="n_jobs"):
        WorkingSet().solve(wide_problem(n_jobs=0))
    problem = wide_problem()
    expected = bits(WorkingSet().solve(problem))
    read_only = problem.votes.copy(order="F")
    read_only.flags.writeable = False
    for votes in (np.ascontiguousarray(problem.votes), read_only):
        assert bits(WorkingSet().solve(replace(problem, votes=votes))) == expected


def solve_wide(n_jobs):
    solution = WorkingSet().solve(wide_problem(n_jobs=n_jobs))
    return bits(solution)


def test_it_runs_in_processes_of_joblib():
    alone = solve_wide(1)
    solutions = Parallel(n_jobs=2, backend="loky")(
        delayed(WorkingSet().solve)(wide_problem(n_jobs=n_jobs)) for n_jobs in (1, -1)
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
    kkt = optimality(problem, solution.weights, solution.intercepts)
    assert kkt.max() <= 1e-7
    assert np.all(kkt <= solution.kkt + 1e-12)


@pytest.mark.parametrize("rare", [0.5, 0.05, 0.005])
@pytest.mark.parametrize("size", [0.5, 5.0])
def test_float32_errs_less_than_its_bound(rare, size):
    # votes that are nearly all alike are the worst: every rounding error has the same sign
    rng = np.random.default_rng(3)
    votes = np.where(rng.random((30_000, 10)) < rare, -1, 1).astype(np.int8, order="F")
    problem = L1Problem(np.asfortranarray(votes), np.full(10, 0.1))
    frame = Frame.of(problem)
    members = np.concatenate([np.delete(np.arange(10), s) for s in range(10)])
    theta = rng.standard_normal(90) * size
    batch = Regressions(np.arange(10), np.arange(0, 91, 9), members, theta, rng.standard_normal(10))
    scores = frame.rows.all_scores(batch)
    weights = np.zeros((10, 10))
    weights[np.repeat(np.arange(10), 9), members] = theta
    logits = votes @ weights.T + batch.intercepts
    exact = (votes - np.tanh(logits)).T @ votes
    error = np.abs(scores - exact).max(axis=1) / 30_000
    assert np.all(error <= 0.5 * bound_batch(batch, 512))


def frame_for(kind="ordinary", exact=False, tol=1e-5, **options):
    problem = naive_solver.hard_problem(kind, 0, **options)
    problem = replace(problem, penalties=np.full(6, LAMBDA), tol=tol)
    return problem, replace(Frame.of(problem), exact=exact)


def copy_of(batch):
    """`descend` moves the batch that it is given."""
    return batch._replace(theta=batch.theta.copy(), intercepts=batch.intercepts.copy())


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    ("kind", "options"),
    [("abstaining", {}), ("ordinary", {}), ("separable", {}), ("more voters than items", {})],
)
def test_a_descent_ends_where_the_optimality_conditions_hold_on_the_members(kind, options, exact):
    problem, frame = frame_for(kind, exact, **options)
    state, sums = descend(frame, copy_of(BATCH))
    assert np.all(state.status == DONE)
    here = BATCH._replace(theta=state.theta, intercepts=state.intercepts)
    for q, s in enumerate(BATCH.voters):
        design, z = point_of(problem.votes, here, q)
        r = naive_solver.residuals(problem.votes, s, z)
        scores = r @ design / counted_of(problem.votes, s).sum()
        theta = state.theta[BATCH.starts[q] : BATCH.starts[q + 1]]
        moved = np.abs(scores[:-1] - LAMBDA * np.sign(theta))
        excess = np.where(theta != 0, moved, np.maximum(np.abs(scores[:-1]) - LAMBDA, 0))
        largest = max(np.max(excess, initial=0.0), abs(scores[-1]))
        assert largest <= LAMBDA * problem.tol
        assert largest <= LAMBDA * state.bound[q] + 1e-12
        if exact:
            loss = naive_solver.loss(problem.votes, s, z)
            assert sums.loss[q] == pytest.approx(loss)


def test_a_descent_from_the_optimum_stays_there_and_an_intercept_not_fitted_stays():
    _, frame = frame_for()
    state, _ = descend(frame, copy_of(BATCH))
    solved = BATCH._replace(theta=state.theta.copy(), intercepts=state.intercepts.copy())
    again, _ = descend(frame, solved)
    assert np.array_equal(again.theta, state.theta)
    assert np.all(again.passes < state.passes)
    _, frame = frame_for(intercept=False)
    state, _ = descend(frame, batch_of({3: ({1: 0.0}, 0.0)}))
    assert state.intercepts.tolist() == [0.0]
    assert state.theta[0] != 0
    _, frame = frame_for("constant")  # voters 0 and 1 never change
    assert frame.candidates(np.array([3, 5])).astype(int).tolist() == [
        [0, 0, 1, 0, 1, 1],
        [0, 0, 1, 1, 1, 0],
    ]


@pytest.mark.parametrize("abstain", [0.0, 0.2])
def test_a_quick_hessian_of_many_items_is_near_the_exact_one(abstain):
    """The sample is a third of the items; where nobody abstained it corrects the exact moments."""
    rng = np.random.default_rng(0)
    trait = rng.standard_normal((3 * SAMPLE, 1))
    votes = np.where(trait + rng.standard_normal((3 * SAMPLE, 6)) > 0, 1, -1)
    votes[rng.random(votes.shape) < abstain] = 0
    votes = np.asfortranarray(votes.astype(np.int8))
    frame = Frame.of(L1Problem(votes, np.full(6, LAMBDA)))
    assert frame.plain == (abstain == 0.0)
    state = begin_state(BATCH, place_squares(BATCH), np.ones(3), np.full(3, LAMBDA))
    errors = {}
    for careful in (0, 1):
        state.careful[:], state.residual[:] = careful, 0.0
        _rebuild(frame, BATCH, state, np.arange(3))
        for q, s in enumerate(BATCH.voters):
            side = BATCH.starts[q + 1] - BATCH.starts[q] + 1
            found = state.hessians[state.places[q] : state.places[q + 1]].reshape(side, side)
            expected = square_of(votes, BATCH, q) / counted_of(votes, s).sum()
            errors[careful] = max(errors.get(careful, 0.0), np.abs(found - expected).max())
    assert errors[1] < 1e-9
    assert 1e-9 < errors[0] < 0.03


def test_only_the_chosen_hessians_are_written():
    _, frame = frame_for()
    state = begin_state(BATCH, place_squares(BATCH), np.ones(3), np.full(3, LAMBDA))
    state.hessians[:] = 7.0
    state.careful[1] = 1
    _rebuild(frame, BATCH, state, np.array([1]))
    assert np.all(state.hessians[:16] == 7.0)
    assert np.all(state.hessians[25:] == 7.0)
    assert not np.any(state.hessians[16:25] == 7.0)
