"""Progress on stderr: the one console that also shows warnings and errors, and the one bar."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.segment import Segment


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
    r"""Return text without characters that move the cursor, change the terminal or turn the line.

    Examples
    --------
    >>> strip_controls("ann\x1b[2J")
    'ann�[2J'
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


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
