import pytest

from unelisa.progress import show_progress


@pytest.mark.parametrize("wanted", [None, False, True])
def test_a_bar_is_shown_where_it_is_wanted(wanted, capsys):
    """Under pytest stderr is no terminal: by default there is no bar."""
    with show_progress("resamples", 7, wanted) as advance:
        advance(3)
        advance(4)
    shown = capsys.readouterr().err
    assert ("resamples" in shown and "7 of 7" in shown) == (wanted is True)
