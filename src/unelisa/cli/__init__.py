"""The `unelisa` command: one file per command; parse, call the public API, print."""

import typer

import unelisa
from unelisa.cli.commands import Commands

app = typer.Typer(
    cls=Commands,
    add_completion=False,
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
        False, "--version", callback=_show_version, is_eager=True, help="Show the version."
    ),
) -> None:
    """Labels without ground truth: find the experts among many voters and label every item.

    Start with [bold]unelisa demo[/bold], then [bold]unelisa fit votes.csv --out labels.csv[/bold].
    """
