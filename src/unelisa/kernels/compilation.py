"""Compilation of kernels: announced when it begins, excluded from measured times, uninterrupted.

Numba emits one event around each compilation, and one around everything under its compiler lock:
compilation, and reading and writing the cache.
"""

import signal
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from numba.core.event import Listener, install_listener, register


class Stopwatch:
    """Measure wall-clock seconds, without those of the compiler.

    Examples
    --------
    >>> with Stopwatch() as watch:
    ...     _ = sum(range(1000))
    >>> 0 < watch.seconds < 60
    True
    """

    seconds: float

    def __enter__(self) -> "Stopwatch":
        self._compiler = _CompilerTime()
        self._listening = install_listener("numba:compiler_lock", self._compiler)
        self._listening.__enter__()
        self._start = time.perf_counter()
        return self

    def __exit__(self, *failure: Any) -> None:
        self.seconds = time.perf_counter() - self._start - self._compiler.seconds
        self._listening.__exit__(*failure)


def on_compilation(tell: Callable[[], None]) -> AbstractContextManager[None]:
    """Return a context in which `tell` is called whenever the compilation of a kernel begins."""
    listening: AbstractContextManager[None] = install_listener("numba:compile", _Starts(tell))
    return listening


class _CompilerTime(Listener):  # type: ignore[misc]
    """Add up the time during which any thread holds the compiler lock or waits for it."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._inside, self._since, self._turn = 0, 0.0, threading.Lock()

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        with self._turn:
            if self._inside == 0:
                self._since = time.perf_counter()
            self._inside += 1

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        with self._turn:
            if self._inside == 1:
                self.seconds += time.perf_counter() - self._since
            self._inside = max(self._inside - 1, 0)  # one may have begun before we listened


class _Uninterrupted(Listener):  # type: ignore[misc]
    """Hold Ctrl-C back while the main thread compiles.

    The compiler's callbacks from C would lose a KeyboardInterrupt, or make another error of it.
    """

    def __init__(self) -> None:
        self._depth, self._pressed = 0, False
        self._usual: Any = None

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        if threading.current_thread() is not threading.main_thread():
            return  # only the main thread receives signals
        self._depth += 1
        if self._depth == 1 and callable(signal.getsignal(signal.SIGINT)):
            self._usual = signal.signal(signal.SIGINT, self._note)

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        if threading.current_thread() is not threading.main_thread():
            return
        self._depth -= 1
        if self._depth == 0 and self._usual is not None:
            usual, self._usual = self._usual, None
            signal.signal(signal.SIGINT, usual)
            pressed, self._pressed = self._pressed, False
            if pressed:
                usual(signal.SIGINT, None)

    def _note(self, *_: Any) -> None:
        self._pressed = True


def defer_interruptions() -> None:
    """Hold Ctrl-C back during every compilation of this process."""
    register("numba:compiler_lock", _Uninterrupted())


class _Starts(Listener):  # type: ignore[misc]
    """Call a function at every start."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        self._tell()

    def on_end(self, event: Any) -> None:
        pass
