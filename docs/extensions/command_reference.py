"""The reference of the command line, written from the commands themselves at build time."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from sphinx.application import Sphinx
from typer.main import get_command

from unelisa.cli import app as unelisa_app

PAGE, MARK = "reference/cli", "<!-- commands -->"
GENERAL = "Options"


def render_commands() -> str:
    """Return every command with its arguments and options, as Markdown."""
    group = get_command(unelisa_app)
    context = group.context_class(group, info_name="unelisa", resilient_parsing=True)
    return "\n".join(_render(context, level=1))


def _render(context: Any, level: int) -> Iterator[str]:
    command, name = context.command, context.command_path
    if level > 1:  # the page has its own title
        yield f"{'#' * level} {name}\n"
    yield f"{_as_markdown(command.help or '')}\n"
    yield f"```text\n{' '.join([name, *command.collect_usage_pieces(context)])}\n```\n"
    yield from _render_parameters(command, context)
    for child in command.list_commands(context) if hasattr(command, "list_commands") else ():
        # a command is imported when it is called: its context has the command itself
        later = command.get_command(context, child)
        made = later.make_context(child, [], parent=context, resilient_parsing=True)
        yield from _render(made, level + 1)


def _render_parameters(command: Any, context: Any) -> Iterator[str]:
    panels: dict[str, list[str]] = defaultdict(list)
    for param in command.get_params(context):
        if not getattr(param, "hidden", False) and "--help" not in param.opts:
            panel = getattr(param, "rich_help_panel", None)
            title = "Arguments" if param.param_type_name == "argument" else panel or GENERAL
            panels[title].append(_describe(param))
    for title, entries in panels.items():
        yield f"**{title}**\n"
        yield from entries


def _describe(param: Any) -> str:
    """Return one entry of a definition list."""
    value = param.metavar if param.metavar is not None else param.name.upper()
    if param.param_type_name == "argument":
        written = value.strip("{}[]")
    else:
        written = ", ".join(f"`{name}`" for name in (*param.opts, *param.secondary_opts))
        written += "" if param.is_flag or not value else f" `{value}`"
    told = _as_markdown(getattr(param, "help", None) or "")
    default = param.default
    if default is not None and not callable(default) and not isinstance(default, bool | list):
        told += f" Default: `{getattr(default, 'value', default)}`."
    return f"{written}\n: {told.strip() or '…'}\n"


def _as_markdown(text: str) -> str:
    """Return help as Markdown: bold words of the terminal are code, its line breaks none."""
    text = re.sub(r"\[bold\](.*?)\[/bold\]", r"`\1`", text.replace("\b", "").strip())
    return re.sub(r"(?<!`)<(\w+)>", r"`<\1>`", text)


def _fill_page(_app: Sphinx, docname: str, source: list[str]) -> None:
    if docname == PAGE:
        source[0] = source[0].replace(MARK, render_commands())


def setup(app: Sphinx) -> dict[str, bool]:
    """Fill the page while it is read."""
    app.connect("source-read", _fill_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
