"""What a person sees: results on stdout; progress, warnings and errors on stderr."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from typing import Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from unelisa.cli.spelling import spell_options

LONGEST_NAME = 32


def results(quiet: bool = False) -> Console:
    """Return where results go; a quiet one leaves stdout to the machine that reads it.

    Consoles are made when needed, as stdout may have changed since the import.
    """
    return Console(highlight=False, quiet=quiet)


def asides() -> Console:
    """Return where progress, warnings and errors go: one console, so that they do not mix up."""
    return _console_on(sys.stderr)


@lru_cache(maxsize=1)
def _console_on(stream: TextIO) -> Console:
    return Console(file=stream, highlight=False)


def complain(sentence: str) -> None:
    """Print an error: one line, not wrapped, so that a log can be searched for it."""
    asides().print(Text.assemble(("Error: ", "bold red"), _one_line(sentence)), soft_wrap=True)


def busy(doing: str) -> AbstractContextManager[Any]:
    """Show what is being done while it lasts; nothing where stderr is no terminal."""
    return asides().status(f"{doing} ...", spinner="dots")


def progress() -> Progress:
    """Return a progress bar with the name of the present step and the time passed."""
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.completed:,} of {task.total:,}"),
        TimeElapsedColumn(),
        # a bar leaves an empty line in a log
        console=asides() if asides().is_terminal else Console(quiet=True),
        transient=True,
    )


@contextmanager
def show_warnings() -> Iterator[None]:
    """Show each of the package's warnings once, as one line; leave others' to Python."""
    from unelisa.errors import UnelisaWarning  # noqa: PLC0415 - loads scikit-learn

    seen: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("always", UnelisaWarning)
        otherwise = warnings.showwarning

        def show(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
            if not issubclass(category, UnelisaWarning):
                otherwise(message, category, *where, **more)
            elif str(message) not in seen:
                seen.add(str(message))
                told = _one_line(spell_options(str(message)))
                line = Text.assemble(("Warning: ", "bold yellow"), told)
                asides().print(line, soft_wrap=True)

        warnings.showwarning = show
        yield


@contextmanager
def announce_compilation() -> Iterator[None]:
    """Say on a terminal, once, that kernels are compiled, which may take half a minute."""
    from unelisa.kernels import cache_folder  # noqa: PLC0415 - loads Numba
    from unelisa.kernels.compilation import on_compilation  # noqa: PLC0415

    kept = "once; later runs start at once"
    lost = "in every run, as there is no private folder to keep the result"
    said: list[str] = []

    def tell() -> None:
        if not said and asides().is_terminal:
            said.append(f"Compiling the kernels ({kept if cache_folder() else lost}) ...")
            asides().print(said[0], style="dim")

    with on_compilation(tell):
        yield


def printable(name: object, longest: int = LONGEST_NAME) -> Text:
    r"""Return a name as text that cannot command the terminal, shortened where it is long.

    Examples
    --------
    >>> printable("[red]ann\x1b[2J").plain
    '[red]ann�[2J'
    """
    shown = _one_line(str(name))
    return Text(shown if len(shown) <= longest else f"{shown[: longest - 1]}…")


def _one_line(text: str) -> str:
    """Return the text without letters that move the cursor: files and voters name themselves."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
