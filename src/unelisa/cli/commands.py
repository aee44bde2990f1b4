"""The command `unelisa`: its commands, their help, and how each of them ends.

A command is imported when it is called, so that `--help` answers at once. Exit codes: 0 done, 1 a
bug in unelisa, 2 bad input or output, 130 interrupted.
"""

import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

import unelisa
from unelisa.cli.screen import announce_compilation, complain, show_warnings, spell_hints
from unelisa.errors import ModelError, UnelisaError
from unelisa.outputs import remove_drafts

OUR_FAULT, BAD_INPUT, INTERRUPTED = 1, 2, 130
INTERRUPTION = "interrupted: no further file was written"
PATIENCE = 2.0  # seconds that a command has to stop by itself, tidying up
STUDIES = "reproduce"  # lives beside the package in a clone
# the first sentence of each command's own help, in the order of the list
COMMANDS = {
    "demo": "Show what unelisa does, on a simulated crowd and on medical data with 30 rules.",
    "fit": "Label every item, and say which voters are experts and why.",
    "predict": "Label new items with a saved model; voters are matched by name.",
    "update": "Add votes to a saved model: on old or new items, of old or new voters, or changed.",
    "rate": "Estimate how common each class is among the items, with an interval.",
    "suggest": "Say which votes to buy next: on which items, and from whom.",
    "certify": "Give the labels that have at most so many errors, guaranteed by random gold.",
    "review": "Label the items that matter most on a local page; every answer is on disk at once.",
    "compare": "Score every method against the truth, which the methods do not see.",
    "jury": "Say which system wins, by how much, and what the panel of judges is worth.",
    "phenotype": (
        "Count in an OMOP database, learn a disease from its anchors, and label every patient."
    ),
    "rules": (
        "Judge definitions of a disease without chart review: sensitivity, specificity, PPV, NPV."
    ),
    "report": "Write a report on a saved model: who is an expert and why.",
    "simulate": "Draw votes from the paper's model, along with the truth and the experts.",
    STUDIES: "Re-run the paper's study, with its numbers beside ours.",
}
# recent releases of typer bundle click, older ones import it; this is the base of all complaints
# about arguments in both
_USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]


class _PlainHelp:
    """Help pages without noise: flags take no value, and a required argument needs no braces."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters; typer would show `<bool>` beside a flag."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = ""
        return params

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line; typer would show `{VOTES}`."""
        pieces: list[str] = super().collect_usage_pieces(ctx)  # type: ignore[misc]
        return [piece.replace("{", "").replace("}", "") for piece in pieces]


class PlainCommand(_PlainHelp, TyperCommand):
    """A command with a plain help page."""


class PlainGroup(_PlainHelp, TyperGroup):
    """A group of commands with a plain help page."""


class _Later(TyperCommand):
    """A placeholder for a command until it is called."""

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **named: Any) -> Any:
        """Hand over to the command itself."""
        return load_command(self.name or "").make_context(info_name, args, *more, **named)


def load_command(name: str) -> Any:
    """Return a command: the `app` of its module, or the function of its name."""
    try:
        module = import_module("studies.cli" if name == STUDIES else f"unelisa.cli.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "studies":
            raise
        raise ModelError(
            "unelisa reproduce needs the studies, which are not part of the installed package: "
            "run it from a clone of the repository, after pip install --editable ."
        ) from None
    found = getattr(module, "app", None)
    if found is None:
        found = typer.Typer(add_completion=False)
        found.command(cls=PlainCommand)(getattr(module, name))
    return typer.main.get_command(found)


class Commands(PlainGroup):
    """All commands; when the input is bad they end in a sentence, never in a traceback."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        for name, sentence in COMMANDS.items():
            self.add_command(_Later(name, help=sentence))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take the arguments; without any, show the help, which is not an error."""
        if not args:
            typer.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command and exit with its code."""
        kwargs["standalone_mode"] = False
        try:
            code = super().main(*args, **kwargs)
        except _USAGE_ERROR as error:
            text: str = error.format_message()  # type: ignore[attr-defined]
            complain(f"{text.rstrip('.')}; see --help")
            code = BAD_INPUT
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; turn what it raises into a sentence."""
        with heed_interruptions():
            try:
                with show_warnings(), announce_compilation():
                    result = super().invoke(ctx)
                flush_stdout()
                return result
            except (typer.Exit, typer.Abort, _USAGE_ERROR, BrokenPipeError):
                raise  # typer's own ways to end; `| head` is not a failure
            except (Exception, KeyboardInterrupt) as error:
                with suppress(OSError):
                    flush_stdout()
                sentence, code = _explain(error)
                complain(sentence)
                raise typer.Exit(code) from None


def flush_stdout() -> None:
    """Write out what stdout holds; if it cannot, drop it, as Python would try again at the end."""
    try:
        sys.stdout.flush()
    except OSError as error:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise OSError(error.errno, error.strerror, "stdout") from None


def _explain(error: BaseException) -> tuple[str, int]:
    if _is_interruption(error):
        return INTERRUPTION, INTERRUPTED
    if isinstance(error, UnelisaError):
        return spell_hints(error), BAD_INPUT
    if isinstance(error, OSError):
        name = Path(error.filename).name if error.filename else "stdout"  # files have names
        return f"cannot write {name}: {error.strerror or type(error).__name__}", BAD_INPUT
    if isinstance(error, MemoryError):
        return "not enough memory for these votes", BAD_INPUT
    # only the place: the error's own words may quote items, which may be patients
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{type(error).__name__} in {Path(place.filename).name}, line {place.lineno}"
    sentence = f"this is a bug in unelisa, not a fault of the votes ({where}); please report it"
    return sentence, OUR_FAULT


def _is_interruption(error: BaseException) -> bool:
    """Return whether somebody pressed Ctrl-C: kernels and imports make it the cause of another."""
    earlier: BaseException | None = error
    while earlier is not None and not isinstance(earlier, KeyboardInterrupt):
        earlier = earlier.__cause__ or earlier.__context__
    return earlier is not None


@contextmanager
def heed_interruptions() -> Iterator[None]:
    """End the process, with its drafts removed, where Ctrl-C has not stopped the block in time.

    Python handles signals between its own steps, and a kernel is one step, however long.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread receives signals
        return
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    done = threading.Event()
    before = signal.set_wakeup_fd(ours.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(theirs, done), daemon=True).start()
    try:
        yield
    finally:
        done.set()
        signal.set_wakeup_fd(before)
        ours.close()  # ends the watch


def _watch(signals: socket.socket, done: threading.Event) -> None:
    with signals:
        while heard := signals.recv(1):
            if heard[0] == signal.SIGINT and not done.wait(PATIENCE):
                remove_drafts()
                complain(INTERRUPTION)
                os._exit(INTERRUPTED)


app = typer.Typer(
    cls=Commands,
    pretty_exceptions_enable=False,  # they may print local variables, which may be patients
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"unelisa {unelisa.__version__}")
        raise typer.Exit


@app.callback()
def start(
    _version: bool = typer.Option(
        False, "--version", "-V", callback=_show_version, is_eager=True, help="Show the version."
    ),
) -> None:
    """Labels without ground truth: find the experts among many voters and label every item.

    Start with [bold]unelisa demo[/bold], then [bold]unelisa fit votes.csv --out labels.csv[/bold].
    """
