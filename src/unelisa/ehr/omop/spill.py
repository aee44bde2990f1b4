"""DuckDB's memory: it keeps to the limit, and what does not fit goes to a private folder."""

import os
import tempfile
from functools import cache
from threading import Lock
from typing import Any

from unelisa.memory import LEAST, memory_limit

_opening = Lock()  # threads must find the same folder


def bound_memory() -> dict[str, Any]:
    """Return DuckDB's settings of memory, and of its folder for what does not fit."""
    with _opening:
        folder = _open_folder(os.getpid())
    return {"memory_limit": f"{max(memory_limit(), LEAST)}B", "temp_directory": folder.name}


@cache
def _open_folder(process: int) -> "tempfile.TemporaryDirectory[str]":  # noqa: ARG001 - the key
    """Return a folder that is removed when the process ends.

    One for all connections: DuckDB opens a file twice only with equal settings.
    """
    return tempfile.TemporaryDirectory(prefix="unelisa-")
