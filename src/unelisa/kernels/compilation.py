"""Compilation of kernels: announced when it begins, excluded from measured times, uninterrupted.

Numba's compiler and lock events are passed on to listeners, which may precede Numba's import.
"""

import signal
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

COMPILE, LOCK = "numba:compile", "numba:compiler_lock"
_hearing: defaultdict[str, list[Callable[[bool], None]]] = defaultdict(list)


def pass_on(kind: str, starts: bool) -> None:
    """Call the listeners of one kind of event, which starts or ends."""
    for hear in tuple(_hearing[kind]):
        hear(starts)


def defer_interruptions() -> None:
    """Hold Ctrl-C back during every compilation of this process."""
    _hearing[LOCK].append(_Uninterrupted().hear)


@contextmanager
def _listening(kind: str, hear: Callable[[bool], None]) -> Iterator[None]:
    _hearing[kind].append(hear)
    try:
        yield
    finally:
        _hearing[kind].remove(hear)


@contextmanager
def counted_as_compiling() -> Iterator[None]:
    """Let the stopwatches that run leave out the time of a block."""
    watches = tuple(_hearing[LOCK])
    for hear in watches:
        hear(True)
    try:
        yield
    finally:
        for hear in watches:
            hear(False)


class Stopwatch:
    """Measure wall-clock seconds, without those of the compiler."""

    seconds: float

    def __enter__(self) -> "Stopwatch":
        self._compiler = _CompilerTime()
        self._listening = _listening(LOCK, self._compiler.hear)
        self._listening.__enter__()
        self._start = time.perf_counter()
        return self

    def __exit__(self, *failure: Any) -> None:
        self.seconds = time.perf_counter() - self._start - self._compiler.seconds
        self._listening.__exit__(*failure)


@contextmanager
def on_compilation(announce: Callable[[], None]) -> Iterator[None]:
    """Enter a context in which `announce` is called whenever the compilation of a kernel begins."""

    def hear(starts: bool) -> None:
        if starts:
            announce()

    with _listening(COMPILE, hear):
        yield


class _CompilerTime:
    """Add up the time during which any thread holds the compiler lock or waits for it."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._inside, self._since, self._turn = 0, 0.0, threading.Lock()

    def hear(self, starts: bool) -> None:
        with self._turn:
            if starts and self._inside == 0:
                self._since = time.perf_counter()
            if not starts and self._inside == 1:
                self.seconds += time.perf_counter() - self._since
            # one may have begun before we listened
            self._inside = max(self._inside + (1 if starts else -1), 0)


class _Uninterrupted:
    """Hold Ctrl-C back while the main thread compiles: callbacks from C would lose it."""

    def __init__(self) -> None:
        self._depth, self._pressed = 0, False
        self._usual: Any = None

    def hear(self, starts: bool) -> None:
        if threading.current_thread() is threading.main_thread():  # which alone receives signals
            (self._hold if starts else self._release)()

    def _hold(self) -> None:
        self._depth += 1
        if self._depth == 1 and callable(signal.getsignal(signal.SIGINT)):
            self._usual = signal.signal(signal.SIGINT, self._note)

    def _release(self) -> None:
        self._depth -= 1
        if self._depth == 0 and self._usual is not None:
            usual, self._usual = self._usual, None
            signal.signal(signal.SIGINT, usual)
            pressed, self._pressed = self._pressed, False
            if pressed:
                usual(signal.SIGINT, None)

    def _note(self, *_: Any) -> None:
        self._pressed = True
