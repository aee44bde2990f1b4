import warnings

import pytest
from numba import njit

from unelisa.cli.screen import announce_compilation, asides, complain, printable, show_warnings
from unelisa.errors import VotesWarning


def test_errors_are_one_line_however_long(capsys):
    complain("word " * 100)
    assert capsys.readouterr().err.count("\n") == 1


def test_a_warning_is_shown_once_as_one_line(capsys):
    with show_warnings():
        for _ in range(2):
            warnings.warn("a [bold] voter", VotesWarning, stacklevel=1)
    assert capsys.readouterr().err == "Warning: a [bold] voter\n"


def test_warnings_of_others_are_left_alone():
    with show_warnings(), pytest.raises(DeprecationWarning):
        warnings.warn("old", DeprecationWarning, stacklevel=1)


def test_names_cannot_command_the_terminal():
    assert printable("a\x1b[2J\u202eb").plain == "a\ufffd[2J\ufffdb"
    assert len(printable("x" * 1000)) == 32


@pytest.mark.parametrize("terminal", [True, False])
def test_compilation_is_announced_once_on_a_terminal(capsys, monkeypatch, terminal):
    monkeypatch.setattr(type(asides()), "is_terminal", terminal)
    with announce_compilation():
        for _ in range(2):
            njit(lambda x: x + 1)(1.5)
    told = capsys.readouterr().err
    assert told.count("Compiling the kernels") == terminal
