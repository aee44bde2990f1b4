"""BLAS limited to one thread, so that products have the same bits for any `n_jobs`."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from threadpoolctl import OpenBLASController, ThreadpoolController


@lru_cache(maxsize=1)
def _controller() -> Any:
    """Return the controller of the BLAS libraries loaded now (finding them takes milliseconds)."""
    return ThreadpoolController()


class _Holders:
    """Callers that limit BLAS to one thread: the first sets the limit, the last removes it.

    The limit is the process's. If each of two overlapping callers restored what it found, the later
    one would restore 1 for good.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.count = 0
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


def _forget() -> None:
    """Reset a forked child: the callers stayed in its parent."""
    global _holders  # noqa: PLW0603 - the process's own state
    limit = _holders.limit
    _holders = _Holders()
    if limit is not None:
        limit.restore_original_limits()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread; safe if several Python threads enter at once."""
    holders = _holders
    holders.enter()
    try:
        yield
    finally:
        holders.leave()
