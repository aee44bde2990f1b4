"""Sets with known truth that lie in a folder of their own, for the commands that repeat studies."""

import os
from pathlib import Path

from unelisa.errors import ModelError

VARIABLE = "UNELISA_SETS"
BESIDE = Path("../shared/data")  # of a checkout
WORDS = f"by default the folder that {VARIABLE} names, or the shared one beside a checkout"


def find_shared_data() -> Path | None:
    """Return the folder that UNELISA_SETS names, or the one beside a checkout; None without one."""
    named = os.environ.get(VARIABLE)
    if named and not Path(named).is_dir():
        raise ModelError(
            f"{VARIABLE} names {named[:200]!r}, which is no folder; correct or unset it"
        )
    place = Path(named or BESIDE)
    return place if place.is_dir() else None
