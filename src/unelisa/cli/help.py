"""Help pages without noise: flags take no value, and a required argument needs no braces."""

from typing import Any

from typer.core import TyperCommand, TyperGroup


class _PlainHelp:
    """What commands and groups of commands have in common."""

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
    """A command that has commands, with a plain help page."""
