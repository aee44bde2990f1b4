"""A process that dies leaves whole files, under their names, or none."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hostile.killed import NAMES

PROGRAM = Path(__file__).parent / "hostile" / "killed.py"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="killing needs a system with fork")
def test_fifty_kills_leave_no_partial_file(tmp_path):
    """kill -9 at random moments while the four outputs of a fit are written over and over."""
    told = json.loads(
        subprocess.run(
            [sys.executable, PROGRAM, tmp_path, "50"], check=True, capture_output=True, timeout=250
        ).stdout
    )
    assert told["killed"] == 50
    assert told["broken"] == []
    assert told["written"] == sorted(NAMES)
    # drafts of the killed are hidden, and named so that nobody takes them for the file itself
    assert all(name.startswith(".") for name in told["drafts"])
