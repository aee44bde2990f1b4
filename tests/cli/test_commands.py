"""The list of commands, their help, and how a command ends."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import unelisa
from unelisa.cli.commands import COMMANDS, app, load_command
from unelisa.cli.options import METHODS
from unelisa.jury import SOURCES

SOURCE = Path(unelisa.__file__).parents[1]
ASK = """
import sys
from unelisa.__main__ import main
for asked in (ASKED):
    sys.argv[1:] = asked
    try:
        main()
    except SystemExit as ended:
        assert not ended.code
heavy = {"numpy", "sklearn", "numba", "pandas", "pyarrow", "scipy"}
print(sorted(heavy & set(sys.modules)))
"""


HEAVY_HELP = {"jury", "phenotype", "rules", "reproduce"}


@pytest.mark.parametrize(
    "asked",
    [
        '["--help"], ["-h"], ["-V"], []',
        ", ".join(f'["{name}", "--help"]' for name in COMMANDS.keys() - HEAVY_HELP),
    ],
)
def test_help_loads_nothing_heavy(asked):
    """That of a command takes .25 seconds of CPU; with NumPy and SciPy it took a second."""
    done = subprocess.run(
        [sys.executable, "-c", ASK.replace("ASKED", asked)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_shells_can_complete_commands_and_options():
    asked = {"COMP_WORDS": "unelisa compare --met", "COMP_CWORD": "2"}
    completed = CliRunner().invoke(
        app, prog_name="unelisa", env={"_UNELISA_COMPLETE": "complete_bash", **asked}
    )
    assert "--methods" in completed.output


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_and_options_have_a_sentence_and_options_two_dashes(name):
    told = load_command(name).help.split("\n\n")[0]
    assert " ".join(told.split()) == COMMANDS[name]
    # one had three dashes: typer makes a name of the parameter where none is given
    for option in load_command(name).params:
        assert not any(one.startswith("---") for one in option.opts)
        assert option.name in ("install_completion", "show_completion", "context") or option.help


@pytest.mark.parametrize(
    ("name", "usage"),
    [
        ("fit", "fit [OPTIONS] VOTES..."),
        ("predict", "predict [OPTIONS] MODEL VOTES..."),
        ("report", "report [OPTIONS] MODEL [VOTES]"),
        ("simulate", "simulate [OPTIONS] COMMAND [ARGS]..."),
        ("simulate classes", "simulate classes [OPTIONS]"),
        ("demo", "demo [OPTIONS]"),
    ],
)
def test_help_is_plain(run, name, usage):
    """A flag takes no value, a required argument needs no braces, in groups too."""
    shown = run(*name.split(), "--help").stdout
    assert next(line for line in shown.splitlines() if "Usage" in line).strip().endswith(usage)
    assert "<bool>" not in shown
    flag = next(line for line in shown.splitlines() if "--force" in line)
    assert flag.split("--force")[1].split()[0] == "Replace"


@pytest.mark.parametrize(
    ("command", "listed"), [("fit", METHODS), ("compare", METHODS), ("jury", SOURCES)]
)
def test_what_can_be_chosen_is_listed(run, command, listed):
    shown = "".join(run(command, "--help").stdout.replace("│", "").split())
    assert ",".join(listed) in shown


def test_the_version_or_the_help_is_shown_and_what_is_unknown_refused(run, refused):
    assert run("--version").stdout == run("-V").stdout == f"unelisa {unelisa.__version__}\n"
    result = run()
    assert result.exit_code == 0
    assert "simulate" in result.stdout
    assert "No such command 'guess'" in refused("guess")
    assert "--guess" in refused("--guess")
    assert "--guess" in refused("fit", "votes.csv", "--guess")


def wrapped():
    """A library that meets Ctrl-C may raise something else from it."""
    error = ImportError("half imported")
    error.__cause__ = KeyboardInterrupt()
    return error


@pytest.mark.parametrize(
    ("raised", "code", "sentence"),
    [
        (KeyError("patient Zaphod"), 1, "this is a bug in unelisa, not a fault of the votes (KeyE"),
        (MemoryError(), 2, "not enough memory for these votes\n"),
        (KeyboardInterrupt(), 130, "interrupted: no further file was written\n"),
        (wrapped(), 130, "interrupted: no further file was written\n"),
    ],
)
def test_whatever_fails_ends_in_one_sentence_that_quotes_no_votes(
    run, files, monkeypatch, raised, code, sentence
):
    def fail(*_):
        raise raised

    monkeypatch.setattr("unelisa.cli.fitting.fit_model", fail)
    result = run("fit", files.votes, "--out", files.folder / "labels.csv")
    assert result.exit_code == code
    assert result.stderr.startswith(f"Error: {sentence}")
    assert result.stderr.count("\n") == 1
    assert "Zaphod" not in result.output
    assert not (files.folder / "labels.csv").exists()


def test_a_file_name_cannot_command_the_terminal(run, tmp_path):
    result = run("fit", tmp_path / "\x1b[2Jnew\nline.csv")
    assert result.exit_code == 2
    assert "\x1b" not in result.stderr
    assert result.stderr.count("\n") == 1
