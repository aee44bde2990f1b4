import time

import joblib
import numpy as np
import pytest

from unelisa.errors import ModelError
from unelisa.parallel import count_jobs, run_all


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
