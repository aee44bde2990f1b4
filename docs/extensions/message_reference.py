"""The messages of every error class, collected from the source at build time."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from sphinx.application import Sphinx

import unelisa

PAGE, MARK = "how_to/warnings", "<!-- messages of {} -->"
FEWEST_LETTERS = 16  # a message of fewer is put together elsewhere


def collect_messages() -> dict[str, list[str]]:
    """Return class -> its messages as written where they are raised, … for what varies."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in Path(unelisa.__file__).parent.rglob("*.py"):
        for kind, message in _raised(ast.parse(path.read_text(encoding="utf-8"))):
            if sum(letter.isalpha() for letter in message) >= FEWEST_LETTERS:
                found[kind].add(message)
    return {kind: sorted(messages, key=_sort_key) for kind, messages in found.items()}


def _sort_key(message: str) -> str:
    return message.lstrip("… ").lower()


def _raised(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            yield ast.unparse(node.exc.func), read_template(node.exc.args[0])


def read_template(node: ast.AST) -> str:
    """Return a text as it stands in the source, … for what is filled in."""
    if isinstance(node, ast.JoinedStr):
        return "".join(read_template(part) for part in node.values)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return "…"


def _list(messages: list[str]) -> str:
    lines = "\n".join(f"- `` {message} ``" for message in messages)
    return f"<details><summary>All {len(messages)} messages</summary>\n\n{lines}\n\n</details>"


def _fill_page(_app: Sphinx, docname: str, source: list[str]) -> None:
    if docname == PAGE:
        for kind, messages in collect_messages().items():
            source[0] = source[0].replace(MARK.format(kind), _list(messages))


def setup(app: Sphinx) -> dict[str, bool]:
    """Fill the page while it is read."""
    app.connect("source-read", _fill_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
