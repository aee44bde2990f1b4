import os
import pty
import select
import sys
import threading
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

import unelisa as ue
from unelisa import progress
from unelisa.progress import each, show_fit, show_fits_in, show_progress, until
from unelisa.simulation.designs import simulate_classes


@pytest.fixture
def at_once(monkeypatch):
    """Let fits show their percentages without waiting for a second."""
    monkeypatch.setattr(progress, "PATIENCE", 0.0)


@contextmanager
def terminal_as_stderr():
    """Make stderr a terminal; yield a function that reads what it shows."""
    main, other = pty.openpty()
    with (
        pytest.MonkeyPatch.context() as patch,
        os.fdopen(other, "w") as stderr,
        os.fdopen(main, "rb", buffering=0) as screen,
    ):
        os.set_blocking(screen.fileno(), False)
        patch.setenv("TERM", "xterm")
        patch.delenv(progress.VARIABLE, raising=False)
        patch.setattr(sys, "stderr", stderr)

        def read():
            shown = b""
            while select.select([screen], [], [], 0.2)[0]:
                shown += screen.read(100_000)
            return shown.decode()

        yield read


@pytest.mark.parametrize("wanted", [None, False, True])
def test_a_bar_is_shown_where_it_is_wanted(wanted, capsys):
    """Under pytest stderr is not a terminal: by default there is no bar."""
    with show_progress("resamples", 7, wanted) as advance:
        advance(3)
        advance(4)
    shown = capsys.readouterr().err
    assert ("resamples" in shown and "7 of 7" in shown) == (wanted is True)


def test_a_bar_may_begin_while_a_status_is_shown(monkeypatch):
    console = Console(force_terminal=True)
    monkeypatch.setattr(progress, "asides", lambda: console)
    with console.status("reading the votes ..."), show_progress("storing", 2) as advance:
        advance(1, "still storing")
        advance(1)


def fit_steps() -> None:
    """Go through the stages of a fit without doing anything."""
    with show_fit("fitting"):
        with until(0.4):
            for _ in each("ab"):
                pass
        with until(0.8):
            for share in (0.2, 0.36, 0.488):
                with until(share):
                    pass
        with until(0.9):
            fit_within()


def fit_within() -> None:
    with show_fit("fitting a part"), until(0.5):
        pass


@pytest.mark.usefixtures("at_once")
def test_stages_add_up_unless_one_fails():
    """Two halves of 40 %; three fifths of what is left up to 80 %; half of the rest up to 90 %."""
    seen = []
    with show_fits_in(seen.append):
        fit_steps()
    assert seen == [20, 40, 48, 54, 59, 80, 85, 90, 100]
    seen = []
    with show_fits_in(seen.append), pytest.raises(ValueError, match="no"), show_fit("fitting"):
        with until(0.2):
            pass
        with until(0.5):
            raise ValueError("no")
    assert seen == [20]


def crowds():
    """Yield votes whose fits walk the three ways: consensus, edges and classes."""
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], (150, 1))
    votes = np.where(rng.random((150, 7)) < 0.8, truth, -truth)
    yield "auto", votes
    yield "edges", votes
    yield "auto", simulate_classes(n_items=150, n_voters=6, n_classes=3, random_state=0).votes


@pytest.mark.usefixtures("at_once")
@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_the_percentage_of_a_fit_rises_to_100():
    for structure, votes in crowds():
        seen = []
        with show_fits_in(seen.append):
            ue.LatentIsing(structure).fit(votes)
        assert seen == sorted(set(seen))
        assert seen[-1] == 100
        assert len(seen) > 8


@pytest.mark.usefixtures("at_once")
def test_a_terminal_shows_a_bar_that_goes_away(capsys):
    with terminal_as_stderr() as read:
        fit_steps()
        shown = read()
    assert "fitting" in shown
    assert "100%" in shown
    assert shown.endswith("\x1b[2K")  # the line is erased
    assert capsys.readouterr().out == ""


def test_a_short_fit_shows_nothing():
    with terminal_as_stderr() as read:
        fit_steps()
        assert read() == ""


@pytest.mark.usefixtures("at_once")
def test_a_fit_shows_nothing_where_nobody_looks(monkeypatch, capfd):
    fit_steps()
    assert capfd.readouterr() == ("", "")
    with terminal_as_stderr() as read:
        thread = threading.Thread(target=fit_steps)
        thread.start()
        thread.join()
        monkeypatch.setenv(progress.VARIABLE, "0")
        fit_steps()
        assert read() == ""


@pytest.mark.usefixtures("at_once")
def test_fits_are_silent_beside_a_bar():
    with terminal_as_stderr() as read:
        with show_progress("resamples", 2) as advance:
            fit_steps()
            advance(2)
        shown = read()
    assert "resamples" in shown
    assert "fitting" not in shown


@pytest.mark.usefixtures("at_once")
def test_a_notebook_shows_one_line_and_clears_it(monkeypatch, capfd):
    """IPython is not among the packages of the tests: the two functions it is asked for."""
    lines = []
    handle = SimpleNamespace(update=lambda line, raw: lines.append(line))

    def display(line, raw, display_id):
        lines.append(line)
        return handle

    shell = SimpleNamespace(kernel=None)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    monkeypatch.delenv(progress.VARIABLE, raising=False)
    fit_steps()
    assert [line["text/plain"] for line in lines[-3:]] == ["fitting 90 %", "fitting 100 %", ""]
    assert 'value="20"' in lines[0]["text/html"]
    assert capfd.readouterr() == ("", "")
