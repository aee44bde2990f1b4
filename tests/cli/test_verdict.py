import warnings
from types import SimpleNamespace

import pytest

from unelisa.cli.verdict import warn_if_unreliable
from unelisa.errors import ExpertsWarning


def test_labels_that_cannot_be_relied_on_are_called_so_with_the_reason():
    model = SimpleNamespace(reliable_=False, reliability_reason_="the voters toss coins")
    words = "the labels cannot be relied on: the voters toss coins"
    with pytest.warns(ExpertsWarning, match=words):
        warn_if_unreliable(model)


@pytest.mark.parametrize("model", [SimpleNamespace(reliable_=True), SimpleNamespace()])
def test_good_models_and_older_ones_are_let_be(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_unreliable(model)
