import threading
import time

import numpy as np
from numba import njit

from unelisa.kernels.compilation import Stopwatch, on_compilation


def _new_kernel():
    @njit
    def add(values):
        total = 0.0
        for value in values:
            total += value
        return total

    return add


def test_compiling_is_not_counted_but_work_is():
    kernel = _new_kernel()
    start = time.perf_counter()
    with Stopwatch() as watch:
        kernel(np.ones(3))
        time.sleep(0.02)
    passed = time.perf_counter() - start
    assert kernel.signatures  # it was compiled within
    assert 0.02 <= watch.seconds < passed
    compiler = passed - watch.seconds
    assert compiler > 0.5 * sum(d["compiler_lock"] for d in _timers(kernel))


def _timers(kernel):
    return [kernel.get_metadata(s)["timers"] for s in kernel.signatures]


def test_threads_that_wait_for_the_compiler_are_counted_once():
    kernels = [_new_kernel() for _ in range(3)]
    with Stopwatch() as watch:
        threads = [threading.Thread(target=kernel, args=(np.ones(3),)) for kernel in kernels]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert watch.seconds >= 0
    assert all(kernel.signatures for kernel in kernels)


def test_a_stopwatch_stops_after_an_error():
    watch = Stopwatch()
    try:
        with watch:
            raise ValueError
    except ValueError:
        pass
    assert watch.seconds >= 0


def test_compilation_is_told_of_and_use_is_not():
    told, kernel = [], _new_kernel()
    with on_compilation(lambda: told.append(1)):
        kernel(np.ones(3))
        kernel(np.ones(4))
    kernel(np.ones(3, dtype=np.float32))
    assert len(told) == 1
