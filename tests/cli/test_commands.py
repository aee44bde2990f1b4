import os
import subprocess
import sys
from pathlib import Path

import pytest

import unelisa
from unelisa.cli.commands import COMMANDS, load_command

SOURCE = Path(unelisa.__file__).parents[1]
ASK = """
import sys
from unelisa.__main__ import main
try:
    main()
except SystemExit as ended:
    assert not ended.code
heavy = {"numpy", "sklearn", "numba", "pandas", "pyarrow", "scipy"}
print(sorted(heavy & set(sys.modules)))
"""


@pytest.mark.parametrize("asked", [["--help"], ["-h"], ["--version"], []])
def test_a_list_of_the_commands_loads_nothing_heavy(asked):
    done = subprocess.run(
        [sys.executable, "-c", ASK, *asked],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_has_each_commands_own_first_sentence(name):
    told = load_command(name).help.split("\n\n")[0]
    assert " ".join(told.split()) == COMMANDS[name]


@pytest.mark.parametrize(
    ("name", "usage"),
    [
        ("fit", "fit [OPTIONS] VOTES"),
        ("predict", "predict [OPTIONS] MODEL VOTES..."),
        ("report", "report [OPTIONS] MODEL [VOTES]"),
        ("simulate", "simulate [OPTIONS] COMMAND [ARGS]..."),
        ("demo", "demo [OPTIONS]"),
    ],
)
def test_help_is_plain(run, name, usage):
    shown = run(name, "--help").stdout
    assert next(line for line in shown.splitlines() if "Usage" in line).strip().endswith(usage)
    assert "<bool>" not in shown


@pytest.mark.parametrize("command", ["fit", "compare"])
def test_methods_are_listed_where_they_are_chosen(run, command):
    shown = "".join(run(command, "--help").stdout.replace("│", "").split())
    assert "latent-ising,unelisa,majority-vote" in shown


def test_a_command_that_is_none_is_refused(refused):
    assert "No such command" in refused("divine")
