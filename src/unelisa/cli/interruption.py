"""Ctrl-C while a compiled kernel is at work.

Python hears of a signal between two of its own steps, and a kernel or a matrix product is one step,
however long. A thread that waits beside it ends the process where the command does not stop by
itself soon.
"""

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from unelisa.cli.screen import complain
from unelisa.outputs import remove_drafts

INTERRUPTED = 130
SENTENCE = "interrupted: no further file was written"
PATIENCE = 2.0  # seconds that a command has to stop by itself, tidying up


@contextmanager
def heed_interruptions() -> Iterator[None]:
    """End the process, with its drafts removed, when Ctrl-C has not stopped the block in time."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    done = threading.Event()
    before = signal.set_wakeup_fd(ours.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(theirs, done), daemon=True).start()
    try:
        yield
    finally:
        done.set()
        signal.set_wakeup_fd(before)
        ours.close()  # ends the watch


def _watch(signals: socket.socket, done: threading.Event) -> None:
    with signals:
        while heard := signals.recv(1):
            if heard[0] == signal.SIGINT and not done.wait(PATIENCE):
                _end_process()


def _end_process() -> NoReturn:
    remove_drafts()
    complain(SENTENCE)
    os._exit(INTERRUPTED)
