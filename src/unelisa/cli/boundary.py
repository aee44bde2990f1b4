"""Where a command's failures become one sentence and an exit code.

0: done. 1: a fault of ours. 2: bad input, or an output that could not be written. 130: interrupted.
"""

import sys
import traceback
from pathlib import Path
from typing import Any

import typer

from unelisa.cli.help import PlainGroup
from unelisa.cli.interruption import INTERRUPTED, SENTENCE, heed_interruptions
from unelisa.cli.screen import announce_compilation, complain, show_warnings
from unelisa.cli.spelling import spell_options

OUR_FAULT, BAD_INPUT = 1, 2

# recent releases of typer carry a click of their own, older ones import click; this is the base
# of all complaints about arguments in both
_USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]


class CommandGroup(PlainGroup):
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
        with heed_interruptions():
            try:
                with show_warnings(), announce_compilation():
                    return super().invoke(ctx)
            except (typer.Exit, typer.Abort, _USAGE_ERROR, BrokenPipeError):
                raise  # typer's own ways to end; `| head` is no failure
            except (Exception, KeyboardInterrupt) as error:
                sentence, code = _explain(error)
                complain(sentence)
                raise typer.Exit(code) from None


def _explain(error: BaseException) -> tuple[str, int]:
    """Return the sentence and the exit code of a failure."""
    if _is_interruption(error):
        return SENTENCE, INTERRUPTED
    from unelisa.errors import UnelisaError  # noqa: PLC0415 - loads scikit-learn

    if isinstance(error, UnelisaError):
        return _hint(error), BAD_INPUT
    if isinstance(error, OSError):
        return _write_failure(error), BAD_INPUT
    if isinstance(error, MemoryError):
        return "there is not enough memory for these votes", BAD_INPUT
    return _confess(error), OUR_FAULT


def _is_interruption(error: BaseException) -> bool:
    """Return whether somebody pressed Ctrl-C: kernels and imports make it the cause of another."""
    earlier: BaseException | None = error
    while earlier is not None and not isinstance(earlier, KeyboardInterrupt):
        earlier = earlier.__cause__ or earlier.__context__
    return earlier is not None


def _usage(error: Exception) -> str:
    text: str = error.format_message()  # type: ignore[attr-defined]
    return f"{text.rstrip('.')}; see --help"


def _hint(error: BaseException) -> str:
    """Return the error's sentence, with the option that answers it."""
    from unelisa.errors import AmbiguousVotesError  # noqa: PLC0415 - loads scikit-learn

    told = spell_options(str(error))
    if isinstance(error, AmbiguousVotesError) and "--" not in told:
        return f"{told} (on the command line: --coding)"
    return told


def _confess(error: BaseException) -> str:
    """Return where a fault of ours is; its own words may quote items, which may be patients."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{type(error).__name__} in {Path(place.filename).name}, line {place.lineno}"
    return f"this is a fault of unelisa, not of the votes ({where}); please report it"


def _write_failure(error: OSError) -> str:
    name = Path(error.filename).name if error.filename else "an output"
    return f"{name} cannot be written: {error.strerror or type(error).__name__}"
