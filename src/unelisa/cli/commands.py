"""The commands by name. A command is imported when it is called: a list of them need not wait."""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand

from unelisa.cli.boundary import CommandGroup
from unelisa.cli.help import PlainCommand

# the first sentence of each command's own help, in the order of the list
COMMANDS = {
    "demo": "Show what unelisa does: a simulated crowd, and medical data with 30 simple rules.",
    "fit": "Label every item, and say which voters are experts and why.",
    "predict": "Label new items with a stored model; voters are matched by name.",
    "compare": "Score every method against the truth, which the methods do not see.",
    "phenotype": (
        "Count in an OMOP database, learn a disease from its anchors, and label every patient."
    ),
    "report": "Write a page on a stored model: who is an expert and why.",
    "simulate": "Draw votes from the paper's model, with the truth and the experts beside them.",
    "reproduce": "Re-run the paper's study, with its numbers beside ours.",
}


class Commands(CommandGroup):
    """All commands of `unelisa`."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        for name, sentence in COMMANDS.items():
            self.add_command(_Later(name, help=sentence))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take the arguments; without any, show help, which is no mistake."""
        if not args:
            typer.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)


class _Later(TyperCommand):
    """Stands for a command until it is called."""

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **named: Any) -> Any:
        """Hand over to the command itself."""
        return load_command(self.name or "").make_context(info_name, args, *more, **named)


def load_command(name: str) -> Any:
    """Return a command: the `app` of its module, or the function of its name."""
    module = import_module(f"unelisa.cli.{name}")
    app = getattr(module, "app", None)
    if app is None:
        app = typer.Typer(add_completion=False)
        app.command(cls=PlainCommand)(getattr(module, name))
    return typer.main.get_command(app)
