"""The `unelisa` command: one file per command; parse, call the public API, print."""

from unelisa.cli.commands import app

__all__ = ["app"]
