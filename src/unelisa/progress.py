"""Progress on stderr: the one console that also shows warnings and errors, and the one bar."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console


def asides() -> "Console":
    """Return the console on stderr; one for all, so that a warning does not break a bar."""
    return _console_on(sys.stderr)


@lru_cache(maxsize=1)
def _console_on(stream: TextIO) -> "Console":
    from rich.console import Console  # noqa: PLC0415 - rich takes a tenth of a second to load

    return Console(file=stream, highlight=False)


@contextmanager
def show_progress(
    doing: str, total: int, wanted: bool | None = None
) -> Iterator[Callable[..., None]]:
    """Yield `advance(steps, doing)`, which advances the bar and names what is being done.

    By default there is a bar only if stderr is a terminal; `wanted` overrides that.
    """
    console = asides()
    if not (console.is_terminal if wanted is None else wanted):
        yield lambda *_: None
        return
    from rich import errors, progress  # noqa: PLC0415

    columns = (
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.TextColumn("{task.completed:,} of {task.total:,}"),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
    )
    # a speed of the last five minutes covers a round over cheap and expensive steps
    bar = progress.Progress(
        *columns, console=console, transient=console.is_terminal, speed_estimate_period=300
    )
    with ExitStack() as shown:
        with suppress(errors.LiveError):  # before rich 14.1 a command's status excludes a bar
            shown.enter_context(bar)
        task = bar.add_task(doing, total=total)

        def advance(steps: int, doing: str | None = None) -> None:
            bar.update(task, advance=steps, description=doing)

        yield advance
