import warnings

import numpy as np
import pytest

from unelisa.errors import ConvergenceWarning, ModelError, UnelisaWarning, VotesError
from unelisa.resampling import draw_items, repeat_fits


@pytest.fixture
def generators():
    return np.random.default_rng(0).spawn(20)


def test_a_draw_has_as_many_items_with_repetitions_in_order():
    counts = np.zeros(50)
    for seed in range(200):
        rows = draw_items(50, np.random.default_rng(seed))
        assert len(rows) == 50
        assert (np.diff(rows) >= 0).all()
        counts += np.bincount(rows, minlength=50)
    # 200 draws of 50 items: each is expected 200 times, spread 14
    assert np.abs(counts - 200).max() < 5 * 14


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_answers_come_in_the_order_of_the_generators(n_jobs):
    def draw(generator):
        return int(generator.integers(2**40))

    expected = [draw(generator) for generator in np.random.default_rng(0).spawn(20)]
    assert repeat_fits(draw, np.random.default_rng(0).spawn(20), n_jobs, None) == expected


def test_fits_that_fail_are_left_out_and_counted(generators):
    def fit(generator):
        if generator.random() < 0.5:
            raise VotesError("nobody voted on anything")
        return True

    failed = sum(g.random() < 0.5 for g in np.random.default_rng(0).spawn(20))
    assert failed > 0
    told = f"^{failed} of 20 resamples could not be fitted and are omitted, the first because nobod"
    with pytest.warns(UnelisaWarning, match=told):
        assert repeat_fits(fit, generators, None, None) == [True] * (20 - failed)


def test_where_no_fit_succeeds_there_is_no_answer(generators):
    def fit(_):
        raise VotesError("these votes are odd")

    with pytest.raises(ModelError, match="^20 of 20 resamples .* because these votes are odd$"):
        repeat_fits(fit, generators, None, None)


def test_a_mistake_is_no_failed_fit(generators):
    def fit(_):
        raise KeyError("a mistake")

    with pytest.raises(KeyError, match="a mistake"):
        repeat_fits(fit, generators, 2, None)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_limits_are_told_once_and_idle_voters_not_at_all(generators, n_jobs):
    def fit(_):
        warnings.warn("a limit was reached", ConvergenceWarning, stacklevel=2)
        warnings.warn("a voter never voted", UnelisaWarning, stacklevel=2)

    with pytest.warns(ConvergenceWarning) as told:
        repeat_fits(fit, generators, n_jobs, None)
    assert [str(w.message) for w in told] == [
        "some resamples did not converge; the first warning: a limit was reached"
    ]


def test_warnings_of_others_are_passed_on(generators):
    def fit(_):
        warnings.warn("a stranger's", RuntimeWarning, stacklevel=2)

    with pytest.warns(RuntimeWarning, match="stranger") as told:
        repeat_fits(fit, generators, None, None)
    assert len(told) >= 1


def test_a_bar_is_shown_when_asked(generators, capfd):
    repeat_fits(bool, generators, None, None)
    repeat_fits(bool, generators, None, False)
    assert capfd.readouterr() == ("", "")
    repeat_fits(bool, generators, 2, True)
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "resamples" in shown.err
    assert "20/20" in shown.err
