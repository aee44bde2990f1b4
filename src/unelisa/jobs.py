"""`n_jobs`: how many threads it asks for, counted as scikit-learn does."""

from numbers import Integral
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from unelisa.errors import ModelError

NUMBER_OF_JOBS = "a positive number of threads, None for 1 or -1 for all"


def is_number_of_jobs(value: Any) -> bool:
    """Return whether a value says how many threads are wanted."""
    if isinstance(value, bool | np.bool_):
        return False
    return value is None or (isinstance(value, Integral) and value != 0)


def count_jobs(n_jobs: int | None) -> int:
    """Return the number of threads that `n_jobs` asks for.

    None is 1 (or what `joblib.parallel_config` says), -1 is every core this process may use, -2 all
    but one, and so on.

    Examples
    --------
    >>> count_jobs(None), count_jobs(3)
    (1, 3)
    """
    if not is_number_of_jobs(n_jobs):
        raise ModelError(f"n_jobs must be {NUMBER_OF_JOBS}")
    return int(effective_n_jobs(n_jobs))
