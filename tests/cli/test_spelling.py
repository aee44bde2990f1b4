import pytest

from unelisa.cli.spelling import spell_options


@pytest.mark.parametrize(
    ("python", "command"),
    [
        ("say so: item='mrn'", "say so: --item mrn"),
        ("say so: item='record no'", "say so: --item 'record no'"),
        ("pass coding='pm1' if so", "pass --coding pm1 if so"),
        ("for example coding=('no', 'yes')", "for example --labels no,yes"),
        ("for example coding=(0, 2)", "for example --labels 0,2"),
        (
            "without intercepts: set fit_intercept=True",
            "without intercepts: --set fit_intercept=true",
        ),
        ("there is no column 'x'", "there is no column 'x'"),
    ],
)
def test_parameters_become_options(python, command):
    assert spell_options(python) == command


def test_errors_and_warnings_speak_of_options(refused, run, tmp_path):
    rows = "".join(f"patient{i},1,0\n" for i in range(100))
    (tmp_path / "votes.csv").write_text(f"mrn,a,b\n{rows}")
    assert "--item mrn" in refused("fit", tmp_path / "votes.csv")
    (tmp_path / "votes.csv").write_text("item,a,b\nx,yes,yes\n")
    assert "--labels no,yes" in refused("fit", tmp_path / "votes.csv")
    (tmp_path / "votes.csv").write_text("item,a,b\nx,1,0\ny,-1,1\n")
    told = refused("fit", tmp_path / "votes.csv")
    assert "--coding pm1" in told
    assert "coding=" not in told
