import re
import warnings
from io import StringIO

import pytest
from rich.console import Console

from unelisa import progress
from unelisa.analysis.comparison import MethodScore
from unelisa.cli.screen import (
    announce_compilation,
    busy,
    comparison_table,
    complain,
    printable,
    show_warnings,
    spell_hints,
    voter_table,
)
from unelisa.errors import Hint, VotesError, VotesWarning
from unelisa.kernels import compilation
from unelisa.kernels.compilation import pass_on

# tests/conftest.py silences it: in a fresh cache the notice would be a second line of stderr
ON_COMPILATION = compilation.on_compilation


def test_errors_and_warnings_are_one_line_however_long(capsys):
    complain("word " * 100)
    assert capsys.readouterr().err.count("\n") == 1
    with show_warnings():
        for _ in range(2):
            warnings.warn("a [bold] voter", VotesWarning, stacklevel=1)
    assert capsys.readouterr().err == "Warning: a [bold] voter\n"
    with show_warnings(), pytest.raises(DeprecationWarning):
        warnings.warn("old", DeprecationWarning, stacklevel=1)


def test_a_long_voter_name_is_shortened():
    assert printable("a\x1b[2J\u202eb").plain == "a\ufffd[2J\ufffdb"
    assert len(printable("x" * 1000)) == 32
    shown = _print(voter_table([_voter("x" * 500)]))
    assert shown.count("x") < 40


def test_compilation_is_announced_once_also_in_a_pipe(capsys, monkeypatch):
    monkeypatch.setattr(compilation, "on_compilation", ON_COMPILATION)
    with announce_compilation():
        for _ in range(2):
            pass_on(compilation.COMPILE, True)
    assert capsys.readouterr().err.count("Compiling the kernels") == 1


def _print(table, width=80):
    screen = Console(file=StringIO(), width=width)
    screen.print(table)
    return screen.file.getvalue()


def _voter(name, verdict="expert", weight=1.0):
    return {
        "voter": name,
        "verdict": verdict,
        "weight": weight,
        "coverage": 0.5,
        "reason": "knot of rank 1 [with] 5 neighbors",
    }


def test_a_fit_adds_its_percentage_to_what_is_being_done(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with busy("opening the database") as status:
        status.update("finding the cases ...")
        with progress.show_fit("fitting"):
            with progress.until(0.4):
                pass
            assert status.status == "finding the cases ... 40 %"
        assert status.status == "finding the cases ... 100 %"


def test_the_worst_voters_are_shown_shortened():
    voters = [_voter(f"v{s}") | {"accuracy": 0.9 - s / 100} for s in range(6)]
    voters += [_voter("z", "pruned", 0.0) | {"accuracy": 0.2}]
    voters += [_voter("w", "pruned", 0.0) | {"accuracy": 0.6}]
    shown = _print(voter_table(voters, longest=4))
    assert [name for name in ("v0", "v2", "v3", "w", "z") if f"{name} " in shown] == [
        "v0",
        "v2",
        "z",
    ]
    assert "4 more: 3 expert, 1 pruned" in " ".join(shown.replace("...", "").split())
    assert shown.index("v2 ") < shown.index("4 more") < shown.index("z ")
    assert "[with]" in shown
    bare = _print(voter_table([_voter(name) for name in "abc"], longest=2))
    assert "c " in bare.splitlines()[-1]  # the lightest, where no accuracy is known
    rows = [MethodScore("guess")._asdict(), MethodScore("toss", 0.5, 0.5)._asdict()]
    shown = _print(comparison_table(rows))
    assert shown.splitlines()[2].split() == ["guess", *"––––––"]  # noqa: RUF001
    row = MethodScore("latent-spectral-meta-learner", 0.123, 0.123, 0.123, 0.123, 123.4, 123)
    assert "latent-spectral-meta-learner    0.123" in _print(comparison_table([row._asdict()]))
    told = {"accuracy": 0.812, "accuracy_low": 0.75, "accuracy_high": 0.87}
    shown = _print(voter_table([_voter("a") | told, _voter("b") | {"accuracy": None}]), 100)
    assert "0.81 (0.75-0.87)" in " ".join(shown.split())
    assert "unknown" in " ".join(shown.split())
    voters = [_voter("a", weight=w) for w in (-0.001, 0.001, 0.0, -0.5, 0.5)]
    shown = _print(voter_table(voters), width=120)
    assert re.findall(r"[+-]?\d\.\d\d", shown) == ["0.00", "0.00", "0.00", "-0.50", "+0.50"]


@pytest.mark.parametrize(
    ("hint", "option"),
    [
        (Hint("item", "mrn", "if so"), "--item mrn if so"),
        (Hint("item", "record no"), "--item 'record no'"),
        (Hint("coding", "pm1"), "--coding pm1"),
        (Hint("coding", (0, 2)), "--labels 0,2"),
        (Hint("fit_intercept", True), "--set fit_intercept=true"),
        (Hint("penalty", 0.1), "--set penalty=0.1"),
    ],
)
def test_hints_become_options(hint, option):
    assert spell_hints(VotesError("told", hint)) == f"told; pass {option}"
