"""The code that a stored number depends on, as a hash that travels with the number.

A row of results has the key `code`: the hash of the functions, classes and constants of this
repository that its roots use, directly or through others. Comments, docstrings, annotations,
messages, imports and the file that a definition stands in do not enter; neither do the rooms in
`APART`, which read, write and show, or hold votes in Dask. A row whose hash differs from that of
the present code is stale.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unelisa.sources.labels import KnownLabels

# of a row: its code, or codes by method if it sums up several; None depends on no code of ours
Stamp = Callable[[Mapping[str, Any]], Any]
Name = tuple[str, str]  # a module and a name in it; "" is all of its names

KEY, DATA = "code", "data"
DIGITS = 12
APART = (
    "unelisa.cli",
    "unelisa.errors",
    "unelisa.memory",
    "unelisa.outputs",
    "unelisa.parallel",
    "unelisa.progress",
    "unelisa.report",
    "unelisa.schema",
    "unelisa.storage",
    "unelisa.votes.partitioned",
    "unelisa.votes.shuffled",
    "studies.records",
)
REGISTRY = "AGGREGATORS"  # leads to every method: a row's own method is a root instead
_PLACES = {"unelisa": Path(__file__).parents[1] / "src", "studies": Path(__file__).parents[1]}
_UNSPOKEN = {"annotation", "returns", "type_comment", "type_params", "ctx", "kind"}


class _Module(NamedTuple):
    names: dict[str, list[ast.stmt]]  # what is defined at the top
    imports: dict[str, Name]


@cache
def hash_code(*roots: str) -> str:
    """Return the hash of all that some roots, `module:name`, depend on.

    Examples
    --------
    >>> len(hash_code("unelisa.kernels.tally:"))  # all of a module
    12
    """
    found: dict[Name, str] = {}
    waiting: list[Name] = [(module, name) for module, _, name in (x.partition(":") for x in roots)]
    for module, name in waiting:
        if not _define(module, name):
            raise LookupError(f"{module} defines no {name!r}: name another root")
    while waiting:
        here = waiting.pop()
        if here not in found:
            found[here] = "".join(map(_hash, _define(*here)))
            waiting += _follow(*here)
    joined = "".join(sorted(text for text in found.values() if text))
    return sha256(joined.encode()).hexdigest()[:DIGITS]


def root_of(cls: type) -> str:
    """Return a class as a root."""
    return f"{cls.__module__}:{cls.__name__}"


def stamp_with(*roots: str) -> Stamp:
    """Return a stamp that is the same for all rows."""
    return lambda _: hash_code(*roots)


def is_stale(row: Mapping[str, Any], stamp: Stamp) -> bool:
    """Return whether other code than the present one made a row, or nobody knows which."""
    code = stamp(row)
    return code is not None and row.get(KEY) != code


def drop_stale(rows: Iterable[Any], stamp: Stamp) -> list[Any]:
    """Return the rows that the present code made."""
    return [row for row in rows if not is_stale(row, stamp)]


def common_code(rows: Iterable[Mapping[str, Any]]) -> str | None:
    """Return the code of rows that are summed up; None if they have several, or none.

    Examples
    --------
    >>> common_code([{"code": "a"}, {"code": "a"}]), common_code([{"code": "a"}, {}])
    ('a', None)
    """
    codes = {row.get(KEY) for row in rows}
    return codes.pop() if len(codes) == 1 else None


def hash_data(known: KnownLabels) -> str:
    """Return the hash of a set: its votes and its known labels."""
    found = sha256()
    for table in (known.votes.values, known.signs, known.unvoted_signs):
        found.update(np.ascontiguousarray(table).tobytes())
    return found.hexdigest()[:DIGITS]


@cache
def _read_module(module: str) -> _Module | None:
    """Return a module of this repository that may decide numbers; None if it is not one."""
    if any(module == room or module.startswith(f"{room}.") for room in APART):
        return None
    base = _PLACES.get(module.split(".", maxsplit=1)[0])
    if base is None:
        return None
    place = base.joinpath(*module.split("."))
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    if not file.is_file():
        return None
    names: dict[str, list[ast.stmt]] = {}
    body = ast.parse(file.read_text(encoding="utf-8")).body
    for node in body:
        for name in _list_names(node):
            names.setdefault(name, []).append(node)
    return _Module(names, _list_imports(body))


def _list_names(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            yield from (x.id for x in ast.walk(target) if isinstance(x, ast.Name))


def _list_imports(nodes: Iterable[ast.AST]) -> dict[str, Name]:
    """Return what imports bind, wherever they stand."""
    found: dict[str, Name] = {}
    for node in nodes:
        for one in ast.walk(node):
            if isinstance(one, ast.ImportFrom) and one.module:
                found |= {x.asname or x.name: (one.module, x.name) for x in one.names}
            elif isinstance(one, ast.Import):
                found |= {x.asname or x.name: (x.name, "") for x in one.names}
    return found


def _define(module: str, name: str) -> list[ast.stmt]:
    """Return the statements that define a name, or all those of a module."""
    read = _read_module(module)
    if read is None or name == REGISTRY:
        return []
    if not name:
        return [node for nodes in read.names.values() for node in nodes]
    return read.names.get(name, [])


def _follow(module: str, name: str) -> Iterator[Name]:
    """Yield the names that a definition uses, or where an imported name comes from."""
    read = _read_module(module)
    if read is None or name == REGISTRY:
        return
    nodes = _define(module, name)
    if not nodes:
        if name in read.imports:
            yield _resolve(*read.imports[name])
        return
    imports = read.imports | _list_imports(nodes)
    for used, attribute in _list_uses(nodes):
        if used in read.names:
            yield module, used
        elif used in imports:
            yield _resolve(*_attribute(imports[used], attribute))


def _list_uses(nodes: Iterable[ast.AST]) -> set[Name]:
    """Return the names that are used, each with the attribute that is asked of it."""
    asked, bare = set(), set()
    owned = set()
    for node in nodes:
        for one in ast.walk(node):
            if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name):
                asked.add((one.value.id, one.attr))
                owned.add(id(one.value))
            elif isinstance(one, ast.Name) and id(one) not in owned:
                bare.add((one.id, ""))
    return asked | bare


def _attribute(source: Name, attribute: str) -> Name:
    """Return the name that an attribute of an imported name means: of a module, its own name."""
    whole = source[0] if not source[1] else f"{source[0]}.{source[1]}"
    return (whole, attribute) if _read_module(whole) is not None else source


def _resolve(module: str, name: str) -> Name:
    """Return a name, or the whole module that it is the name of."""
    whole = f"{module}.{name}"
    return (whole, "") if name and _read_module(whole) is not None else (module, name)


@cache
def _hash(node: ast.stmt) -> str:
    return sha256(repr(_spell(node)).encode()).hexdigest()


def _spell(node: Any) -> Any:
    """Return a piece of code without what does not decide numbers, the same on every Python."""
    if isinstance(node, ast.AST):
        if isinstance(node, ast.Constant):
            return _spell_constant(node.value)
        fields = [(key, value) for key, value in ast.iter_fields(node) if key not in _UNSPOKEN]
        return (
            type(node).__name__,
            *((key, _spell(x)) for key, x in fields if x not in (None, [])),
        )
    if isinstance(node, list):
        return tuple(_spell(x) for x in node if not _is_text(x))
    return node


def _is_text(node: Any) -> bool:
    return isinstance(node, ast.Expr) and _is_message(node.value)


def _is_message(node: Any) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _spell_constant(value: Any) -> Any:
    """Return a constant; a text with blanks is a message to people and says nothing."""
    return "" if isinstance(value, str) and " " in value else repr(value)
