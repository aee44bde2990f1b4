"""How a function becomes a command: its parameters are the options, its docstring their help."""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, cleandoc, signature
from typing import Annotated, Any

import typer


def argument(metavar: str, words: str) -> Any:
    """Return an argument of a command."""
    return typer.Argument(metavar=metavar, help=words)


def option(metavar: str | None, words: str, *names: str, panel: str = "", **more: Any) -> Any:
    """Return an option of a command: how its value is shown, and its help."""
    panel_name = panel or None
    return typer.Option(*names, metavar=metavar, help=words, rich_help_panel=panel_name, **more)


def takes_form(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command as Typer takes it: every option is a parameter with its help.

    The help of an option stands in the docstring of the command, a line "--option VALUE: words". A
    parameter that is a form, a named tuple of options such as `VotesForm`, becomes its fields; an
    option of the command's own comes before a form's of the same name.
    """
    own = signature(command)
    forms: dict[str, Any] = {}
    text, options = read_options(command.__doc__ or "")
    shown: dict[str, Parameter] = {}
    for name, parameter in own.parameters.items():
        if not hasattr(parameter.annotation, "_field_defaults"):
            shown[name] = _declare(name, parameter.annotation, parameter.default, options)
            continue
        form = forms[name] = parameter.annotation
        _, documented = read_options(form.__doc__)
        for field, usual in form._field_defaults.items():
            if field not in own.parameters:
                shown[field] = _declare(field, form.__annotations__[field], usual, documented)

    @wraps(command)
    def call(**given: Any) -> None:
        fields = given.keys() - own.parameters.keys()
        for name, form in forms.items():
            given[name] = form(**{x: given.pop(x) for x in form._fields if x in fields})
        command(**given)

    call.__doc__ = text
    call.__signature__ = own.replace(parameters=list(shown.values()))  # type: ignore[attr-defined]
    call.__annotations__ = {name: one.annotation for name, one in shown.items()}
    return call


def _declare(name: str, kind: Any, usual: Any, options: dict[str, Any]) -> Parameter:
    if name in options:
        kind = Annotated[kind, options[name]]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=usual, annotation=kind)


def read_options(documented: str) -> tuple[str, dict[str, Any]]:
    r"""Return the words of a docstring before its options, and the options by parameter.

    Examples
    --------
    >>> words, found = read_options("Fit.\n\n--out FILE: Where labels go.\n--all: All of them.")
    >>> words, found["out"].metavar, found["out"].help, found["all"].help
    ('Fit.', 'FILE', 'Where labels go.', 'All of them.')
    """
    words, panel, entries = [], "", []
    for line in cleandoc(documented).splitlines():
        if line.startswith("--"):
            entries.append([panel, line])
        elif entries and line.startswith("    "):
            entries[-1][1] += f" {line.strip()}"
        elif line.endswith(":"):
            panel = line[:-1]
        elif line or not entries:
            words.append(line)
    found = {}
    for where, line in entries:
        declared, _, explained = line.partition(": ")
        name, _, metavar = declared.partition(" ")
        flag = () if metavar else (name,)
        found[name[2:].split("/")[0].replace("-", "_")] = option(
            metavar or None, explained, *flag, panel=where
        )
    return "\n".join(words).strip(), found
