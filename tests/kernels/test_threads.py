"""Results in the tasks' order, never more threads than the process may have, one of BLAS."""

import multiprocessing
import os
import threading
import time

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_info, threadpool_limits

from unelisa.errors import ModelError
from unelisa.estimator import fit_aside
from unelisa.kernels import threads
from unelisa.kernels.threads import one_blas_thread, run_threads
from unelisa.parallel import count_jobs, run_all


def name_thread(_):
    return threading.current_thread().name


def test_results_come_in_the_tasks_order_whoever_ends_first():
    first_may_end = threading.Event()

    def work(task):
        if task == 0:
            assert first_may_end.wait(30)
        else:
            first_may_end.set()
        return 10 * task

    assert run_threads(work, iter(range(5)), 2) == [0, 10, 20, 30, 40]


@pytest.mark.parametrize(("n_tasks", "n_threads"), [(5, 1), (1, 4), (5, 0), (5, -1)])
def test_what_one_thread_can_do_runs_in_the_callers_own(n_tasks, n_threads):
    own = threading.current_thread().name
    assert run_threads(name_thread, range(n_tasks), n_threads) == [own] * n_tasks


def test_several_threads_are_others_and_named_and_no_tasks_need_none():
    names = run_threads(name_thread, range(8), 2)
    assert all(name.startswith("unelisa") for name in names)
    assert len(set(names)) <= 2
    assert run_threads(name_thread, [], 4) == []


def test_the_first_error_in_the_tasks_order_propagates_and_the_loan_ends():
    def fail(task):
        if task >= 2:
            raise ValueError(f"task {task}")
        return task

    with pytest.raises(ValueError, match="task 2"):
        run_threads(fail, range(50), 2)
    assert threads._lent == 0


def test_after_an_error_the_waiting_tasks_are_not_begun():
    begun, go_on = [], threading.Event()

    def work(task):
        begun.append(task)
        if task == 0:
            raise ValueError
        go_on.wait(0.5)

    with pytest.raises(ValueError):  # noqa: PT011 - our own, without words
        run_threads(work, range(200), 2)
    go_on.set()
    assert len(begun) < 50


def test_a_task_may_run_threads_and_callers_share_the_cores(monkeypatch):
    def work(task):
        return sum(run_threads(lambda x: x * task, range(4), 2))

    assert run_threads(work, range(4), 2) == [0, 6, 12, 18]
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    with threads._borrow(3) as first, threads._borrow(3) as second, threads._borrow(3) as third:
        assert (first, second, third) == (3, 1, 1)
    with threads._borrow(9) as asked:
        assert asked == 9  # who names a number gets it where nobody else is at work
    assert threads._lent == 0


def ask_child(target):
    """What a forked child sends that runs `target(connection)`."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=target, args=(theirs,))
    child.start()
    assert ours.poll(60)
    sent = ours.recv()
    child.join(60)
    assert child.exitcode == 0
    return sent


def _run_in_child(connection):
    connection.send((threads._lent, threads._lock.locked(), run_threads(abs, [-1, -2], 2)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_starts_without_its_parents_loans():
    with threads._borrow(2), threads._lock:
        assert ask_child(_run_in_child) == (0, False, [1, 2])


needs_three = pytest.mark.usefixtures("three_threads")


def count_blas():
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


@pytest.fixture
def three_threads():
    """Three threads, so that a limit of one is seen on a machine of any size."""
    np.ones((2, 2)) @ np.ones((2, 2))  # BLAS is loaded
    with threadpool_limits(3, user_api="blas"):
        if count_blas() != {3}:
            pytest.skip("the BLAS library here knows no number of threads")
        yield


@needs_three
def test_a_fit_has_one_thread():
    class Counting(BaseEstimator):
        @fit_aside
        def fit(self):
            self.threads_ = count_blas()

    assert Counting().fit().threads_ == {1}
    assert count_blas() == {3}


@needs_three
def test_blas_is_held_to_one_thread_until_the_last_holder_leaves():
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert count_blas() == {1}
    second.__exit__(None, None, None)
    assert count_blas() == {3}
    with pytest.raises(KeyError), one_blas_thread():
        with one_blas_thread():
            assert count_blas() == {1}
        assert count_blas() == {1}
        raise KeyError
    assert count_blas() == {3}
    assert (threads._holders.count, threads._holders.limit) == (0, None)


@needs_three
def test_the_last_out_need_not_be_the_first_in():
    """Each in a thread of its own: the later one gives back what the first one found."""
    both_in, first_out, found = threading.Event(), threading.Event(), []

    def hold():
        with one_blas_thread():
            both_in.set()
            assert first_out.wait(30)
            found.append(count_blas())

    other = threading.Thread(target=hold)
    with one_blas_thread():
        other.start()
        assert both_in.wait(30)
    first_out.set()
    other.join(30)
    assert found == [{1}]
    assert count_blas() == {3}


def _look_in_child(connection):
    before = threads._holders.count, count_blas()
    with one_blas_thread():
        held = count_blas()
    connection.send((*before, held, count_blas()))


@needs_three
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_no_holders():
    with one_blas_thread():
        assert ask_child(_look_in_child) == (0, {3}, {1}, {3})
        assert count_blas() == {1}  # the child's freedom is not the parent's


def test_jobs_are_counted_as_scikit_learn_does():
    assert count_jobs(None) == 1
    assert count_jobs(3) == 3
    assert count_jobs(-1) == joblib.effective_n_jobs(-1)
    assert count_jobs(-10_000) == 1
    with joblib.parallel_config(n_jobs=2, backend="threading"):
        assert count_jobs(None) == 2
    for wrong in (0, "2", 1.5, True, np.True_):
        with pytest.raises(ModelError, match="n_jobs"):
            count_jobs(wrong)


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 4, -1])
def test_results_come_in_the_order_of_the_tasks(n_jobs):
    def late(task):
        time.sleep(0.01 * (3 - task))
        return task * task

    assert run_all(late, range(4), n_jobs) == [0, 1, 4, 9]
    assert run_all(late, [], n_jobs) == []
