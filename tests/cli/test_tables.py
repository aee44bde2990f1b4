import re
from io import StringIO

from rich.console import Console

from unelisa.cli.tables import comparison_table, voter_table
from unelisa.comparison import MethodScore


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


def test_undefined_figures_are_dashes():
    shown = _print(comparison_table([MethodScore("guess"), MethodScore("toss", 0.5, 0.5)]))
    assert shown.splitlines()[2].split() == ["guess", *"––––––"]  # noqa: RUF001


def test_the_longest_method_fits_80_columns():
    row = MethodScore("latent-spectral-meta-learner", 0.123, 0.123, 0.123, 0.123, 123.4, 123)
    assert "latent-spectral-meta-learner    0.123" in _print(comparison_table([row]))


def test_lighter_voters_are_counted_by_verdict():
    voters = [_voter(f"v{s}") for s in range(3)] + [_voter("z", "pruned", 0.0)]
    shown = _print(voter_table({"voters": voters}, longest=2))
    assert "and 2 more: 1 expert, 1 pruned" in shown
    assert "[with]" in shown


def test_a_long_voter_name_is_shortened():
    shown = _print(voter_table({"voters": [_voter("x" * 500)]}))
    assert shown.count("x") < 40


def test_a_weight_that_rounds_to_zero_has_no_sign():
    voters = [_voter("a", weight=w) for w in (-0.001, 0.001, 0.0, -0.5, 0.5)]
    shown = _print(voter_table({"voters": voters}), width=120)
    assert re.findall(r"[+-]?\d\.\d\d", shown) == ["0.00", "0.00", "0.00", "-0.50", "+0.50"]
