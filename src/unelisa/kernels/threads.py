"""Threads for kernels that release the interpreter lock, and BLAS limited to one thread.

A pool exists for one call, so that nested calls and forked processes never wait for each other's
workers. Threads are counted over the whole process: concurrent callers share the cores.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeVar

from threadpoolctl import OpenBLASController, ThreadpoolController

Task = TypeVar("Task")
Result = TypeVar("Result")

_lock = threading.Lock()
_lent = 0  # threads at work beside their callers


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


@lru_cache(maxsize=1)
def _controller() -> Any:
    """Return the controller of the BLAS libraries loaded now (finding them takes milliseconds)."""
    return ThreadpoolController()


class _Holders:
    """Callers that limit BLAS to one thread: the first sets the limit, the last removes it."""

    def __init__(self) -> None:
        self.lock, self.count = threading.Lock(), 0
        self.limit: Any = None

    def enter(self) -> None:
        with self.lock:
            if self.count == 0:
                self.limit = _controller().limit(limits=1, user_api="blas")
            self.count += 1

    def leave(self) -> None:
        with self.lock:
            self.count -= 1
            if self.count == 0:
                # since threadpoolctl 3.8 only the thread that set the limit can remove it
                if hasattr(OpenBLASController, "clear_controlling_thread"):
                    OpenBLASController.clear_controlling_thread(force=True)
                self.limit.restore_original_limits()
                self.limit = None


_holders = _Holders()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread; safe if several Python threads enter at once."""
    holders = _holders
    holders.enter()
    try:
        yield
    finally:
        holders.leave()


def _forget() -> None:
    """Reset a forked child: its parent's threads and callers, and their locks, stayed there."""
    global _lock, _lent, _holders
    limit = _holders.limit
    _lock, _lent, _holders = threading.Lock(), 0, _Holders()
    if limit is not None:
        limit.restore_original_limits()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
