"""Threads for kernels that release the interpreter lock.

A pool exists for one call, so that nested calls, joblib's threads and forked processes never wait
for each other's workers. Threads are counted over the whole process: four callers that each ask for
all cores share the cores. Results must not depend on the number of threads granted.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

_lock = threading.Lock()
_lent = 0  # threads at work beside their callers


def _forget() -> None:
    """Reset a forked child: its parent's threads, and a lock they may hold, do not exist in it."""
    global _lock, _lent
    _lock, _lent = threading.Lock(), 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@contextmanager
def _borrow(wanted: int) -> Iterator[int]:
    """Yield a number of threads: at most `wanted`, and what other callers leave of the cores."""
    global _lent  # noqa: PLW0603 - the process's own count
    with _lock:
        granted = max(1, min(wanted, max(os.cpu_count() or 1, wanted) - _lent))
        _lent += granted
    try:
        yield granted
    finally:
        with _lock:
            _lent -= granted


def run_threads(
    function: Callable[[Task], Result], tasks: Iterable[Task], n_threads: int
) -> list[Result]:
    """Return `function` of every task, in the tasks' order; the first error propagates."""
    tasks = list(tasks)
    if min(n_threads, len(tasks)) <= 1:
        return [function(task) for task in tasks]
    with (
        _borrow(min(n_threads, len(tasks))) as granted,
        ThreadPoolExecutor(granted, thread_name_prefix="unelisa") as pool,
    ):
        futures = [pool.submit(function, task) for task in tasks]
        try:
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
