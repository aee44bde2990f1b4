"""A progress bar on stderr for work that may take longer than a second."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def show_progress(
    doing: str, total: int, wanted: bool | None = None
) -> Iterator[Callable[[int], None]]:
    """Yield a function that advances the bar by some steps.

    By default there is a bar only if stderr is a terminal; `wanted` overrides that.
    """
    from rich import progress  # noqa: PLC0415 - a tenth of a second that short work need not wait
    from rich.console import Console  # noqa: PLC0415

    console = Console(stderr=True)
    if not (console.is_terminal if wanted is None else wanted):
        yield lambda _: None
        return
    columns = (
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=console, transient=console.is_terminal) as bar:
        task = bar.add_task(doing, total=total)
        yield lambda steps: bar.advance(task, steps)
