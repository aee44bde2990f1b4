"""Tricks with the files of every command: each input and each output, one at a time."""

import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from ground import COMMANDS, In, Out, blame, fresh, list_files, look_at, run, spell

Outcomes = Iterator[tuple[str, str]]


def _write(content: bytes) -> Any:
    return lambda path, _: path.write_bytes(content)


def _sparse(path: Path, _: Any) -> None:
    with path.open("wb") as file:
        file.write(b"item,a\n")
        file.truncate(1 << 40)


def _socket(path: Path, _: Any) -> None:
    os.chdir(path.parent)  # the path of a socket must be short
    socket.socket(socket.AF_UNIX).bind(path.name)


def _cut(path: Path, content: bytes) -> None:
    path.write_bytes(content[: len(content) // 2])


def _flip(path: Path, content: bytes) -> None:
    places = np.random.default_rng(0).integers(0, len(content), 40)
    forged = bytearray(content)
    for place in places:
        forged[place] ^= 0x41
    path.write_bytes(forged)


# name -> (what is put in the place of an input, whether it must be refused)
INPUTS: dict[str, tuple[Any, bool]] = {
    "a pipe": (lambda path, _: os.mkfifo(path), True),
    "an endless device": (lambda path, _: path.symlink_to("/dev/zero"), True),
    "a terminal": (lambda path, _: path.symlink_to("/dev/tty"), True),
    "a socket": (_socket, True),
    "a folder": (lambda path, _: path.mkdir(), True),
    "a folder of itself": (lambda path, _: (path.mkdir(), (path / "a").symlink_to(path)), True),
    "nothing": (lambda *_: None, True),
    "a circle of links": (lambda path, _: path.symlink_to(path), True),
    "a link to nothing": (lambda path, _: path.symlink_to("gone"), True),
    "the memory of the process": (lambda path, _: path.symlink_to("/proc/self/mem"), True),
    "an empty file": (_write(b""), True),
    "null bytes": (_write(bytes(3000)), True),
    "a terabyte of nothing": (_sparse, True),
    "noise": (_write(np.random.default_rng(1).bytes(3000)), True),
    "a line of 5 MB": (_write(b"a" * 5_000_000), True),
    "blank lines": (_write(b"\n" * 100_000), True),
    "brackets": (_write(b"[" * 100_000), True),
    "a long number": (_write(b'{"item": ' + b"9" * 5000 + b"}\n"), True),
    "a TOML number": (_write(b"seed = " + b"9" * 5000 + b"\n"), True),
    "a TOML path": (_write(b".".join([b"a"] * 100_000) + b" = 1\n"), True),
    "UTF-16": (_write("item,a,b\n1,2,3\n".encode("utf-16")), True),
    "half of it": (_cut, False),
    "flipped bytes": (_flip, False),
}


def attack_inputs(ground: Path, place: Path, rng: np.random.Generator) -> Outcomes:  # noqa: ARG001
    """Put something else in the place of each input of each command."""
    for command in COMMANDS:
        for part in list_files(command, In):
            for trick, (put, must_refuse) in INPUTS.items():
                if command == "review" and not must_refuse:
                    continue  # it would serve its page
                with fresh(ground, place) as folder:
                    path = folder / part.name
                    content = b"item,a\n" if path.is_dir() else path.read_bytes()
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
                    put(path, content)
                    before = look_at(folder)
                    result = run(spell(command, folder))
                    trouble = blame(result, must_refuse=must_refuse)
                    if not trouble and result.exit_code and look_at(folder) != before:
                        trouble = "files changed"
                    yield f"{command}: {trick} as {part.name}", trouble


def _linked(folder: Path, name: str) -> Path:
    path = folder / f"link{Path(name).suffix}"
    path.symlink_to(folder / name)
    return path


def _twin(folder: Path, name: str) -> Path:
    path = folder / f"twin{Path(name).suffix}"
    path.hardlink_to(folder / name)
    return path


def _put(folder: Path, name: str, make: Any) -> Path:
    make(folder / name)
    return folder / name


# name -> the path of an output, given the folder and the name that it should have
OUTPUTS: dict[str, Any] = {
    "a folder": lambda folder, name: _put(folder, name, Path.mkdir),
    "a pipe": lambda folder, name: _put(folder, name, os.mkfifo),
    "a socket": lambda folder, name: _put(folder, name, lambda path: _socket(path, None)),
    "a full device": lambda folder, name: _put(folder, name, lambda p: p.symlink_to("/dev/full")),
    "a device": lambda folder, name: _put(folder, name, lambda p: p.symlink_to("/dev/mem")),
    "a circle of links": lambda folder, name: _put(folder, name, lambda p: p.symlink_to(p)),
    "a place in no folder": lambda folder, name: folder / "none" / name,
    "a place below a file": lambda folder, name: folder / "votes.csv" / name,
    "a place in /proc": lambda _, name: Path("/proc") / name,
    "a name of 260 letters": lambda folder, name: folder / ("x" * 260 + name),
    "a foreign file": lambda folder, name: _put(folder, name, lambda p: p.write_text("a,b\n1,2\n")),
    "a link to a foreign file": lambda folder, name: _linked(folder, f"../foreign{name[-4:]}"),
    "a null byte": lambda folder, name: f"{folder}/a\0{name}",
}  # fmt: skip


def attack_outputs(ground: Path, place: Path, rng: np.random.Generator) -> Outcomes:  # noqa: ARG001
    """Write each output of each command where it must not go: nothing may change."""
    for command in COMMANDS:
        for part in list_files(command, Out):
            for way, (find, forced) in _list_ways(ground, command, part).items():
                with fresh(ground, place) as folder:
                    (folder.parent / f"foreign{part.name[-4:]}").write_text("a,b\n1,2\n")
                    target = find(folder, part.name)
                    before = look_at(folder.parent)
                    arguments = spell(command, folder, **{part.name: target})
                    trouble = blame(run([*arguments, *forced]), must_refuse=True)
                    if not trouble and look_at(folder.parent) != before:
                        trouble = "files changed"
                    yield f"{command}: {way} as {part.name}", trouble


def _list_ways(ground: Path, command: str, part: Out) -> dict[str, tuple[Any, list[str]]]:
    """Return the ways to misplace an output, and what forces them."""
    ways = {way: (find, []) for way, find in OUTPUTS.items()}
    inputs = [one.name for one in list_files(command, In)]
    if command == "update" and part.name == "new.npz":
        inputs.remove("model.npz")  # which --save may replace
    for name in inputs:
        over = {f"the input {name}": lambda folder, _, name=name: folder / name}
        over[f"a link to {name}"] = lambda folder, _, name=name: _linked(folder, name)
        if (ground / name).is_dir():
            over[f"a place in {name}"] = lambda folder, own, name=name: folder / name / own
        else:
            over[f"a second name of {name}"] = lambda folder, _, name=name: _twin(folder, name)
        for way, find in over.items():
            ways[way] = find, []
            if command != "review":
                ways[f"{way}, by force,"] = find, ["--force"]
    return ways
