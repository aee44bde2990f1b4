"""Packages whose names are loaded when they are first asked for."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def open_door(
    package: str, rooms: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package, given the names that each module defines."""
    homes = {name: room for room, names in rooms.items() for name in names.split()}
    door = sys.modules[package]

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(door, name, value)
        return value

    def list_names() -> list[str]:
        return sorted([*homes, *(name for name in vars(door) if name.startswith("__"))])

    return load, list_names
