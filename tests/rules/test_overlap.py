import numpy as np

from unelisa.rules.overlap import draw_by_pattern, measure_overlap


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
