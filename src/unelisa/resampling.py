"""Resampling: items drawn with replacement, and a fit repeated on every resample."""

import warnings
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import (
    ConvergenceWarning,
    ModelError,
    UnelisaError,
    UnelisaWarning,
    replay_warnings,
    warn_user,
)
from unelisa.kernels.blas import one_blas_thread
from unelisa.parallel import run_all
from unelisa.progress import show_progress

Result = TypeVar("Result")


def draw_items(n_items: int, generator: np.random.Generator) -> NDArray[np.intp]:
    """Return the rows of one resample, sorted, so that they are read in order.

    Examples
    --------
    >>> draw_items(6, np.random.default_rng(0))
    array([0, 1, 1, 3, 3, 5])
    """
    counts = np.bincount(generator.integers(n_items, size=n_items), minlength=n_items)
    return np.repeat(np.arange(n_items), counts)


def repeat_fits(
    learn: Callable[[np.random.Generator], Result],
    generators: list[np.random.Generator],
    n_jobs: int | None,
    progress: bool | None,
) -> list[Result]:
    """Return what is learned with each generator; resamples that cannot be fitted are left out."""
    with show_progress("resamples", len(generators), progress) as advance:

        def attempt(generator: np.random.Generator) -> Result | UnelisaError:
            try:
                return learn(generator)
            except UnelisaError as error:  # for example, there are no votes on the items drawn
                return error

        # filters are global to the process, so they are set here and not in the threads
        with warnings.catch_warnings(record=True) as caught, one_blas_thread():
            warnings.simplefilter("ignore", UnelisaWarning)
            warnings.simplefilter("always", ConvergenceWarning)
            tried = run_all(attempt, generators, n_jobs, each=lambda _: advance(1))
    _tell_of_limits(caught)
    draws = [one for one in tried if not isinstance(one, UnelisaError)]
    _tell_of_failures([one for one in tried if isinstance(one, UnelisaError)], len(draws))
    return draws


def _tell_of_limits(caught: list[warnings.WarningMessage]) -> None:
    """Give one warning for all fits that did not converge, and other warnings unchanged."""
    limits = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    if limits:
        told = f"some resamples did not converge; the first warning: {limits[0]}"
        warn_user(told, ConvergenceWarning)
    replay_warnings([w for w in caught if not issubclass(w.category, UnelisaWarning)])


def _tell_of_failures(errors: list[UnelisaError], n_fitted: int) -> None:
    if not errors:
        return
    many = f"{len(errors)} of {len(errors) + n_fitted} resamples could not be fitted"
    if n_fitted == 0:
        raise ModelError(f"{many}, the first because {errors[0]}")
    told = f"{many} and are omitted, the first because {errors[0]}"
    warn_user(told, UnelisaWarning)
