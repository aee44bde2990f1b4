"""Where independent work runs: threads here; another executor may plug in at this one seam."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from joblib import effective_n_jobs

from unelisa.errors import ModelError
from unelisa.kernels.threads import run_threads

Task = TypeVar("Task")
Result = TypeVar("Result")


def count_jobs(n_jobs: int | None) -> int:
    """Return the number of threads that `n_jobs` asks for, counted as scikit-learn does.

    None is 1 (or what `joblib.parallel_config` says), -1 is every core this process may use, -2 all
    but one, and so on.

    Examples
    --------
    >>> count_jobs(None), count_jobs(3)
    (1, 3)
    """
    if n_jobs == 0:
        raise ModelError("n_jobs must be a positive number of threads, None for 1 or -1 for all")
    return int(effective_n_jobs(n_jobs))


def run_all(
    function: Callable[[Task], Result], tasks: Iterable[Task], n_jobs: int | None = None
) -> list[Result]:
    """Return `function` of every task, in the tasks' order; the first error propagates.

    Examples
    --------
    >>> run_all(abs, [-1, 2, -3], n_jobs=2)
    [1, 2, 3]
    """
    return run_threads(function, tasks, count_jobs(n_jobs))
