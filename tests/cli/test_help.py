"""Help pages: a flag takes no value, and a required argument stands without braces."""

from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from unelisa.cli.help import PlainCommand, PlainGroup


def count_votes(
    votes: Annotated[str, typer.Argument(metavar="VOTES", help="A table.")],
    quietly: Annotated[bool, typer.Option("--quietly", help="Say less.")] = False,
    most: Annotated[int, typer.Option("--most", help="Stop there.")] = 3,
) -> None:
    """Count the votes."""
    typer.echo(f"{votes} {quietly} {most}")


@pytest.fixture(params=["command", "group"])
def call(request):
    """One command by itself, and the same within a group."""
    app = typer.Typer(add_completion=False, cls=PlainGroup, rich_markup_mode=None)
    app.command("count", cls=PlainCommand)(count_votes)
    if request.param == "group":
        app.command("other", cls=PlainCommand)(count_votes)
    first = ["count"] if request.param == "group" else []
    return lambda *arguments: CliRunner().invoke(app, [*first, *arguments])


def test_a_flag_takes_no_value_and_another_option_does(call):
    lines = [line.split() for line in call("--help").output.splitlines()]
    flag = next(line for line in lines if line[:1] == ["--quietly"])
    option = next(line for line in lines if line[:1] == ["--most"])
    assert flag == ["--quietly", "Say", "less."]
    assert option[1].strip("<>").lower().startswith("int")


def test_a_required_argument_stands_without_braces(call):
    usage = next(line for line in call("--help").output.splitlines() if "Usage" in line)
    assert usage.endswith("[OPTIONS] VOTES")


def test_the_command_works_as_before(call):
    assert call("file.csv", "--quietly").output == "file.csv True 3\n"
    assert call("--most", "4", "file.csv").output == "file.csv False 4\n"
    assert call("file.csv", "--most").exit_code == 2
