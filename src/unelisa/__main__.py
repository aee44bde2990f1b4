"""`python -m unelisa`, and the command `unelisa`; Ctrl-C works before anything is imported."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

INTERRUPTED = 130


def main() -> None:
    """Run the command line."""
    # libraries catch or wrap a KeyboardInterrupt in the middle of their imports
    usual = signal.signal(signal.SIGINT, _leave_at_once)
    from unelisa.cli import app  # noqa: PLC0415 - it takes a second

    signal.signal(signal.SIGINT, usual)
    open_streams()
    app(prog_name="unelisa")


def open_streams() -> None:
    """Replace streams that are closed, and let the others show every letter."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the smallest free number, which is this one
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        getattr(sys, name).reconfigure(errors="replace")


def _leave_at_once(*_: Any) -> None:
    sys.stderr.write("Error: interrupted: nothing was written\n")
    sys.stderr.flush()
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
