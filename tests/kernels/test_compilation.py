import importlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from numba import njit

from unelisa.kernels import compilation
from unelisa.kernels.compilation import Stopwatch

# tests/conftest.py replaces it in the module
on_compilation = compilation.on_compilation


def _new_kernel():
    @njit
    def add(values):
        total = 0.0
        for value in values:
            total += value
        return total

    return add


@pytest.fixture(autouse=True, scope="module")
def _numba_is_loaded():
    """As it is by the first kernel; its events are passed on from then on."""
    importlib.import_module("unelisa.kernels.caching")


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


def test_compilation_is_told_of_and_use_is_not():
    told, kernel = [], _new_kernel()
    with on_compilation(lambda: told.append(1)):
        kernel(np.ones(3))
        kernel(np.ones(4))
    kernel(np.ones(3, dtype=np.float32))
    assert len(told) == 1


@pytest.fixture
def interruptible():
    """Programs in the background ignore Ctrl-C; here it is heard."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_while_compiling_is_a_keyboard_interrupt():
    """Raised when the compiler is done, never lost, and never another error."""
    kernel, usual = _new_kernel(), signal.getsignal(signal.SIGINT)
    with (
        pytest.raises(KeyboardInterrupt),
        on_compilation(lambda: signal.raise_signal(signal.SIGINT)),
    ):
        kernel(np.ones(3))
    assert signal.getsignal(signal.SIGINT) is usual
    assert kernel(np.ones(3)) == 3


def test_ctrl_c_during_a_fit_is_a_keyboard_interrupt_and_the_next_fit_works(tmp_path):
    """In a process of its own, whose kernels all have to be compiled."""
    code = """
import signal, numpy as np, unelisa as ue
from unelisa.kernels.compilation import on_compilation
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
votes = np.random.default_rng(0).choice([-1, 1], (50, 5))
model, presses = ue.MajorityVote(), 0  # few kernels
while True:
    try:
        with on_compilation(lambda: signal.raise_signal(signal.SIGINT)):
            model.fit(votes)
        break
    except KeyboardInterrupt:
        presses += 1
print(presses > 0, model.predict(votes).shape)
"""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA")}
    source = Path(compilation.__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**kept, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "True (50,)\n", done.stderr


def test_a_default_fit_compiles_at_most_ten_kernels_each_for_one_signature(tmp_path):
    """From an empty cache, where each kernel costs .2 to 1.3 seconds."""
    code = """
import numpy as np, unelisa as ue
from unelisa.kernels import Kernel, consensus, tally
votes = ue.Votes.of(np.random.default_rng(0).choice([-1, 1], (60, 5)), coding="pm1")
model = ue.LatentIsing().fit(votes)
model.predict_proba(votes), model.voters_
parts = [part for room in (consensus, tally) for part in vars(room).values()]
for one in parts:
    if isinstance(one, Kernel) and one._compiled is not None:
        print(one.__name__, len(one._compiled.signatures))
"""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA")}
    source = Path(compilation.__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**kept, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=True,
    )
    compiled = dict(line.split() for line in done.stdout.splitlines())
    assert 5 < len(compiled) <= 10, compiled
    assert set(compiled.values()) == {"1"}, compiled
    assert len(list(tmp_path.rglob("*.nbi"))) == len(compiled)
