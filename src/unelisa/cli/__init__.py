"""The `unelisa` command: one file per command; parse, call the public API, print."""

import typer

import unelisa
from unelisa.cli import (
    compare,
    demo,
    fit,
    phenotype,
    predict,
    report,
    reproduce,
    reproduce_ehr,
    reproduce_real,
    simulate,
    simulate_ehr,
)
from unelisa.cli.boundary import CommandGroup

app = typer.Typer(
    cls=CommandGroup,
    add_completion=False,
    invoke_without_command=True,
    pretty_exceptions_enable=False,  # they may print local variables, which may be patients
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo.demo)
app.command()(fit.fit)
app.command()(predict.predict)
app.command()(compare.compare)
app.command()(phenotype.phenotype)
simulate.app.command()(simulate_ehr.ehr)
app.add_typer(simulate.app, name="simulate")
app.command()(report.report)
reproduce.app.command()(reproduce_real.real)
reproduce.app.command()(reproduce_ehr.ehr)
app.add_typer(reproduce.app, name="reproduce")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"unelisa {unelisa.__version__}")
        raise typer.Exit


@app.callback()
def start(
    context: typer.Context,
    _version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Show the version."
    ),
) -> None:
    """Labels without ground truth: find the experts among many voters and label every item.

    Start with [bold]unelisa demo[/bold], then [bold]unelisa fit votes.csv --out labels.csv[/bold].
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
