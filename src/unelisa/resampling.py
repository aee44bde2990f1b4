"""Resampling: items drawn with replacement, and a fit repeated on every resample."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import ConvergenceWarning, ModelError, UnelisaError, UnelisaWarning, warn_user
from unelisa.parallel import run_all
from unelisa.solvers.blas import one_blas_thread

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
    """Return what is learned with each generator; resamples that cannot be fitted are omitted."""
    with _show_progress(progress, len(generators)) as advance:

        def attempt(generator: np.random.Generator) -> Result | UnelisaError:
            try:
                return learn(generator)
            except UnelisaError as error:  # for example, there are no votes on the items drawn
                return error

        # filters are global to the process, so they are set here and not in the threads
        with warnings.catch_warnings(record=True) as caught, one_blas_thread():
            warnings.simplefilter("ignore", UnelisaWarning)
            warnings.simplefilter("always", ConvergenceWarning)
            tried = run_all(attempt, generators, n_jobs, each=lambda _: advance())
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
    for w in caught:
        if not issubclass(w.category, UnelisaWarning):
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)


def _tell_of_failures(errors: list[UnelisaError], n_fitted: int) -> None:
    if not errors:
        return
    many = f"{len(errors)} of {len(errors) + n_fitted} resamples could not be fitted"
    if n_fitted == 0:
        raise ModelError(f"{many}, the first because {errors[0]}")
    told = f"{many} and are omitted, the first because {errors[0]}"
    warn_user(told, UnelisaWarning)


@contextmanager
def _show_progress(wanted: bool | None, total: int) -> Iterator[Callable[[], None]]:
    """Yield a function that advances a progress bar by one, if a bar is wanted."""
    from rich import progress  # noqa: PLC0415 - a tenth of a second that other fits need not wait
    from rich.console import Console  # noqa: PLC0415

    console = Console(stderr=True)
    if not (console.is_terminal if wanted is None else wanted):
        yield lambda: None
        return
    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=console, transient=console.is_terminal) as bar:
        task = bar.add_task("resamples", total=total)
        yield lambda: bar.advance(task)
