"""How many threads `n_jobs` asks for, and where independent work runs: threads or Dask workers."""

import sys
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from numbers import Integral
from typing import Any, TypeVar

import numpy as np

from unelisa.errors import ModelError, warn_user
from unelisa.kernels.threads import run_threads

Task = TypeVar("Task")
Result = TypeVar("Result")

NUMBER_OF_JOBS = "a positive number of threads, None for 1 or -1 for all"


def is_number_of_jobs(value: Any) -> bool:
    """Return whether a value is a number of threads."""
    if isinstance(value, bool | np.bool_):
        return False
    return value is None or (isinstance(value, Integral) and value != 0)


def count_jobs(n_jobs: int | None) -> int:
    """Return the number of threads that `n_jobs` asks for, as in scikit-learn and joblib."""
    if not is_number_of_jobs(n_jobs):
        raise ModelError(f"n_jobs must be {NUMBER_OF_JOBS}")
    if "joblib" not in sys.modules and (n_jobs is None or n_jobs > 0):
        return n_jobs or 1  # nobody has chosen joblib's own number
    from joblib import effective_n_jobs  # noqa: PLC0415 - takes a twentieth of a second

    return int(effective_n_jobs(n_jobs))


def run_all(
    function: Callable[[Task], Result],
    tasks: Iterable[Task],
    n_jobs: int | None = None,
    each: Callable[[Result], Any] | None = None,
) -> list[Result]:
    """Return `function` of every task, in order, by Dask workers if any, else by threads.

    `each` gets every result in this process as it arrives. The function must be picklable for Dask;
    warnings of the workers are emitted again here.
    """
    client = active_client()
    if client is not None:
        return _run_on_workers(client, function, list(tasks), each)

    def run(task: Task) -> Result:
        result = function(task)
        if each is not None:
            each(result)
        return result

    return run_threads(run, tasks, count_jobs(n_jobs))


def active_client() -> Any:
    """Return the Dask client of this process; None in a worker, whose tasks could wait forever."""
    if "distributed" not in sys.modules:
        return None
    import distributed  # noqa: PLC0415 - an extra, loaded already

    try:
        distributed.get_worker()
    except ValueError:  # not within a worker's task
        pass
    else:
        return None
    try:
        return distributed.Client.current()
    except ValueError:
        return None


def _run_on_workers(
    client: Any,
    function: Callable[[Task], Result],
    tasks: list[Task],
    each: Callable[[Result], Any] | None,
) -> list[Result]:
    import distributed  # noqa: PLC0415

    # a task of its own, so that the function's data is sent once
    shared = client.submit(partial, function, pure=False)
    futures = [client.submit(_run_task, shared, task, pure=False) for task in tasks]
    places = {future.key: place for place, future in enumerate(futures)}
    results: list[Any] = [None] * len(tasks)
    try:
        for future in distributed.as_completed(futures):
            result, caught = future.result()
            for message, category in caught:
                warn_user(message, category)
            results[places[future.key]] = result
            if each is not None:
                each(result)
    except BaseException:
        client.cancel(futures)
        raise
    return results


def _run_task(
    function: Callable[..., Any], task: Any
) -> tuple[Any, list[tuple[str, type[Warning]]]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(task)
    return result, [(str(w.message), w.category) for w in caught]
