"""What declares options, for commands that have not moved yet."""

from typing import Any

import typer

from unelisa.cli.options import read_options, takes_form

__all__ = ["argument", "option", "read_options", "takes_form"]


def argument(metavar: str, words: str) -> Any:
    """Return an argument of a command."""
    return typer.Argument(metavar=metavar, help=words)


def option(metavar: str | None, words: str, *names: str, panel: str = "", **more: Any) -> Any:
    """Return an option of a command: how its value is shown, and its help."""
    panel_name = panel or None
    return typer.Option(*names, metavar=metavar, help=words, rich_help_panel=panel_name, **more)
