"""Results in the tasks' order, and never more threads than the process may have."""

import multiprocessing
import os
import threading

import pytest

from unelisa.kernels import threads
from unelisa.kernels.threads import run_threads


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


def test_several_threads_are_others_and_named():
    names = run_threads(name_thread, range(8), 2)
    assert all(name.startswith("unelisa") for name in names)
    assert len(set(names)) <= 2


def test_no_tasks_need_no_thread():
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


def test_callers_share_the_cores_and_each_keeps_one_thread(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    with threads._borrow(3) as first, threads._borrow(3) as second, threads._borrow(3) as third:
        assert (first, second, third) == (3, 1, 1)
    with threads._borrow(9) as asked:
        assert asked == 9  # who names a number gets it where nobody else is at work
    assert threads._lent == 0


def test_a_task_may_itself_run_threads():
    def work(task):
        return sum(run_threads(lambda x: x * task, range(4), 2))

    assert run_threads(work, range(4), 2) == [0, 6, 12, 18]


def _run_in_child(connection):
    connection.send((threads._lent, threads._lock.locked(), run_threads(abs, [-1, -2], 2)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_starts_without_its_parents_loans():
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    with threads._borrow(2), threads._lock:
        child = context.Process(target=_run_in_child, args=(theirs,))
        child.start()
        assert ours.poll(60)
        assert ours.recv() == (0, False, [1, 2])
        child.join(60)
    assert child.exitcode == 0
