"""`python -m unelisa` as a process of its own: exit codes, streams, signals, a full disk."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import unelisa

SOURCE = Path(unelisa.__file__).parents[1]
KERNEL_SECONDS = 6  # of processor time, by which imports and compilation are over


def _start(*arguments, **more):
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "COLUMNS": "80"}
    usual = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = [sys.executable, "-m", "unelisa", *map(str, arguments)]
    return subprocess.Popen(command, **{**usual, "env": environment, **more})


def _listen(process):
    """Return both streams at the end, without the notice that a fresh cache calls for."""
    out, err = process.communicate(timeout=250)
    return out, re.sub(r"Compiling the kernels .*\n", "", err)


def _run(*arguments, **more):
    process = _start(*arguments, **more)
    out, err = _listen(process)
    return process.returncode, out, err


@pytest.fixture
def votes(tmp_path):
    path = tmp_path / "votes.csv"
    rows = [f"i{i:05d},{'yes,yes,no' if i % 3 else 'no,no,yes'}" for i in range(3000)]
    path.write_text("\n".join(["item,ann,bob,cat", *rows, ""]))
    return path


def test_a_fit_writes_labels_and_speaks_on_stdout(votes, tmp_path):
    arguments = ("--method", "majority-vote", "--out", tmp_path / "labels.csv")
    code, out, err = _run("fit", votes, *arguments)
    assert code == 0, err
    assert out.startswith("2,000 of 3,000 items labeled “yes”. 3 of 3 voters count.")
    assert err == ""


def test_a_full_disk_leaves_nothing_behind(votes, tmp_path):
    def fill_disk():
        # the system refuses to let any file grow beyond this, as a full disk would
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))

    arguments = ("--method", "majority-vote", "--out", tmp_path / "labels.csv")
    code, _, err = _run("fit", votes, *arguments, preexec_fn=fill_disk)
    assert code == 2
    assert err == "Error: cannot write labels.csv: File too large\n"
    assert [path.name for path in tmp_path.iterdir()] == ["votes.csv"]


def _interrupt_while(running, *arguments, **more):
    """Start a command, press Ctrl-C once `running(process)`, and return code and stderr."""
    process = _start(*arguments, **more)
    while not running(process) and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, err = _listen(process)
    return process.returncode, err


def _has_worked(seconds):
    """Return a test of whether a process has ended or used that much processor time."""

    def has(process):
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
        ticks = Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").split()[13]
        return "zombie" in status or int(ticks) > 100 * seconds

    return has


def test_ctrl_c_stops_a_kernel_that_would_run_for_hours(tmp_path):
    """The main thread is inside compiled code and cannot hear."""
    folder = tmp_path / "simulated"
    arguments = ("--voters", 81, "--experts", "quarter", "--snr", "low", "--items", 100_000_000)

    code, err = _interrupt_while(
        _has_worked(KERNEL_SECONDS), "simulate", "--out", folder, *arguments
    )
    assert code == 130
    assert err == "Error: interrupted: no further file was written\n"
    assert not folder.exists()


def test_ctrl_c_during_a_fit_leaves_no_file(votes, tmp_path):
    """Draws that would take hours, after the fit itself."""
    names = [tmp_path / name for name in ("labels.csv", "page.html", "model.npz", "found.json")]
    wanted = zip(("--out", "--report", "--save", "--json"), names, strict=True)
    outputs = [part for pair in wanted for part in pair]
    method = ("--method", "majority-vote", "--stability", 10_000_000)
    code, err = _interrupt_while(_has_worked(3), "fit", votes, *method, *outputs)
    assert code == 130
    assert err == "Error: interrupted: no further file was written\n"
    assert [path.name for path in tmp_path.iterdir()] == ["votes.csv"]


@pytest.mark.parametrize(
    ("library", "written"), [("typer", "nothing"), ("numba", "no further file")]
)
def test_ctrl_c_during_the_imports_gives_a_line(library, written, tmp_path):
    """A library that takes its time stands in for a slow disk."""
    (tmp_path / f"{library}.py").write_text(
        "import pathlib, time\n"
        f"pathlib.Path({str(tmp_path / 'importing')!r}).touch()\n"
        "try:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    raise ImportError from None\n"
    )
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{SOURCE}"}
    (tmp_path / "votes.csv").write_text("item,a,b\n1,yes,no\n2,no,no\n")
    code, err = _interrupt_while(
        lambda _: (tmp_path / "importing").exists(), "fit", tmp_path / "votes.csv", env=environment
    )
    assert code == 130
    assert re.fullmatch(r"Error: interrupted: [a-z ]+ was written\n", err)


def test_an_interrupted_run_exits_with_130_and_leaves_no_file(tmp_path):
    folder = tmp_path / "demo"
    # the folder is the first thing that the demo makes
    code, err = _interrupt_while(lambda _: folder.exists(), "demo", "--out", folder)
    assert code == 130
    assert err == "Error: interrupted: no further file was written\n"
    assert list(folder.iterdir()) == []


HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"


@pytest.fixture
def odd_votes(tmp_path):
    """Voters, items and labels whose names would control a terminal, and a model of them."""
    said = [("yes\x1b[2J", "no"), ("no", "yes\x1b[2J")]
    rows = [f"i{HOSTILE}{i},{a},{a},{b}" for i, (a, b) in enumerate(said * 12)]
    path = tmp_path / "votes.csv"
    path.write_text("\n".join([f"item,ann{HOSTILE},b[red]ob,Zoë", *rows, ""]), encoding="utf-8")
    return path


def _on_terminal(*arguments):
    """Return what a command shows on a terminal."""
    ours, theirs = os.openpty()
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "NO_COLOR": "1", "TERM": "xterm"}
    process = _start(*arguments, stdout=theirs, stderr=subprocess.DEVNULL, env=environment)
    os.close(theirs)
    shown = b""
    with open(ours, "rb", buffering=0) as terminal:  # noqa: PTH123
        try:
            while part := terminal.read(4096):
                shown += part
        except OSError:  # the other end is closed
            pass
    assert process.wait(250) == 0
    return shown.decode()


def test_names_do_not_control_a_terminal(odd_votes, tmp_path):
    """Voters, labels and items, in the summary of a fit, in labels and in JSON."""
    model = tmp_path / "model.npz"
    majority = ("--method", "majority-vote")
    for arguments in (
        ("fit", odd_votes, *majority, "--save", model),
        ("fit", odd_votes, *majority, "--json", "-"),
        ("predict", model, odd_votes),
    ):
        shown = _on_terminal(*arguments)
        # colors are off; what rich itself sends are bold and its end, and line ends
        plain = re.sub(r"\x1b\[[\d;]*m|\r?\n", "", shown)
        assert all(letter.isprintable() for letter in plain), arguments
        assert "ann" in plain or arguments[0] == "predict"


def test_a_program_gets_the_names_as_they_are(odd_votes, tmp_path):
    model = tmp_path / "model.npz"
    assert _run("fit", odd_votes, "--method", "majority-vote", "--save", model)[0] == 0
    code, out, _ = _run("predict", model, odd_votes)
    assert code == 0
    assert f"i{HOSTILE}0,yes\x1b[2J," in out


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_a_stream_of_any_encoding_will_do(encoding, odd_votes, tmp_path, monkeypatch):
    """A letter that cannot be shown is replaced; a program always gets UTF-8."""
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    monkeypatch.setenv("PYTHONUTF8", "0")
    model = tmp_path / "model.npz"
    fit = ("fit", odd_votes, "--method", "majority-vote")
    shown = []
    for arguments in (
        (*fit, "--save", model),
        (*fit, "--json", "-"),
        ("predict", model, odd_votes),
    ):
        code, out, err = _run(*arguments, errors="replace")
        assert code == 0, err
        shown.append(out)
    assert json.loads(shown[1])["voters"][2]["voter"] == "Zoë"
    assert len(shown[2].splitlines()) == 25


@pytest.mark.parametrize("stream", [0, 1, 2])
def test_a_closed_stream_harms_no_file(stream, votes, tmp_path):
    """`>&-`: the first file that is opened would get its number, and all that is printed."""
    labels = tmp_path / "labels.csv"
    arguments = ("--method", "majority-vote", "--out", labels, "--save", tmp_path / "model.npz")
    assert _run("fit", votes, *arguments, preexec_fn=lambda: os.close(stream))[0] == 0
    assert labels.read_text().startswith("item,label,probability")
    assert labels.read_text().count("\n") == 3001


@pytest.fixture
def model(votes, tmp_path):
    path = tmp_path / "model.npz"
    assert _run("fit", votes, "--method", "majority-vote", "--save", path)[0] == 0
    return path


def test_labels_for_a_closed_stdout_are_an_error(votes, model):
    code, _, err = _run("predict", model, votes, preexec_fn=lambda: os.close(1))
    assert (code, err) == (2, "Error: cannot write stdout: it is closed\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
@pytest.mark.parametrize("command", ["fit", "predict"])
def test_a_full_stdout_is_an_error(command, votes, model):
    arguments = (votes, "--method", "majority-vote") if command == "fit" else (model, votes)
    with Path("/dev/full").open("w") as full:
        code, _, err = _run(command, *arguments, stdout=full)
    assert (code, err) == (2, "Error: cannot write stdout: No space left on device\n")


def test_a_full_disk_leaves_nothing_of_simulated_records(tmp_path):
    pytest.importorskip("duckdb")

    def fill_disk():
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))

    out = tmp_path / "ra.duckdb"
    code, _, err = _run("simulate", "ehr", "--patients", 500, "--out", out, preexec_fn=fill_disk)
    assert code == 2
    assert err.startswith("Error: cannot write ra.duckdb: ")
    assert list(tmp_path.iterdir()) == []
