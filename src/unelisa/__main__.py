"""`python -m unelisa`, and the command `unelisa`; Ctrl-C works before anything is imported."""

import os
import signal
import sys
from typing import Any

INTERRUPTED = 130


def main() -> None:
    """Run the command line."""
    # libraries catch or wrap a KeyboardInterrupt in the middle of their imports
    usual = signal.signal(signal.SIGINT, _leave_at_once)
    from unelisa.cli import app  # noqa: PLC0415 - it takes a second

    signal.signal(signal.SIGINT, usual)
    app(prog_name="unelisa")


def _leave_at_once(*_: Any) -> None:
    sys.stderr.write("Error: interrupted: nothing was written\n")
    sys.stderr.flush()
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
