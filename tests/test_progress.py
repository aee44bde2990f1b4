import pytest
from rich.console import Console

from unelisa import progress
from unelisa.progress import show_progress


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
