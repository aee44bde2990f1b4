"""Progress on stderr: the one console that also shows warnings and errors, and the bars.

`show_progress` counts steps, `show_fit` the share of a fit, whose stages say how far they go; not
shown in threads and worker processes, or if UNELISA_PROGRESS is 0.
"""

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from functools import lru_cache
from time import perf_counter
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

if TYPE_CHECKING:
    from rich.console import Console
    from rich.segment import Segment

VARIABLE = "UNELISA_PROGRESS"
PATIENCE = 1.0  # seconds before a fit shows anything
Thing = TypeVar("Thing")
Show = Callable[[int], None]  # takes the percentage


def asides() -> "Console":
    """Return the console on stderr; one for all, so that a warning does not break a bar."""
    return _console_on(sys.stderr)


@lru_cache(maxsize=1)
def _console_on(stream: TextIO) -> "Console":
    return open_console(stream)


def open_console(stream: TextIO, quiet: bool = False) -> "Console":
    """Return a console whose text cannot control the terminal, whatever voters are called."""
    from rich.console import Console  # noqa: PLC0415 - rich takes a tenth of a second to load

    class HarmlessConsole(Console):
        def render(self, renderable: Any, options: Any = None) -> "Iterable[Segment]":
            for segment in super().render(renderable, options):
                yield segment if segment.control else segment._replace(text=strip(segment.text))

    def strip(text: str) -> str:
        return "\n".join(map(strip_controls, text.split("\n")))

    return HarmlessConsole(file=stream, highlight=False, quiet=quiet)


def strip_controls(text: str) -> str:
    """Return text without characters that move the cursor, change the terminal or turn the line."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


@contextmanager
def show_progress(
    doing: str, total: int, wanted: bool | None = None
) -> Iterator[Callable[..., None]]:
    """Yield `advance(steps, doing)` of a bar, shown if `wanted`, by default on a terminal."""
    console = asides()
    if not (console.is_terminal if wanted is None else wanted):
        yield lambda *_: None
        return
    with ExitStack() as shown, show_fits_in(lambda _: None):
        # a speed of the last five minutes covers a round over cheap and expensive steps
        settings = {"transient": console.is_terminal, "speed_estimate_period": 300}
        bar = _open_bar(shown, "{task.completed:,} of {task.total:,}", timed=True, **settings)
        task = bar.add_task(doing, total=total)

        def advance(steps: int, doing: str | None = None) -> None:
            bar.update(task, advance=steps, description=doing)

        yield advance


def _open_bar(shown: ExitStack, text: str, *, timed: bool = False, **settings: Any) -> Any:
    from rich import errors, progress  # noqa: PLC0415

    columns = [progress.TextColumn("{task.description}", markup=False), progress.BarColumn()]
    columns += [progress.TextColumn(text)]
    columns += [progress.TimeElapsedColumn(), progress.TimeRemainingColumn()] if timed else []
    bar = progress.Progress(*columns, console=asides(), **settings)
    with suppress(errors.LiveError):  # before rich 14.1 there is one display at a time
        shown.enter_context(bar)
    return bar


class _Work:
    """The work of a fit: the share of it that is done, and the stage that is under way."""

    def __init__(self, show: Show) -> None:
        self._show, self._began, self._shown = show, perf_counter(), 0
        self.done, self.stage = 0.0, (0.0, 1.0)

    def reach(self, share: float) -> None:
        """Note that this share of the whole is done; show it, one percent at a time."""
        self.done = max(self.done, share)
        percent = int(100 * self.done + 1e-9)
        if percent > self._shown and perf_counter() - self._began > PATIENCE:
            self._shown = percent
            self._show(percent)

    @contextmanager
    def staying_below(self, end: float) -> Iterator[None]:
        """Make this block a stage from here to `end`, which it has reached when it is done."""
        outer, self.stage = self.stage, (self.done, max(self.done, end))
        try:
            yield
            self.reach(end)
        finally:
            self.stage = outer


_work: ContextVar[_Work | None] = ContextVar("work", default=None)
_show: ContextVar[Show | None] = ContextVar("show", default=None)


@contextmanager
def show_fits_in(show: Show) -> Iterator[None]:
    """Let fits in this block pass their percentages to `show` instead of opening a bar."""
    before = _show.set(show)
    try:
        yield
    finally:
        _show.reset(before)


@contextmanager
def show_fit(doing: str) -> Iterator[None]:
    """Show the percentage of a fit that is done, if it lasts more than a second."""
    with ExitStack() as shown:
        show = None if _work.get() else _show.get() or _open_display(doing, shown)
        if show is None:
            yield
            return
        work = _Work(show)
        before = _work.set(work)
        try:
            yield
            work.reach(1.0)
        finally:
            _work.reset(before)


def until(share: float) -> AbstractContextManager[None]:
    """Count the work of a block as a stage that goes up to a share of the enclosing one."""
    work = _work.get()
    if work is None:
        return nullcontext()
    low, high = work.stage
    return work.staying_below(low + share * (high - low))


def each(things: Sequence[Thing]) -> Iterator[Thing]:
    """Yield the things, the work on each being an equal part of the present stage."""
    for k, thing in enumerate(things, 1):
        with until(k / len(things)):
            yield thing


def _open_display(doing: str, shown: ExitStack) -> Show | None:
    """Return what shows percentages to a person, until the stack closes; None if nobody looks."""
    alone = threading.current_thread() is threading.main_thread()
    alone = alone and multiprocessing.current_process().name == "MainProcess"
    if not alone or os.environ.get(VARIABLE) == "0":
        return None
    if _is_notebook():
        return _show_in_notebook(doing, shown)
    if sys.stderr is not None and sys.stderr.isatty() and asides().is_terminal:
        return _show_on_terminal(doing, shown)
    return None


def _is_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    return hasattr(ipython.get_ipython(), "kernel") if ipython is not None else False


def _show_on_terminal(doing: str, shown: ExitStack) -> Show:
    tasks: list[Any] = []

    def show(percent: int) -> None:
        if not tasks:
            # what other threads print to stdout stays there
            bar = _open_bar(
                shown, "{task.percentage:>3.0f}%", transient=True, redirect_stdout=False
            )
            tasks.extend([bar, bar.add_task(doing, total=100, completed=percent)])
        tasks[0].update(tasks[1], completed=percent)

    return show


def _show_in_notebook(doing: str, shown: ExitStack) -> Show:
    from IPython.display import display  # noqa: PLC0415 - it is loaded

    handles: list[Any] = []

    def show(percent: int) -> None:
        bar = f'<progress value="{percent}" max="100"></progress>'
        line = {"text/plain": f"{doing} {percent} %", "text/html": f"{doing} {bar} {percent} %"}
        if handles:
            handles[0].update(line, raw=True)
        else:
            handles.append(display(line, raw=True, display_id=True))
            nothing = dict.fromkeys(line, "")
            shown.callback(lambda: handles[0].update(nothing, raw=True))

    return show
