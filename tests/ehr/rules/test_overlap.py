import numpy as np

from unelisa.ehr.counts import FEWEST_SHOWN
from unelisa.ehr.rules.patterns import (
    describe_overlap,
    draw_by_pattern,
    list_implications,
    measure_overlap,
)


def test_overlap_is_the_share_of_a_rules_patients():
    flags = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=bool)
    found = measure_overlap(flags)
    assert np.allclose(found[:2], [[1, 2 / 3, 0], [2 / 3, 1, 0]])
    assert np.isnan(found[2]).all()


def test_charts_by_pattern_stand_for_all_patients():
    rng = np.random.default_rng(0)
    flags = rng.random((5000, 3)) < [0.02, 0.3, 0.1]
    sample = draw_by_pattern(flags, 80, rng)
    assert len(sample.rows) == len(set(sample.rows.tolist()))
    assert 75 <= len(sample.rows) <= 85
    assert np.isclose((1 / sample.drawn).sum(), 5000)
    weighted = (flags[sample.rows] / sample.drawn[:, None]).sum(axis=0)
    assert np.allclose(weighted, flags.sum(axis=0))
    mixed = flags.any(axis=1) & ~flags.all(axis=1)
    assert mixed[sample.rows].mean() > 1.5 * mixed.mean()


def test_a_chain_of_rules_has_no_arrow_past_the_next_one_and_copies_point_at_each_other():
    wide = np.arange(100) < 60
    flags = np.column_stack([wide, np.arange(100) < 30, np.arange(100) < 10, wide])
    patterns, counts = np.unique(flags, axis=0, return_counts=True)
    found = set(list_implications(patterns, counts.astype(float)))
    assert found == {(0, 3), (3, 0), (1, 0), (1, 3), (2, 1)}


def test_small_patterns_and_rules_of_nobody_are_not_numbers():
    flags = np.zeros((200, 3), dtype=bool)
    flags[:40, 0] = flags[38:90, 1] = True
    found = describe_overlap(["a", "b", "nobody"], flags)
    assert found["flagged"] == {"a": 40, "b": 52, "nobody": 0}
    assert found["disagree"] == 90
    assert found["overlap"]["nobody"] == {"a": None, "b": None, "nobody": None}
    assert found["overlap"]["a"]["b"] is None  # two patients
    assert found["overlap"]["b"]["b"] == 1
    by_rules = {tuple(one["rules"]): one["patients"] for one in found["patterns"]}
    assert by_rules == {("b",): 50, ("a",): 30, ("a", "b"): None}
    assert FEWEST_SHOWN > 2
    assert found["families"] == found["within"] == []
