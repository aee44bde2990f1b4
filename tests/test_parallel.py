import os
import threading
import time

import pytest

from unelisa.kernels import threads
from unelisa.parallel import run_all


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 4, -1])
def test_results_come_in_the_order_of_the_tasks(n_jobs):
    def late(task):
        time.sleep(0.01 * (3 - task))
        return task * task

    assert run_all(late, range(4), n_jobs) == [0, 1, 4, 9]
    assert run_all(late, [], n_jobs) == []


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_the_first_error_propagates(n_jobs):
    def fail(task):
        raise KeyError(task)

    with pytest.raises(KeyError, match="0"):
        run_all(fail, range(5), n_jobs)


def test_after_an_error_no_new_task_begins():
    begun = []

    def work(task):
        begun.append(task)
        if task == 0:
            raise KeyError(task)
        time.sleep(0.02)

    with pytest.raises(KeyError):
        run_all(work, range(100), 2)
    assert len(begun) < 50


def test_nested_calls_do_not_wait_for_each_other():
    def outer(task):
        return sum(run_all(lambda inner: inner + task, range(3), 4))

    assert run_all(outer, range(4), 4) == [3, 6, 9, 12]


def test_callers_share_the_cores():
    cores = os.cpu_count() or 1
    asked = 4 * cores
    together = threading.Barrier(2)
    granted = []

    def borrow():
        together.wait()
        with threads._borrow(cores) as number:
            granted.append(number)
            time.sleep(0.05)

    callers = [threading.Thread(target=borrow) for _ in range(2)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert sorted(granted) == [1, cores]
    with threads._borrow(asked) as number:
        assert number == asked  # alone, one gets what one asks for
