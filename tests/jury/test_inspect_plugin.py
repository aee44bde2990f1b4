"""The reducer and the metric inside Inspect itself, where it is installed."""

import math

import pytest

inspect_ai = pytest.importorskip("inspect_ai", reason="inspect-ai is not installed")

from inspect_ai._util.registry import registry_info  # noqa: E402
from inspect_ai.scorer import SampleScore, Score  # noqa: E402
from inspect_ai.scorer._reducer.registry import create_reducers  # noqa: E402

from unelisa.jury.inspect_plugin import pass_rate, reduce_panel  # noqa: E402


def grades(*values):
    return [Score(value=value) for value in values]


def test_the_mean_without_weights_and_nothing_without_grades():
    assert reduce_panel()(grades("C", "I", math.nan)).value == 0.5
    assert math.isnan(reduce_panel()(grades(math.nan)).value)
    assert reduce_panel()(grades("C", math.nan)).metadata["panel"]["votes"] == ["C", None]


def test_weights_are_log_odds():
    reduce = reduce_panel(weights=[math.log(9), math.log(3), math.log(3)])
    assert reduce(grades("C", "I", "I")).value == pytest.approx(0.5)
    assert reduce(grades("C", math.nan, "I")).value == pytest.approx(0.75)
    with pytest.raises(ValueError, match="3 weights for 1 judges"):
        reduce(grades("C"))


def test_the_metric_has_an_interval_and_epochs_are_one_cluster():
    scores = [SampleScore(score=Score(value=k < 60), sample_id=k) for k in range(100)]
    one = pass_rate()(scores)
    assert one["share"] == 0.6
    assert one["low"] == pytest.approx(0.502, abs=0.01)
    assert pass_rate()(scores * 3) == pytest.approx(one)


def test_names_begin_with_the_package_so_that_the_command_line_finds_them():
    assert registry_info(reduce_panel()).name == "unelisa/panel"
    assert registry_info(pass_rate()).name == "unelisa/pass_rate"
    (reduce,) = create_reducers("unelisa/panel")
    assert reduce(grades("C", "I")).value == 0.5
