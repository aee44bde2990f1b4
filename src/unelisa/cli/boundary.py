"""Where a command's failures become one sentence and an exit code.

0: done. 2: bad input, or an output that could not be written. 130: interrupted.
"""

import sys
from pathlib import Path
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from unelisa.cli.screen import complain, show_warnings
from unelisa.errors import AmbiguousVotesError, UnelisaError

BAD_INPUT, INTERRUPTED = 2, 130

# recent releases of typer carry a click of their own, older ones import click; this is the base
# of all complaints about arguments in both
_USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]


class CommandGroup(TyperGroup):
    """Commands that end in a sentence, never in a traceback, when the input is bad."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command and leave with its exit code."""
        kwargs["standalone_mode"] = False
        try:
            code = super().main(*args, **kwargs)
        except _USAGE_ERROR as error:
            complain(_usage(error))
            code = BAD_INPUT
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; turn what it raises into a sentence."""
        with show_warnings():
            try:
                return super().invoke(ctx)
            except UnelisaError as error:
                _leave(_hint(error), BAD_INPUT)
            except BrokenPipeError:
                raise  # `| head` is no failure; typer ends quietly
            except OSError as error:
                _leave(_write_failure(error), BAD_INPUT)
            except (KeyboardInterrupt, SystemError) as error:
                if not _is_interruption(error):
                    raise
                _leave("interrupted: no further file was written", INTERRUPTED)


def _leave(sentence: str, code: int) -> NoReturn:
    complain(sentence)
    raise typer.Exit(code)


def _is_interruption(error: BaseException) -> bool:
    """Return whether somebody pressed Ctrl-C: compiled kernels make it the cause of another."""
    return isinstance(error, KeyboardInterrupt) or isinstance(error.__cause__, KeyboardInterrupt)


def _usage(error: Exception) -> str:
    text: str = error.format_message()  # type: ignore[attr-defined]
    return f"{text.rstrip('.')}; see --help"


def _hint(error: UnelisaError) -> str:
    """Return the error's sentence, with the option that answers it."""
    if isinstance(error, AmbiguousVotesError):
        return f"{error} (on the command line: --coding)"
    return str(error)


def _write_failure(error: OSError) -> str:
    name = Path(error.filename).name if error.filename else "an output"
    return f"{name} cannot be written: {error.strerror or type(error).__name__}"
