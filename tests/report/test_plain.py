import json

import numpy as np
import pytest

from unelisa.report.plain import count_noun, make_plain


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.float32(0.5), 0.5),
        (np.int8(-1), -1),
        (np.bool_(True), True),
        (np.str_("ann"), "ann"),
        (float("nan"), None),
        (np.float64("inf"), None),
        (-np.inf, None),
        (None, None),
        (3, 3),
        (False, False),
        ([1], "list"),
        (np.random.default_rng(0), "Generator"),
    ],
)
def test_values_become_what_json_can_hold(value, plain):
    found = make_plain(value)
    assert found == plain
    assert type(found) is type(plain)
    assert json.loads(json.dumps(found, allow_nan=False)) == plain


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 voters"), (1, "1 voter"), (2, "2 voters"), (1200, "1,200 voters")]
)
def test_things_are_counted_in_words(number, words):
    assert count_noun(number, "voter") == words
