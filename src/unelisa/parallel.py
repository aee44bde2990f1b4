"""Where independent work runs: threads here, or the workers of a Dask client that is active."""

import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from unelisa.blocks.partitions import active_client
from unelisa.errors import warn_user
from unelisa.jobs import count_jobs
from unelisa.kernels.threads import run_threads

Task = TypeVar("Task")
Result = TypeVar("Result")


def run_all(
    function: Callable[[Task], Result],
    tasks: Iterable[Task],
    n_jobs: int | None = None,
    each: Callable[[Result], Any] | None = None,
) -> list[Result]:
    """Return `function` of every task, in the tasks' order; the first error propagates.

    Where a `dask.distributed` client is active its workers do the work, however many there are;
    otherwise threads, which `n_jobs` counts. The function must then be able to travel: what it
    shall do here, such as write a file, belongs into `each`, which gets every result as it comes.
    Warnings given by workers are given here again.

    Examples
    --------
    >>> run_all(abs, [-1, 2, -3], n_jobs=2)
    [1, 2, 3]
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


def _run_on_workers(
    client: Any,
    function: Callable[[Task], Result],
    tasks: list[Task],
    each: Callable[[Result], Any] | None,
) -> list[Result]:
    import distributed  # noqa: PLC0415

    # a task of its own, so that what the function carries is sent once
    shared = client.submit(_Carried, function, pure=False)
    futures = [client.submit(_run_task, shared, task, pure=False) for task in tasks]
    places = {future.key: place for place, future in enumerate(futures)}
    results: list[Any] = [None] * len(tasks)
    try:
        for future in distributed.as_completed(futures):
            result, told = future.result()
            for message, category in told:
                warn_user(message, category)
            results[places[future.key]] = result
            if each is not None:
                each(result)
    except BaseException:
        client.cancel(futures)
        raise
    return results


class _Carried:
    """A function on its way to the workers."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function


def _run_task(carried: _Carried, task: Any) -> tuple[Any, list[tuple[str, type[Warning]]]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = carried.function(task)
    return result, [(str(w.message), w.category) for w in caught]
